// The same rectangles with a pen: where there is no WebGL2, and for pictures as SVG.
import { kOutside } from '../decode';
import type { Canvas, LineBatch, Painter, Plot, SliceBatch } from './painter';
import { cssOf, kBubble, kWait, mixed, tinted, type Palette } from '../palette';
import type { Pen } from './pen';
import { looksOf } from './slice_looks';
import { kUnitsOfTile } from './tiles';

export class PenPainter implements Painter {
  private drawn = 0;
  private ratio = 1;
  private plot: Plot = { left: 0, top: 0, right: 0, bottom: 0 };
  private palette!: Palette;
  private emphasis = false;
  private readonly known = new Map<number, string>();

  constructor(readonly kind: 'canvas' | 'svg', private readonly pen: Pen, private readonly clear: (canvas: Canvas) => void = () => {}) {}

  begin(canvas: Canvas, plot: Plot, palette: Palette, emphasis: boolean): void {
    this.clear(canvas);
    if (palette !== this.palette || emphasis !== this.emphasis) this.known.clear();
    this.palette = palette;
    this.emphasis = emphasis;
    this.plot = plot;
    this.drawn = 0;
    this.ratio = canvas.ratio;
  }

  lines(batch: LineBatch): void {
    const { tile } = batch;
    for (let line = batch.first; line <= batch.last; ++line) {
      const top = batch.top + (line - batch.first) * batch.pitch;
      for (let run = tile.firstRun[line]; run < tile.firstRun[line + 1]; ++run) {
        const code = tile.classOfRun[run];
        if (code === kOutside) continue;
        const from = Math.max(batch.x + tile.beginBin[run] * batch.binWidth, batch.clip[0]);
        const to = Math.min(batch.x + tile.endBin[run] * batch.binWidth, batch.clip[1]);
        this.fill(this.snapped(from), this.snapped(to), top, batch.height, () => this.lineColour(code, tile.share[run]), code * 256 + tile.share[run]);
      }
    }
  }

  slices(batch: SliceBatch): void {
    const { tile } = batch;
    const { colour, tint } = looksOf(tile);
    for (let i = 0; i < tile.count; ++i) {
      const from = Math.max(batch.x + tile.begin[i] * batch.unitWidth, batch.clip[0]);
      let to = Math.min(batch.x + tile.end[i] * batch.unitWidth, batch.clip[1]);
      if (to - from > 4 && tile.end[i] < kUnitsOfTile) to -= 1;
      const faint = tile.merged[i] > 1 ? 1 : 0;
      const left = this.snapped(from);
      this.fill(left, to > from ? Math.max(this.snapped(to), left + 1) : left, batch.top + tile.depth[i] * batch.pitch, batch.height,
                () => this.sliceColour(colour[i], tint[i], faint), 1 << 20 | colour[i] << 10 | tint[i] << 1 | faint);
    }
  }

  end(): number { return this.drawn; }
  release(): void {}

  /** On whole pixels of the device, as WebGL2 draws: nothing moves when it takes over. A drawing has no pixels. */
  private snapped(place: number): number {
    return this.kind === 'svg' ? place : Math.round(place * this.ratio) / this.ratio;
  }

  private fill(from: number, to: number, top: number, height: number, colour: () => string, key: number): void {
    if (!(to > from) || top >= this.plot.bottom || top + height <= this.plot.top) return;
    let css = this.known.get(key);
    if (!css) this.known.set(key, css = colour());
    const y = this.snapped(Math.max(top, this.plot.top));
    this.pen.fill(from, y, to - from, Math.max(this.snapped(Math.min(top + height, this.plot.bottom)) - y, 1 / this.ratio), css);
    ++this.drawn;
  }

  private lineColour(code: number, share: number): string {
    const { colours } = this.palette;
    return cssOf(this.marked(code, code === 0 ? colours[0] : mixed(colours[0], colours[code] ?? colours[0], 0.35 + 0.65 * share / 255)));
  }

  private sliceColour(index: number, tint: number, faint: number): string {
    const colour = tinted(this.palette.colours[index], tint);
    return cssOf(this.marked(index, faint ? mixed(colour, this.palette.ground, 0.22) : colour));
  }

  private marked(code: number, colour: [number, number, number]): [number, number, number] {
    if (code === kWait) return mixed(colour, this.palette.hatch, 0.4);
    if (code === kBubble) return mixed(colour, this.palette.hatchBubble, 0.25);
    return this.emphasis ? mixed(colour, this.palette.ground, 0.78) : colour;
  }
}
