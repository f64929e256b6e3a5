// Search, tabs, comparison, what-if, address and exports in a real browser.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { isMock, picture, rowsOf, settled, startBrowser, stateOf, stopBrowser, when, whenState, withPage } from './open_page.mjs';

before(startBrowser);
after(stopBrowser);
const onMock = { skip: isMock ? false : 'names and numbers are of the mock' };
/** A name to search for in other runs than the mock's. */
const kName = process.env.ORRERY_VIEW_KERNEL ?? 'gemm';

test('search counts, jumps to a named kernel, goes on and back', async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type(kName);
    await page.keyboard.press('Enter');
    await whenState(page, (state) => state.slice !== null);
    const first = await stateOf(page);
    assert.equal(first.search, kName);
    assert.ok(first.open.some((one) => one.rank === first.slice.rank), 'its rank is open');
    assert.ok(first.end > first.begin, 'it is zoomed to');
    await page.locator('.details h2').waitFor();
    assert.ok((await page.locator('.details h2').innerText()).toLowerCase().includes(kName.toLowerCase()));
    await page.keyboard.press('Enter');
    await whenState(page, (state, slice) => JSON.stringify(state.slice) !== slice, JSON.stringify(first.slice));
    await page.keyboard.press('Shift+Enter');
    await whenState(page, (state, slice) => JSON.stringify(state.slice) === slice, JSON.stringify(first.slice));
    await page.locator('.search .count').click();
    await page.locator('.found tr').first().waitFor();
    await settled(page);
  });
});

test('a pattern that is not supported is said to be wrong', async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press('/');
    await page.keyboard.type('/(?=a)/');
    await page.getByText('not a pattern').waitFor();
  });
});

test('reload by address gives the same picture', async () => {
  await withPage({}, async (page) => {
    await page.mouse.move(500, 300);
    await page.mouse.wheel(0, -700);
    await page.keyboard.press('t');
    await page.keyboard.press('x');
    await page.getByTitle('Higher lines').click();
    await whenState(page, (state) => state.end > state.begin && state.theme === 'dark' && state.rankHeight > 0);
    await when(page, () => location.hash.slice(1) === window.orreryView.address());
    await page.mouse.move(500, 60);
    await settled(page);
    const before = [await page.evaluate(() => window.orreryView.address()), await rowsOf(page), await picture(page)];
    await page.reload();
    await page.evaluate(() => window.orreryView.ready);
    await page.mouse.move(500, 61);
    await settled(page);
    const after = [await page.evaluate(() => window.orreryView.address()), await rowsOf(page), await picture(page)];
    assert.deepEqual(after[0], before[0]);
    assert.deepEqual(after[1], before[1]);
    for (let x = 160; x < 1270; x += 7) assert.deepEqual(after[2].at(x, 333), before[2].at(x, 333), `pixel at ${x}`);
  });
});

test('an address that somebody else typed does no harm', async () => {
  await withPage({ hash: '#t=9e99,1e300&open=0.99999,7.1&slice=0,0,0,-1&tab=nothing&order=x&y=1e12&h=1e9&range=1,2,99999999,1' }, async (page) => {
    await settled(page);
    assert.equal(await page.locator('.timeline').isVisible(), true);
  });
});

test('tabs: tables are sorted and filtered, charts drawn', onMock, async () => {
  // A hostile chart of the mock has a handler, which the policy refuses before we remove it.
  await withPage({ errors: [/inline event handler/] }, async (page) => {
    await page.getByRole('tab', { name: 'Kernels' }).click();
    const times = page.locator('.content tbody td:nth-child(2)');
    await times.first().waitFor();
    await page.getByRole('button', { name: 'count' }).click();
    const values = (await times.allInnerTexts()).map(Number);
    assert.deepEqual(values, [...values].sort((a, b) => b - a));
    await page.getByLabel('Filter rows').fill('triton_poi_fused_1');
    await when(page, () => document.querySelectorAll('.content tbody tr').length === 11);
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Collectives' }).click();
    await page.locator('.points canvas').waitFor();
    await page.getByRole('tab', { name: 'Collectives' }).press('ArrowRight');
    await whenState(page, (state) => state.tab === 'memory');
    await page.locator('.figure svg rect').first().waitFor();
    assert.equal(await page.locator('.figure script').count(), 0);
    assert.equal(await page.locator('.content img').count(), 0);
  });
});

test('marks of charts say what they are; points have their values', onMock, async () => {
  await withPage({ hash: '#tab=memory', errors: [/inline event handler/] }, async (page) => {
    // The rectangle is from 80 to 440 of an axis from 80 (0 ms) to 650 (40 ms): its middle is at 180 / 570 · 40 = 12.63 ms.
    await page.locator('.figure svg rect').first().hover();
    const text = await page.locator('#tip').innerText();
    assert.match(text, /^compute: 25.3 ms\nrank 0 · at 12\.6/);
    await page.locator('.figure svg text').last().hover();
    assert.equal(await page.locator('#tip').isVisible(), false);
    await page.getByRole('tab', { name: 'Collectives' }).click();
    await page.locator('.points .u-over').hover();
    await page.locator('#tip', { hasText: /all_reduce: [\d.]+ [GM]B\/s/ }).waitFor();
    assert.match(await page.locator('#tip').innerText(), /^[\d.]+ [kMG]?B\nall_reduce: /);
    await page.getByRole('tab', { name: 'Timeline' }).click();
    assert.equal(await page.locator('#tip').isVisible(), false);
  });
});

test('a row of a table and a fact lead to their slices', onMock, async () => {
  await withPage({ hash: '#tab=kernels', mock: { ranks: 600 } }, async (page) => {
    const rows = page.locator('.content tbody tr');
    await rows.first().waitFor();
    assert.equal(await page.locator('.content td .link').count(), 1);
    await rows.first().locator('.link').click();
    await whenState(page, (state) => state.tab === 'timeline' && state.slice?.rank === 5 && state.slice.track === 3 && state.slice.row === 7);
    await settled(page);
    const stream = (await rowsOf(page)).find((row) => row.rank === 5 && row.track === 3);
    assert.ok(stream && stream.top > 100 && stream.top < 720, 'its track is on the screen');
    await page.locator('.facts').getByRole('button', { name: 'aten::linear' }).click();
    await whenState(page, (state) => state.slice?.track === 2 && state.slice.row === 0);
  });
});

test('hostile names stay text', onMock, async () => {
  await withPage({ hash: '#tab=overview', errors: [/inline event handler/] }, async (page) => {
    await page.getByText('<img src=x onerror=window.hacked=5>').waitFor();
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.keyboard.press('/');
    await page.keyboard.type('<img src');
    await page.keyboard.press('Enter');
    await whenState(page, (state) => state.slice !== null);
    await page.locator('.details h2', { hasText: '<img src=x' }).waitFor();
    await when(page, () => window.orreryView.rows().some((row) => row.track === 3));
    const stream = (await rowsOf(page)).find((row) => row.track === 3);
    await page.mouse.move(700, stream.top + 8);
    await page.locator('.search .count').click();
    await page.locator('.found td', { hasText: '<img src=x' }).first().waitFor();
    assert.equal(await page.locator('img').count(), 0);
  });
});

test('two runs are paired, differences lead into both', onMock, async () => {
  await withPage({ mock: { runs: 2 } }, async (page) => {
    const rows = await rowsOf(page);
    assert.deepEqual(rows.slice(0, 4).map((row) => [row.run, row.rank]), [[0, 0], [1, 0], [0, 1], [1, 1]]);
    await page.getByRole('button', { name: 'Differences' }).click();
    const first = page.locator('.changes li').first();
    await first.waitFor();
    await first.getByRole('button', { name: 'B: rank 0' }).click();
    await whenState(page, (state) => state.slice?.run === 1 && state.open.some((one) => one.run === 1));
    await first.getByRole('button', { name: 'A: rank 0' }).click();
    await whenState(page, (state) => state.slice?.run === 0);
    const collective = page.locator('.collectives li').nth(1);
    await collective.getByRole('button', { name: 'B: rank 0' }).click();
    await whenState(page, (state) => state.align === -3 && state.at > 0 && state.slice?.run === 1);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Same moment in A' }).click();
    await whenState(page, (state) => state.align === -3 && state.open.some((one) => one.run === 0));
    await page.getByLabel('How the second run').selectOption({ label: 'A and B by step 3' });
    await whenState(page, (state) => state.align === 2);
    await settled(page);
  });
});

test('Predict this adds a second run', onMock, async () => {
  await withPage({}, async (page) => {
    await page.getByRole('button', { name: 'Predict this' }).click();
    await page.locator('.changes li').first().waitFor();
    await when(page, () => window.orreryView.rows().some((row) => row.run === 1));
  });
});

test('of three runs, one is chosen beside the first, and the address holds it', onMock, async () => {
  const ranksOfSecond = (page) => page.evaluate(() => new Set(window.orreryView.rows().filter((row) => row.run === 1).map((row) => row.rank)).size);
  await withPage({ mock: { runs: 3, ranks: 8 } }, async (page) => {
    assert.equal(await ranksOfSecond(page), 8);
    await page.getByLabel('Run beside the first').selectOption({ label: 'B: third' });
    await when(page, () => window.orreryView.rows().filter((row) => row.run === 1).length === 3);
    await settled(page);
    assert.equal((await stateOf(page)).beside, 2);
    await page.getByRole('button', { name: 'Differences' }).click();
    await page.getByText('B is third').waitFor();
    await page.evaluate(() => history.replaceState(null, '', `#${window.orreryView.address()}`));
    await page.reload();
    await page.evaluate(() => window.orreryView.ready);
    assert.equal(await ranksOfSecond(page), 3);
  });
});

test('a slider asks what if', async () => {
  await withPage({}, async (page) => {
    await page.keyboard.press('i');
    const slider = page.getByLabel('Speed of All compute');
    await slider.waitFor();
    await slider.fill('200');
    await page.locator('.before-after').waitFor();
    assert.deepEqual((await stateOf(page)).sliders, [{ subject: 'compute', name: '', speedup: 2 }]);
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByText('Move a slider').waitFor();
  });
});

test('page, PNG and SVG can be saved', async () => {
  await withPage({}, async (page) => {
    const save = async (name) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
      return [download.suggestedFilename(), await readFile(await download.path())];
    };
    const [pageName, html] = await save('Save page');
    assert.match(pageName, /\.html$/);
    assert.match(html.toString('utf8', 0, 200), /<!DOCTYPE html>/i);
    const [, png] = await save('PNG');
    assert.equal(png.toString('latin1', 1, 4), 'PNG');
    assert.ok(png.length > 5000);
    const [, svg] = await save('SVG');
    assert.ok(svg.toString().split('<rect').length > 50);
    assert.ok(!svg.toString().includes('<img'));
  });
});

test('a server that is gone is one line', onMock, async () => {
  await withPage({ errors: [/Failed to load resource/] }, async (page, mock) => {
    await mock.close();
    await page.mouse.move(500, 300);
    await page.mouse.wheel(0, -900);
    await page.getByText('The server does not answer').waitFor();
  });
});

test('the help lists keys; dark and light', async () => {
  await withPage({ dark: true }, async (page) => {
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys and mouse' }).waitFor();
    await page.keyboard.press('Escape');
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.keyboard.press('t');
    await whenState(page, (state) => state.theme === 'light');
    assert.notEqual(await ground(), dark);
  });
});

test('everything fits on a screen of 1280 × 720', async () => {
  await withPage({ mock: { runs: 2 } }, async (page) => {
    const outside = await page.evaluate(() => [...document.querySelectorAll('header button, header input, .toolbar button, .toolbar select')]
      .filter((one) => one.offsetParent && (one.getBoundingClientRect().right > innerWidth || one.getBoundingClientRect().left < 0)).map((one) => one.textContent));
    assert.deepEqual(outside, []);
  });
});
