import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeActivity, decodeLaunches, decodeSlices, kNoName } from '../dist/parts.mjs';

/** Bytes of [width, values] columns, little-endian; width 8 is a double. */
function bytes(...columns) {
  const size = columns.reduce((sum, [width, values]) => sum + width * values.length, 0);
  const view = new DataView(new ArrayBuffer(size));
  let at = 0;
  for (const [width, values] of columns) {
    for (const value of values) {
      if (width === 1) view.setUint8(at, value);
      else if (width === 2) view.setUint16(at, value, true);
      else if (width === 4) view.setUint32(at, value, true);
      else view.setFloat64(at, value, true);
      at += width;
    }
  }
  return view.buffer;
}

test('runs of a line last until the next one, the last until bin 512', () => {
  // Three runs: two of the first line, one of the third; the second has none. After 3 shares nothing is aligned.
  const tile = decodeActivity(bytes([4, [3, 3]], [4, [0, 2, 2, 3]], [2, [0, 100, 7]], [1, [1, 5, 255]], [1, [255, 128, 0]]));
  assert.equal(tile.lines, 3);
  assert.deepEqual([...tile.endBin], [100, 512, 512]);
  assert.deepEqual([...tile.lineOfRun], [0, 0, 2]);
  assert.deepEqual([...tile.classOfRun], [1, 5, 255]);
  assert.deepEqual([...tile.share], [255, 128, 0]);
});

test('slices have their names by place, of UTF-8', () => {
  const text = [...new TextEncoder().encode('gemmµs')];
  const tile = decodeSlices(bytes([4, [3, 2, text.length]], [4, [0, 256, 5]], [4, [256, 131072, 6]], [4, [9, 4294967295, 1]], [4, [1, 70, 1]], [2, [1, 0, kNoName]],
    [1, [0, 2, 1]], [1, [1, 255, 9]], [4, [4, text.length]], [1, text]));
  assert.deepEqual(tile.names, ['gemm', 'µs']);
  assert.deepEqual([...tile.name], [1, 0, kNoName]);
  assert.deepEqual([...tile.row], [9, 4294967295, 1]);
  assert.deepEqual([...tile.depth], [0, 2, 1]);
  assert.deepEqual([...tile.classOf], [1, 255, 9]);
});

test('an empty tile is no error', () => {
  assert.equal(decodeSlices(bytes([4, [0, 0, 0]])).count, 0);
  assert.equal(decodeActivity(bytes([4, [0, 0]], [4, [0]])).lines, 0);
  assert.equal(decodeLaunches(bytes([4, [0]])).count, 0);
});

test('doubles of launches need no alignment', () => {
  const launches = decodeLaunches(bytes([4, [1]], [8, [1.5e12]], [8, [1.5e12 + 1]], [4, [2]], [4, [3]], [4, [77]]));
  assert.equal(launches.to[0] - launches.from[0], 1);
  assert.equal(launches.toRow[0], 77);
});

test('short and impossible answers are one sentence', () => {
  assert.throws(() => decodeActivity(bytes([4, [1]])), /too short/);
  assert.throws(() => decodeActivity(bytes([4, [4294967295, 4294967295]])), /too short/);
  assert.throws(() => decodeActivity(bytes([4, [1, 0]], [4, [0, 9]])), /out of order/);
  assert.throws(() => decodeSlices(bytes([4, [0, 1, 2]], [4, [9]], [1, [65, 66]])), /out of order/);
  assert.throws(() => decodeLaunches(bytes([4, [5]])), /too short/);
});
