// A person at work for some minutes: zooms, pans, opens ranks, selects, searches, looks at tabs. Every round is another place of the run.
const kTexts = ['gemm', 'nccl', 'elementwise', '/aten::.*mm/', 'no such name'];
const kTabs = ['Overview', 'Kernels', 'Collectives', 'Memory', 'Metrics'];

const kPatienceMs = 60_000;

/** Waits for the page; one that never has all of its tiles is an error that says what it waits for. */
export async function settled(page) {
  const isSettled = await page.evaluate((ms) => Promise.race([
    window.orreryView.settled().then(() => true), new Promise((resolve) => setTimeout(() => resolve(false), ms))]), kPatienceMs);
  if (!isSettled) throw new Error(`the page did not settle: ${JSON.stringify(await page.evaluate(() => [window.orreryView.stats(), location.hash]))}`);
}

async function zoomAndPan(page, x, y) {
  await page.mouse.move(x, y);
  for (let i = 0; i < 7; ++i) await page.mouse.wheel(0, -300);
  for (const key of ['d', 'a', 'd', 'ArrowRight', 'ArrowLeft', 's', 'w']) await page.keyboard.press(key);
}

async function openRank(page, round) {
  const rows = (await page.evaluate(() => window.orreryView.rows())).filter((row) => row.track < 0);
  if (rows.length === 0) return;
  const row = rows[round % rows.length];
  await page.mouse.click(60, row.top + row.height / 2);
  await settled(page);
}

/** Clicks a slice of an opened rank, if there is one on the screen. */
async function clickSlice(page, x) {
  const track = (await page.evaluate(() => window.orreryView.rows())).find((row) => row.track >= 0 && row.top > 130 && row.top < 680);
  if (track) await page.mouse.click(x, track.top + 5);
}

async function select(page, x) {
  await page.mouse.move(x, 120);
  await page.mouse.down();
  await page.mouse.move(x + 150, 120, { steps: 3 });
  await page.mouse.up();
  await page.keyboard.press('f');
}

async function search(page, text) {
  await page.keyboard.press('/');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type(text);
  for (let i = 0; i < 3; ++i) await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
}

async function lookAtTab(page, name) {
  const tab = page.getByRole('tab', { name, exact: true });
  if (await tab.count() === 0) return;
  await tab.click();
  await page.locator('.content h1, .content .problem').first().waitFor({ timeout: 60_000 });
  await page.getByRole('tab', { name: 'Timeline', exact: true }).click();
}

/** Uses the page for a time; returns the memory that `heapBytes` says at the end, its peak, and the number of rounds. */
export async function useFor(page, ms, heapBytes) {
  const limit = performance.now() + ms;
  let peak = 0;
  let rounds = 0;
  for (; performance.now() < limit; ++rounds) {
    const x = 250 + (rounds * 137) % 550;
    await zoomAndPan(page, x, 250 + (rounds * 53) % 350);
    await openRank(page, rounds);
    await clickSlice(page, x);
    await select(page, x);
    await search(page, kTexts[rounds % kTexts.length]);
    await lookAtTab(page, kTabs[rounds % kTabs.length]);
    for (let i = 0; i < 3; ++i) await page.keyboard.press('Escape');
    await page.keyboard.press('0');
    await settled(page);
    peak = Math.max(peak, await heapBytes());
  }
  const last = await heapBytes();
  return { last, peak: Math.max(peak, last), rounds };
}
