// Labels of lines and tracks, left of the plot.
import { fitted, visibleBlocks } from './draw_slices';
import { count, duration } from '../format';
import { kHeadHeight, kSliceHeight, type Block } from './layout';
import { kGutter, plotHeight, yOf, type DrawnScene, type Scene } from './scene';

const kLabelHeight = 12;

export interface Current { run: number; line: number }

/** The label of a line: one rank or several. */
export function lineLabel(scene: Scene, run: number, line: number): string {
  const { model, layout } = scene;
  const { rows } = model.order(run);
  const first = line * layout.fold;
  if (layout.fold === 1) return model.label(run, rows[first]);
  const last = Math.min(first + layout.fold, rows.length) - 1;
  if (first === last) return model.label(run, rows[first]);
  const { rank } = model.ranks[run];
  const [from, to] = [rank[rows[first]], rank[rows[last]]];
  return to - from === last - first ? `ranks ${from}–${to}` : `rank ${from}, ${last - first} more`;
}

function noteOf(scene: Scene, run: number, line: number): string {
  const { model, layout } = scene;
  const row = model.order(run).rows[line * layout.fold];
  const ranks = model.ranks[run];
  if (model.state.order === 'stage') return ranks.stage[row] >= 0 ? `stage ${ranks.stage[row]}` : '';
  if (model.state.order === 'node') return ranks.node[row] >= 0 ? `node ${ranks.node[row]}` : '';
  if (model.state.order === 'late') return ranks.late_ns[row] > 0 ? duration(ranks.late_ns[row]) : '';
  return '';
}

export function drawGutter(scene: DrawnScene, current: Current | undefined): void {
  const { pen, palette, plot } = scene;
  pen.fill(0, plot.top, kGutter, plot.bottom - plot.top, palette.surface);
  pen.clip(0, plot.top, scene.canvas.width, plot.bottom - plot.top, () => {
    drawGroups(scene);
    drawLineLabels(scene, current);
    for (const block of visibleBlocks(scene)) drawBlockLabels(scene, block);
  });
  pen.fill(kGutter - 1, plot.top, 1, plot.bottom - plot.top, palette.line);
}

// Bands of two shades: where the next stage or node begins.
function drawGroups(scene: DrawnScene): void {
  const { model, layout, pen, palette } = scene;
  const { order } = model.state;
  if (order !== 'stage' && order !== 'node') return;
  for (const stretch of layout.stretches(scene.scroll, scene.scroll + plotHeight(scene))) {
    for (let line = stretch.first; line <= stretch.last; ++line) {
      const row = model.order(0).rows[line * layout.fold];
      const group = model.ranks[0][order][row] ?? 0;
      pen.fill(0, yOf(scene, layout.top(0, line)), 4, layout.linePitch, palette.accent, group % 2 ? 0.25 : 0.6);
    }
  }
}

function drawLineLabels(scene: DrawnScene, current: Current | undefined): void {
  const { layout, model, pen, palette } = scene;
  const shown = layout.lineHeight >= kLabelHeight;
  let every = 1;
  while (every * layout.linePitch < kLabelHeight + 1) every *= 2;
  for (const stretch of layout.stretches(scene.scroll, scene.scroll + plotHeight(scene))) {
    for (let line = stretch.first; line <= stretch.last; ++line) {
      for (let run = 0; run < model.numRuns; ++run) {
        if (line >= layout.linesOfRun[run]) continue;
        const y = yOf(scene, layout.top(run, line));
        const isCurrent = current?.run === run && current.line === line;
        if (isCurrent) pen.fill(4, y, kGutter - 5, Math.max(3, layout.lineHeight), palette.accent, 0.22);
        // The head of an opened rank stands where the label of a low line would be.
        const isCovered = !shown && layout.blocks.some((block) => block.line === line);
        if (!isCurrent && (isCovered || (!shown && run > 0) || line % every !== 0)) continue;
        // The first label of low lines would be cut by the axis.
        const least = line === 0 && scene.scroll === 0 ? scene.plot.top + kLabelHeight / 2 + 1 : y + 2;
        drawLineLabel(scene, run, line, Math.max(y + layout.lineHeight / 2, least), isCurrent);
      }
    }
  }
}

function drawLineLabel(scene: DrawnScene, run: number, line: number, y: number, isCurrent: boolean): void {
  const { layout, model, pen, palette } = scene;
  const row = model.order(run).rows[line * layout.fold];
  const isOpen = layout.fold === 1 && model.isOpen({ run, rank: row });
  const hasMark = layout.fold === 1 && layout.lineHeight >= kLabelHeight - 1;
  if (hasMark) {
    const triangle = isOpen ? [9, y - 2, 17, y - 2, 13, y + 3] : [10.5, y - 4, 15.5, y, 10.5, y + 4];
    pen.path(triangle, { fill: palette.soft, close: true });
  }
  const note = noteOf(scene, run, line);
  const noteWidth = note ? pen.textWidth(note, 10.5) : 0;
  const name = model.numRuns > 1 && layout.lineHeight >= kLabelHeight ? `${'AB'[run]}  ${lineLabel(scene, run, line)}` : lineLabel(scene, run, line);
  pen.text(22, y, fitted(pen, name, kGutter - 34 - noteWidth), { colour: isOpen || isCurrent ? palette.ink : run ? palette.soft : palette.ink });
  if (note) pen.text(kGutter - 8, y, note, { colour: palette.soft, size: 10.5, align: 'right' });
}

function drawBlockLabels(scene: DrawnScene, block: Block): void {
  const { pen, palette, model, canvas } = scene;
  const top = yOf(scene, block.top);
  pen.fill(0, top, 4, block.height - 3, palette.accent, 0.8);
  pen.fill(kGutter, top + kHeadHeight - 2, canvas.width - kGutter, 1, palette.line);
  const run = model.numRuns > 1 ? `${'AB'[block.run]} · ` : '';
  pen.path([9, top + 8, 17, top + 8, 13, top + 13], { fill: palette.soft, close: true });
  pen.text(22, top + kHeadHeight / 2, fitted(pen, `${run}${model.label(block.run, block.rank)}`, kGutter - 30), { colour: palette.ink, bold: true });
  const tracks = model.tracks(block.run, block.rank);
  if (!tracks) {
    pen.text(kGutter + 8, top + kHeadHeight / 2, 'loading …', { colour: palette.soft });
    return;
  }
  if (tracks.length === 0) pen.text(kGutter + 8, top + kHeadHeight / 2, 'nothing was recorded of this rank', { colour: palette.soft });
  for (const laid of block.tracks) {
    const track = tracks.find((one) => one.track === laid.track);
    if (!track) continue;
    const y = top + laid.top;
    pen.fill(8, y - 4, canvas.width - 8, 1, palette.line, 0.6);
    pen.text(12, y + kSliceHeight / 2, fitted(pen, track.name, kGutter - 20), { colour: palette.ink });
    if (laid.depth > 1) pen.text(12, y + kSliceHeight * 1.5 - 1, fitted(pen, `${track.group} · ${count(track.count)}`, kGutter - 20), { colour: palette.soft, size: 10.5 });
  }
}
