import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Finder } from '../dist/parts.mjs';

const hit = (begin_ns) => ({ rank: 0, track: 0, row: begin_ns, begin_ns, duration_ns: 1, name: 'softmax', depth: 0 });

/** A server with hits at 0, 1, … `total` − 1, which answers pages as api/find does. */
function serve(total) {
  globalThis.fetch = async (address) => {
    const values = new URLSearchParams(address.split('?')[1]);
    const from = Number(values.get('from'));
    const count = Math.max(0, Math.min(Number(values.get('most')), total - from));
    return Response.json({ total, names: [], hits: Array.from({ length: count }, (_, i) => hit(from + i)) });
  };
}

async function found(total) {
  serve(total);
  const finder = new Finder({ fail() {} }, () => {});
  await finder.search('softmax', 0);
  for (let i = 0; i < 200 && finder.hits.length < Math.min(total, 10000); ++i) await new Promise((resolve) => setImmediate(resolve));
  return finder;
}

test('all hits are there to be marked, each once', async () => {
  const finder = await found(2640);
  assert.equal(finder.total, 2640);
  assert.deepEqual(finder.hits.map((one) => one.begin_ns), Array.from({ length: 2640 }, (_, i) => i));
  assert.equal(finder.isCut, false);
});

test('where nobody answers nothing is said of the number of hits', async () => {
  const finder = new Finder({ fail() {} }, () => {});
  globalThis.fetch = async () => new Response('This is not part of the saved page.', { status: 404 });
  await finder.search('softmax', 0);
  assert.ok(finder.isUnanswered);
  await finder.search('softmax', 0);
  assert.equal(finder.problem, 'This is not part of the saved page.');
});
