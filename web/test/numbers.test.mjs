import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, change, count, duration, instant, percent, placeOf, quantity, speedupAt, ticks, tickStep, tickText } from '../dist/parts.mjs';

test('durations have a sensible unit', () => {
  assert.equal(duration(0), '0 ns');
  assert.equal(duration(812), '812 ns');
  assert.equal(duration(1234567), '1.235 ms');
  assert.equal(duration(999960), '1 ms');
  assert.equal(duration(12.5e9), '12.5 s');
  assert.equal(duration(200e9), '3 min 20 s');
  assert.equal(duration(-1500), '−1.5 µs');
  assert.equal(duration(NaN), '–');
});

test('instants have as many digits as are needed', () => {
  assert.equal(instant(1204518000, 1000), '1.204\u2009518 s');
  assert.equal(instant(812, 1), '812 ns');
  assert.equal(instant(1500, 1), '1.500 µs');
});

test('bytes, counts, shares, changes', () => {
  assert.equal(bytes(134217728), '134 MB');
  assert.equal(bytes(999), '999 B');
  assert.equal(count(1234567), '1\u2009234\u2009567');
  assert.equal(percent(0.042), '4.2 %');
  assert.equal(percent(0.5), '50 %');
  assert.equal(change(100, 86), '−14 %');
  assert.equal(change(100, 100), '±0 %');
  assert.equal(change(0, 5), 'new');
  assert.equal(quantity(4e11, 'bytes/s'), '400 GB/s');
  assert.equal(quantity(12, 'W'), '12 W');
});

test('ticks are 1, 2 or 5 times a power of ten', () => {
  // 10 ns a pixel, 110 pixels apart: at least 1100 ns.
  assert.equal(tickStep(10, 110), 2000);
  assert.equal(tickStep(10, 100), 1000);
  assert.deepEqual(ticks(0, 10000, 1000, 100).values, [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000]);
  assert.equal(ticks(0, 10000, 1000, 110).minor, 500);
});

test('ticks of a deep zoom far from the begin are exact', () => {
  const { values } = ticks(1e12 + 3, 1e12 + 43, 1000, 100);
  assert.deepEqual(values.map((value) => value - 1e12), [5, 10, 15, 20, 25, 30, 35, 40]);
});

test('texts of neighbouring ticks differ', () => {
  assert.equal(tickText(0, 1000), '0 µs');
  assert.equal(tickText(1500, 500), '1.5 µs');
  assert.equal(tickText(2.5e9, 5e8), '2.5 s');
  for (const [begin, width] of [[0, 1e9], [123456789, 100], [5e11, 40], [1e9, 2000]]) {
    const { values, step } = ticks(begin, begin + width, 1000);
    const texts = values.map((value) => tickText(value, step));
    assert.equal(new Set(texts).size, texts.length, texts.join(' | '));
  }
});

test('sliders have equal steps for equal factors', () => {
  // 0.5 to 8 is four doublings: 1 is at a quarter, 2 at a half.
  assert.equal(placeOf(0.5), 0);
  assert.equal(placeOf(1), 100);
  assert.equal(placeOf(2), 200);
  assert.equal(placeOf(8), 400);
  for (const place of [0, 50, 100, 200, 333, 400]) assert.ok(Math.abs(placeOf(speedupAt(place)) - place) <= 1);
});
