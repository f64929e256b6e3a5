// Totals of a selection: classes, kernels, ranks.
import { classBar } from '../bar';
import { element, link, swatch } from '../dom';
import { count, duration, percent } from '../format';
import type { Model } from '../model';
import { classVariable } from '../palette';
import type { RangeTotals } from '../protocol';
import { tableElement } from './table';

function sum(values: number[]): number { return values.reduce((total, value) => total + value, 0); }

function classList(model: Model, totals: RangeTotals): HTMLElement {
  const whole = sum(totals.classes);
  const rows = totals.classes.map((ns, code) => ({ ns, code })).filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
  return element('table', { class: 'small' }, element('tbody', {}, ...rows.map(({ ns, code }) => element('tr', {},
    element('td', {}, swatch(classVariable(code), model.session.classes[code]?.key), model.session.classes[code]?.name ?? ''),
    element('td', { class: 'number' }, duration(ns)), element('td', { class: 'number' }, percent(ns / Math.max(1, whole)))))));
}

function kernelTable(totals: RangeTotals): HTMLElement {
  return tableElement({
    columns: [{ name: 'kernel' }, { name: 'count', align: 'right' }, { name: 'time', align: 'right' }, { name: 'mean', align: 'right' }],
    rows: totals.kernels.map((one) => [one.name, count(one.count), duration(one.ns), duration(one.ns / Math.max(1, one.count))]),
    keys: totals.kernels.map((one) => [null, one.count, one.ns, one.ns / Math.max(1, one.count)]),
  });
}

function rankList(model: Model, run: number, totals: RangeTotals, open: (rank: number) => void): HTMLElement {
  const most = Math.max(1, ...totals.ranks.map((one) => sum(one.classes)));
  return element('table', { class: 'small ranks' }, element('tbody', {}, ...totals.ranks.map((one) => element('tr', {},
    element('td', {}, link(one.label || model.label(run, one.rank), () => open(one.rank), 'Open this rank')),
    element('td', {}, classBar(model.session.classes, one.classes, most))))));
}

export function rangePanel(model: Model, run: number, totals: RangeTotals, open: (rank: number) => void): HTMLElement {
  const selection = model.state.selection!;
  const whole = sum(totals.classes);
  const ranks = Math.min(selection.count || model.numRanks(run), model.numRanks(run));
  return element('div', { class: 'totals' },
    element('h2', {}, `${duration(selection.end - selection.begin)} of ${count(ranks)} rank${ranks === 1 ? '' : 's'}`),
    classBar(model.session.classes, totals.classes, whole), classList(model, totals),
    element('h3', {}, `Kernels${totals.num_kernels > totals.kernels.length ? `, the longest of ${count(totals.num_kernels)}` : ''}`),
    totals.kernels.length ? kernelTable(totals) : element('p', { class: 'empty' }, 'No kernel ran here.'),
    element('h3', {}, 'Ranks, the longest waits first'), rankList(model, run, totals, open));
}
