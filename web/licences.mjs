// The licences of the packages whose code is part of the page, as a comment that stands before the bundled code.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The text of a package's licence; an error where it has none, since the page may not be passed on without it. */
function licenceText(folder, name) {
  const package_folder = join(folder, 'node_modules', name);
  const file = existsSync(package_folder)
    ? readdirSync(package_folder).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry)) : undefined;
  if (!file) throw new Error(`${name} has no file LICENSE in ${package_folder}: its licence must be part of the page`);
  return readFileSync(join(package_folder, file), 'utf8').trim();
}

/** A comment with name, version and licence of every package that package.json's `dependencies` names. */
export function licenceComment(folder) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const parts = Object.entries(dependencies).map(
    ([name, version]) => `This page contains ${name} ${version}.\n\n${licenceText(folder, name)}`);
  return parts.length === 0 ? '' : `/*! ${parts.join('\n\n').replaceAll('*/', '* /')} */`;
}
