// The lower canvas. A plain one draws the first pictures, so that the page does not wait for a compiler of shaders; WebGL2 is made ready behind it
// and takes over. A canvas has one kind of context for life: each painter has its own.
import { element } from '../dom';
import type { Painter } from './painter';
import { CanvasPen } from './pen';
import { PenPainter } from './pen_painter';
import { WebGlPainter } from './webgl_painter';

/** The painter, or the reason why it is not WebGL2. */
export type Backing = 'starting' | 'webgl2' | 'missing' | 'lost' | 'unwanted';

/** Making a context can hold the browser's process for graphics: the first picture goes to the screen before. */
const kStartAfterMs = 200;

const kSentences: Record<Backing, string> = {
  starting: '', webgl2: '',
  missing: 'This browser has no WebGL2: the timeline is drawn on a plain canvas, which is slower.',
  lost: 'The browser has taken WebGL2 from this page: the timeline is drawn on a plain canvas, which is slower. A reload of the page tries again.',
  unwanted: 'The address asks for a plain canvas, which is slower than WebGL2.',
};

function made(): HTMLCanvasElement { return element('canvas', { class: 'below', 'aria-hidden': 'true' }); }

function plainPainter(canvas: HTMLCanvasElement): Painter {
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser has no canvas.');
  const pen = new CanvasPen(context);
  return new PenPainter('canvas', pen, ({ width, height, ratio }) => pen.begin(width, height, ratio));
}

export class RectangleLayer {
  canvas = made();
  painter: Painter = plainPainter(this.canvas);
  backing: Backing = new URLSearchParams(location.search).get('painter') === 'canvas' ? 'unwanted' : 'starting';
  private begun = false;

  /** `changed` is told when another painter draws from now on. */
  constructor(private readonly changed: () => void) {}

  get isStarting(): boolean { return this.begun && this.backing === 'starting'; }
  /** For people; empty where there is nothing to say. */
  get sentence(): string { return kSentences[this.backing]; }

  resize(width: number, height: number): void {
    this.canvas.width = width;
    this.canvas.height = height;
  }

  /** Makes WebGL2 ready; `tryOut` draws the present picture with it, which is when drivers compile. Does nothing when it was called before. */
  start(tryOut: (painter: Painter) => void): void {
    if (this.begun || this.backing !== 'starting') return;
    this.begun = true;
    setTimeout(() => void this.makeReady(tryOut).catch(() => this.settle('missing')), kStartAfterMs);
  }

  private async makeReady(tryOut: (painter: Painter) => void): Promise<void> {
    const canvas = made();
    canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault();
      this.lose(canvas);
    });
    const painter = await WebGlPainter.make(canvas);
    if (!painter) return this.settle('missing');
    [canvas.width, canvas.height] = [this.canvas.width, this.canvas.height];
    tryOut(painter);
    await painter.finished();
    if (this.backing !== 'starting') return;
    [canvas.width, canvas.height] = [this.canvas.width, this.canvas.height];
    this.use(canvas, painter);
    this.settle('webgl2');
  }

  private lose(canvas: HTMLCanvasElement): void {
    if (canvas === this.canvas) {
      const plain = made();
      [plain.width, plain.height] = [canvas.width, canvas.height];
      this.use(plain, plainPainter(plain));
    }
    this.settle('lost');
  }

  private use(canvas: HTMLCanvasElement, painter: Painter): void {
    this.canvas.replaceWith(canvas);
    this.canvas = canvas;
    this.painter = painter;
  }

  private settle(backing: Backing): void {
    // A context that was lost while it was made has been said already.
    if (this.backing === 'lost') return;
    this.backing = backing;
    this.changed();
  }
}
