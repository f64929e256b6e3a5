// The search field with its count.
import type { Actions } from './actions';
import { button, debounced, element } from './dom';
import { count } from './format';

export class SearchBox {
  readonly root: HTMLElement;
  private readonly input = element('input', { type: 'search', placeholder: 'Search or /regex/', 'aria-label': 'Search names of slices', spellcheck: 'false', autocomplete: 'off' });
  private readonly status = element('button', { type: 'button', class: 'count', title: 'List the hits', 'aria-live': 'polite' });
  private readonly previous: HTMLButtonElement;
  private readonly next: HTMLButtonElement;

  constructor(private readonly actions: Actions) {
    const { model } = actions;
    const start = debounced(220, () => this.start());
    this.input.addEventListener('input', start);
    this.input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') void this.enter(!event.shiftKey);
      else if (event.key === 'Escape') this.input.blur();
      else return;
      event.preventDefault();
    });
    this.status.addEventListener('click', () => actions.togglePanel('search'));
    this.previous = button('‹', 'Previous hit (shift N)', () => void actions.nextHit(false), 'icon');
    this.next = button('›', 'Next hit (N)', () => void actions.nextHit(true), 'icon');
    this.root = element('div', { class: 'search', role: 'search' }, this.input, this.status, this.previous, this.next);
    this.input.value = model.state.search;
    actions.focusSearch = () => {
      this.input.focus();
      this.input.select();
    };
    actions.setSearch = (text) => {
      this.input.value = text;
      this.start();
    };
  }

  /** Searches for what the field has. */
  start(): void {
    const { model, finder } = this.actions;
    model.set({ search: this.input.value, ...(this.input.value === '' && model.state.panel === 'search' ? { panel: '' as const } : {}) });
    void finder.search(this.input.value, model.state.run);
  }

  private async enter(forward: boolean): Promise<void> {
    const { model, finder } = this.actions;
    model.set({ search: this.input.value, tab: 'timeline' });
    await finder.search(this.input.value, model.state.run);
    await this.actions.nextHit(forward);
  }

  update(): void {
    const { finder, model } = this.actions;
    if (document.activeElement !== this.input && this.input.value !== model.state.search) this.input.value = model.state.search;
    const has = finder.hits.length > 0;
    this.status.hidden = !finder.isActive && !finder.problem;
    this.status.textContent = finder.problem ? (finder.isUnanswered ? 'no answer' : 'not a pattern') : finder.isBusy && !has ? '…' : finder.at >= 0 ? `${count(finder.at + 1)} of ${count(finder.total)}` : count(finder.total);
    this.status.title = finder.problem || (finder.isCut ? `List the hits; the first ${count(finder.hits.length)} are marked` : 'List the hits');
    this.previous.hidden = this.next.hidden = !has;
  }
}
