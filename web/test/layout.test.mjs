import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clamped, inverse, kHeadHeight, kSliceHeight, kTrackGap, Layout, roomy, rowsInOrder, zoomed } from '../dist/parts.mjs';

const kTracks = [{ track: 0, depth: 1 }, { track: 1, depth: 3 }];
// Head, one and three lines of slices with a gap each, four pixels below.
const kBlock = kHeadHeight + 4 * kSliceHeight + 2 * kTrackGap + 4;

test('lines follow each other until a rank is open', () => {
  const layout = new Layout({ runs: [{ numRanks: 10 }], rankHeight: 10, open: [{ run: 0, rank: 7, place: 2, tracks: kTracks }] });
  assert.equal(layout.top(0, 2), 20);
  assert.equal(layout.top(0, 3), 30 + kBlock);
  assert.equal(layout.height, 100 + kBlock);
  assert.equal(layout.blocks[0].top, 30);
  assert.deepEqual(layout.stretches(0, 1000), [{ first: 0, last: 2, top: 0 }, { first: 3, last: 9, top: 30 + kBlock }]);
  assert.deepEqual(layout.stretches(0, 15), [{ first: 0, last: 1, top: 0 }]);
  assert.equal(layout.lineAt(25).line, 2);
  assert.equal(layout.lineAt(35), undefined);
  assert.equal(layout.lineAt(31 + kBlock).line, 3);
  const at = layout.trackAt(30 + kHeadHeight + kSliceHeight + kTrackGap + 2 * kSliceHeight + 1);
  assert.deepEqual([at.track.track, at.depth], [1, 2]);
});

test('ten thousand ranks are a few lines', () => {
  const layout = new Layout({ runs: [{ numRanks: 10000 }], rankHeight: 0.05, open: [] });
  assert.equal(layout.fold, 64);
  assert.equal(layout.numLines, 157);
  assert.equal(layout.stretches(0, 500).length, 1);
});

test('a rank that is open in a folded line is below that line', () => {
  const layout = new Layout({ runs: [{ numRanks: 100 }], rankHeight: 1, open: [{ run: 0, rank: 5, place: 5, tracks: [] }] });
  assert.equal(layout.fold, 2);
  assert.equal(layout.blocks[0].line, 2);
});

test('two runs are paired', () => {
  const layout = new Layout({ runs: [{ numRanks: 3 }, { numRanks: 2 }], rankHeight: 10, open: [] });
  // 10 + strip 3 + 10 + gap 3.5.
  assert.equal(layout.top(1, 0), 13);
  assert.equal(layout.top(0, 1), 26.5);
  assert.deepEqual([layout.lineAt(5).run, layout.lineAt(15).run], [0, 1]);
  assert.equal(layout.lineAt(26.5 * 2 + 15), undefined);
});

test('blocks of several open ranks are in order', () => {
  const layout = new Layout({ runs: [{ numRanks: 9 }], rankHeight: 10, open: [{ run: 0, rank: 5, place: 5, tracks: [] }, { run: 0, rank: 1, place: 1, tracks: [] }] });
  assert.deepEqual(layout.blocks.map((block) => [block.rank, block.top]), [[1, 20], [5, 60 + kHeadHeight + 4]]);
});

test('ranks in order, equal ones by row', () => {
  const ranks = { rank: [0, 1, 2, 3], trace: [], stage: [1, 0, 1, 0], node: [0, 0, 0, 0], late_ns: [5, 9, 5, 0], label: [] };
  assert.deepEqual([...rowsInOrder(ranks, 'rank')], [0, 1, 2, 3]);
  assert.deepEqual([...rowsInOrder(ranks, 'stage')], [1, 3, 0, 2]);
  assert.deepEqual([...rowsInOrder(ranks, 'node')], [0, 1, 2, 3]);
  assert.deepEqual([...rowsInOrder(ranks, 'late')], [1, 0, 2, 3]);
  assert.deepEqual([...inverse(rowsInOrder(ranks, 'stage'))], [2, 0, 3, 1]);
});

test('zooming keeps the instant under the pointer', () => {
  const window = zoomed({ begin: 100, end: 200 }, 0.5, 125);
  assert.deepEqual(window, { begin: 112.5, end: 162.5 });
});

test('windows stay near the run and wide enough', () => {
  const { begin, end } = clamped({ begin: -1e9, end: 1e9 }, 0, 1000);
  assert.ok(begin <= 0 && end >= 1000 && end - begin <= 1121);
  const narrow = clamped({ begin: 500, end: 500.001 }, 0, 1000);
  assert.equal(narrow.end - narrow.begin, 20);
  const away = clamped({ begin: 5000, end: 5100 }, 0, 1000);
  assert.ok(away.begin < 1000);
});

test('a window that is asked for has room on both sides', () => {
  const { begin, end } = roomy({ begin: 1000, end: 2000 });
  assert.ok(begin <= 500 && end >= 2500);
  assert.equal(roomy({ begin: 0, end: 10 }).begin, 0);
});
