// Two runs: between their lines, where one works while the other waits at the same moment; at the left, which waits more.
import { sampleLine } from './draw_lines';
import { kWorking } from '../palette';
import { kGutter, nsPerPixel, plotHeight, timeAt, yOf, type DrawnScene, type Scene } from './scene';

const kStep = 2;
const kUnknown = 255;

/** 0: no difference; 1: the second waits while the first works; 2: the reverse; 3: both work on something else. */
export function differenceOf(first: number, second: number): number {
  if (first === second || first === kUnknown || second === kUnknown) return 0;
  const works = [Boolean(kWorking[first]), Boolean(kWorking[second])];
  if (works[0] === works[1]) return works[0] ? 3 : 0;
  return works[0] ? 1 : 2;
}

export function drawDifference(scene: DrawnScene): void {
  const { layout, model, plot } = scene;
  if (model.numRuns < 2 || layout.strip === 0) return;
  const columns = Math.ceil((plot.right - plot.left) / kStep);
  const samples = [new Uint8Array(columns), new Uint8Array(columns)];
  const partners = partnersOf(scene, columns);
  const moved = new Uint8Array(columns);
  for (const stretch of layout.stretches(scene.scroll, scene.scroll + plotHeight(scene))) {
    for (let line = stretch.first; line <= Math.min(stretch.last, layout.linesOfRun[0] - 1, layout.linesOfRun[1] - 1); ++line) {
      samples.forEach((out, run) => sampleLine(scene, run, line, kStep, out));
      for (let i = 0; i < columns; ++i) moved[i] = samples[1][partners[i]] ?? kUnknown;
      drawStrip(scene, line, samples[0], moved);
    }
  }
}

/** For each column, the one in which the second run is at the same moment: as drawn, where the runs are laid beside each other by their begins. */
function partnersOf(scene: Scene, columns: number): Int32Array {
  const { model, plot } = scene;
  const partners = new Int32Array(columns);
  const column = kStep * nsPerPixel(scene);
  for (let i = 0; i < columns; ++i) {
    const time = timeAt(scene, plot.left + (i + 0.5) * kStep);
    const moved = model.state.align === -2 ? time : model.sameMoment(0, time) + model.shift(1);
    partners[i] = i + Math.round((moved - time) / column);
  }
  return partners;
}

function drawStrip(scene: DrawnScene, line: number, first: Uint8Array, second: Uint8Array): void {
  const { palette, pen, plot, layout } = scene;
  const y = yOf(scene, layout.top(0, line) + layout.lineHeight) - 0.5;
  const colours = ['', palette.more, palette.less, palette.other];
  const totals = [0, 0, 0, 0];
  let from = 0;
  let kind = 0;
  for (let i = 0; i <= first.length; ++i) {
    const next = i < first.length ? differenceOf(first[i], second[i]) : -1;
    if (i < first.length) ++totals[next];
    if (next === kind) continue;
    if (kind > 0) pen.fill(plot.left + from * kStep, y, (i - from) * kStep, layout.strip, colours[kind], kind === 3 ? 0.5 : 1);
    from = i;
    kind = next;
  }
  const more = (totals[1] - totals[2]) / first.length;
  const width = Math.min(30, Math.abs(more) * 90);
  if (width >= 1) pen.fill(kGutter - 3 - width, y - 0.5, width, layout.strip + 1, more > 0 ? palette.more : palette.less);
}
