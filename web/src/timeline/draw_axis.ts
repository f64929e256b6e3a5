// Time axis with steps above it.
import { duration } from '../format';
import { kAxisHeight, nsPerPixel, xOf, type DrawnScene } from './scene';
import { ticks, tickText } from './ticks';

const kStepsHeight = 19;

export interface AxisLabel { from: number; to: number; text: string }

export function drawGrid(scene: DrawnScene): void {
  const { pen, palette, plot, window } = scene;
  for (const value of ticks(window.begin, window.end, plot.right - plot.left).values) {
    pen.fill(Math.round(xOf(scene, value)), plot.top, 1, plot.bottom - plot.top, palette.ink, 0.07);
  }
}

/** Begins of steps run through all lines. */
export function drawStepLines(scene: DrawnScene): void {
  const { pen, palette, plot, model } = scene;
  const steps = model.runInfo(0).steps;
  if (steps.length === 0 || (plot.right - plot.left) / steps.length < 3) return;
  for (const step of steps) {
    const x = xOf(scene, step.begin_ns);
    if (x >= plot.left && x <= plot.right) pen.fill(Math.round(x), plot.top, 1, plot.bottom - plot.top, palette.ink, 0.28);
  }
}

/** `labels` are drawn on the axis by others: no number looks out from under them. */
export function drawAxis(scene: DrawnScene, hover: number | undefined, labels: AxisLabel[]): void {
  const { pen, palette, plot, window } = scene;
  pen.fill(0, 0, scene.canvas.width, plot.top, palette.surface);
  drawSteps(scene);
  const { step, minor, values } = ticks(window.begin, window.end, plot.right - plot.left);
  for (let i = Math.ceil(window.begin / minor); i * minor <= window.end; ++i) {
    pen.fill(Math.round(xOf(scene, i * minor)), plot.top - 4, 1, 4, palette.line);
  }
  const hoverLabel = hover === undefined ? undefined : labelAt(scene, hover, step);
  const taken = hoverLabel ? [...labels, hoverLabel] : labels;
  for (const value of values) {
    const x = Math.round(xOf(scene, value));
    pen.fill(x, plot.top - 7, 1, 7, palette.soft);
    const text = tickText(value, step);
    // Half a number is worse than none.
    const end = x + 4 + pen.textWidth(text, 11);
    if (end <= plot.right && !taken.some((label) => x + 4 < label.to && end > label.from)) pen.text(x + 4, plot.top - 12, text, { colour: palette.soft, size: 11 });
  }
  pen.fill(0, plot.top - 1, scene.canvas.width, 1, palette.line);
  drawWhole(scene);
  if (hoverLabel) drawHover(scene, hoverLabel, xOf(scene, hover!));
}

function drawSteps(scene: DrawnScene): void {
  const { pen, palette, plot, model } = scene;
  const { steps, steps_rank: rank, num_ranks: ranks } = model.runInfo(0);
  steps.forEach((step, i) => {
    const from = Math.max(plot.left, xOf(scene, step.begin_ns));
    const to = Math.min(plot.right, xOf(scene, step.end_ns));
    if (to - from < 2) return;
    pen.fill(from, 3, to - from - 1, kStepsHeight - 4, palette.accent, i % 2 ? 0.1 : 0.17);
    // The marker of one rank: the step time is the mean over ranks.
    const length = duration(step.end_ns - step.begin_ns) + (ranks > 1 && typeof rank === 'number' ? ` on rank ${rank}` : '');
    // The most that fits whole: half a name says little.
    const text = [`${step.name} · ${length}`, step.name, step.name.replace(/^.*#/, '#')].find((one) => pen.textWidth(one, 11) <= to - from - 10);
    if (text) pen.text(from + 5, 3 + (kStepsHeight - 4) / 2, text, { colour: palette.ink, size: 11 });
  });
}

/** Draws the window in all of the time. */
function drawWhole(scene: DrawnScene): void {
  const { pen, palette, plot, window, model } = scene;
  const whole = model.whole();
  const width = plot.right - plot.left;
  const place = (ns: number): number => plot.left + Math.max(0, Math.min(1, (ns - whole.begin) / (whole.end - whole.begin))) * width;
  if (window.begin <= whole.begin && window.end >= whole.end) return;
  pen.fill(plot.left, 0, width, 2, palette.grid);
  pen.fill(place(window.begin), 0, Math.max(3, place(window.end) - place(window.begin)), 2, palette.accent);
}

function labelAt(scene: DrawnScene, time: number, step: number): AxisLabel {
  const { pen, plot } = scene;
  const text = tickText(time, Math.min(step / 100, nsPerPixel(scene)));
  const width = pen.textWidth(text, 11) + 10;
  const from = Math.min(Math.max(plot.left, xOf(scene, time) - width / 2), plot.right - width);
  return { from, to: from + width, text };
}

function drawHover(scene: DrawnScene, { from, to, text }: AxisLabel, x: number): void {
  const { pen, palette, plot } = scene;
  pen.fill(from, kAxisHeight - 24, to - from, 17, palette.ink);
  pen.text(from + 5, kAxisHeight - 15.5, text, { colour: palette.surface, size: 11 });
  pen.fill(Math.round(x), plot.top, 1, plot.bottom - plot.top, palette.ink, 0.35);
}
