// A tab of sentences, tables and charts.
import { element, replace } from '../dom';
import { pointsChart } from '../points_chart';
import { percent } from '../format';
import type { Chart, Fact, Finding, Section, TabPage } from '../protocol';
import { svgChart, swatch } from '../svg_chart';
import { tableElement, type RowLinks } from './table';

function factElement({ label, value, note }: Fact): HTMLElement {
  return element('div', { class: 'fact' }, element('dt', {}, label), element('dd', {}, value), note ? element('dd', { class: 'soft' }, note) : null);
}

function findingElement({ text, more, share }: Finding): HTMLElement {
  return element('li', {}, share === null ? null : element('span', { class: 'share' }, percent(share)), element('strong', {}, text),
    more ? element('span', { class: 'soft' }, ` ${more}`) : null);
}

function chartElement(chart: Chart): HTMLElement | null {
  const drawn = svgChart(chart.svg);
  if (!drawn) return null;
  const legend = chart.legend.map(({ name, style }) => element('span', { class: 'key' }, swatch(style), name));
  return element('figure', { class: 'figure' }, chart.heading ? element('h3', {}, chart.heading) : null,
    legend.length ? element('div', { class: 'legend-of-chart' }, ...legend) : null, drawn as unknown as Node,
    chart.caption ? element('figcaption', { class: 'soft' }, chart.caption) : null);
}

function sectionElement(section: Section, width: number, rows: RowLinks): HTMLElement {
  const box = element('section', {}, section.heading ? element('h2', {}, section.heading) : null);
  if (section.facts?.length) box.append(element('dl', { class: 'tiles' }, ...section.facts.map(factElement)));
  if (section.findings?.length) box.append(element('ol', { class: 'findings' }, ...section.findings.map(findingElement)));
  for (const sentence of section.sentences ?? []) box.append(element('p', {}, sentence));
  if (section.points?.series.length) box.append(pointsChart(section.points, width));
  for (const chart of section.charts ?? []) {
    const drawn = chartElement(chart);
    if (drawn) box.append(drawn);
  }
  for (const table of section.tables ?? []) box.append(tableElement(table, rows));
  return box;
}

/** `rows` is what rows of its tables lead to and do. */
export function showTab(parent: HTMLElement, page: TabPage, rows: RowLinks = {}): void {
  const width = Math.min(1180, Math.max(400, parent.clientWidth - 100));
  const sections = page.sections.map((section) => sectionElement(section, width, rows));
  replace(parent, element('h1', {}, page.title), ...(sections.length ? sections : [element('p', { class: 'empty' }, 'There is nothing to show.')]));
}
