// Pictures and pages to keep.
import { addressOf, lastAsked, postForPage, runOfServer } from './client';
import type { Model } from './model';
import { CanvasPen, SvgPen } from './timeline/pen';
import { PenPainter } from './timeline/pen_painter';
import { encodeState } from './state';
import type { Timeline } from './timeline/timeline';

/** A request has at most 64 KiB. */
const kMostAddresses = 500;

function offer(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 30000);
}

function fileName(model: Model, ending: string): string {
  const name = model.session.title.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 60);
  return `${name || 'orrery-view'}.${ending}`;
}

/** The page as one file, written by the server. */
export async function savePage(model: Model): Promise<void> {
  // The answers that the page needs to start, then those that it asked for last.
  const first = ['api/session', ...model.session.runs.map((_, run) => addressOf('ranks', { run: runOfServer(run) }))];
  const addresses = [...first, ...lastAsked(kMostAddresses).filter((address) => !first.includes(address))];
  const body = { state: encodeState(model.state), addresses };
  offer(await postForPage('api/export', body), fileName(model, 'html'));
}

/** Saves a picture of the screen, in its pixels. */
export async function savePng(model: Model, timeline: Timeline): Promise<void> {
  const { scene } = timeline;
  if (!scene) return;
  const canvas = document.createElement('canvas');
  canvas.width = timeline.above.width;
  canvas.height = timeline.above.height;
  const context = canvas.getContext('2d')!;
  context.fillStyle = scene.palette.surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  // WebGL keeps no picture after it was shown: it is painted again in the same task.
  const pen = new CanvasPen(timeline.above.getContext('2d')!);
  pen.begin(scene.canvas.width, scene.canvas.height, scene.canvas.ratio);
  timeline.paint({ ...scene, painter: timeline.painter, pen });
  context.drawImage(timeline.layer.canvas, 0, 0);
  context.drawImage(timeline.above, 0, 0);
  timeline.frames.invalidate();
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('the picture could not be written');
  offer(blob, fileName(model, 'png'));
}

export function svgOf(timeline: Timeline): string | undefined {
  const { scene } = timeline;
  if (!scene) return undefined;
  const measure = new CanvasPen(document.createElement('canvas').getContext('2d')!);
  const pen = new SvgPen(measure, Math.round(scene.canvas.width), Math.round(scene.canvas.height));
  timeline.paint({ ...scene, painter: new PenPainter('svg', pen), pen });
  return pen.finish(scene.palette.surface);
}

export function saveSvg(model: Model, timeline: Timeline): void {
  const text = svgOf(timeline);
  if (text) offer(new Blob([text], { type: 'image/svg+xml' }), fileName(model, 'svg'));
}
