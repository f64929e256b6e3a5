import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alongRows, alongX, arranged, differenceOf, escapeXml, firstHop, lookOf, Lru, parseColour, parseSearch, sentenceOf, SvgPen, textColourOn } from '../dist/parts.mjs';

test('the cache drops what was used longest ago', () => {
  const dropped = [];
  const cache = new Lru(100, (value) => dropped.push(value));
  cache.set('a', 'A', 40);
  cache.set('b', 'B', 40);
  cache.get('a');
  cache.set('c', 'C', 40);
  assert.deepEqual(dropped, ['B']);
  assert.equal(cache.bytes, 80);
  cache.set('a', 'A2', 10);
  assert.deepEqual(dropped, ['B', 'A']);
  assert.equal(cache.bytes, 50);
  cache.set('large', 'L', 500);
  assert.equal(cache.size, 1);
  cache.clear();
  assert.equal(cache.bytes, 0);
});

test('a text between slashes is a pattern', () => {
  assert.deepEqual(parseSearch('  '), { kind: 'none' });
  assert.deepEqual(parseSearch('/'), { kind: 'none' });
  assert.deepEqual(parseSearch('//'), { kind: 'none' });
  assert.deepEqual(parseSearch(' gemm '), { kind: 'text', text: 'gemm' });
  assert.deepEqual(parseSearch('a/b'), { kind: 'text', text: 'a/b' });
  assert.deepEqual(parseSearch('/^nccl.*Reduce/'), { kind: 'pattern', text: '/^nccl.*Reduce/' });
  assert.equal(parseSearch('/(?=x)y/').kind, 'wrong');
  assert.equal(parseSearch('/(a)\\1/').kind, 'wrong');
});

test('tables are sorted by keys, by text without them', () => {
  const table = { columns: [{ name: 'a' }, { name: 'b' }], rows: [['x', '10 ms'], ['y', '9 ms'], ['Z', '–']], keys: [[null, 10], [null, 9], [null, null]] };
  assert.deepEqual(arranged(table, '', undefined), [0, 1, 2]);
  assert.deepEqual(arranged(table, '', { column: 1, down: false }), [1, 0, 2]);
  assert.deepEqual(arranged(table, '', { column: 1, down: true }), [0, 1, 2]);
  assert.deepEqual(arranged(table, 'z', undefined), [2]);
  assert.deepEqual(arranged(table, '', { column: 0, down: true }), [2, 1, 0]);
});

test('text of a picture is never markup', () => {
  assert.equal(escapeXml('<img onerror="x">&\'\u0000'), '&lt;img onerror=&quot;x&quot;&gt;&amp;&#39;\ufffd');
  const pen = new SvgPen({ textWidth: () => 10 }, 100, 50);
  pen.text(1, 2, '</text><script>', { colour: '"/><script>' });
  assert.ok(!pen.finish('#fff').includes('<script'));
});

test('the first hop that is not over', () => {
  const hops = [0, 10, 20].map((begin_ns) => ({ begin_ns, duration_ns: 10 }));
  assert.equal(firstHop({ hops }, -5), 0);
  assert.equal(firstHop({ hops }, 15), 1);
  assert.equal(firstHop({ hops }, 31), 3);
});

test('a run that waits while the other works differs', () => {
  // 1 is GEMM, 2 attention, 6 a wait, 0 idle, 255 not known.
  assert.equal(differenceOf(1, 1), 0);
  assert.equal(differenceOf(1, 6), 1);
  assert.equal(differenceOf(6, 1), 2);
  assert.equal(differenceOf(1, 2), 3);
  assert.equal(differenceOf(0, 6), 0);
  assert.equal(differenceOf(1, 255), 0);
});

test('equal names look alike, numbers in them do not matter', () => {
  assert.deepEqual(lookOf(1, 'gemm_128x64'), lookOf(1, 'gemm_256x64'));
  assert.equal(lookOf(5, 'x').colour, 5);
  assert.ok(lookOf(255, 'aten::add').colour >= 10);
});

test('text on a colour can be read', () => {
  assert.deepEqual(parseColour('#fff'), [1, 1, 1]);
  assert.equal(textColourOn(parseColour('#ffffff')), '#04060a');
  assert.equal(textColourOn(parseColour('#3865a6')), '#ffffff');
});

test('places of a chart have values', () => {
  // From 100 to 300 lie 0 to 2 ms: 150 is a quarter of them. Rows of 20 begin at 10: 45 is in the second.
  assert.equal(alongX('100.0 300.0 0 2000000 ns', 150), 'at 500 µs');
  assert.equal(alongX('100.0 300.0 0 8 number', 290), 'no. 7');
  assert.equal(alongX('100.0 100.0 0 8 number', 290), '');
  assert.equal(alongRows('10.0 20.0', 'rank 0|rank 1', 45), 'rank 1');
  assert.equal(alongRows('10.0 20.0', 'rank 0|rank 1', 95), '');
});

test('a saved page says what it has not got', () => {
  assert.equal(sentenceOf(undefined), '');
  assert.doesNotMatch(sentenceOf({ left_out: 0 }), /room/);
  assert.match(sentenceOf({ left_out: 1 }), /One answer had no room/);
  assert.match(sentenceOf({ left_out: 37 }), /37 answers had no room/);
});
