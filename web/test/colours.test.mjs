// Colours of the style sheet: classes are told apart by everybody, text can be read.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { kNumClasses, mixed, parseColour, textColourOn, tinted } from '../dist/parts.mjs';
import { contrast, distance, kVisions, seen } from './colour_vision.mjs';

const css = readFileSync(new URL('../dist/view.css', import.meta.url), 'utf8');

/** Variables of all rules whose selector is one of these. */
function variables(...selectors) {
  const found = {};
  for (const [, selector, body] of css.matchAll(/([^{}]*)\{([^{}]*)\}/g)) {
    if (!selectors.includes(selector.trim())) continue;
    for (const [, name, value] of body.matchAll(/(--[\w-]+):\s*([^;}]+)/g)) found[name] = value.trim();
  }
  return found;
}

const light = variables(':root');
const dark = { ...light, ...variables(':root[data-theme=dark]') };
const themes = { light, dark };

function colour(theme, name) {
  const value = theme[name];
  assert.ok(value, `${name} is in the style sheet`);
  const other = /^var\((--[\w-]+)\)$/.exec(value);
  return other ? colour(theme, other[1]) : parseColour(value);
}

/** Waits and bubbles are hatched, on low lines as one colour: as painters draw them. */
function onLowLine(theme, key) {
  const share = { wait: 0.4, bubble: 0.25 }[key];
  const plain = colour(theme, `--class-${key}`);
  return share ? mixed(plain, colour(theme, `--class-${key}-line`), share) : plain;
}

const kClasses = ['idle', 'gemm', 'attention', 'compute', 'optimizer', 'communication', 'wait', 'bubble', 'host', 'memory'];
// About ten times what is just told apart when two colours lie side by side.
const kLeastDistance = 10;
const kLeastContrast = 4.5;

function checkApart(colours, vision) {
  for (let i = 0; i < kClasses.length; ++i) {
    for (let j = 0; j < i; ++j) {
      const far = distance(colours[i], colours[j]);
      assert.ok(far >= kLeastDistance, `${kClasses[j]} and ${kClasses[i]}, ${vision}: ${far.toFixed(1)}`);
    }
  }
}

test('CIEDE2000 of published pairs', () => {
  // Sharma, Wu and Dalal 2005, table 1: pairs 1, 7, 19 and 25.
  for (const [one, other, expected] of [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425], [[50, 0, 0], [50, -1, 2], 2.3669],
    [[50, 2.5, 0], [58, 24, 15], 19.4535], [[60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644]]) {
    assert.ok(Math.abs(distance(one, other) - expected) < 1e-3, `${distance(one, other)} instead of ${expected}`);
  }
});

for (const [name, theme] of Object.entries(themes)) {
  test(`classes are told apart, ${name}`, () => {
    assert.equal(kClasses.length, kNumClasses);
    for (const [vision, matrix] of Object.entries(kVisions)) {
      for (const drawn of [(key) => colour(theme, `--class-${key}`), (key) => onLowLine(theme, key)]) checkApart(kClasses.map((key) => seen(drawn(key), matrix)), vision);
    }
  });

  test(`text can be read, ${name}`, () => {
    const check = (text, ground, what) => assert.ok(contrast(text, ground) >= kLeastContrast, `${what}: ${contrast(text, ground).toFixed(2)}`);
    for (const text of ['ink', 'soft', 'accent', 'roof', 'better', 'worse']) {
      for (const ground of ['page', 'surface']) check(colour(theme, `--${text}`), colour(theme, `--${ground}`), `${text} on ${ground}`);
    }
    check(colour(theme, '--ink'), colour(theme, '--hover'), 'ink on hover');
    check(colour(theme, '--soft'), colour(theme, '--hover'), 'soft on hover');
    check(colour(theme, '--ink'), colour(theme, '--waiting'), 'ink on a note');
    check(colour(theme, '--page'), colour(theme, '--ink'), 'a tip');
  });

  test(`names on slices can be read, ${name}`, () => {
    const names = [...kClasses.map((key) => `--class-${key}`), ...[0, 1, 2, 3, 4, 5].map((i) => `--host-${i}`)];
    for (const one of names) {
      for (let tint = 88; tint <= 168; ++tint) {
        const ground = tinted(colour(theme, one), tint);
        const found = contrast(parseColour(textColourOn(ground)), ground);
        assert.ok(found >= kLeastContrast, `${one} with tint ${tint}: ${found.toFixed(2)}`);
      }
    }
  });
}

test('a dark system and the dark button have the same colours', () => {
  assert.deepEqual(variables(':root:not([data-theme=light])'), variables(':root[data-theme=dark]'));
});
