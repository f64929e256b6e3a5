// Mouse, pen and touch on the timeline.
import { sliceRange } from './select_range';
import type { Model } from '../model';
import type { Navigator } from '../navigate';
import { pick, type Picked } from './pick';
import { contentAt, kAxisHeight, kGutter, nsPerPixel, timeAt } from './scene';
import type { Timeline } from './timeline';
import { Tip, tipText } from '../tip';
import { around, moved, type TimeWindow } from '../window';

const kClickSlack = 4;

interface Drag {
  kind: 'pan' | 'range';
  x: number; y: number;
  window: TimeWindow;
  scroll: number;
  /** True if the range is of all ranks: it was drawn on the axis. */
  all: boolean;
  hasMoved: boolean;
}

export class PointerInput {
  private drag: Drag | undefined;
  private readonly tip = new Tip();

  constructor(private readonly model: Model, private readonly timeline: Timeline, private readonly navigator: Navigator,
              private readonly isSelecting: () => boolean) {
    const target = timeline.above;
    target.addEventListener('pointerdown', (event) => this.down(event));
    target.addEventListener('pointermove', (event) => this.move(event));
    target.addEventListener('pointerup', (event) => this.up(event));
    target.addEventListener('pointercancel', () => this.cancel());
    target.addEventListener('pointerleave', () => this.leave());
    target.addEventListener('dblclick', (event) => this.doubleClick(event));
    target.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.timeline.above.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private down(event: PointerEvent): void {
    if (event.button > 1 || !this.timeline.scene) return;
    const [x, y] = this.place(event);
    const onAxis = y < kAxisHeight && x >= kGutter;
    const isRange = onAxis || ((event.shiftKey || this.isSelecting()) && x >= kGutter && event.button === 0);
    this.drag = { kind: isRange ? 'range' : 'pan', x, y, window: this.model.window(), scroll: this.model.state.scroll, all: onAxis, hasMoved: false };
    // A pointer that was made by a script cannot be captured.
    try { this.timeline.above.setPointerCapture(event.pointerId); } catch { /* goes on without */ }
    this.tip.hide();
  }

  private move(event: PointerEvent): void {
    const [x, y] = this.place(event);
    this.timeline.pointer = { x, y, isInPlot: x >= kGutter && y >= 0 };
    this.timeline.frames.invalidate();
    const { drag } = this;
    if (!drag) {
      this.hover(event, x, y);
      return;
    }
    if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < kClickSlack) return;
    drag.hasMoved = true;
    if (drag.kind === 'pan') this.pan(drag, x, y);
    else this.timeline.draft = this.range(drag, x, y);
  }

  private hover(event: PointerEvent, x: number, y: number): void {
    const picked = pick(this.timeline, x, y);
    this.timeline.above.style.cursor = picked.kind === 'axis' || this.isSelecting() ? 'crosshair'
      : picked.kind === 'slice' || picked.kind === 'label' || picked.kind === 'head' ? 'pointer' : 'default';
    this.tip.show(tipText(this.timeline, picked), event.clientX, event.clientY);
  }

  private pan(drag: Drag, x: number, y: number): void {
    const { scene } = this.timeline;
    if (!scene) return;
    this.timeline.above.style.cursor = 'grabbing';
    const ns = drag.x >= kGutter ? (drag.x - x) * nsPerPixel(scene) : 0;
    const most = Math.max(0, scene.layout.height - (scene.plot.bottom - scene.plot.top) + 8);
    this.timeline.show(moved(drag.window, ns), false, Math.max(0, Math.min(most, drag.scroll + drag.y - y)));
  }

  private range(drag: Drag, x: number, y: number) {
    const scene = this.timeline.scene!;
    const times = [drag.x, Math.max(kGutter, x)].map((at) => timeAt(scene, at));
    const contents = drag.all ? undefined : ([drag.y, y].map((at) => contentAt(scene, Math.max(kAxisHeight, at))) as [number, number]);
    return sliceRange(scene, Math.min(...times), Math.max(...times), contents);
  }

  private up(event: PointerEvent): void {
    const { drag } = this;
    this.drag = undefined;
    if (!drag) return;
    const [x, y] = this.place(event);
    if (drag.hasMoved) {
      if (drag.kind === 'range') this.model.set({ selection: this.range(drag, x, y), slice: null, panel: '' });
      this.timeline.draft = null;
      this.timeline.frames.invalidate();
    } else {
      this.click(pick(this.timeline, x, y), y);
    }
  }

  private cancel(): void {
    this.drag = undefined;
    this.timeline.draft = null;
    this.timeline.frames.invalidate();
  }

  private leave(): void {
    this.tip.hide();
    if (this.drag) return;
    this.timeline.pointer = undefined;
    this.timeline.frames.invalidate();
  }

  private click(picked: Picked, y: number): void {
    const { model, timeline } = this;
    if (picked.kind === 'label') {
      timeline.current = { run: picked.line.run, line: picked.line.line };
      this.pressLabel(picked.line.run, picked.rank, y);
    } else if (picked.kind === 'head') {
      model.openRank(picked.block, false);
    } else if (picked.kind === 'slice') {
      const { run, rank, track, row } = picked.slice;
      model.set({ slice: { run, rank, track, row }, panel: '' });
    } else if (picked.kind === 'line') {
      timeline.current = { run: picked.line.run, line: picked.line.line };
      model.set({ slice: null, panel: 'rank', run: picked.line.run });
      timeline.frames.invalidate();
      model.touch();
    } else if (picked.kind === 'axis') {
      model.set({ selection: null });
    } else {
      model.set({ slice: null });
    }
  }

  /** Opens a rank, or makes lines of several ranks higher until they are one each. */
  pressLabel(run: number, rank: number, y: number): void {
    const { model, timeline } = this;
    if (timeline.scene && timeline.scene.layout.fold > 1) timeline.zoomRanks(14 / timeline.rankHeight(), y);
    else model.openRank({ run, rank }, !model.isOpen({ run, rank }));
  }

  private doubleClick(event: MouseEvent): void {
    const [x, y] = this.place(event);
    const picked = pick(this.timeline, x, y);
    if (picked.kind === 'slice') {
      const { slice } = picked;
      this.timeline.show(around(slice.begin, slice.end), true);
    } else if (picked.kind === 'line') {
      if (this.timeline.scene!.layout.fold > 1) this.timeline.zoomRanks(14 / this.timeline.rankHeight(), y);
      else this.model.openRank({ run: picked.line.run, rank: picked.rank });
      const { activity } = picked;
      if (activity) this.timeline.show(around(activity.begin, activity.end, 1), true);
    } else if (picked.kind === 'axis') {
      this.navigator.fitChosen(undefined);
    }
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const [x, y] = this.place(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    const amount = Math.max(-240, Math.min(240, event.deltaY * lines));
    if (event.ctrlKey || event.metaKey) {
      const isHighest = !this.timeline.zoomRanks(Math.exp(-amount * 0.004), y);
      if (isHighest && amount < 0) this.openAt(x, y);
    } else if (event.shiftKey || x < kGutter) {
      this.timeline.scrollBy((event.deltaY || event.deltaX) * lines);
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const { scene } = this.timeline;
      if (scene) this.timeline.show(moved(this.model.window(), event.deltaX * lines * nsPerPixel(scene)), false);
    } else {
      this.timeline.zoomAt(Math.exp(amount * 0.0022), Math.max(kGutter, x));
    }
  }

  // Zooming in further than the highest line goes into the rank.
  private openAt(x: number, y: number): void {
    const picked = pick(this.timeline, Math.max(x, kGutter), y);
    if (picked.kind === 'line') this.model.openRank({ run: picked.line.run, rank: picked.rank });
  }
}
