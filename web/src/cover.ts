// Tiles that stand in while the right one is loading.
import { ancestor, tileLength } from './timeline/tiles';

const kCoarser = 8;
const kFiner = 2;

export interface Cover<T> { tile: T; level: number; index: number; begin: number; end: number }

/** The cover of tile `index` of `level`: itself, else a coarser one, else finer ones as far as there are any. */
export function cover<T>(level: number, index: number, highest: number, look: (level: number, index: number) => T | undefined):
  Cover<T>[] {
  const length = tileLength(level);
  const begin = index * length;
  for (let up = 0; up <= kCoarser && level + up <= highest; ++up) {
    const at = ancestor(index, up);
    const tile = look(level + up, at);
    if (tile) return [{ tile, level: level + up, index: at, begin, end: begin + length }];
  }
  const parts: Cover<T>[] = [];
  for (let down = 1; down <= kFiner && level - down >= 0 && parts.length === 0; ++down) {
    for (let child = 0; child < 2 ** down; ++child) {
      const at = index * 2 ** down + child;
      const tile = look(level - down, at);
      if (tile) parts.push({ tile, level: level - down, index: at, begin: at * tileLength(level - down), end: (at + 1) * tileLength(level - down) });
    }
  }
  return parts;
}
