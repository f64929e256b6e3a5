// The panel at the right: details of a slice, totals of a selection, lists, what-if.
import { ask, isAborted } from '../client';
import { detailsPanel, type DetailsActions } from './details_panel';
import { button, element, replace } from '../dom';
import { differencesPanel, rankPanel, searchPanel } from './lists_panel';
import type { Model } from '../model';
import type { RangeTotals, SlicePlace } from '../protocol';
import { rangePanel } from './range_panel';
import type { Selection } from '../state';
import type { Timeline } from '../timeline/timeline';
import type { WhatIfPanel } from './what_if_panel';

export class SidePanel {
  readonly root = element('aside', { class: 'side', 'aria-label': 'Details', hidden: true });
  private readonly content = element('div', { class: 'side-content', tabindex: '-1' });
  private readonly runChoice = element('div', { class: 'runs', role: 'group', 'aria-label': 'Run' });
  private totals: { key: string; value: RangeTotals | undefined } = { key: '', value: undefined };
  private controller: AbortController | undefined;
  private shown = '';

  constructor(private readonly model: Model, private readonly timeline: Timeline, private readonly whatIf: WhatIfPanel,
              private readonly actions: DetailsActions, private readonly goToHit: (hit: SlicePlace, place: number) => void) {
    const close = button('×', 'Close this panel (Esc)', () => this.close(), 'icon close');
    this.root.append(element('div', { class: 'side-head' }, this.runChoice, close), this.content);
  }

  close(): void {
    const { state } = this.model;
    if (state.panel) this.model.set({ panel: '' });
    else if (state.slice) this.model.set({ slice: null });
    else this.model.set({ selection: null });
  }

  /** Shows what the state asks for. */
  update(): void {
    const made = this.contentNow();
    this.root.hidden = !made;
    this.updateRuns(made?.key ?? '');
    if (!made || made.key === this.shown) {
      if (!made) this.shown = '';
      return;
    }
    const isSameKind = made.key.split(' ')[0] === this.shown.split(' ')[0];
    const scroll = isSameKind && made.key.startsWith('search') ? this.content.scrollTop : 0;
    this.shown = made.key;
    const panel = made.make();
    // Put in again, the panel would lose the focus of its sliders.
    if (this.content.firstChild !== panel) replace(this.content, panel);
    this.content.scrollTop = scroll;
  }

  /** `key` is the same as long as the content is. */
  private contentNow(): { key: string; make: () => HTMLElement } | undefined {
    const { model, timeline } = this;
    const { state } = model;
    const { finder, chosen } = timeline;
    if (state.panel === 'what-if') return { key: `what-if ${state.run} ${state.sliders.map((one) => one.subject + one.name)} ${model.loads}`, make: () => this.whatIf.show() };
    if (state.panel === 'search') return { key: `search ${finder.total} ${finder.hits.length} ${finder.at} ${finder.problem} ${state.search}`, make: () => searchPanel(model, finder, this.goToHit) };
    if (state.panel === 'differences') return { key: `differences ${model.loads} ${Boolean(model.differences)}`, make: () => differencesPanel(model, this.actions.navigator) };
    if (state.panel === 'rank' && timeline.current && timeline.scene) return this.rankNow();
    if (state.slice && chosen.ref) {
      const { ref, details } = chosen;
      const key = `slice ${ref.run}.${ref.rank}.${ref.track}.${ref.row} ${Boolean(details)} ${Boolean(model.tracks(ref.run, ref.rank))}`;
      return { key, make: () => (details ? detailsPanel(model, ref, details, this.actions) : loading()) };
    }
    return state.selection ? this.rangeNow(state.selection) : undefined;
  }

  private rankNow(): { key: string; make: () => HTMLElement } {
    const { run, line } = this.timeline.current!;
    const rank = this.model.order(run).rows[line * this.timeline.scene!.layout.fold];
    return { key: `rank ${run}.${rank} ${this.model.isOpen({ run, rank })}`, make: () => rankPanel(this.model, run, rank) };
  }

  private rangeNow(selection: Selection): { key: string; make: () => HTMLElement } {
    const { model } = this;
    const { run, order } = model.state;
    const key = `range ${run} ${order} ${selection.begin} ${selection.end} ${selection.first} ${selection.count} ${model.shift(run)}`;
    if (this.totals.key !== key) {
      this.totals = { key, value: undefined };
      void this.askTotals(key, run, selection);
    }
    const { value } = this.totals;
    const open = (rank: number): void => {
      model.openRank({ run, rank });
      this.timeline.show(model.window(), true, this.timeline.scrollTo(run, rank));
    };
    return { key: `${key} ${Boolean(value)}`, make: () => (value ? rangePanel(model, run, value, open) : loading()) };
  }

  private async askTotals(key: string, run: number, selection: Selection): Promise<void> {
    this.controller?.abort();
    const controller = this.controller = new AbortController();
    const shift = this.model.shift(run);
    const { length_ns: length } = this.model.runInfo(run);
    const place = (ns: number): number => Math.max(0, Math.min(length, Math.round(ns - shift)));
    const numRanks = this.model.numRanks(run);
    const first = Math.min(selection.first, numRanks - 1);
    try {
      const value = await ask('range', { run, begin: Math.min(place(selection.begin), length - 1), end: Math.max(Math.min(place(selection.begin) + 1, length), place(selection.end)),
        order: this.model.state.order, first, count: Math.min(selection.count || numRanks, numRanks - first) }, controller.signal);
      if (this.totals.key === key) this.totals.value = value;
      this.update();
    } catch (error) {
      if (!isAborted(error)) this.model.fail(error);
    }
  }

  private updateRuns(key: string): void {
    const isOfRun = key.startsWith('range') || key.startsWith('what-if');
    if (this.model.numRuns < 2 || !isOfRun) {
      replace(this.runChoice);
      return;
    }
    replace(this.runChoice, ...this.model.session.runs.map((info, run) => {
      const made = button(`${'AB'[run]} ${info.name}`, `About ${info.name}`, () => this.model.set({ run }));
      made.setAttribute('aria-pressed', String(this.model.state.run === run));
      return made;
    }));
  }
}

function loading(): HTMLElement { return element('p', { class: 'empty' }, 'Loading …'); }
