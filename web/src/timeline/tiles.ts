// The tiles that cover a window. Tile i of a level begins at i · 512 · 2^level ns after the run's begin.

export const kBins = 512;
export const kLinesOfTile = 64;
/** Slices' times are in 256ths of a bin. */
export const kUnitsOfTile = kBins * 256;
const kHighestLevel = 52;

export function tileLength(level: number): number {
  return kBins * 2 ** level;
}

/** The level of which one tile holds the whole run. */
export function topLevel(lengthNs: number): number {
  let level = 0;
  while (tileLength(level) < lengthNs && level < kHighestLevel) ++level;
  return level;
}

/** The level at which a bin is at most a pixel. */
export function levelFor(nsPerPixel: number, lengthNs: number): number {
  const level = Math.floor(Math.log2(Math.max(1, nsPerPixel)));
  return Math.min(level, topLevel(lengthNs));
}

/** First and last tile that touch [begin, end) inside the run; undefined where none does. */
export function tileRange(begin: number, end: number, level: number, lengthNs: number): [number, number] | undefined {
  const from = Math.max(0, begin);
  const to = Math.min(end, lengthNs);
  if (!(to > from)) return undefined;
  const length = tileLength(level);
  return [Math.floor(from / length), Math.max(Math.floor(from / length), Math.ceil(to / length) - 1)];
}

/** The tile of a coarser level that holds tile `tile`; tile numbers may be above 2^31. */
export function ancestor(tile: number, levels: number): number {
  return Math.floor(tile / 2 ** levels);
}

/** Places of lines' tiles: first lines that touch [first, last]. */
export function lineBlocks(first: number, last: number): number[] {
  const blocks: number[] = [];
  for (let at = Math.floor(first / kLinesOfTile) * kLinesOfTile; at <= last; at += kLinesOfTile) blocks.push(at);
  return blocks;
}

/** Ranks on a line: a power of two so that a line is at least two pixels high. */
export function foldFor(pixelsPerRank: number): number {
  let fold = 1;
  while (pixelsPerRank * fold < 2 && fold < 1 << 20) fold *= 2;
  return fold;
}

export function activityAddress(run: number, level: number, tile: number, order: string, first: number, count: number,
                                fold: number): string {
  return `api/activity?run=${run}&level=${level}&tile=${tile}&order=${order}&first=${first}&count=${count}&fold=${fold}`;
}

export function slicesAddress(run: number, rank: number, track: number, level: number, tile: number): string {
  return `api/slices?run=${run}&rank=${rank}&track=${track}&level=${level}&tile=${tile}`;
}
