// Going to places of the timeline.
import type { Model } from './model';
import type { SliceRef } from './state';
import type { Timeline } from './timeline/timeline';
import { around, type TimeWindow } from './window';

export class Navigator {
  constructor(private readonly model: Model, private readonly timeline: Timeline) {}

  /** Opens the rank of a slice, chooses the slice and zooms to it. Times are the run's own. */
  async goToSlice(ref: SliceRef, beginNs: number, durationNs: number): Promise<void> {
    const { model, timeline } = this;
    try {
      await model.tracksOf(ref.run, ref.rank);
    } catch (error) {
      model.fail(error);
      return;
    }
    model.openRank(ref);
    this.showTimeline();
    model.set({ slice: { ...ref }, panel: model.state.panel === 'search' || model.state.panel === 'differences' ? model.state.panel : '' });
    const begin = beginNs + model.shift(ref.run);
    timeline.show(this.windowFor(begin, begin + durationNs), true, timeline.scrollTo(ref.run, ref.rank, ref.track));
  }

  /** Lays the runs beside each other where a slice begins, and shows what that rank of the other run does then. */
  goToSameMoment(ref: SliceRef, beginNs: number, durationNs: number): void {
    const { model, timeline } = this;
    const run = 1 - ref.run;
    const rank = Math.min(ref.rank, model.numRanks(run) - 1);
    model.alignAt(ref.run, beginNs);
    model.openRank({ run, rank });
    const begin = model.sameMoment(ref.run, beginNs) + model.shift(run);
    timeline.show(this.windowFor(begin, begin + durationNs), true, timeline.scrollTo(run, rank));
  }

  /** Shows a place of an opened rank without another zoom than is needed. */
  async goToRow(run: number, rank: number, track: number, row: number, beginNs: number): Promise<void> {
    const window = this.model.window();
    const at = beginNs + this.model.shift(run);
    await this.model.tracksOf(run, rank).catch((error) => this.model.fail(error));
    this.model.openRank({ run, rank });
    this.showTimeline();
    this.model.set({ slice: { run, rank, track, row } });
    const width = window.end - window.begin;
    const isShown = at > window.begin + width * 0.05 && at < window.end - width * 0.1;
    this.timeline.show(isShown ? window : { begin: at - width / 3, end: at + width * 2 / 3 }, true, this.timeline.scrollTo(run, rank, track));
  }

  // Behind another tab the timeline has no size, and no place can be scrolled to.
  private showTimeline(): void {
    if (this.model.state.tab === 'timeline') return;
    this.model.set({ tab: 'timeline' });
    this.timeline.resize();
  }

  // A slice fills a tenth of the screen, so that its surroundings are seen.
  private windowFor(begin: number, end: number): TimeWindow {
    return around(begin, Math.max(end, begin + 50), 4.5);
  }

  /** Fits what is chosen: the selection, else the slice. */
  fitChosen(details: { begin_ns: number; duration_ns: number } | undefined): void {
    const { selection, slice } = this.model.state;
    if (slice && details) {
      const begin = details.begin_ns + this.model.shift(slice.run);
      this.timeline.show(around(begin, begin + details.duration_ns), true);
    } else if (selection) {
      this.timeline.show(around(selection.begin, selection.end, 0.05), true);
    }
  }
}
