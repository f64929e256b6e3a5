import { element } from './dom';
import { duration, percent } from './format';
import { classVariable } from './palette';
import type { ActivityClass } from './protocol';

/** One bar of parts; parts of a bar that is not the longest leave room at its end. */
export function classBar(classes: ActivityClass[], ns: number[], whole: number): HTMLElement {
  const bar = element('div', { class: 'bar', role: 'img', 'aria-label': describe(classes, ns, whole) });
  ns.forEach((value, code) => {
    if (!(value > 0) || !(whole > 0)) return;
    const part = element('i', { class: `class-${classes[code]?.key ?? ''}`, title: `${classes[code]?.name ?? ''}: ${duration(value)}, ${percent(value / whole)}` });
    part.style.width = `${value / whole * 100}%`;
    part.style.backgroundColor = classVariable(code);
    bar.append(part);
  });
  return bar;
}

function describe(classes: ActivityClass[], ns: number[], whole: number): string {
  const parts = ns.map((value, code) => ({ value, name: classes[code]?.name ?? '' })).filter(({ value }) => value > 0);
  return parts.sort((a, b) => b.value - a.value).slice(0, 4).map(({ value, name }) => `${name} ${percent(value / Math.max(1, whole))}`).join(', ');
}
