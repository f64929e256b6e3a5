// Selection, hits of a search, the slice that was clicked.
import type { AxisLabel } from './draw_axis';
import { duration } from '../format';
import { kSliceHeight, type Block } from './layout';
import type { SliceDetails, SlicePlace } from '../protocol';
import { depthOfRow } from './draw_slices';
import { kAxisHeight, xOf, yOf, yOfRank, type DrawnScene, type Scene } from './scene';
import type { Selection, SliceRef } from '../state';

/** From top to bottom of the ranks that are selected, on the canvas. */
function selectionSpan(scene: Scene, selection: Selection): [number, number] {
  const { layout, plot, model } = scene;
  const numRanks = Math.max(...model.session.runs.map((_, run) => model.numRanks(run)));
  if (selection.count === 0 || selection.count >= numRanks) return [plot.top, plot.bottom];
  const first = Math.floor(selection.first / layout.fold);
  const last = Math.floor((selection.first + selection.count - 1) / layout.fold);
  return [yOf(scene, layout.top(0, first)), yOf(scene, layout.top(model.numRuns - 1, last) + layout.lineHeight)];
}

/** The label on the axis above a selection, if there is room for it. */
export function selectionLabel(scene: DrawnScene, selection: Selection): AxisLabel | undefined {
  const { pen, plot } = scene;
  const from = Math.max(plot.left, xOf(scene, selection.begin));
  const to = Math.min(plot.right, xOf(scene, selection.end));
  const text = duration(selection.end - selection.begin);
  const width = pen.textWidth(text, 11, true) + 10;
  return to - from > width ? { from: (from + to - width) / 2, to: (from + to + width) / 2, text } : undefined;
}

export function drawSelection(scene: DrawnScene, selection: Selection): void {
  const { pen, palette, plot } = scene;
  const from = Math.max(plot.left, xOf(scene, selection.begin));
  const to = Math.min(plot.right, xOf(scene, selection.end));
  if (to <= plot.left || from >= plot.right) return;
  const [top, bottom] = selectionSpan(scene, selection).map((y) => Math.max(plot.top, Math.min(plot.bottom, y)));
  pen.fill(plot.left, plot.top, from - plot.left, plot.bottom - plot.top, palette.page, 0.55);
  pen.fill(to, plot.top, plot.right - to, plot.bottom - plot.top, palette.page, 0.55);
  pen.fill(from, plot.top, to - from, top - plot.top, palette.page, 0.55);
  pen.fill(from, bottom, to - from, plot.bottom - bottom, palette.page, 0.55);
  pen.path([from, top, to, top, to, bottom, from, bottom], { stroke: palette.accent, width: 1.5, close: true });
  pen.fill(from, kAxisHeight - 5, to - from, 5, palette.accent);
  const label = selectionLabel(scene, selection);
  if (!label) return;
  pen.fill(label.from, kAxisHeight - 23, label.to - label.from, 17, palette.accent);
  pen.text((label.from + label.to) / 2, kAxisHeight - 14.5, label.text, { colour: palette.surface, size: 11, bold: true, align: 'center' });
}

function frame(scene: DrawnScene, from: number, to: number, top: number, height: number, colour: string): void {
  const left = Math.max(scene.plot.left - 3, from);
  const right = Math.min(scene.plot.right + 3, Math.max(to, from + 2));
  if (right < left) return;
  scene.pen.path([left, top, right, top, right, top + height, left, top + height], { stroke: scene.palette.surface, width: 4, close: true });
  scene.pen.path([left, top, right, top, right, top + height, left, top + height], { stroke: colour, width: 2, close: true });
}

function blockOf(scene: Scene, run: number, rank: number): Block | undefined {
  return scene.layout.blocks.find((block) => block.run === run && block.rank === rank);
}

export function drawChosenSlice(scene: DrawnScene, slice: SliceRef, details: SliceDetails): void {
  const shift = scene.model.shift(slice.run);
  const from = xOf(scene, details.begin_ns + shift);
  const to = xOf(scene, details.begin_ns + details.duration_ns + shift);
  const block = blockOf(scene, slice.run, slice.rank);
  const laid = block?.tracks.find((one) => one.track === slice.track);
  if (block && laid) {
    const depth = depthOfRow(scene, block, laid, slice.row);
    if (depth !== undefined) frame(scene, from, to, yOf(scene, block.top + laid.top + depth * kSliceHeight), kSliceHeight - 1, scene.palette.ink);
    return;
  }
  const height = Math.max(4, scene.layout.lineHeight);
  frame(scene, from, to, yOfRank(scene, slice.run, slice.rank) - height / 2, height, scene.palette.ink);
}

/** Hits on ranks' lines, and frames in opened ranks. `chosen` is the place in the list; -1: none. */
export function drawHits(scene: DrawnScene, run: number, hits: SlicePlace[], chosen: number): void {
  const { palette, pen, plot, layout, model } = scene;
  const shift = model.shift(run);
  const drawn = new Set<number>();  // columns of lines that have a mark
  hits.forEach((hit, i) => {
    const from = xOf(scene, hit.begin_ns + shift);
    const to = Math.max(from + 1, xOf(scene, hit.begin_ns + hit.duration_ns + shift));
    if (to < plot.left || from > plot.right) return;
    const place = Math.round(from) + hit.rank * 2 ** 20;
    if (drawn.has(place) && i !== chosen && to - from <= 1) return;
    drawn.add(place);
    const y = yOfRank(scene, run, hit.rank);
    const height = Math.max(3, Math.min(layout.lineHeight, 10));
    const colour = i === chosen ? palette.roof : palette.ink;
    pen.path([from - 3, y - height / 2 - 1, from + 3, y - height / 2 - 1, from, y + height / 2], { fill: colour, stroke: palette.surface, close: true, width: 0.75 });
    pen.fill(from, kAxisHeight - 4, Math.max(1.5, to - from), 4, colour, i === chosen ? 1 : 0.55);
    const block = blockOf(scene, run, hit.rank);
    const laid = block?.tracks.find((one) => one.track === hit.track);
    if (!block || !laid || to - from < 1) return;
    const top = yOf(scene, block.top + laid.top + hit.depth * kSliceHeight);
    pen.path([from, top, to, top, to, top + kSliceHeight - 1, from, top + kSliceHeight - 1], { stroke: colour, width: i === chosen ? 2 : 1, close: true });
  });
}
