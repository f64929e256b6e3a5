// Tips about a mark of a chart, beside the pointer. Charts have their text as attributes: data-tip of a mark, data-x and data-rows of the whole.
import { duration } from './format';
import { Tip } from './tip';

interface Place { x: number; y: number }

/** The value of a chart's x axis ("first last low high ns|number", places before values), as text. */
export function alongX(axis: string, x: number): string {
  const [first, last, low, high] = axis.split(' ').map(Number);
  const value = low + (x - first) / (last - first) * (high - low);
  if (!Number.isFinite(value)) return '';
  return axis.endsWith(' ns') ? `at ${duration(value)}` : `no. ${Math.floor(value)}`;
}

/** The row of a chart ("top pitch", names with bars between them). */
export function alongRows(rows: string, names: string, y: number): string {
  const [top, pitch] = rows.split(' ').map(Number);
  return names.split('|')[Math.floor((y - top) / pitch)] ?? '';
}

function placeIn(svg: SVGSVGElement, event: PointerEvent): Place | undefined {
  const matrix = svg.getScreenCTM();
  return matrix ? new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse()) : undefined;
}

function textOf(mark: Element, event: PointerEvent): string {
  const svg = mark.closest<SVGSVGElement>('.figure > svg');
  const place = svg ? placeIn(svg, event) : undefined;
  const where: string[] = [];
  if (svg && place) {
    const { rows, rowNames, x } = svg.dataset;
    if (rows && rowNames) where.push(alongRows(rows, rowNames, place.y));
    if (x) where.push(alongX(x, place.x));
  }
  return [mark.getAttribute('data-tip') ?? '', where.filter(Boolean).join(' · ')].filter(Boolean).join('\n');
}

/** Shows the tips of all charts that are ever inside an element. */
export function installChartTips(parent: HTMLElement): void {
  const tip = new Tip();
  let isShown = false;
  const show = (text: string, event: PointerEvent): void => {
    if (text || isShown) tip.show(text, event.clientX, event.clientY);
    isShown = text !== '';
  };
  parent.addEventListener('pointermove', (event) => {
    const mark = event.target instanceof Element ? event.target.closest('.figure [data-tip]') : null;
    show(mark ? textOf(mark, event) : '', event);
  });
  parent.addEventListener('pointerleave', (event) => show('', event));
  parent.addEventListener('click', (event) => show('', event as PointerEvent));
}
