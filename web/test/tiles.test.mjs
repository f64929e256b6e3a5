import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activityAddress, ancestor, cover, foldFor, levelFor, lineBlocks, slicesAddress, tileLength, tileRange, topLevel } from '../dist/parts.mjs';

test('a bin is at most a pixel', () => {
  assert.equal(levelFor(0.25, 1e9), 0);
  assert.equal(levelFor(1, 1e9), 0);
  assert.equal(levelFor(1023, 1e9), 9);
  assert.equal(levelFor(1024, 1e9), 10);
  // 512 · 2^21 = 1.07e9 is the first that holds 1e9 ns.
  assert.equal(topLevel(1e9), 21);
  assert.equal(levelFor(1e12, 1e9), 21);
});

test('tiles cover what is inside of the run', () => {
  // Tiles of level 1 are 1024 ns long.
  assert.equal(tileLength(1), 1024);
  assert.deepEqual(tileRange(0, 1024, 1, 1e6), [0, 0]);
  assert.deepEqual(tileRange(0, 1025, 1, 1e6), [0, 1]);
  assert.deepEqual(tileRange(-500, 100, 1, 1e6), [0, 0]);
  assert.deepEqual(tileRange(1023.5, 1024.5, 1, 1e6), [0, 1]);
  assert.deepEqual(tileRange(900, 5000, 1, 2000), [0, 1]);
  assert.equal(tileRange(2000, 5000, 1, 2000), undefined);
  assert.equal(tileRange(-10, 0, 1, 2000), undefined);
});

test('numbers of tiles above 2^31 have ancestors', () => {
  assert.equal(ancestor(2 ** 40 + 5, 2), 2 ** 38 + 1);
});

test('lines are fetched in blocks of 64', () => {
  assert.deepEqual(lineBlocks(0, 63), [0]);
  assert.deepEqual(lineBlocks(60, 130), [0, 64, 128]);
  assert.deepEqual(lineBlocks(5, 4), [0]);
  assert.deepEqual(lineBlocks(64, 63), []);
});

test('ranks are folded until a line is two pixels high', () => {
  assert.equal(foldFor(20), 1);
  assert.equal(foldFor(2), 1);
  assert.equal(foldFor(1.99), 2);
  // 500 pixels for 10,000 ranks: 0.05 · 64 = 3.2, 0.05 · 32 = 1.6.
  assert.equal(foldFor(0.05), 64);
});

test('addresses are as the protocol has them', () => {
  assert.equal(activityAddress(0, 20, 3, 'rank', 0, 64, 1), 'api/activity?run=0&level=20&tile=3&order=rank&first=0&count=64&fold=1');
  assert.equal(slicesAddress(0, 5, 2, 12, 7), 'api/slices?run=0&rank=5&track=2&level=12&tile=7');
});

test('a coarser tile stands in, else finer ones', () => {
  const have = (...keys) => (level, index) => (keys.includes(`${level}.${index}`) ? `${level}.${index}` : undefined);
  assert.deepEqual(cover(3, 5, 9, have('3.5', '4.2')).map((part) => part.tile), ['3.5']);
  const coarse = cover(3, 5, 9, have('5.1'));
  // Tile 5 of level 3 begins at 5 · 4096.
  assert.deepEqual(coarse, [{ tile: '5.1', level: 5, index: 1, begin: 20480, end: 24576 }]);
  assert.deepEqual(cover(3, 5, 9, have('2.11')).map((part) => [part.begin, part.end]), [[22528, 24576]]);
  assert.deepEqual(cover(3, 5, 4, have('5.1')), []);
});
