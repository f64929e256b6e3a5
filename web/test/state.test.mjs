import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeState, emptyState, encodeState } from '../dist/parts.mjs';

test('a new page has an empty address', () => {
  assert.equal(encodeState(emptyState()), '');
  assert.deepEqual(decodeState(''), emptyState());
  assert.deepEqual(decodeState('#'), emptyState());
});

test('every part of the state survives the address', () => {
  const state = {
    tab: 'kernels', run: 1, beside: 2, begin: 1234567890123.5, end: 1234567890223.25, scroll: 4000, rankHeight: 0.125, order: 'late',
    open: [{ run: 0, rank: 5 }, { run: 1, rank: 9999 }], selection: { begin: 10, end: 20, first: 64, count: 128 }, slice: { run: 1, rank: 2, track: 3, row: 4 },
    search: '/a&b=c,d#%(x|y)/', overlays: ['collectives', 'waits'], theme: 'dark', panel: 'what-if', align: -3, at: 1500.5,
    sliders: [{ subject: 'kernel', name: 'a:b,c=d&e', speedup: 2.5 }, { subject: 'compute', name: '', speedup: 0.5 }],
  };
  assert.deepEqual(decodeState(`#${encodeState(state)}`), state);
});

test('what cannot be read is left as in a new page', () => {
  for (const hash of ['#t=5,1', '#t=a,b', '#t=1', '#order=size', '#open=x.y,-1.2,1', '#slice=1,2,3', '#slice=1,2,3,-4', '#range=1,2,3', '#theme=red', '#panel=x', '#h=-5', '#y=-1',
    '#__proto__=1', '#constructor=1', '#if=a:b:0', '#if=a:b:x', '#align=x', '#%', '#q', '#=5', '#on=other', '#run=7', '#beside=0', '#beside=x']) {
    assert.deepEqual(decodeState(hash), emptyState(), hash);
  }
});

test('a broken escape is text', () => {
  assert.equal(decodeState('#q=%E0%A4%A').search, '%E0%A4%A');
});

test('nanoseconds of a long run stay exact', () => {
  const state = { ...emptyState(), begin: 9007199254.125, end: 9007199255.875 };
  const back = decodeState(encodeState(state));
  assert.equal(back.begin, 9007199254.125);
  assert.equal(back.end, 9007199255.875);
});
