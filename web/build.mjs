// Bundles the page: node build.mjs [--tests] [--debug] FOLDER
// Writes index.html, view.js and view.css to FOLDER, with --tests also parts.mjs for the unit tests.
import { build } from 'esbuild';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { licenceComment } from './licences.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const flags = process.argv.slice(2).filter((word) => word.startsWith('--'));
const folder = process.argv.slice(2).find((word) => !word.startsWith('--'));
if (!folder) {
  console.error('usage: node build.mjs [--tests] [--debug] FOLDER');
  process.exit(2);
}

const target = resolve(folder);

// Styles that the charts' marks have, as orrery/report/page.cc lists them.
const fills = ('compute transfer memory idle empty host host-gap launch launch-overhead device-wait sync other sky heat-0 heat-1 ' +
  'heat-2 heat-3 heat-4 heat-5 heat-6 heat-7 forward backward weights optimizer').split(' ');

const reported = (name) => readFile(join(here, '../orrery/report/page', name), 'utf8');
const own = (name) => readFile(join(here, 'src', name), 'utf8');

/** One look for the reports that are mailed around and for this page: colours and charts are theirs. */
async function style() {
  const [light, dark, charts] = await Promise.all(['light.css', 'dark.css', 'charts.css'].map(reported));
  const uplot = await readFile(join(here, 'node_modules/uplot/dist/uPlot.min.css'), 'utf8');
  const parts = [
    `:root{${light}}`,
    `@media(prefers-color-scheme:dark){:root:not([data-theme=light]){${dark}}}`,
    `:root[data-theme=dark]{${dark}}`,
    uplot, charts,
    ...fills.map((name) => `.${name}{--colour:var(--${name});fill:var(--colour)}`),
    await own('colours.css'), await own('page.css'),
  ];
  return parts.join('\n');
}

// Whoever passes the page on, alone or in the program, passes the licences of its packages on.
const licences = licenceComment(here);
const options = {
  bundle: true, format: 'iife', target: 'es2021', charset: 'utf8', legalComments: 'inline', logLevel: 'warning',
  minify: !flags.includes('--debug'), absWorkingDir: here, banner: { js: licences }, footer: { css: licences },
};
await mkdir(folder, { recursive: true });
await build({ ...options, entryPoints: ['src/main.ts'], outfile: join(target, 'view.js') });
await build({
  ...options, stdin: { contents: await style(), loader: 'css' }, outfile: join(target, 'view.css'),
});
await copyFile(join(here, 'src/index.html'), join(folder, 'index.html'));
if (flags.includes('--tests')) {
  await build({
    ...options, format: 'esm', minify: false, entryPoints: ['src/parts.ts'], outfile: join(target, 'parts.mjs'),
  });
}
