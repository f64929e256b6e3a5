// Binary answers of the server, little-endian. A short or impossible answer is an Error of one sentence.
import { kBins } from './timeline/tiles';

export interface ActivityTile {
  lines: number;
  /** Place of a line's first run; one more than lines. */
  firstRun: Uint32Array;
  beginBin: Uint16Array;
  endBin: Uint16Array;
  lineOfRun: Uint16Array;
  classOfRun: Uint8Array;
  share: Uint8Array;
  bytes: number;
}

export interface SlicesTile {
  count: number;
  /** In 256ths of a bin from the tile's begin. */
  begin: Uint32Array;
  end: Uint32Array;
  row: Uint32Array;
  merged: Uint32Array;
  name: Uint16Array;
  depth: Uint8Array;
  classOf: Uint8Array;
  names: string[];
  bytes: number;
}

export interface Launches {
  count: number;
  from: Float64Array;
  to: Float64Array;
  fromTrack: Uint32Array;
  toTrack: Uint32Array;
  toRow: Uint32Array;
}

export const kOutside = 255;
export const kNoName = 0xffff;

class Reader {
  private at = 0;
  constructor(private readonly buffer: ArrayBuffer, private readonly what: string) {}

  private take(size: number): number {
    const from = this.at;
    if (size > this.buffer.byteLength - from) throw new Error(`The answer about ${this.what} is too short.`);
    this.at += size;
    return from;
  }
  number(): number {
    return new DataView(this.buffer).getUint32(this.take(4), true);
  }
  // Copies: the columns are not aligned to their sizes.
  private copy(count: number, size: number): ArrayBuffer {
    const from = this.take(count * size);
    return this.buffer.slice(from, from + count * size);
  }
  u8(count: number): Uint8Array { return new Uint8Array(this.copy(count, 1)); }
  u16(count: number): Uint16Array { return new Uint16Array(this.copy(count, 2)); }
  u32(count: number): Uint32Array { return new Uint32Array(this.copy(count, 4)); }
  f64(count: number): Float64Array { return new Float64Array(this.copy(count, 8)); }
}

export function decodeActivity(buffer: ArrayBuffer): ActivityTile {
  const reader = new Reader(buffer, 'activity');
  const lines = reader.number();
  const runs = reader.number();
  const firstRun = reader.u32(lines + 1);
  const beginBin = reader.u16(runs);
  const classOfRun = reader.u8(runs);
  const share = reader.u8(runs);
  const endBin = new Uint16Array(runs);
  const lineOfRun = new Uint16Array(runs);
  for (let line = 0; line < lines; ++line) {
    const last = firstRun[line + 1];
    if (last < firstRun[line] || last > runs) throw new Error('The answer about activity has lines out of order.');
    for (let run = firstRun[line]; run < last; ++run) {
      endBin[run] = run + 1 < last ? beginBin[run + 1] : kBins;
      lineOfRun[run] = line;
    }
  }
  return { lines, firstRun, beginBin, endBin, lineOfRun, classOfRun, share, bytes: buffer.byteLength + runs * 4 };
}

export function decodeSlices(buffer: ArrayBuffer): SlicesTile {
  const reader = new Reader(buffer, 'slices');
  const count = reader.number();
  const numNames = reader.number();
  const nameBytes = reader.number();
  const begin = reader.u32(count);
  const end = reader.u32(count);
  const row = reader.u32(count);
  const merged = reader.u32(count);
  const name = reader.u16(count);
  const depth = reader.u8(count);
  const classOf = reader.u8(count);
  const nameEnd = reader.u32(numNames);
  const text = reader.u8(nameBytes);
  const decoder = new TextDecoder();
  const names: string[] = [];
  for (let i = 0, from = 0; i < numNames; from = nameEnd[i], ++i) {
    if (nameEnd[i] < from || nameEnd[i] > nameBytes) throw new Error('The answer about slices has names out of order.');
    names.push(decoder.decode(text.subarray(from, nameEnd[i])));
  }
  return { count, begin, end, row, merged, name, depth, classOf, names, bytes: buffer.byteLength * 2 };
}

export function decodeLaunches(buffer: ArrayBuffer): Launches {
  const reader = new Reader(buffer, 'launches');
  const count = reader.number();
  return {
    count, from: reader.f64(count), to: reader.f64(count), fromTrack: reader.u32(count), toTrack: reader.u32(count),
    toRow: reader.u32(count),
  };
}
