import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentAt, momentsOf, otherTime } from '../dist/parts.mjs';

// Steps begin at 0 and 100, in the second run at 10 and 130; a collective at 40 is at 60 there.
const moments = momentsOf([[0, 10], [100, 130]], [[40, 60]]);

test('the same moment is as long after the step or collective before it', () => {
  assert.equal(otherTime(moments, 0, 20), 30);
  assert.equal(otherTime(moments, 0, 50), 70);
  assert.equal(otherTime(moments, 0, 100), 130);
  assert.equal(otherTime(moments, 1, 70), 50);
  assert.equal(otherTime(moments, 1, 59), 49);
});

test('before all moments the first counts, and without any there is none', () => {
  assert.deepEqual(momentAt(moments, 0, -5), [0, 10]);
  assert.equal(otherTime(moments, 1, 0), -10);
  assert.equal(otherTime([], 0, 5), undefined);
});

test('in the second run collectives may have another order', () => {
  const crossed = momentsOf([], [[10, 50], [20, 30]]);
  assert.deepEqual(momentAt(crossed, 1, 40), [20, 30]);
  assert.deepEqual(momentAt(crossed, 1, 55), [10, 50]);
});
