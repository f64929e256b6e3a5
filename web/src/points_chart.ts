// Series of points, by uPlot.
import uPlot from 'uplot';
import { element } from './dom';
import { quantity } from './format';
import type { Points } from './protocol';

const kColours = ['--compute', '--transfer', '--memory', '--device-wait', '--launch', '--optimizer', '--sky', '--sync'];
const kHeight = 300;

/** uPlot wants one list of x for all series. */
export function aligned(points: Points): (number | null)[][] {
  const xs = [...new Set(points.series.flatMap((series) => series.x))].filter((x) => !points.x_log || x > 0).sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const ys = points.series.map((series) => {
    const out: (number | null)[] = xs.map(() => null);
    series.x.forEach((x, i) => {
      const at = place.get(x);
      if (at !== undefined && !(points.y_log && series.y[i] <= 0)) out[at] = series.y[i];
    });
    return out;
  });
  return [xs, ...ys];
}

export function pointsChart(points: Points, width: number): HTMLElement {
  const box = element('div', { class: 'points' });
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--soft'), grid: { stroke: colour('--grid'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 } };
  const text = (unit: string) => (_: uPlot, values: (number | null)[]): string[] => values.map((value) => (value === null ? '' : quantity(value, unit)));
  const options: uPlot.Options = {
    width, height: kHeight,
    scales: { x: { time: false, distr: points.x_log ? 3 : 1 }, y: { distr: points.y_log ? 3 : 1 } },
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
  };
  new uPlot(options, aligned(points) as uPlot.AlignedData, box);
  return box;
}
