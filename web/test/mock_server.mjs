// Serves the page with synthetic runs, for work on the page and for browser tests without the program.
// node test/mock_server.mjs [--port N] [--ranks N] [--runs 1|2|3] [--simulated] [--dist FOLDER]
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as answers from './mock_answers.mjs';

const kPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const kTypes = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
const kFiles = ['index.html', 'view.js', 'view.css'];
const kFolder = join(dirname(fileURLToPath(import.meta.url)), '../dist');

function queryOf(url) {
  const values = {};
  for (const [key, value] of url.searchParams) values[key] = ['text', 'order', 'name'].includes(key) ? value : Number(value);
  return values;
}

/** Starts a server; resolves to {address, close, requests}. */
export async function startMock({ ranks = 64, runs = 1, simulated = false, port = 0, folder = kFolder } = {}) {
  const token = randomBytes(16).toString('hex');
  const shown = [new answers.SyntheticRun({ name: simulated ? 'job.yaml' : 'measured', kind: simulated ? 'simulated' : 'recorded', numRanks: ranks })];
  const addSecond = () => {
    shown[1] = new answers.SyntheticRun({ name: 'predicted', kind: 'simulated', numRanks: ranks, slow: 0.86, startNs: 3_500_000 });
  };
  if (runs > 1) addSecond();
  if (runs > 2) shown[2] = new answers.SyntheticRun({ name: 'third', kind: 'simulated', numRanks: 3, slow: 0.7, startNs: 0 });
  const requests = [];

  const get = {
    session: () => answers.session(shown, `llama-8b · ${ranks} ranks`), ranks: answers.ranks, activity: answers.activity, tracks: answers.tracks, slices: answers.slices, slice: answers.slice,
    launches: answers.launches, collectives: answers.collectives, critical: answers.critical, range: answers.range, find: answers.find, tab: answers.tab,
    differences: (_, { a = 0, b = 1 }) => (shown[a] && shown[b] ? answers.differences(shown[a], shown[b]) : undefined),
  };
  const post = {
    'what-if': (run, body) => {
      if (body.keep) addSecond();
      return { ...answers.whatIf(run, body), run: body.keep ? 1 : null };
    },
    predict: () => {
      addSecond();
      return { step_ns: shown[1].stepNs, run: 1, sentences: [`Predicted: ${(shown[1].stepNs / 1e6).toFixed(2)} ms a step.`] };
    },
    export: (_, body) => Buffer.from(`<!DOCTYPE html><title>export</title><p>${body.begin_ns} to ${body.end_ns}</p>`),
  };

  async function answer(request, response) {
    const url = new URL(request.url, 'http://127.0.0.1');
    const [, given, ...rest] = url.pathname.split('/');
    const path = rest.join('/');
    const send = (status, type, body) => {
      response.writeHead(status, { 'Content-Type': type, 'Content-Security-Policy': kPolicy, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
      response.end(body);
    };
    if (given !== token) return send(404, 'text/plain', 'No such page.\n');
    const file = path === '' ? 'index.html' : path;
    if (kFiles.includes(file)) return send(200, kTypes[file.split('.').pop()], await readFile(join(folder, file)));
    const name = path.replace(/^api\//, '');
    requests.push(url.pathname.slice(token.length + 2) + url.search);
    let found;
    if (request.method === 'POST' && post[name]) {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}');
      found = post[name](shown[body.run ?? 0], body);
    } else if (request.method === 'GET' && get[name]) {
      const values = queryOf(url);
      const run = shown[values.run ?? 0];
      if (!run) return send(400, 'text/plain', 'There is no such run.\n');
      found = get[name](run, values);
    }
    if (found === undefined) return send(404, 'text/plain', 'There is nothing of this name.\n');
    return Buffer.isBuffer(found) ? send(200, name === 'export' ? kTypes.html : 'application/octet-stream', found) : send(200, 'application/json', JSON.stringify(found));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => {
      response.writeHead(400, { 'Content-Type': 'text/plain' });
      response.end(`${error.message}\n`);
    });
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise((resolve) => {
    server.closeAllConnections();
    server.close(resolve);
  });
  return { address: `http://127.0.0.1:${server.address().port}/${token}/`, close, requests };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const option = (name, usual) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : usual);
  const { address } = await startMock({ ranks: Number(option('--ranks', 64)), runs: Number(option('--runs', 1)), port: Number(option('--port', 0)), folder: option('--dist', kFolder),
    simulated: process.argv.includes('--simulated') });
  console.log(address);
}
