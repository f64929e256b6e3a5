// The frame of the page: head, tabs, timeline or a tab's content, notices.
import type { Actions } from './actions';
import { installChartTips } from './chart_tips';
import { ask, recorded, savedSentence } from './client';
import { button, element, replace } from './dom';
import { savePage, savePng, saveSvg } from './export';
import { count } from './format';
import type { SlicePlace } from './protocol';
import type { SearchBox } from './search_box';
import type { SidePanel } from './panels/side_panel';
import { showTab } from './panels/tab_page';
import { Tip } from './tip';
import { differencesPanel } from './panels/lists_panel';
import type { Toolbar } from './toolbar';

const kTabNames: Record<string, string> = {
  timeline: 'Timeline', overview: 'Overview', kernels: 'Kernels', collectives: 'Collectives', memory: 'Memory', metrics: 'Metrics', differences: 'Differences', search: 'Search results',
};

export class Page {
  private readonly tabs = element('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Views' });
  private readonly runs = element('div', { class: 'runs', role: 'group', 'aria-label': 'Run' });
  private readonly content = element('div', { class: 'content', id: 'panel', role: 'tabpanel', tabindex: '0', hidden: true });
  private readonly view: HTMLElement;
  private readonly notice = element('div', { class: 'notice', role: 'status', 'aria-live': 'polite', hidden: true });
  private readonly fallback = element('div', { class: 'fallback', role: 'note', hidden: true });
  private readonly theme: HTMLButtonElement;
  private readonly tip = new Tip();
  private shownTab = '';

  constructor(private readonly actions: Actions, private readonly toolbar: Toolbar, private readonly side: SidePanel, private readonly search: SearchBox,
              help: HTMLDialogElement) {
    const { model, timeline } = actions;
    const guarded = (act: () => Promise<void> | void) => (): void => void Promise.resolve().then(act).catch((error) => model.fail(error));
    this.theme = button('◐', 'Dark or light (T)', () => actions.toggleTheme(), 'icon');
    const saves = element('div', { class: 'group', role: 'group', 'aria-label': 'Save' },
      button('Save page', 'One file with what is selected, to mail', guarded(() => savePage(model))),
      button('PNG', 'A picture of the timeline', guarded(() => savePng(model, timeline))), button('SVG', 'A drawing of the timeline', guarded(() => saveSvg(model, timeline))));
    const title = element('span', { class: 'title', title: model.session.title }, model.session.title);
    const head = element('header', {}, element('span', { class: 'brand' }, 'Orrery'), title, this.tabs, this.search.root, saves, this.theme, button('?', 'Keys and mouse (?)', () => help.showModal(), 'icon'));
    this.view = element('main', { class: 'view' }, this.toolbar.root, savedSentence && element('div', { class: 'fallback saved', role: 'note' }, savedSentence), this.fallback, element('div', { class: 'middle' }, timeline.root, this.side.root));
    replace(document.getElementById('page')!, head, this.view, this.content, this.notice, help);
    installChartTips(this.content);
    this.makeTabs();
  }

  private tabNames(): string[] {
    const { model } = this.actions;
    const names = model.session.tabs.filter((name) => name !== 'differences' || model.numRuns > 1);
    return ['timeline', ...names.filter((name) => name !== 'timeline')];
  }

  private makeTabs(): void {
    const { model } = this.actions;
    replace(this.tabs, ...this.tabNames().map((name) => {
      const made = button(kTabNames[name] ?? name, '', () => model.set({ tab: name }));
      made.setAttribute('role', 'tab');
      made.dataset.tab = name;
      made.removeAttribute('title');
      made.addEventListener('keydown', (event) => this.moveTab(event, name));
      return made;
    }));
  }

  private moveTab(event: KeyboardEvent, name: string): void {
    const sign = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!sign) return;
    const names = this.tabNames();
    const next = names[(names.indexOf(name) + sign + names.length) % names.length];
    this.actions.model.set({ tab: next });
    this.tabs.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next)}"]`)?.focus();
    event.preventDefault();
  }

  update(): void {
    const { model } = this.actions;
    const { state } = model;
    if (this.tabs.childElementCount !== this.tabNames().length) this.makeTabs();
    const tab = this.tabNames().includes(state.tab) ? state.tab : 'timeline';
    for (const made of this.tabs.children as Iterable<Element> & HTMLCollection) {
      const isChosen = (made as HTMLElement).dataset.tab === tab;
      made.setAttribute('aria-selected', String(isChosen));
      made.setAttribute('tabindex', isChosen ? '0' : '-1');
    }
    document.documentElement.dataset.theme = state.theme;
    if (!state.theme) delete document.documentElement.dataset.theme;
    this.view.hidden = tab !== 'timeline';
    this.content.hidden = tab === 'timeline';
    this.fallback.textContent = this.actions.timeline.layer.sentence;
    this.fallback.hidden = this.fallback.textContent === '';
    this.notice.hidden = model.notice === '';
    this.notice.textContent = model.notice;
    this.toolbar.update();
    this.side.update();
    this.search.update();
    this.showContent(tab);
  }

  private showContent(tab: string): void {
    const { model } = this.actions;
    const key = `${tab} ${model.state.run} ${model.loads} ${this.actions.isDark()}`;
    if (key === this.shownTab) return;
    this.shownTab = key;
    this.tip.hide();
    if (tab === 'timeline') return;
    replace(this.content, element('p', { class: 'empty' }, 'Loading …'));
    this.loadTab(tab, key).catch((error) => {
      if (this.shownTab === key) replace(this.content, element('p', { class: 'problem' }, (error as Error).message));
    });
  }

  private async loadTab(tab: string, key: string): Promise<void> {
    const { model, navigator } = this.actions;
    const { run } = model.state;
    const goTo = ({ rank, track, row, begin_ns, duration_ns }: SlicePlace): void => void navigator.goToSlice({ run, rank, track, row }, begin_ns, duration_ns);
    if (tab === 'differences' && model.differences) {
      const page = await ask('tab', { run: model.state.run, name: tab }).catch(() => undefined);
      if (this.shownTab !== key) return;
      if (page?.sections.length) showTab(this.content, page, { goTo });
      else replace(this.content);
      this.content.append(element('section', {}, differencesPanel(model, navigator)));
      return;
    }
    const page = await ask('tab', { run: model.state.run, name: tab });
    if (this.shownTab !== key) return;
    const opensPlans = tab === 'search' && model.session.can_open_plans && !recorded;
    const action = { name: 'Open beside', act: (plan: number) => void this.actions.openPlan(plan) };
    showTab(this.content, page, opensPlans ? { goTo, action } : { goTo });
    if (model.numRuns > 1) this.content.prepend(this.runButtons());
    if (tab === 'overview') this.content.append(this.problems());
  }

  private runButtons(): HTMLElement {
    const { model } = this.actions;
    replace(this.runs, ...model.session.runs.map((info, run) => {
      const made = button(`${'AB'[run]} ${info.name}`, `About ${info.name}`, () => model.set({ run }));
      made.setAttribute('aria-pressed', String(model.state.run === run));
      return made;
    }));
    return this.runs;
  }

  private problems(): Node {
    const { model } = this.actions;
    const { problems, num_events: events, num_ranks: ranks } = model.runInfo(model.state.run);
    return element('section', {}, element('h2', {}, 'The recording'), element('p', {}, `${count(events)} events of ${count(ranks)} ranks.`),
      problems.length ? element('ul', {}, ...problems.map((text) => element('li', {}, text))) : element('p', { class: 'soft' }, 'Nothing was lost in reading it.'));
  }
}
