// A page in Debian's Chromium. ORRERY_VIEW_ADDRESS names a page to open; without it a mock is started.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { startMock } from '../mock_server.mjs';

// Without a GPU Chromium rasters and composes on the CPU, as it does for people; only WebGL2 is drawn by SwiftShader.
const kArguments = ['--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader'];

/** Without a GPU the browser reads WebGL's picture back to compose the page, and says that it takes time. */
export const kOfBrowser = /GL Driver Message \(OpenGL, Performance/;

/** True if the tests run on the mock, of which names and numbers are known. */
export const isMock = !process.env.ORRERY_VIEW_ADDRESS;

let browser;
export async function startBrowser() {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: kArguments });
}
export async function stopBrowser() { await browser?.close(); }

/**
 * Opens a page, runs `act` and checks that the console stayed empty. Options: mock (of startMock), hash, search, width, height, dark, ratio,
 * before (runs in the page before its script), errors (patterns of console lines that are expected).
 */
export async function withPage(options, act) {
  const mock = isMock ? await startMock(options.mock ?? {}) : undefined;
  const two = options.mock?.runs > 1 ? process.env.ORRERY_VIEW_ADDRESS_TWO : undefined;
  const address = mock?.address ?? two ?? process.env.ORRERY_VIEW_ADDRESS;
  const context = await browser.newContext({ viewport: { width: options.width ?? 1280, height: options.height ?? 720 }, colorScheme: options.dark ? 'dark' : 'light',
    deviceScaleFactor: options.ratio ?? 1, reducedMotion: 'reduce', acceptDownloads: true });
  const page = await context.newPage();
  const errors = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) errors.push(message.text()); });
  page.on('pageerror', (error) => errors.push(`page: ${error.message}`));
  if (options.before) await page.addInitScript(options.before);
  try {
    await page.goto(address + (options.search ?? '') + (options.hash ?? ''));
    await page.evaluate(() => window.orreryView.ready);
    await act(page, mock);
    const unexpected = errors.filter((text) => ![kOfBrowser, ...(options.errors ?? [])].some((pattern) => pattern.test(text)));
    assert.deepEqual(unexpected, []);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  } finally {
    await context.close();
    await mock?.close();
  }
}

export const stateOf = (page) => page.evaluate(() => window.orreryView.state());
export const settled = (page) => page.evaluate(() => window.orreryView.settled());
export const rowsOf = (page) => page.evaluate(() => window.orreryView.rows());

const kPatienceMs = 30000;
const nextFrame = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => resolve())));

/** Waits frame by frame until a function says yes in the page. Playwright's own waiting evaluates texts, which our policy forbids. */
export async function when(page, condition, argument) {
  const limit = Date.now() + kPatienceMs;
  while (!(await page.evaluate(condition, argument))) {
    assert.ok(Date.now() < limit, `did not happen: ${condition}`);
    await nextFrame(page);
  }
}

/** Waits until the state fulfils a condition. */
export async function whenState(page, condition, argument) {
  const limit = Date.now() + kPatienceMs;
  for (let state = await stateOf(page); !condition(state, argument); state = await stateOf(page)) {
    assert.ok(Date.now() < limit, `did not happen: ${condition}, the state is ${JSON.stringify(state)}`);
    await nextFrame(page);
  }
}

/** Colours of a picture of the page: {at(x, y), count(x, y, width, height)}; decoded by the browser itself. */
export async function picture(page) {
  const data = (await page.screenshot()).toString('base64');
  // A page of its own: the policy of ours allows no fetch of data.
  const other = await browser.newPage();
  const { width, pixels } = await other.evaluate(async (text) => {
    const image = new Image();
    image.src = `data:image/png;base64,${text}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height);
    const drawing = canvas.getContext('2d');
    drawing.drawImage(image, 0, 0);
    const bytes = drawing.getImageData(0, 0, image.width, image.height).data;
    const values = new Uint32Array(bytes.buffer);
    let out = '';
    for (const value of values) out += String.fromCharCode(value & 0xff, (value >> 8) & 0xff, (value >> 16) & 0xff);
    return { width: image.width, pixels: out };
  }, data);
  await other.close();
  const at = (x, y) => {
    const place = (Math.round(y) * width + Math.round(x)) * 3;
    return [0, 1, 2].map((i) => pixels.charCodeAt(place + i));
  };
  const colours = (x, y, wide, high) => {
    const found = new Set();
    for (let j = 0; j < high; ++j) for (let i = 0; i < wide; ++i) found.add(at(x + i, y + j).join());
    return found;
  };
  return { at, colours };
}
