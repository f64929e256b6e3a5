// The program and its page: `orrery view` on recorded, simulated and hostile runs. ORRERY_PROGRAM names the program, ORRERY_SOURCE the repository.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import { kOfBrowser } from './open_page.mjs';

const program = process.env.ORRERY_PROGRAM;
const source = process.env.ORRERY_SOURCE;
const options = { skip: program ? false : 'ORRERY_PROGRAM names no program' };
// Without a GPU Chromium rasters and composes on the CPU, as it does for people; only WebGL2 is drawn by SwiftShader.
const kArguments = ['--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader'];
const recording = join(source ?? '', 'tests/data/h200/fake-tp8.kineto.json.gz');

let browser;
let folder;
before(async () => {
  if (!program) return;
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: kArguments });
  folder = await mkdtemp(join(tmpdir(), 'orrery-view-'));
});
after(async () => {
  await browser?.close();
  if (folder) await rm(folder, { recursive: true });
});

/** Starts the program and gives its address to `act`. */
async function serving(words, act) {
  const child = spawn(program, ['view', ...words, '--no-open'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const errors = [];
  child.stderr.on('data', (data) => errors.push(String(data)));
  const ended = new Promise((resolve) => child.on('close', resolve));
  try {
    const address = await new Promise((resolve, reject) => {
      child.stdout.on('data', (data) => resolve(String(data).trim()));
      ended.then((status) => reject(new Error(`ended with ${status}: ${errors.join('')}`)));
    });
    await act(address);
    return errors.join('');
  } finally {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, errors.join(''));
  }
}

/** Opens an address; nothing may go wrong, and nothing else may be asked for. */
async function onPage(address, act) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const wrong = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type()) && !kOfBrowser.test(message.text())) wrong.push(message.text()); });
  page.on('pageerror', (error) => wrong.push(error.message));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(address.split('#')[0]) && !url.startsWith('data:') && !url.startsWith('blob:')) wrong.push(`asked for ${url}`);
  });
  try {
    await page.goto(address);
    await page.evaluate(() => window.orreryView.ready);
    await page.evaluate(() => window.orreryView.settled());
    await act(page);
    assert.deepEqual(wrong, []);
    assert.equal(await page.evaluate(() => window.hacked), undefined);
  } finally {
    await context.close();
  }
}

async function postJson(address, body) {
  const response = await fetch(address, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

test('a simulated job: 512 ranks are rows, more GPUs become a second run', options, async () => {
  await serving([join(source, 'examples/llama3-70b-512-h100.yaml')], async (address) => {
    await onPage(address, async (page) => {
      const rows = await page.evaluate(() => window.orreryView.rows());
      assert.ok(rows.length > 10);
      await page.getByRole('tab', { name: 'Overview' }).click();
      await page.getByText('The step over time').waitFor();
    });
    const answer = await postJson(`${address}api/what-if`, { run: 0, keep: true, changes: [{ subject: 'gpus', name: '', speedup: 2 }] });
    assert.ok(answer.after_ns < answer.before_ns * 0.6);
    await onPage(address, async (page) => {
      await page.getByRole('tab', { name: 'Differences' }).click();
      await page.getByText('mlp up').first().waitFor();
    });
  });
});

test('a recording is predicted, and both are drawn', options, async () => {
  await serving([recording], async (address) => {
    const answer = await postJson(`${address}api/predict`, { run: 0 });
    assert.ok(answer.step_ns > 0);
    const session = await (await fetch(`${address}api/session`)).json();
    assert.equal(session.runs.length, 2);
    await onPage(address, async (page) => page.getByRole('tab', { name: 'Differences' }).waitFor());
  });
});

test('several recorded ranks are predicted together', options, async () => {
  await serving([join(source, 'tests/data/kineto/two_ranks')], async (address) => {
    const { run, step_ns: step } = await postJson(`${address}api/predict`, { run: 0 });
    const { runs } = await (await fetch(`${address}api/session`)).json();
    assert.equal(runs[run].num_ranks, 2);
    assert.ok(step > 0 && step < runs[run].length_ns / 2, 'one of three steps');
    const differences = await (await fetch(`${address}api/differences?a=0&b=${run}`)).json();
    assert.equal(differences.common_collectives, 1);
  });
});

test('two runs and a job: each can be beside the first', options, async () => {
  await serving([recording, recording, join(source, 'examples/llama3-70b-512-h100.yaml')], async (address) => {
    await onPage(address, async (page) => {
      await page.getByLabel('Run beside the first').selectOption('2');
      await page.waitForFunction(() => window.orreryView.rows().filter((row) => row.run === 1).length > 1);
    });
  });
});

test('runs without a common collective are aligned by steps, which is said', options, async () => {
  const runs = ['tp2_dp2', 'pp2'].map((name) => join(source, 'tests/data/analyze', name));
  const log = await serving(runs, async (address) => {
    await onPage(address, async (page) => page.getByText('no collective of B has a partner in A').first().waitFor());
  });
  assert.match(log, /no collective of pp2 has a partner in tp2_dp2: aligned by steps only/);
});

test('another plan of a search is laid beside the best', options, async () => {
  const store = join(folder, 'plans.orrdb');
  assert.equal(spawnSync(program, ['search', join(source, 'tests/golden/search/answer.files/job.yaml'), '--keep', '5', '--no-reasons', '--store', store]).status, 0);
  await serving([store], async (address) => {
    await onPage(address, async (page) => {
      await page.getByRole('tab', { name: 'Search results' }).click();
      await page.getByRole('button', { name: 'Open beside' }).nth(1).click();
      await page.locator('.changes li').first().waitFor();
      assert.ok((await page.evaluate(() => window.orreryView.rows())).some((row) => row.run === 1));
    });
  });
});

test('names of a trace are text, whatever they hold', options, async () => {
  const name = '<img src=x onerror="window.hacked=1"></script><script>window.hacked=2</script>';
  const events = [
    { ph: 'X', cat: 'cpu_op', name, pid: 1, tid: 1, ts: 100, dur: 50, args: { 'External id': 1 } },
    { ph: 'X', cat: 'cuda_runtime', name: 'cudaLaunchKernel', pid: 1, tid: 1, ts: 110, dur: 5, args: { correlation: 7, 'External id': 1 } },
    { ph: 'X', cat: 'kernel', name, pid: 0, tid: 7, ts: 120, dur: 400, args: { stream: 7, device: 0, correlation: 7, 'External id': 1 } },
  ];
  const path = join(folder, 'hostile.json');
  await writeFile(path, JSON.stringify({ schemaVersion: 1, distributedInfo: { rank: 0, world_size: 1 }, traceEvents: events }));
  await serving([path], async (address) => {
    await onPage(address, async (page) => {
      await page.keyboard.press('/');
      await page.keyboard.type('img');
      await page.keyboard.press('Enter');
      await page.getByText('onerror').first().waitFor();
      await page.getByRole('tab', { name: 'Kernels' }).click();
      await page.getByText('Kernels').first().waitFor();
    });
  });
  const exported = join(folder, 'hostile.html');
  assert.equal(spawnSync(program, ['view', path, '--export', exported]).status, 0);
  await onPage(`file://${exported}`, async (page) => {
    await page.getByRole('tab', { name: 'Kernels' }).click();
    await page.getByText('onerror').first().waitFor();
  });
});

test('an exported page needs no server and is below 10 MB', options, async () => {
  const path = join(folder, 'page.html');
  assert.equal(spawnSync(program, ['view', join(source, 'examples/llama3-70b-512-h100.yaml'), '--export', path]).status, 0);
  assert.ok((await readFile(path)).length < 10e6);
  await onPage(`file://${path}`, async (page) => {
    assert.ok((await page.evaluate(() => window.orreryView.stats())).loaded > 0);
    await page.getByRole('tab', { name: 'Overview' }).click();
    await page.getByText('The step over time').waitFor();
  });
});

test('a saved page says what had no room in it', options, async () => {
  const path = join(folder, 'room.html');
  assert.equal(spawnSync(program, ['view', recording, '--export', path]).status, 0);
  const html = await readFile(path, 'utf8');
  await onPage(`file://${path}`, async (page) => {
    await page.getByText('A saved page').waitFor();
    assert.equal(await page.getByText('no room').count(), 0);
  });
  assert.ok(html.includes('"left_out":0}'));
  await writeFile(path, html.replace('"left_out":0}', '"left_out":37}'));
  await onPage(`file://${path}`, async (page) => page.getByText('37 answers had no room in it').waitFor());
});

test('strangers get 4xx and one line', options, async () => {
  const log = await serving([recording], async (address) => {
    const { origin, pathname } = new URL(address);
    for (const [path, status] of [['/', 403], ['/0'.repeat(16) + '/api/session', 403], [`${pathname}api/slices?rank=0&track=0&level=99&tile=0`, 400], [`${pathname}api/slices?rank=99999&track=0&level=9&tile=0`, 400],
      [`${pathname}../etc/passwd`, 403], [`${pathname}%2e%2e/secret`, 400], [`${pathname}api/nothing`, 404]]) {
      const response = await fetch(origin + path);
      assert.ok(response.status >= 400 && response.status < 500, `${path}: ${response.status} instead of ${status}`);
    }
  });
  assert.ok(log.split('\n').length > 5, log);
});

test('bad input is one sentence', options, async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  for (const [words, pattern] of [[[join(folder, 'missing')], /missing/], [[recording, '--port', String(taken.address().port)], /in use/], [[recording, recording, recording, recording], /at most 3/]]) {
    const result = spawnSync(program, ['view', ...words, '--no-open'], { encoding: 'utf8', timeout: 60000 });
    assert.equal(result.status, 2, result.stderr);
    assert.match(result.stderr, pattern);
    assert.equal(result.stderr.trim().split('\n').length, 1, result.stderr);
  }
  taken.close();
});
