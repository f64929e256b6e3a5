// Everything that one frame is drawn from.
import type { Layout } from './layout';
import type { Model } from '../model';
import type { Canvas, Painter, Plot } from './painter';
import type { Palette } from '../palette';
import type { Pen } from './pen';
import type { TileStore } from './tile_store';
import type { TimeWindow } from '../window';

export const kGutter = 156;
export const kAxisHeight = 46;
/** Room above the first line, so that its label is not cut. */
const kRoom = 4;

export interface Scene {
  model: Model;
  store: TileStore;
  canvas: Canvas;
  plot: Plot;
  window: TimeWindow;
  layout: Layout;
  scroll: number;
  palette: Palette;
}

export interface DrawnScene extends Scene { painter: Painter; pen: Pen }

export function nsPerPixel({ window, plot }: Scene): number {
  return (window.end - window.begin) / Math.max(1, plot.right - plot.left);
}

/** Place of an instant of the axis. */
export function xOf(scene: Scene, ns: number): number {
  return scene.plot.left + (ns - scene.window.begin) / nsPerPixel(scene);
}

export function timeAt(scene: Scene, x: number): number {
  return scene.window.begin + (x - scene.plot.left) * nsPerPixel(scene);
}

/** From the top of the content to the canvas, and back. */
export function yOf(scene: Scene, content: number): number { return scene.plot.top + kRoom + content - scene.scroll; }
export function contentAt(scene: Scene, y: number): number { return y - scene.plot.top - kRoom + scene.scroll; }

export function plotHeight({ plot }: Scene): number { return Math.max(0, plot.bottom - plot.top); }

/** Middle of the line in which a rank is. */
export function yOfRank(scene: Scene, run: number, rank: number): number {
  const { layout, model } = scene;
  const place = model.order(run).places[rank] ?? 0;
  return yOf(scene, layout.top(run, Math.floor(place / layout.fold)) + layout.lineHeight / 2);
}
