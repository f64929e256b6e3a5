// A tab of sentences, tables and charts.
import { element, replace } from './dom';
import { pointsChart } from './points_chart';
import type { Section, TabPage } from './protocol';
import { svgChart } from './svg_chart';
import { tableElement } from './table';

function sectionElement(section: Section, width: number): HTMLElement {
  const box = element('section', {}, section.heading ? element('h2', {}, section.heading) : null);
  for (const sentence of section.sentences ?? []) box.append(element('p', {}, sentence));
  if (section.points?.series.length) box.append(pointsChart(section.points, width));
  for (const chart of section.charts ?? []) {
    const drawn = svgChart(chart);
    if (drawn) box.append(element('div', { class: 'figure' }, drawn as unknown as Node));
  }
  for (const table of section.tables ?? []) box.append(tableElement(table));
  return box;
}

export function showTab(parent: HTMLElement, page: TabPage): void {
  const width = Math.min(1180, Math.max(400, parent.clientWidth - 100));
  const sections = page.sections.map((section) => sectionElement(section, width));
  replace(parent, element('h1', {}, page.title), ...(sections.length ? sections : [element('p', { class: 'empty' }, 'There is nothing to show.')]));
}
