// Actions of buttons and keys.
import { post } from './client';
import { selectTime } from './panels/details_panel';
import type { Finder } from './finder';
import type { Model } from './model';
import type { Navigator } from './navigate';
import type { SliceDetails, SlicePlace } from './protocol';
import { kOrders, type Order, type Overlay, type Panel } from './state';
import type { Timeline } from './timeline/timeline';
import { around } from './window';

export class Actions {
  /** True if a plain drag selects. */
  isSelecting = false;
  focusSearch: () => void = () => {};
  setSearch: (text: string) => void = () => {};

  constructor(readonly model: Model, readonly timeline: Timeline, readonly finder: Finder, readonly navigator: Navigator) {}

  toggle(overlay: Overlay): void {
    const { overlays } = this.model.state;
    this.model.set({ overlays: overlays.includes(overlay) ? overlays.filter((one) => one !== overlay) : [...overlays, overlay] });
  }

  togglePanel(panel: Panel): void {
    this.model.set({ panel: this.model.state.panel === panel ? '' : panel, tab: 'timeline' });
  }

  toggleSelecting(): void {
    this.isSelecting = !this.isSelecting;
    this.model.touch();
  }

  setOrder(order: Order): void {
    this.timeline.current = undefined;
    this.model.set({ order, selection: null });
  }

  nextOrder(): void {
    this.setOrder(kOrders[(kOrders.indexOf(this.model.state.order) + 1) % kOrders.length]);
  }

  isDark(): boolean {
    const { theme } = this.model.state;
    return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }

  toggleTheme(): void { this.model.set({ theme: this.isDark() ? 'light' : 'dark' }); }

  fit(): void { this.navigator.fitChosen(this.timeline.chosen.details); }

  selectSlice(): void {
    const { ref, details } = this.timeline.chosen;
    if (ref && details) selectTime(this.model, ref, details);
  }

  escape(): void {
    const { panel, slice, selection, search } = this.model.state;
    if (panel) this.model.set({ panel: '' });
    else if (slice) this.model.set({ slice: null });
    else if (selection) this.model.set({ selection: null });
    else if (search) this.setSearch('');
    else this.model.say('');
  }

  /** Opens or closes the rank that the arrow keys chose. */
  openCurrent(): void {
    const { current, scene } = this.timeline;
    if (!current || !scene) return;
    if (scene.layout.fold > 1) {
      this.timeline.zoomRanks(14 / this.timeline.rankHeight());
      return;
    }
    const rank = this.model.order(current.run).rows[current.line];
    this.model.openRank({ run: current.run, rank }, !this.model.isOpen({ run: current.run, rank }));
  }

  moveCurrent(sign: number): void {
    const { timeline, model } = this;
    const { scene } = timeline;
    if (!scene) return;
    const runs = model.numRuns;
    const at = timeline.current ? timeline.current.line * runs + timeline.current.run + sign : 0;
    const place = Math.max(0, Math.min(scene.layout.numLines * runs - 1, at));
    timeline.current = { run: place % runs, line: Math.floor(place / runs) };
    const { run, line } = timeline.current;
    if (line >= scene.layout.linesOfRun[run]) return;
    const rank = model.order(run).rows[line * scene.layout.fold];
    timeline.show(model.window(), false, timeline.scrollTo(run, rank));
    model.touch();
  }

  async nextHit(forward: boolean): Promise<void> {
    const { finder, model } = this;
    const hit = await finder.step(forward, model.window().begin - model.shift(finder.run));
    if (hit) this.goToHit(hit, finder.at);
  }

  goToHit(hit: SlicePlace, place: number): void {
    this.finder.at = place;
    const { rank, track, row } = hit;
    void this.navigator.goToSlice({ run: this.finder.run, rank, track, row }, hit.begin_ns, hit.duration_ns);
    this.model.touch();
  }

  showCollective(run: number, details: SliceDetails): void {
    if (!this.model.state.overlays.includes('collectives')) this.toggle('collectives');
    const begin = details.begin_ns + this.model.shift(run);
    this.timeline.show(around(begin, begin + details.duration_ns, 1), true);
  }

  async predict(): Promise<void> {
    try {
      this.model.say('Simulating the run …');
      const answer = await post('predict', { run: 0 });
      await this.showBeside(answer.run);
      this.model.set({ panel: 'differences' });
      this.model.say(answer.sentences.join(' '));
    } catch (error) {
      this.model.fail(error);
    }
  }

  /** Simulates a plan of the table of search results and lays it beside the first run. */
  async openPlan(plan: number): Promise<void> {
    try {
      this.model.say('Simulating the plan …');
      const answer = await post('plan', { plan });
      await this.showBeside(answer.run);
      this.model.set({ tab: 'timeline', panel: 'differences' });
      this.model.say(`Beside the first: ${answer.name}.`);
    } catch (error) {
      this.model.fail(error);
    }
  }

  /** Draws another of the open runs beside the first. */
  async showBeside(run: number): Promise<void> {
    const { model, finder } = this;
    model.setBeside(run);
    await this.reload();
    if (model.state.search && finder.run === 1) void finder.search(model.state.search, 1);
  }

  /** After a run was added. */
  async reload(): Promise<void> {
    await this.model.load();
    this.timeline.store.clear();
    this.timeline.collectives.forEach((one) => one.forget());
    this.timeline.launches.clear();
    this.timeline.frames.invalidate();
  }
}
