// Arrows from calls to the kernels that they launch.
import { depthOfRow } from './draw_slices';
import type { Launches } from '../decode';
import { kSliceHeight, type Block, type LaidTrack } from './layout';
import { xOf, yOf, type DrawnScene } from './scene';

function middleOf(scene: DrawnScene, block: Block, laid: LaidTrack, depth: number): number {
  return yOf(scene, block.top + laid.top + depth * kSliceHeight) + (kSliceHeight - 1) / 2;
}

function arrow(scene: DrawnScene, from: [number, number], to: [number, number], colour: string, alpha: number, width: number): void {
  const bend = Math.min(60, Math.abs(to[0] - from[0]) * 0.4 + 8);
  const points: number[] = [];
  for (let i = 0; i <= 16; ++i) {
    const t = i / 16;
    const a = (1 - t) ** 3, b = 3 * (1 - t) ** 2 * t, c = 3 * (1 - t) * t ** 2, d = t ** 3;
    points.push(a * from[0] + b * (from[0] + bend) + c * (to[0] - bend) + d * to[0], (a + b) * from[1] + (c + d) * to[1]);
  }
  scene.pen.path(points, { stroke: colour, width, alpha });
  scene.pen.path([to[0] - 6, to[1] - 3.5, to[0], to[1], to[0] - 6, to[1] + 3.5], { fill: colour, close: true, alpha });
}

/** All launches of an opened rank. Depth of a call is not known here: its arrow begins at the bottom of its track. */
export function drawLaunches(scene: DrawnScene, block: Block, launches: Launches): void {
  const { plot, model, palette } = scene;
  const shift = model.shift(block.run);
  const laidOf = new Map(block.tracks.map((laid) => [laid.track, laid]));
  for (let i = 0; i < launches.count; ++i) {
    const from = laidOf.get(launches.fromTrack[i]);
    const to = laidOf.get(launches.toTrack[i]);
    const x0 = xOf(scene, launches.from[i] + shift);
    const x1 = xOf(scene, launches.to[i] + shift);
    if (!from || !to || x1 < plot.left || x0 > plot.right) continue;
    arrow(scene, [x0, middleOf(scene, block, from, from.depth - 1)], [x1, middleOf(scene, block, to, 0)], palette.ink, 0.35, 1);
  }
}

export interface End { track: number; row: number; begin: number }

/** One arrow that was asked for by a click. */
export function drawLaunch(scene: DrawnScene, block: Block, from: End, to: End): void {
  const place = (end: End): [number, number] | undefined => {
    const laid = block.tracks.find((one) => one.track === end.track);
    return laid && [xOf(scene, end.begin), middleOf(scene, block, laid, depthOfRow(scene, block, laid, end.row) ?? 0)];
  };
  const begin = place(from);
  const end = place(to);
  if (begin && end) arrow(scene, begin, end, scene.palette.roof, 1, 2);
}
