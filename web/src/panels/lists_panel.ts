// Lists beside the timeline: hits of a search, differences of two runs, fields of a rank.
import { button, element, link, longText } from '../dom';
import type { Finder } from '../finder';
import { change, count, duration, instant } from '../format';
import type { Model } from '../model';
import type { Navigator } from '../navigate';
import type { Change, CollectiveChange, SlicePlace } from '../protocol';

const kListed = 120;

export function searchPanel(model: Model, finder: Finder, goTo: (hit: SlicePlace, place: number) => void): HTMLElement {
  const box = element('div', { class: 'found' }, element('h2', {}, finder.problem || `${count(finder.total)} slice${finder.total === 1 ? '' : 's'}`));
  if (finder.names.length) {
    box.append(element('h3', {}, 'Names'), element('table', { class: 'small' }, element('tbody', {}, ...finder.names.slice(0, 30).map((one) => element('tr', {},
      element('td', { class: 'words' }, longText(one.name)), element('td', { class: 'number' }, count(one.count)), element('td', { class: 'number' }, duration(one.ns)))))));
  }
  if (!finder.hits.length) return box;
  const first = Math.max(0, Math.min(finder.at - 20, finder.hits.length - kListed));
  const rows = finder.hits.slice(first, first + kListed).map((hit, i) => {
    const place = first + i;
    return element('tr', { class: place === finder.at ? 'current' : undefined },
      element('td', {}, link(instant(hit.begin_ns, 1000), () => goTo(hit, place), hit.name)),
      element('td', {}, model.label(finder.run, hit.rank)), element('td', { class: 'number' }, duration(hit.duration_ns)));
  });
  box.append(element('h3', {}, 'In order of time'), element('table', { class: 'small' }, element('tbody', {}, ...rows)));
  return box;
}

function placeLink(model: Model, navigator: Navigator, run: number, place: SlicePlace | null): Node | string {
  if (!place) return '';
  const { rank, track, row } = place;
  return link(`${'AB'[run]}: ${model.label(run, rank)}`, () => void navigator.goToSlice({ run, rank, track, row }, place.begin_ns, place.duration_ns), 'Show it in the timeline');
}

function changeRow(model: Model, navigator: Navigator, one: Change, largest: number): HTMLElement {
  const difference = one.after_ns - one.before_ns;
  const bar = element('i', { class: difference > 0 ? 'worse' : 'better' });
  bar.style.width = `${Math.max(1, Math.abs(difference) / Math.max(1, largest) * 100)}%`;
  return element('li', {}, element('div', { class: 'name' }, one.name), element('div', { class: 'delta' }, bar),
    element('div', { class: 'numbers' }, element('span', {}, `${one.what} · ${duration(one.before_ns)} → ${duration(one.after_ns)}`),
      element('b', { class: difference > 0 ? 'worse' : 'better' }, `${difference > 0 ? '+' : '−'}${duration(Math.abs(difference))} (${change(one.before_ns, one.after_ns)})`)),
    element('div', { class: 'numbers' }, element('span', {}, `${count(one.count_before)} → ${count(one.count_after)} times`),
      element('span', {}, placeLink(model, navigator, 0, one.a), '  ', placeLink(model, navigator, 1, one.b))));
}

function collectiveRow(model: Model, navigator: Navigator, one: CollectiveChange): HTMLElement {
  const [before, after] = [0, 1].map((run) => one.transfer_ns[run] + one.wait_ns[run]);
  const from = (values: [number, number]): string => `${duration(values[0])} → ${duration(values[1])}`;
  // Both begin at the same place of the screen.
  const aligned = (place: Node | string): Node | string => {
    if (place instanceof HTMLElement) place.addEventListener('click', () => model.alignAt(0, one.begin_ns[0]), { capture: true });
    return place;
  };
  return element('li', {}, element('div', { class: 'name' }, `${one.name}${one.step >= 0 ? ` · step ${one.step + 1}` : ''}`),
    element('div', { class: 'numbers' }, element('span', {}, `transfer ${from(one.transfer_ns)}, wait ${from(one.wait_ns)}`),
      element('b', { class: after > before ? 'worse' : 'better' }, `${after > before ? '+' : '−'}${duration(Math.abs(after - before))}`)),
    element('div', { class: 'numbers' }, element('span', {}, aligned(placeLink(model, navigator, 0, one.a)), '  ', aligned(placeLink(model, navigator, 1, one.b)))));
}

export function differencesPanel(model: Model, navigator: Navigator): HTMLElement {
  const { differences } = model;
  const box = element('div', { class: 'differences' }, element('h2', {}, 'Differences, the largest first'));
  if (!differences) {
    box.append(element('p', { class: 'empty' }, 'Open two runs to compare them.'));
    return box;
  }
  const { common_collectives: common } = differences;
  box.append(element('p', { class: 'soft' }, `A is ${model.runInfo(0).name}, B is ${model.runInfo(1).name}. ${common > 0 ? `${count(common)} collectives are in both.`
    : differences.notice || 'They have no collectives to compare.'} Times are a step and device.`));
  const [before, after] = [0, 1].map((run) => model.runInfo(run).step_ns);
  if (before && after) box.append(element('p', { class: 'step-times' }, `Step time: ${duration(before)} → ${duration(after)} (${change(before, after)}).`));
  const largest = Math.max(1, ...differences.changes.map((one) => Math.abs(one.after_ns - one.before_ns)));
  box.append(element('ul', { class: 'changes' }, ...differences.changes.slice(0, 200).map((one) => changeRow(model, navigator, one, largest))));
  if (differences.collectives.length) box.append(element('h3', {}, 'Collectives that are in both, the largest change first'),
    element('ul', { class: 'changes collectives' }, ...differences.collectives.slice(0, 200).map((one) => collectiveRow(model, navigator, one))));
  return box;
}

export function rankPanel(model: Model, run: number, rank: number): HTMLElement {
  const ranks = model.ranks[run];
  const facts: [string, string][] = [['rank', String(ranks.rank[rank])], ['run', model.runInfo(run).name]];
  if (ranks.stage[rank] >= 0) facts.push(['pipeline stage', String(ranks.stage[rank])]);
  if (ranks.node[rank] >= 0) facts.push(['node', String(ranks.node[rank])]);
  facts.push(['mean lateness', duration(ranks.late_ns[rank])], ['trace', `no. ${ranks.trace[rank]} of ${model.runInfo(run).num_traces}`]);
  const isOpen = model.isOpen({ run, rank });
  return element('div', { class: 'details' }, element('h2', { class: 'name' }, model.label(run, rank)),
    element('div', { class: 'row' }, button(isOpen ? 'Close its tracks' : 'Open its tracks', 'Streams, host threads, Python frames (Enter)', () => model.openRank({ run, rank }, !isOpen))),
    element('dl', { class: 'facts' }, ...facts.map(([name, value]) => element('div', {}, element('dt', {}, name), element('dd', {}, value)))));
}
