// The places of lines of ranks and of the tracks of opened ranks, from the top of a content that is scrolled. Lines are not objects: there may be ten
// thousand. Only opened ranks interrupt their regular places.
import { foldFor } from './tiles';

export const kSliceHeight = 17;
export const kTrackGap = 7;
export const kHeadHeight = 20;

export interface LaidTrack { track: number; top: number; height: number; depth: number }
/** The tracks of one opened rank, below its line. `top` is relative to the content. */
export interface Block { run: number; rank: number; line: number; top: number; height: number; tracks: LaidTrack[] }

export interface OpenRank { run: number; rank: number; place: number; tracks: { track: number; depth: number }[] }

export interface LayoutOptions {
  runs: { numRanks: number }[];
  rankHeight: number;
  open: OpenRank[];
}

export interface LineAt { run: number; line: number; top: number; height: number }

/**
 * Two runs are paired: line i of the first, below it line i of the second. Between them is a strip of `strip` pixels for their
 * difference, where lines are high enough.
 */
export class Layout {
  readonly fold: number;
  readonly lineHeight: number;
  readonly strip: number;
  readonly gap: number;
  readonly numLines: number;
  readonly linesOfRun: number[];
  readonly blocks: Block[] = [];
  readonly height: number;
  private readonly pitch: number;

  constructor(private readonly options: LayoutOptions) {
    this.fold = foldFor(options.rankHeight);
    this.lineHeight = options.rankHeight * this.fold;
    const paired = options.runs.length > 1;
    this.strip = paired && this.lineHeight >= 7 ? 3 : 0;
    this.gap = paired ? Math.min(8, this.lineHeight * 0.35) : 0;
    this.pitch = this.lineHeight * options.runs.length + this.strip + this.gap;
    this.linesOfRun = options.runs.map((run) => Math.ceil(run.numRanks / this.fold));
    this.numLines = Math.max(0, ...this.linesOfRun);
    const added = this.addBlocks();
    this.height = this.numLines * this.pitch + added;
  }

  private addBlocks(): number {
    const open = this.options.open.map((one) => ({ ...one, line: Math.floor(one.place / this.fold) }));
    open.sort((a, b) => a.line - b.line || a.run - b.run || a.place - b.place);
    let added = 0;
    for (const one of open) {
      const top = (one.line + 1) * this.pitch - this.gap + added;
      const tracks: LaidTrack[] = [];
      let height = kHeadHeight;
      for (const { track, depth } of one.tracks) {
        const size = Math.max(1, depth) * kSliceHeight;
        tracks.push({ track, depth, top: height, height: size });
        height += size + kTrackGap;
      }
      height += 4;
      this.blocks.push({ run: one.run, rank: one.rank, line: one.line, top, height, tracks });
      added += height;
    }
    return added;
  }

  /** Top of line `line` of a run. */
  top(run: number, line: number): number {
    let added = 0;
    for (const block of this.blocks) {
      if (block.line < line) added += block.height;
    }
    return line * this.pitch + run * (this.lineHeight + this.strip) + added;
  }

  /** Stretches of lines that follow each other without a block between them and touch [from, to). */
  stretches(from: number, to: number): { first: number; last: number; top: number }[] {
    const out: { first: number; last: number; top: number }[] = [];
    let first = 0;
    let added = 0;
    const close = (last: number): void => {
      if (last < first) return;
      const top = first * this.pitch + added;
      const begin = Math.max(first, first + Math.floor((from - top) / this.pitch));
      const end = Math.min(last, first + Math.ceil((to - top) / this.pitch) - 1);
      if (begin <= end) out.push({ first: begin, last: end, top: begin * this.pitch + added });
    };
    for (const block of this.blocks) {
      if (block.line >= first) {
        close(block.line);
        first = block.line + 1;
      }
      added += block.height;
    }
    close(this.numLines - 1);
    return out;
  }

  /** Distance of two lines of one run. */
  get linePitch(): number { return this.pitch; }

  blockAt(y: number): Block | undefined {
    return this.blocks.find((block) => y >= block.top && y < block.top + block.height);
  }

  lineAt(y: number): LineAt | undefined {
    if (this.blockAt(y)) return undefined;
    let added = 0;
    for (const block of this.blocks) {
      if (block.top < y) added += block.height;
    }
    const line = Math.floor((y - added) / this.pitch);
    if (line < 0 || line >= this.numLines) return undefined;
    const inside = y - added - line * this.pitch;
    const run = this.linesOfRun.length > 1 && inside >= this.lineHeight + this.strip / 2 ? 1 : 0;
    if (line >= this.linesOfRun[run]) return undefined;
    return { run, line, top: this.top(run, line), height: this.lineHeight };
  }

  trackAt(y: number): { block: Block; track: LaidTrack; depth: number } | undefined {
    const block = this.blockAt(y);
    const track = block?.tracks.find((one) => y >= block.top + one.top && y < block.top + one.top + one.height);
    if (!block || !track) return undefined;
    return { block, track, depth: Math.floor((y - block.top - track.top) / kSliceHeight) };
  }
}
