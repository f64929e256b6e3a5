// The timeline in a real browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isMock, picture, rowsOf, settled, startBrowser, stateOf, stopBrowser, when, whenState, withPage } from './open_page.mjs';

before(startBrowser);
after(stopBrowser);
const onMock = { skip: isMock ? false : 'names and numbers are of the mock' };

test('opens with WebGL2; lines are where they belong', async () => {
  await withPage({}, async (page) => {
    await settled(page);
    const stats = await page.evaluate(() => window.orreryView.stats());
    assert.equal(stats.painter, 'webgl2');
    assert.ok(stats.rectangles > 0);
    assert.equal(stats.inFlight, 0);
    const rows = await rowsOf(page);
    const shown = await picture(page);
    const middle = rows[Math.floor(rows.length / 2)];
    const colours = shown.colours(200, Math.floor(middle.top + middle.height / 2), 1000, 1);
    assert.ok(colours.size > 1, 'a line has more than one colour');
    assert.ok(await page.evaluate(() => window.orreryView.frameTimes().length) > 0);
  });
});

test('the colour of a line is that of its class', onMock, async () => {
  // At 1.0 ms the run has not begun its first step (2 ms): idle. Nothing is drawn before the recording.
  await withPage({ hash: '#t=-1000000,3000000&h=20' }, async (page) => {
    await settled(page);
    const [first] = await rowsOf(page);
    const shown = await picture(page);
    const y = first.top + first.height / 2;
    const x = (ns) => 156 + (ns + 1e6) / 4e6 * (1280 - 156);
    const idle = await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--idle').trim());
    const rgb = [1, 3, 5].map((i) => parseInt(idle.slice(i, i + 2), 16));
    assert.deepEqual(shown.at(x(430000), y), rgb);
    assert.deepEqual(shown.at(x(-430000), y), [255, 255, 255]);
  });
});

test('wheel, keys and buttons zoom; 0 shows everything', async () => {
  await withPage({}, async (page) => {
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, -240);
    await whenState(page, (state) => state.end > state.begin);
    const before = await stateOf(page);
    await page.keyboard.press('w');
    await whenState(page, (state, width) => state.end - state.begin < width, before.end - before.begin);
    const zoomed = await stateOf(page);
    await page.keyboard.press('d');
    await whenState(page, (state, begin) => state.begin > begin, zoomed.begin);
    await page.getByTitle('Zoom in (W)').click();
    await whenState(page, (state, width) => state.end - state.begin < width, zoomed.end - zoomed.begin);
    await page.keyboard.press('0');
    await whenState(page, (state) => state.begin === state.end);
    await settled(page);
  });
});

test('a drag moves, a drag on the axis selects and shows totals', async () => {
  await withPage({}, async (page) => {
    await page.mouse.move(400, 120);
    await page.mouse.down();
    await page.mouse.move(700, 120, { steps: 3 });
    await page.mouse.up();
    await whenState(page, (state) => state.selection !== null);
    const { selection } = await stateOf(page);
    assert.ok(selection.end > selection.begin);
    await page.locator('.totals .bar').first().waitFor();
    assert.ok(await page.locator('.totals .small tr').count() > 1);
    await page.keyboard.press('f');
    await whenState(page, (state) => state.end > state.begin);
    const before = await stateOf(page);
    await page.mouse.move(600, 500);
    await page.mouse.down();
    await page.mouse.move(500, 500, { steps: 3 });
    await page.mouse.up();
    await whenState(page, (state, begin) => state.begin > begin, before.begin);
    await page.keyboard.press('Escape');
    await whenState(page, (state) => state.selection === null);
  });
});

test('shift and drag selects some of the ranks', onMock, async () => {
  await withPage({ hash: '#h=10' }, async (page) => {
    const rows = await rowsOf(page);
    await page.mouse.move(400, rows[4].top + 5);
    await page.keyboard.down('Shift');
    await page.mouse.down();
    await page.mouse.move(600, rows[7].top + 5, { steps: 3 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    await whenState(page, (state) => state.selection !== null);
    const { selection } = await stateOf(page);
    assert.deepEqual([selection.first, selection.count], [4, 4]);
    await page.getByRole('heading', { name: 'of 4 ranks' }).waitFor();
  });
});

test('a rank opens by its label; its slices can be clicked', onMock, async () => {
  await withPage({ hash: '#t=10000000,11500000&h=14' }, async (page) => {
    const rows = await rowsOf(page);
    await page.mouse.click(60, rows[2].top + 7);
    await whenState(page, (state) => state.open.length === 1 && state.open[0].rank === 2);
    await when(page, () => window.orreryView.rows().some((row) => row.track === 3));
    await settled(page);
    const stream = (await rowsOf(page)).find((row) => row.track === 3);
    const shown = await picture(page);
    assert.ok(shown.colours(200, Math.floor(stream.top + 3), 1000, 1).size > 2, 'slices are drawn');
    await page.mouse.click(500, stream.top + 8);
    await page.locator('.details h2').waitFor();
    assert.match(await page.locator('.details h2').innerText(), /gemm/);
    await page.getByText('launched by').waitFor();
    await page.locator('.facts .link').first().click();
    await whenState(page, (state) => state.slice?.track === 2);
    await page.mouse.click(60, rows[2].top + 7);
    await whenState(page, (state) => state.open.length === 0);
  });
});

test('arrow keys and Enter open a rank', onMock, async () => {
  await withPage({ hash: '#h=14' }, async (page) => {
    for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await whenState(page, (state) => state.open.length === 1 && state.open[0].rank === 3);
    await page.keyboard.press('Enter');
    await whenState(page, (state) => state.open.length === 0);
  });
});

test('lines of many ranks unfold', onMock, async () => {
  await withPage({ mock: { ranks: 10000 } }, async (page) => {
    assert.equal(await page.evaluate(() => window.orreryView.stats().fold), 64);
    assert.equal((await rowsOf(page)).length, 157);
    await page.mouse.move(60, 400);
    await page.mouse.click(60, 400);
    await whenState(page, (state) => state.rankHeight === 14);
    await settled(page);
    assert.equal(await page.evaluate(() => window.orreryView.stats().fold), 1);
    const before = await stateOf(page);
    assert.ok(before.scroll > 0);
    await page.keyboard.press('PageDown');
    await whenState(page, (state, scroll) => state.scroll > scroll, before.scroll);
    await page.keyboard.press('Enter');
    await whenState(page, (state) => state.open.length === 1);
    await page.getByLabel('Order of ranks').selectOption('late');
    await whenState(page, (state) => state.order === 'late');
    await settled(page);
  });
});

test('overlays are asked for and drawn', onMock, async () => {
  await withPage({ hash: '#h=14&t=20000000,45000000' }, async (page, mock) => {
    const before = await picture(page);
    await page.keyboard.press('c');
    await page.keyboard.press('p');
    await when(page, () => performance.getEntriesByType('resource').filter((one) => /api\/(collectives|critical)/.test(one.name) && one.responseEnd > 0).length >= 2);
    await settled(page);
    assert.deepEqual((await stateOf(page)).overlays, ['collectives', 'critical']);
    assert.ok(mock.requests.some((address) => address.startsWith('api/collectives?run=0&begin=')));
    const after = await picture(page);
    const differs = [...Array(1000).keys()].some((i) => before.at(200 + i, 500).join() !== after.at(200 + i, 500).join());
    assert.ok(differs);
    await page.keyboard.press('x');
    await page.keyboard.press('l');
    assert.deepEqual((await stateOf(page)).overlays, ['collectives', 'critical', 'waits', 'arrows']);
  });
});

test('without WebGL2 a canvas draws, and a sentence says so', async () => {
  const noWebGl = () => {
    const real = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function get(kind, ...rest) { return kind === 'webgl2' ? null : real.call(this, kind, ...rest); };
  };
  await withPage({ before: noWebGl }, async (page) => {
    assert.equal(await page.evaluate(() => window.orreryView.stats().painter), 'canvas');
    await page.getByText('This browser has no WebGL2').waitFor();
    const rows = await rowsOf(page);
    const middle = rows[Math.floor(rows.length / 2)];
    assert.ok((await picture(page)).colours(200, Math.floor(middle.top + middle.height / 2), 1000, 1).size > 1);
  });
});

test('after a lost context a canvas draws, and a sentence says that', async () => {
  await withPage({}, async (page) => {
    await settled(page);
    await page.evaluate(() => document.querySelector('canvas.below').getContext('webgl2').getExtension('WEBGL_lose_context').loseContext());
    await page.getByText('The browser has taken WebGL2 from this page').waitFor();
    assert.equal(await page.getByText('no WebGL2').count(), 0);
    await settled(page);
    assert.equal(await page.evaluate(() => window.orreryView.stats().painter), 'canvas');
    const rows = await rowsOf(page);
    const middle = rows[Math.floor(rows.length / 2)];
    assert.ok((await picture(page)).colours(200, Math.floor(middle.top + middle.height / 2), 1000, 1).size > 1);
    await page.keyboard.press('w');
    await whenState(page, (state) => state.end > state.begin);
  });
});

test('the first picture does not wait for WebGL2', async () => {
  // Nothing is drawn by WebGL2 until the test says so. (Whether its programs are linked is asked only where the browser can link them beside the page.)
  const slow = () => {
    const real = WebGL2RenderingContext.prototype.getSyncParameter;
    WebGL2RenderingContext.prototype.getSyncParameter = function get(sync, what) { return window.mayDraw ? real.call(this, sync, what) : this.UNSIGNALED; };
  };
  await withPage({ before: slow }, async (page) => {
    const rows = await rowsOf(page);
    const middle = rows[Math.floor(rows.length / 2)];
    assert.ok((await picture(page)).colours(200, Math.floor(middle.top + middle.height / 2), 1000, 1).size > 1);
    assert.equal(await page.evaluate(() => window.orreryView.stats().painter), 'canvas');
    assert.equal(await page.locator('.fallback').isVisible(), false);
    await page.evaluate(() => { window.mayDraw = true; });
    await settled(page);
    assert.equal(await page.evaluate(() => window.orreryView.stats().painter), 'webgl2');
    assert.equal(await page.locator('.fallback').isVisible(), false);
    assert.ok((await picture(page)).colours(200, Math.floor(middle.top + middle.height / 2), 1000, 1).size > 1);
  });
});

test('two device pixels a pixel', async () => {
  await withPage({ ratio: 2 }, async (page) => {
    const [width, height] = await page.evaluate(() => {
      const canvas = document.querySelector('canvas.below');
      return [canvas.width / canvas.clientWidth, canvas.height / canvas.clientHeight];
    });
    assert.ok(Math.abs(width - 2) < 0.01 && Math.abs(height - 2) < 0.01);
  });
});
