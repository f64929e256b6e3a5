// The activity of ranks: tiles under the lines that are on the screen.
import { cover } from '../cover';
import type { ActivityTile } from '../decode';
import { nsPerPixel, plotHeight, xOf, yOf, type DrawnScene, type Scene } from './scene';
import { activityAddress, kBins, kLinesOfTile, levelFor, lineBlocks, tileLength, tileRange, topLevel } from './tiles';

function countOf(scene: Scene, run: number, first: number): number {
  return Math.min(kLinesOfTile, scene.layout.linesOfRun[run] - first);
}

function address(scene: Scene, run: number, level: number, tile: number, first: number): string {
  return activityAddress(run, level, tile, scene.model.state.order, first, countOf(scene, run, first), scene.layout.fold);
}

/** The window in a run's own time. */
export function ownWindow(scene: Scene, run: number): [number, number] {
  const shift = scene.model.shift(run);
  return [scene.window.begin - shift, scene.window.end - shift];
}

function visibleLines(scene: Scene): [number, number] | undefined {
  const stretches = scene.layout.stretches(scene.scroll, scene.scroll + plotHeight(scene));
  return stretches.length ? [stretches[0].first, stretches[stretches.length - 1].last] : undefined;
}

export function drawLines(scene: DrawnScene): void {
  for (let run = 0; run < scene.model.numRuns; ++run) drawRun(scene, run);
}

function drawRun(scene: DrawnScene, run: number): void {
  const { layout, painter, model, store } = scene;
  const lengthNs = model.runInfo(run).length_ns;
  const level = levelFor(nsPerPixel(scene), lengthNs);
  const range = tileRange(...ownWindow(scene, run), level, lengthNs);
  if (!range) return;
  const lineGap = layout.lineHeight >= 10 ? 1 : 0;
  for (const stretch of layout.stretches(scene.scroll, scene.scroll + plotHeight(scene))) {
    const last = Math.min(stretch.last, layout.linesOfRun[run] - 1);
    for (const first of lineBlocks(stretch.first, last)) {
      const from = Math.max(first, stretch.first);
      const to = Math.min(first + kLinesOfTile - 1, last);
      for (let index = range[0]; index <= range[1]; ++index) {
        store.want(address(scene, run, level, index, first));
        const top = yOf(scene, layout.top(run, from));
        for (const part of cover(level, index, topLevel(lengthNs), (l, i) => store.activity(address(scene, run, l, i, first)))) {
          const shift = model.shift(run);
          const length = tileLength(part.level);
          painter.lines({
            tile: part.tile, x: xOf(scene, part.index * length + shift), binWidth: length / kBins / nsPerPixel(scene),
            clip: [Math.max(scene.plot.left, xOf(scene, part.begin + shift)),
              Math.min(scene.plot.right, xOf(scene, Math.min(part.end, lengthNs) + shift))],
            first: from - first, last: Math.min(to - first, part.tile.lines - 1), top, pitch: layout.linePitch,
            height: layout.lineHeight - lineGap,
          });
        }
      }
    }
  }
}

/** Says which tiles will probably be needed next: beside, above, below, and one level coarser. */
export function wantNearLines(scene: Scene): void {
  const lines = visibleLines(scene);
  for (let run = 0; run < scene.model.numRuns && lines; ++run) {
    const lengthNs = scene.model.runInfo(run).length_ns;
    const level = levelFor(nsPerPixel(scene), lengthNs);
    const range = tileRange(...ownWindow(scene, run), level, lengthNs);
    const all = tileRange(0, lengthNs, level, lengthNs);
    if (!range || !all) continue;
    const blocks = lineBlocks(lines[0], Math.min(lines[1], scene.layout.linesOfRun[run] - 1));
    if (blocks.length === 0) continue;
    for (const first of blocks) {
      for (const index of [range[0] - 1, range[1] + 1]) {
        if (index >= all[0] && index <= all[1]) scene.store.want(address(scene, run, level, index, first));
      }
      if (level < topLevel(lengthNs)) {
        for (let index = Math.floor(range[0] / 2); index <= Math.floor(range[1] / 2); ++index) scene.store.want(address(scene, run, level + 1, index, first));
      }
    }
    for (const first of [blocks[blocks.length - 1] + kLinesOfTile, blocks[0] - kLinesOfTile]) {
      if (first < 0 || first >= scene.layout.linesOfRun[run]) continue;
      for (let index = range[0]; index <= range[1]; ++index) scene.store.want(address(scene, run, level, index, first));
    }
  }
}

export interface ActivityAt { code: number; share: number; begin: number; end: number }

/** Classes of a line's pixels, 255 where nothing is known: `out[i]` is of the i-th column of `step` pixels. */
export function sampleLine(scene: Scene, run: number, line: number, step: number, out: Uint8Array): void {
  out.fill(255);
  const lengthNs = scene.model.runInfo(run).length_ns;
  const level = levelFor(nsPerPixel(scene), lengthNs);
  const range = tileRange(...ownWindow(scene, run), level, lengthNs);
  const first = Math.floor(line / kLinesOfTile) * kLinesOfTile;
  for (let index = range?.[0] ?? 1; index <= (range?.[1] ?? 0); ++index) {
    const tile = scene.store.activity(address(scene, run, level, index, first));
    if (tile) sampleTile(scene, tile, line - first, xOf(scene, index * tileLength(level) + scene.model.shift(run)), tileLength(level), step, out);
  }
}

function sampleTile(scene: Scene, tile: ActivityTile, line: number, x: number, length: number, step: number, out: Uint8Array): void {
  if (line >= tile.lines) return;
  const bin = length / kBins / nsPerPixel(scene);
  for (let run = tile.firstRun[line]; run < tile.firstRun[line + 1]; ++run) {
    const from = Math.max(0, Math.ceil((x + tile.beginBin[run] * bin - scene.plot.left) / step - 0.5));
    const to = Math.min(out.length, Math.ceil((x + tile.endBin[run] * bin - scene.plot.left) / step - 0.5));
    if (to > from) out.fill(tile.classOfRun[run], from, to);
  }
}

/** The activity of a line at an instant of the axis. */
export function activityAt(scene: Scene, run: number, line: number, time: number): ActivityAt | undefined {
  const lengthNs = scene.model.runInfo(run).length_ns;
  const shift = scene.model.shift(run);
  const level = levelFor(nsPerPixel(scene), lengthNs);
  const own = time - shift;
  if (own < 0 || own >= lengthNs) return undefined;
  const index = Math.floor(own / tileLength(level));
  const first = Math.floor(line / kLinesOfTile) * kLinesOfTile;
  const tile = scene.store.activity(address(scene, run, level, index, first));
  if (!tile || line - first >= tile.lines) return undefined;
  const binLength = tileLength(level) / kBins;
  const bin = (own - index * tileLength(level)) / binLength;
  for (let at = tile.firstRun[line - first]; at < tile.firstRun[line - first + 1]; ++at) {
    if (bin < tile.beginBin[at] || bin >= tile.endBin[at]) continue;
    const origin = index * tileLength(level) + shift;
    return { code: tile.classOfRun[at], share: tile.share[at] / 255, begin: origin + tile.beginBin[at] * binLength,
      end: Math.min(lengthNs + shift, origin + tile.endBin[at] * binLength) };
  }
  return undefined;
}
