// The critical path: a line that goes from rank to rank.
import type { Critical } from '../protocol';
import { xOf, yOfRank, type DrawnScene } from './scene';

/** Place of the first hop that ends after `time`. Hops are in order of begin. */
export function firstHop(path: Critical, time: number): number {
  let low = 0;
  let high = path.hops.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (path.hops[middle].begin_ns + path.hops[middle].duration_ns < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function drawCritical(scene: DrawnScene, run: number, path: Critical): void {
  const { pen, palette, plot, model, window } = scene;
  const shift = model.shift(run);
  const x = (ns: number): number => Math.max(plot.left - 5, Math.min(plot.right + 5, xOf(scene, ns + shift)));
  const points: number[] = [];
  let lastX = -Infinity;
  let lastRank = -1;
  for (let i = Math.max(0, firstHop(path, window.begin - shift) - 1); i < path.hops.length; ++i) {
    const hop = path.hops[i];
    if (hop.begin_ns + shift > window.end) break;
    if (hop.rank === null) continue;
    const end = x(hop.begin_ns + hop.duration_ns);
    // Hops narrower than half a pixel on the same rank add nothing.
    if (hop.rank === lastRank && end - lastX < 0.5) continue;
    const y = yOfRank(scene, run, hop.rank);
    points.push(x(hop.begin_ns), y, end, y);
    lastX = end;
    lastRank = hop.rank;
  }
  if (points.length < 4) return;
  pen.path(points, { stroke: palette.surface, width: 5, alpha: 0.85 });
  pen.path(points, { stroke: palette.path, width: 2.5 });
}
