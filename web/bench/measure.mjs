// Measures a served page: node measure.mjs PROGRAM SECONDS MINUTES WORDS...; prints JSON. SECONDS of zooming and panning, then MINUTES of use. See bench/view.py.
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { settled, useFor } from './use.mjs';

const [program, seconds, minutes, ...words] = process.argv.slice(2);
// Without a GPU Chromium rasters and composes on the CPU, as it does for people; only WebGL2 is drawn by SwiftShader.
const kArguments = ['--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader'];

function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] : 0;
}

async function peakBytes(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)[1]) * 1024;
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: kArguments });
const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, reducedMotion: 'reduce' });
const page = await context.newPage();
// A browser that has drawn before: looking for a GPU and starting its process for graphics without one takes seconds and is not ours.
const kCalmMs = 4000;
await page.evaluate(() => {
  const gl = document.createElement('canvas').getContext('webgl2');
  const shader = gl.createShader(gl.VERTEX_SHADER);
  gl.shaderSource(shader, '#version 300 es\nvoid main() { gl_Position = vec4(0); }');
  gl.compileShader(shader);
  gl.finish();
});
await page.waitForTimeout(kCalmMs);
const tiles = [];
const addresses = [];
page.on('requestfinished', (request) => {
  if (!/api\/(activity|slices)/.test(request.url())) return;
  tiles.push(request.timing().responseEnd - request.timing().requestStart);
  addresses.push(request.url());
});

/** The same tiles again, as many at once as the page asks for, without a browser that draws meanwhile. */
async function answerTimes() {
  const times = [];
  const waiting = addresses.slice(-500);
  const worker = async () => {
    for (let address = waiting.pop(); address; address = waiting.pop()) {
      const start = performance.now();
      await (await fetch(address)).arrayBuffer();
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return times;
}

const begin = performance.now();
const child = spawn(program, ['view', ...words, '--no-open'], { stdio: ['ignore', 'pipe', 'inherit'] });
const address = await new Promise((resolve, reject) => {
  child.stdout.on('data', (data) => resolve(String(data).trim()));
  child.on('close', (status) => reject(new Error(`${program} ended with ${status}`)));
});
const serving = performance.now() - begin;
await page.goto(address);
await page.evaluate(() => window.orreryView.ready);
const picture = performance.now() - begin;
await settled(page);  // WebGL2 draws from here on
const session = await (await fetch(`${address}api/session`)).json();

// A person at work: opens a rank, zooms in here and there, pans, zooms out.
const before = await page.evaluate(() => window.orreryView.frameTimes().length);
const rows = await page.evaluate(() => window.orreryView.rows());
await page.mouse.click(60, rows[0].top + rows[0].height / 2);
const limit = performance.now() + Number(seconds) * 1000;
for (let round = 0; performance.now() < limit; ++round) {
  await page.mouse.move(300 + (round * 137) % 800, 300 + (round * 53) % 300);
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, -240);
  for (const key of ['d', 'd', 'a', 'd', 's', 'w']) await page.keyboard.press(key);
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, 240);
  if (round % 4 === 3) await page.keyboard.press('0');
  await settled(page);
}
const frames = (await page.evaluate(() => window.orreryView.frameTimes())).slice(before);
const debug = await context.newCDPSession(page);
/** Objects of scripts and of the page, and the arrays that tiles are in. */
async function heapBytes() {
  const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await debug.send('Runtime.getHeapUsage');
  return usedSize + embedderHeapUsedSize + backingStorageSize;
}
const heap = await useFor(page, Number(minutes) * 60_000, heapBytes);
const figures = {
  serving_ms: serving, picture_ms: picture, events: session.runs[0].num_events, ranks: session.runs[0].num_ranks, frames: frames.length,
  frame_p50_ms: percentile(frames, 0.5), frame_p95_ms: percentile(frames, 0.95), tiles: tiles.length, tile_p95_ms: percentile(tiles, 0.95), answer_p95_ms: 0,
  heap_bytes: heap.last, heap_peak_bytes: heap.peak, rounds: heap.rounds, server_bytes: await peakBytes(child.pid), painter: (await page.evaluate(() => window.orreryView.stats())).painter,
};
await browser.close();
figures.answer_p95_ms = percentile(await answerTimes(), 0.95);
child.kill('SIGTERM');
console.log(JSON.stringify(figures));
