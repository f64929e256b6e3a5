// The bundle keeps the licences of the packages in it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

for (const file of ['view.js', 'view.css']) {
  test(`${file} has the licence of uPlot`, () => {
    const text = readFileSync(new URL(`../dist/${file}`, import.meta.url), 'utf8');
    assert.match(text, /Leon Sorokin/);
    assert.match(text, /The above copyright notice and this permission notice shall be included/);
  });
}
