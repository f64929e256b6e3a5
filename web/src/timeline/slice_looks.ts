import { kNoName, type SlicesTile } from '../decode';
import { hashOf, kNumClasses, kNumHostColours, lookOf } from '../palette';

const kLooks = new WeakMap<SlicesTile, { colour: Uint8Array; tint: Uint8Array }>();

/** Colours of a tile's slices: computed once, from names where they are known. */
export function looksOf(tile: SlicesTile): { colour: Uint8Array; tint: Uint8Array } {
  const known = kLooks.get(tile);
  if (known) return known;
  const colour = new Uint8Array(tile.count);
  const tint = new Uint8Array(tile.count);
  const cache = new Map<number, { colour: number; tint: number }>();
  for (let i = 0; i < tile.count; ++i) {
    if (tile.name[i] === kNoName) {
      const hash = hashOf(String(tile.row[i]));
      colour[i] = tile.classOf[i] < kNumClasses ? tile.classOf[i] : kNumClasses + (hash % kNumHostColours);
      tint[i] = 128;
      continue;
    }
    const key = tile.name[i] * 256 + tile.classOf[i];
    let look = cache.get(key);
    if (!look) cache.set(key, look = lookOf(tile.classOf[i], tile.names[tile.name[i]] ?? ''));
    colour[i] = look.colour;
    tint[i] = look.tint;
  }
  const looks = { colour, tint };
  kLooks.set(tile, looks);
  return looks;
}
