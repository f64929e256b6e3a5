// Series of points, by uPlot.
import uPlot from 'uplot';
import { element } from './dom';
import { quantity } from './format';
import type { Points } from './protocol';
import { Tip } from './tip';

const kColours = ['--compute', '--transfer', '--memory', '--device-wait', '--launch', '--optimizer', '--sky', '--sync'];
const kHeight = 300;
const kFont = '12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif';

/** uPlot wants one list of x for all series. */
export function aligned(points: Points): (number | null)[][] {
  const xs = [...new Set(points.series.flatMap((series) => series.x))].filter((x) => !points.x_log || x > 0).sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const ys = points.series.map((series) => {
    const out: (number | null)[] = xs.map(() => null);
    series.x.forEach((x, i) => {
      const at = place.get(x);
      if (at !== undefined) out[at] = series.y[i];
    });
    return out;
  });
  return [xs, ...ys];
}

/** Lines of text about the points at a place of the x axis; empty where there are none. */
export function pointsAt(points: Points, x: number, ys: (number | null | undefined)[]): string {
  const lines = points.series.map((series, i) => (ys[i] === null || ys[i] === undefined ? '' : `${series.name}: ${quantity(ys[i], points.y_unit)}`)).filter(Boolean);
  return lines.length ? [quantity(x, points.x_unit), ...lines].join('\n') : '';
}

function showTip(chart: uPlot, points: Points): void {
  const { idx, left = -1, top = -1 } = chart.cursor;
  const isOver = idx !== null && idx !== undefined && left >= 0;
  const box = chart.over.getBoundingClientRect();
  const text = isOver ? pointsAt(points, chart.data[0][idx], chart.data.slice(1).map((ys) => ys[idx])) : '';
  new Tip().show(text, box.left + left, box.top + top);
}

export function pointsChart(points: Points, width: number): HTMLElement {
  const box = element('div', { class: 'points' });
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { font: kFont, stroke: colour('--soft'), grid: { stroke: colour('--grid'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 } };
  const text = (unit: string) => (_: uPlot, values: (number | null)[]): string[] => values.map((value) => (value === null ? '' : quantity(value, unit)));
  const options: uPlot.Options = {
    width, height: kHeight,
    scales: { x: { time: false, distr: points.x_log ? 3 : 1 }, y: { distr: 1 } },
    axes: [{ ...axis, values: text(points.x_unit), space: 70 }, { ...axis, values: text(points.y_unit), size: 86 }],
    series: [
      { label: 'at', value: (_, value) => (value === null ? '–' : quantity(value, points.x_unit)) },
      ...points.series.map((series, i): uPlot.Series => ({
        label: series.name, stroke: colour(kColours[i % kColours.length]), width: 1.5, spanGaps: true,
        points: { show: true, size: 6, fill: colour(kColours[i % kColours.length]) },
        value: (_, value) => (value === null ? '–' : quantity(value, points.y_unit)),
      })),
    ],
    legend: { live: true },
    hooks: { setCursor: [(chart) => showTip(chart, points)] },
  };
  new uPlot(options, aligned(points) as uPlot.AlignedData, box);
  return box;
}
