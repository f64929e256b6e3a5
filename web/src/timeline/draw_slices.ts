// Slices of opened ranks: rectangles by tiles, names on those that are wide enough.
import { cover, type Cover } from '../cover';
import { kNoName, type SlicesTile } from '../decode';
import { ownWindow } from './draw_lines';
import { kSliceHeight, type Block, type LaidTrack } from './layout';
import { textColourOn, tinted } from '../palette';
import type { Pen } from './pen';
import { nsPerPixel, plotHeight, xOf, yOf, type DrawnScene, type Scene } from './scene';
import { looksOf } from './slice_looks';
import { kUnitsOfTile, levelFor, slicesAddress, tileLength, tileRange, topLevel } from './tiles';

const kNarrowestText = 28;

export function visibleBlocks(scene: Scene): Block[] {
  const to = scene.scroll + plotHeight(scene);
  return scene.layout.blocks.filter((block) => block.top < to && block.top + block.height > scene.scroll);
}

function visibleTracks(scene: Scene, block: Block): LaidTrack[] {
  const from = scene.scroll - block.top;
  return block.tracks.filter((track) => track.top < from + plotHeight(scene) && track.top + track.height > from);
}

interface Placed { level: number; range: [number, number]; lengthNs: number; shift: number }

function placed(scene: Scene, run: number): Placed | undefined {
  const lengthNs = scene.model.runInfo(run).length_ns;
  const level = levelFor(nsPerPixel(scene), lengthNs);
  const range = tileRange(...ownWindow(scene, run), level, lengthNs);
  return range && { level, range, lengthNs, shift: scene.model.shift(run) };
}

function covers(scene: Scene, block: Block, track: number, at: Placed, ask: boolean): Cover<SlicesTile>[] {
  const parts: Cover<SlicesTile>[] = [];
  for (let index = at.range[0]; index <= at.range[1]; ++index) {
    if (ask) scene.store.want(slicesAddress(block.run, block.rank, track, at.level, index));
    parts.push(...cover(at.level, index, topLevel(at.lengthNs),
                        (level, i) => scene.store.slices(slicesAddress(block.run, block.rank, track, level, i))));
  }
  return parts;
}

export function drawSlices(scene: DrawnScene): void {
  for (const block of visibleBlocks(scene)) {
    const at = placed(scene, block.run);
    if (!at) continue;
    for (const laid of visibleTracks(scene, block)) {
      for (const part of covers(scene, block, laid.track, at, true)) {
        const length = tileLength(part.level);
        scene.painter.slices({
          tile: part.tile, x: xOf(scene, part.index * length + at.shift), unitWidth: length / kUnitsOfTile / nsPerPixel(scene),
          clip: [Math.max(scene.plot.left - 2, xOf(scene, part.begin + at.shift)), Math.min(scene.plot.right + 2, xOf(scene, part.end + at.shift))],
          top: yOf(scene, block.top + laid.top), pitch: kSliceHeight, height: kSliceHeight - 1,
        });
      }
    }
  }
}

export function wantNearSlices(scene: Scene): void {
  for (const block of visibleBlocks(scene)) {
    const at = placed(scene, block.run);
    if (!at) continue;
    const last = Math.ceil(at.lengthNs / tileLength(at.level)) - 1;
    for (const laid of visibleTracks(scene, block)) {
      for (const index of [at.range[0] - 1, at.range[1] + 1]) {
        if (index >= 0 && index <= last) scene.store.want(slicesAddress(block.run, block.rank, laid.track, at.level, index));
      }
    }
  }
}

const kWidths = new Map<string, number>();

/** The text, cut so that it is at most `width` pixels wide; empty where nothing fits. */
export function fitted(pen: Pen, text: string, width: number): string {
  const shown = text.length > 160 ? text.slice(0, 160) : text;
  let whole = kWidths.get(shown);
  if (whole === undefined) {
    if (kWidths.size > 20000) kWidths.clear();
    kWidths.set(shown, whole = pen.textWidth(shown));
  }
  if (whole <= width) return shown;
  const letters = Math.floor(shown.length * (width - 9) / whole);
  return letters < 2 ? '' : shown.slice(0, letters) + '…';
}

interface Label { row: number; name: string; from: number; to: number; colour: number; tint: number }

export function drawSliceNames(scene: DrawnScene): void {
  for (const block of visibleBlocks(scene)) {
    const at = placed(scene, block.run);
    if (!at) continue;
    for (const laid of visibleTracks(scene, block)) drawTrackNames(scene, block, laid, at);
  }
}

// A slice goes on in the next tile: its name is written once, over all of its parts.
function drawTrackNames(scene: DrawnScene, block: Block, laid: LaidTrack, at: Placed): void {
  const pending = new Map<number, Label>();
  for (const part of covers(scene, block, laid.track, at, false)) {
    const { tile } = part;
    const looks = looksOf(tile);
    const length = tileLength(part.level);
    const origin = xOf(scene, part.index * length + at.shift);
    const unit = length / kUnitsOfTile / nsPerPixel(scene);
    const low = Math.max(scene.plot.left, xOf(scene, part.begin + at.shift));
    const high = Math.min(scene.plot.right, xOf(scene, part.end + at.shift));
    for (let i = 0; i < tile.count; ++i) {
      if (tile.name[i] === kNoName) continue;
      const from = Math.max(low, origin + tile.begin[i] * unit);
      const to = Math.min(high, origin + tile.end[i] * unit);
      if (to <= from) continue;
      const depth = tile.depth[i];
      const before = pending.get(depth);
      if (before && before.row === tile.row[i] && from - before.to < 1.5) {
        before.to = to;
        continue;
      }
      if (before) drawName(scene, block, laid, depth, before);
      const touches = tile.begin[i] === 0 || tile.end[i] >= kUnitsOfTile;
      if (to - from < kNarrowestText && !touches) pending.delete(depth);
      else pending.set(depth, { row: tile.row[i], name: tile.names[tile.name[i]] ?? '', from, to, colour: looks.colour[i], tint: looks.tint[i] });
    }
  }
  for (const [depth, label] of pending) drawName(scene, block, laid, depth, label);
}

function drawName(scene: DrawnScene, block: Block, laid: LaidTrack, depth: number, label: Label): void {
  if (label.to - label.from < kNarrowestText || depth >= laid.depth) return;
  const text = fitted(scene.pen, label.name, label.to - label.from - 9);
  if (!text) return;
  const y = yOf(scene, block.top + laid.top + depth * kSliceHeight) + (kSliceHeight - 1) / 2;
  if (y < scene.plot.top - 8 || y > scene.plot.bottom + 8) return;
  const pale = scene.model.state.overlays.includes('waits') && label.colour !== 6 && label.colour !== 7;
  scene.pen.text(label.from + 4, y, text, { colour: pale ? scene.palette.soft : textOn(scene, label) });
}

const kTextColours = new WeakMap<object, Map<number, string>>();

function textOn({ palette }: Scene, label: Label): string {
  let known = kTextColours.get(palette);
  if (!known) kTextColours.set(palette, known = new Map());
  const key = label.colour * 256 + label.tint;
  let colour = known.get(key);
  if (!colour) known.set(key, colour = textColourOn(tinted(palette.colours[label.colour], label.tint)));
  return colour;
}

/** A slice on the screen, in the axis' time. */
export interface SliceAt {
  run: number; rank: number; track: number; row: number; depth: number; merged: number; name: string; classOf: number;
  begin: number; end: number; isCut: boolean;
}

/** The slice at an instant and depth, or the nearest within `slack` pixels. */
export function sliceAt(scene: Scene, block: Block, laid: LaidTrack, depth: number, time: number, slack = 2): SliceAt | undefined {
  const at = placed(scene, block.run);
  if (!at) return undefined;
  let best: SliceAt | undefined;
  let distance = slack * nsPerPixel(scene);
  for (const part of covers(scene, block, laid.track, at, false)) {
    const { tile } = part;
    const unit = tileLength(part.level) / kUnitsOfTile;
    const origin = part.index * tileLength(part.level) + at.shift;
    for (let i = 0; i < tile.count; ++i) {
      if (tile.depth[i] !== depth) continue;
      const begin = origin + tile.begin[i] * unit;
      const end = origin + tile.end[i] * unit;
      const away = time < begin ? begin - time : time > end ? time - end : 0;
      if (away > distance || (away === distance && best)) continue;
      distance = away;
      best = { run: block.run, rank: block.rank, track: laid.track, row: tile.row[i], depth, merged: tile.merged[i],
        name: tile.names[tile.name[i]] ?? '', classOf: tile.classOf[i], begin, end,
        isCut: tile.begin[i] === 0 || tile.end[i] >= kUnitsOfTile };
    }
  }
  return best;
}

/** The depth of a slice that is known by its row, if its tile is loaded. */
export function depthOfRow(scene: Scene, block: Block, laid: LaidTrack, row: number): number | undefined {
  const at = placed(scene, block.run);
  for (const { tile } of at ? covers(scene, block, laid.track, at, false) : []) {
    const found = tile.row.indexOf(row);
    if (found >= 0) return tile.depth[found];
  }
  return undefined;
}
