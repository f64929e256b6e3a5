// The middle of the page: rectangles below, pen above, both redrawn when something changed.
import { addressOf, ask, getBytes } from '../client';
import type { Chosen } from '../chosen';
import { decodeLaunches, type Launches } from '../decode';
import { drawArrowsOf } from './timeline_arrows';
import { drawAxis, drawGrid, drawStepLines } from './draw_axis';
import { drawCollective } from './draw_collectives';
import { drawCritical } from './draw_critical';
import { drawDifference } from './draw_difference';
import { drawGutter, type Current } from './draw_gutter';
import { drawLines, wantNearLines } from './draw_lines';
import { drawChosenSlice, drawHits, drawSelection, selectionLabel } from './draw_marks';
import { drawSliceNames, drawSlices, wantNearSlices } from './draw_slices';
import { element } from '../dom';
import type { Finder } from '../finder';
import { Frames } from './frames';
import { Layout } from './layout';
import type { Model } from '../model';
import type { Painter } from './painter';
import { readPalette, type Palette } from '../palette';
import { CanvasPen } from './pen';
import type { Collectives } from '../protocol';
import { RectangleLayer } from './rectangle_layer';
import { kAxisHeight, kGutter, plotHeight, timeAt, type DrawnScene, type Scene } from './scene';
import type { Selection } from '../state';
import { TileStore } from './tile_store';
import { Windowed } from '../panels/windowed';
import { clamped, moved, zoomed, type TimeWindow } from '../window';

const kAnimationMs = 190;
const kHighestRank = 40;

interface Animation { from: TimeWindow; fromScroll: number; begin: number }

/** The position of the pointer, for the hairline and for zooming at it. */
export interface Pointer { x: number; y: number; isInPlot: boolean }

export class Timeline {
  readonly root: HTMLElement;
  readonly layer = new RectangleLayer(() => this.usePainter());
  readonly above = element('canvas', {
    class: 'above', tabindex: '0', role: 'application',
    'aria-label': 'Timeline of ranks. W and S zoom, A and D move, arrow keys choose a rank, Enter opens it, question mark lists all keys.',
  });
  readonly store: TileStore;
  readonly frames: Frames;
  readonly collectives: Windowed<Collectives>[];
  readonly launches = new Map<string, Windowed<Launches>>();
  pointer: Pointer | undefined;
  current: Current | undefined;
  /** A selection that is being dragged. */
  draft: Selection | null = null;
  /** Sign of keys that are held: zoom and move. */
  readonly held = { zoom: 0, move: 0 };
  rectangles = 0;
  scene: Scene | undefined;
  afterFrame: () => void = () => {};
  private readonly pen: CanvasPen;
  private palette: Palette | undefined;
  private animation: Animation | undefined;
  private shown: TimeWindow | undefined;
  private shownScroll = 0;
  private lastFrame = 0;
  private size = { width: 0, height: 0, ratio: 1 };

  constructor(readonly model: Model, readonly finder: Finder, readonly chosen: Chosen) {
    this.root = element('div', { class: 'timeline' }, this.layer.canvas, this.above);
    const context = this.above.getContext('2d');
    if (!context) throw new Error('This browser has no canvas.');
    this.pen = new CanvasPen(context);
    this.frames = new Frames((now) => this.draw(now));
    const changed = (): void => this.frames.invalidate();
    this.store = new TileStore(changed, (error) => model.fail(error), (tile) => this.painter.release(tile));
    this.collectives = [0, 1].map((run) => new Windowed<Collectives>((window, signal) =>
      ask('collectives', { run, ...this.inside(run, window), most: 400 }, signal), changed, (error) => model.fail(error)));
    new ResizeObserver(() => this.resize()).observe(this.root);
  }

  get painter(): Painter { return this.layer.painter; }

  // At once: the canvas that took the place of another is empty until it is drawn.
  private usePainter(): void {
    this.draw(performance.now());
    this.model.touch();
  }

  get isMoving(): boolean { return this.animation !== undefined; }

  /** Takes the size that the page gives it. */
  resize(): void {
    const box = this.root.getBoundingClientRect();
    const ratio = globalThis.devicePixelRatio || 1;
    this.size = { width: box.width, height: box.height, ratio };
    const [width, height] = [box.width, box.height].map((length) => Math.max(1, Math.round(length * ratio)));
    this.layer.resize(width, height);
    [this.above.width, this.above.height] = [width, height];
    // At once: a canvas that was resized is empty until it is drawn.
    if (this.model.session && box.width > 0) this.draw(performance.now());
  }

  /** Colours are read again after the theme changed. */
  forgetColours(): void {
    this.palette = undefined;
    this.frames.invalidate();
  }

  /** Pixels a rank. */
  rankHeight(): number {
    const { model } = this;
    if (model.state.rankHeight > 0) return model.state.rankHeight;
    return Math.min(model.numRuns > 1 ? 20 : 26, this.fitHeight());
  }

  /** Pixels a rank so that all are on the screen. */
  fitHeight(): number {
    const { model } = this;
    const most = Math.max(1, ...model.session.runs.map((_, run) => model.numRanks(run)));
    const height = Math.max(50, this.size.height - kAxisHeight - 8);
    return Math.min(kHighestRank, height / most / (model.numRuns > 1 ? 2.5 : 1));
  }

  private layout(): Layout {
    const { model } = this;
    return new Layout({
      runs: model.session.runs.map((_, run) => ({ numRanks: model.numRanks(run) })),
      rankHeight: this.rankHeight(),
      open: model.state.open.map(({ run, rank }) => ({ run, rank, place: model.order(run).places[rank] ?? 0,
        tracks: (model.tracks(run, rank) ?? []).map(({ track, depth }) => ({ track, depth })) })),
    });
  }

  private makeScene(): Scene {
    const { width, height, ratio } = this.size;
    this.palette ??= readPalette(document.documentElement);
    const plot = { left: kGutter, top: kAxisHeight, right: Math.max(kGutter + 1, width), bottom: height };
    return { model: this.model, store: this.store, canvas: { width, height, ratio }, plot, window: this.shown ?? this.model.window(),
      layout: this.layout(), scroll: this.shownScroll, palette: this.palette };
  }

  private draw(now: number): boolean {
    if (!this.model.session || this.size.width < kGutter + 20) return false;
    const again = this.advance(now);
    const scene = this.scene = this.makeScene();
    const most = Math.max(0, scene.layout.height - plotHeight(scene) + 8);
    if (scene.scroll > most) {
      scene.scroll = this.shownScroll = most;
      if (this.model.state.scroll > most) this.model.set({ scroll: most });
    }
    const drawn: DrawnScene = { ...scene, painter: this.painter, pen: this.pen };
    this.pen.begin(scene.canvas.width, scene.canvas.height, scene.canvas.ratio);
    this.rectangles = this.paint(drawn);
    wantNearSlices(scene);
    wantNearLines(scene);
    this.store.flush();
    // The first picture is complete: time for what draws the next ones faster.
    if (this.store.isSettled) this.layer.start((painter) => void this.paintRectangles({ ...this.makeScene(), painter, pen: this.pen }));
    this.afterFrame();
    return again;
  }

  /** Draws a scene with any painter and pen: also for pictures. */
  paint(scene: DrawnScene): number {
    const { pen, plot } = scene;
    const rectangles = this.paintRectangles(scene);
    pen.clip(plot.left, plot.top, plot.right - plot.left, Math.max(0, plot.bottom - plot.top), () => this.paintPlot(scene));
    drawGutter(scene, this.current);
    drawDifference(scene);
    const time = this.pointer?.isInPlot ? timeAt(scene, this.pointer.x) : undefined;
    const selection = this.draft ?? this.model.state.selection;
    const label = selection ? selectionLabel(scene, selection) : undefined;
    drawAxis(scene, pen === this.pen ? time : undefined, label ? [label] : []);
    this.paintMarks(scene);
    return rectangles;
  }

  private paintRectangles(scene: DrawnScene): number {
    scene.painter.begin(scene.canvas, scene.plot, scene.palette, this.model.state.overlays.includes('waits'));
    drawLines(scene);
    drawSlices(scene);
    return scene.painter.end();
  }

  private paintPlot(scene: DrawnScene): void {
    drawGrid(scene);
    drawStepLines(scene);
    drawSliceNames(scene);
    this.paintOverlays(scene);
  }

  private paintOverlays(scene: DrawnScene): void {
    const { overlays } = this.model.state;
    for (let run = 0; run < this.model.numRuns; ++run) {
      if (overlays.includes('collectives')) this.paintCollectives(scene, run);
      const path = overlays.includes('critical') ? this.model.critical(run) : undefined;
      if (path) drawCritical(scene, run, path);
    }
    drawArrowsOf(this, scene);
    const { ref, details } = this.chosen;
    if (ref && details) drawChosenSlice(scene, ref, details);
  }

  private paintCollectives(scene: DrawnScene, run: number): void {
    const shift = this.model.shift(run);
    const asked = this.collectives[run];
    asked.show(moved(scene.window, -shift), `${this.model.state.order}.${this.model.numRuns}`);
    for (const instance of asked.value?.instances ?? []) drawCollective(scene, run, instance, this.chosen.details?.collective === instance.id);
  }

  private paintMarks(scene: DrawnScene): void {
    const { plot, pen } = scene;
    pen.clip(plot.left, 0, plot.right - plot.left, plot.bottom, () => {
      const selection = this.draft ?? this.model.state.selection;
      if (selection) drawSelection(scene, selection);
      if (this.finder.isActive) drawHits(scene, this.finder.run, this.finder.hits, this.finder.at);
    });
  }

  /** The part of a window that the run has. */
  private inside(run: number, window: TimeWindow): TimeWindow {
    const length = Math.max(1, this.model.runInfo(run).length_ns);
    const begin = Math.min(window.begin, length - 1);
    return { begin, end: Math.max(begin + 1, Math.min(window.end, length)) };
  }

  /** Launches of an opened rank, asked for as the window moves. */
  launchesOf(run: number, rank: number): Windowed<Launches> {
    const key = `${run}.${rank}`;
    let known = this.launches.get(key);
    if (!known) {
      known = new Windowed<Launches>(async (window, signal) => decodeLaunches(await getBytes(
        addressOf('launches', { run, rank, ...this.inside(run, window), most: 300 }), signal)), () => this.frames.invalidate(), (error) => this.model.fail(error));
      this.launches.set(key, known);
    }
    return known;
  }

  /** Moves what is shown towards the state. Returns whether it is still moving. */
  private advance(now: number): boolean {
    const elapsed = Math.min(50, now - this.lastFrame);
    this.lastFrame = now;
    const isHeld = this.held.zoom !== 0 || this.held.move !== 0;
    if (isHeld) this.moveByKeys(elapsed);
    const target = this.model.window();
    const scroll = this.model.state.scroll;
    const { animation } = this;
    const part = animation ? Math.min(1, (now - animation.begin) / kAnimationMs) : 1;
    if (!animation || part >= 1) {
      this.animation = undefined;
      this.shown = target;
      this.shownScroll = scroll;
      return isHeld;
    }
    const eased = 1 - (1 - Math.max(0, part)) ** 3;
    this.shown = between(animation.from, target, eased);
    this.shownScroll = animation.fromScroll + (scroll - animation.fromScroll) * eased;
    return true;
  }

  private moveByKeys(elapsedMs: number): void {
    const window = this.model.window();
    const at = this.scene && this.pointer?.isInPlot ? timeAt(this.scene, this.pointer.x) : (window.begin + window.end) / 2;
    const factor = Math.exp(-this.held.zoom * elapsedMs * 0.004);
    const wide = zoomed(window, factor, at);
    this.show(moved(wide, this.held.move * (wide.end - wide.begin) * elapsedMs * 0.0012), false);
  }

  /** Shows a window of the axis. */
  show(window: TimeWindow, animated: boolean, scroll = this.model.state.scroll): void {
    const whole = this.model.whole();
    const { begin, end } = clamped(window, whole.begin, whole.end);
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.animation = animated && !isCalm && this.shown
      ? { from: this.shown, fromScroll: this.shownScroll, begin: performance.now() } : undefined;
    this.model.set({ begin, end, scroll: Math.max(0, scroll) });
    this.frames.invalidate();
  }

  showAll(): void {
    const whole = this.model.whole();
    const margin = (whole.end - whole.begin) * 0.01;
    this.show({ begin: whole.begin - margin, end: whole.end + margin }, true);
    this.model.set({ begin: 0, end: 0, rankHeight: 0 });
  }

  zoomAt(factor: number, x?: number): void {
    const window = this.model.window();
    const at = this.scene && x !== undefined ? timeAt(this.scene, x) : (window.begin + window.end) / 2;
    this.show(zoomed(window, factor, at), x === undefined);
  }

  scrollBy(pixels: number): void {
    if (!this.scene) return;
    const most = Math.max(0, this.scene.layout.height - plotHeight(this.scene) + 8);
    this.animation = undefined;
    this.model.set({ scroll: Math.max(0, Math.min(most, this.model.state.scroll + pixels)) });
  }

  /** Higher or lower lines; the rank at `y` of the canvas stays there. Returns false where lines are as high as they can be. */
  zoomRanks(factor: number, y = kAxisHeight): boolean {
    if (!this.scene) return false;
    const before = this.rankHeight();
    // As many digits as the address has: a reload shows the same.
    const height = Math.round(1e4 * Math.min(kHighestRank, Math.max(Math.min(this.fitHeight(), before), before * factor))) / 1e4;
    const { layout } = this.scene;
    const content = y - kAxisHeight + this.model.state.scroll;
    const line = layout.lineAt(content);
    const place = line ? (line.line + (content - layout.top(0, line.line)) / layout.linePitch) * layout.fold : 0;
    if (Math.abs(height - before) < 1e-4) return false;
    this.animation = undefined;
    this.model.set({ rankHeight: height });
    const after = this.layout();
    const top = after.top(0, Math.floor(place / after.fold)) + (place / after.fold % 1) * after.linePitch;
    this.model.set({ scroll: Math.max(0, top - (y - kAxisHeight)) });
    return true;
  }

  /** Scroll at which a rank is on the screen, with room for its tracks. */
  scrollTo(run: number, rank: number, track?: number): number {
    if (!this.scene) return this.model.state.scroll;
    const layout = this.layout();
    const { scroll } = this.model.state;
    const height = plotHeight(this.scene);
    const place = this.model.order(run).places[rank] ?? 0;
    const lineTop = layout.top(run, Math.floor(place / layout.fold));
    const block = layout.blocks.find((one) => one.run === run && one.rank === rank);
    const laid = block?.tracks.find((one) => one.track === track);
    const top = block && laid ? block.top + laid.top : lineTop;
    const bottom = top + (laid ? laid.height : layout.lineHeight);
    if (top >= scroll + 20 && bottom <= scroll + height - 30) return scroll;
    // The rank's line too, where both fit.
    const wanted = bottom - lineTop < height - 60 ? lineTop - 30 : top - height / 3;
    return Math.max(0, Math.min(wanted, layout.height - height));
  }
}

/** Zooms evenly: the width goes by equal factors, the begin along with it. */
function between(from: TimeWindow, to: TimeWindow, part: number): TimeWindow {
  const before = from.end - from.begin;
  const after = to.end - to.begin;
  const width = before * (after / before) ** part;
  const share = Math.abs(after - before) > 1e-6 * before ? (width - before) / (after - before) : part;
  const begin = from.begin + (to.begin - from.begin) * share;
  return { begin, end: begin + width };
}
