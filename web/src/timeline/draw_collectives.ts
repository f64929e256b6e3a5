// A collective is one shape over its ranks: from each arrival to the end. The last to arrive is marked.
import { bytes, duration } from '../format';
import type { CollectiveInstance } from '../protocol';
import { kGutter, xOf, yOf, type DrawnScene, type Scene } from './scene';

/** Arrivals and ends by line; one entry for each line that the collective touches. */
interface Outline { lines: number[]; begins: number[]; ends: number[] }

const kOutlines = new WeakMap<CollectiveInstance, { key: string; outline: Outline }>();

function outlineOf(scene: Scene, run: number, instance: CollectiveInstance): Outline {
  const key = `${scene.model.state.order}.${scene.layout.fold}`;
  const known = kOutlines.get(instance);
  if (known?.key === key) return known.outline;
  const { places } = scene.model.order(run);
  const byLine = new Map<number, [number, number]>();
  instance.ranks.forEach((rank, i) => {
    const line = Math.floor((places[rank] ?? 0) / scene.layout.fold);
    const [begin, end] = byLine.get(line) ?? [Infinity, -Infinity];
    byLine.set(line, [Math.min(begin, instance.begins_ns[i]), Math.max(end, instance.ends_ns[i])]);
  });
  const lines = [...byLine.keys()].sort((a, b) => a - b);
  const outline = { lines, begins: lines.map((line) => byLine.get(line)![0]), ends: lines.map((line) => byLine.get(line)![1]) };
  kOutlines.set(instance, { key, outline });
  return outline;
}

/** Lines that follow each other without an opened rank between them make one polygon. */
function stretches(outline: Outline, opened: Set<number>): [number, number][] {
  const out: [number, number][] = [];
  outline.lines.forEach((line, i) => {
    const last = out[out.length - 1];
    if (last && outline.lines[i - 1] === line - 1 && !opened.has(line - 1)) last[1] = i;
    else out.push([i, i]);
  });
  return out;
}

/** Lines below which a shape ends: an opened rank follows, or the other run's line. */
function brokenAfter({ layout, model }: Scene, outline: Outline): Set<number> {
  return new Set(model.numRuns > 1 ? outline.lines : layout.blocks.map((block) => block.line));
}

export function drawCollective(scene: DrawnScene, run: number, instance: CollectiveInstance, isChosen: boolean): void {
  const { palette, pen, plot, model, layout } = scene;
  const shift = model.shift(run);
  const x = (ns: number): number => Math.max(plot.left - 4, Math.min(plot.right + 4, xOf(scene, ns + shift)));
  if (xOf(scene, instance.end_ns + shift) < plot.left || xOf(scene, instance.begin_ns + shift) > plot.right) return;
  const outline = outlineOf(scene, run, instance);
  for (const [first, last] of stretches(outline, brokenAfter(scene, outline))) {
    const left: number[] = [];
    const right: number[] = [];
    for (let i = first; i <= last; ++i) {
      const top = yOf(scene, layout.top(run, outline.lines[i]));
      const bottom = top + layout.lineHeight;
      left.push(x(outline.begins[i]), top, x(outline.begins[i]), bottom);
      right.unshift(x(outline.ends[i]), bottom, x(outline.ends[i]), top);
    }
    pen.path([...left, ...right], { fill: palette.transfer, stroke: palette.transfer, width: isChosen ? 2 : 1, close: true, alpha: isChosen ? 0.55 : 0.3 });
    pen.path(left, { stroke: palette.ink, width: 1, alpha: 0.75 });
  }
  markLast(scene, run, instance);
}

function markLast(scene: DrawnScene, run: number, instance: CollectiveInstance): void {
  const { palette, pen, plot, model, layout } = scene;
  const line = Math.floor((model.order(run).places[instance.last_rank] ?? 0) / layout.fold);
  const x = xOf(scene, instance.arrival_ns + model.shift(run));
  const top = yOf(scene, layout.top(run, line));
  if (x < plot.left || x > plot.right || top < plot.top - 20 || top > plot.bottom) return;
  const middle = top + layout.lineHeight / 2;
  pen.path([x - 6, middle - 5, x + 1, middle, x - 6, middle + 5], { fill: palette.roof, stroke: palette.surface, close: true });
  const width = xOf(scene, instance.end_ns) - xOf(scene, instance.begin_ns);
  if (width < 70) return;
  const text = `last: ${model.label(run, instance.last_rank)}`;
  const wide = pen.textWidth(text, 11, true) + 10;
  const left = x - 10 - wide >= kGutter ? x - 10 - wide : x + 6;
  pen.fill(left, middle - 8, wide, 16, palette.surface, 0.9);
  pen.text(left + 5, middle, text, { colour: palette.roof, size: 11, bold: true });
}

/** The collective under a point. */
export function collectiveAt(scene: Scene, run: number, line: number, time: number, instances: CollectiveInstance[]): CollectiveInstance | undefined {
  const own = time - scene.model.shift(run);
  return instances.find((instance) => {
    if (own < instance.begin_ns || own > instance.end_ns) return false;
    const outline = outlineOf(scene, run, instance);
    const at = outline.lines.indexOf(line);
    return at >= 0 && own >= outline.begins[at] && own <= outline.ends[at];
  });
}

export function collectiveText(scene: Scene, run: number, instance: CollectiveInstance): string {
  const flags = instance.flags.length ? `\n${instance.flags.join(', ')}` : '';
  return `${instance.kind} · ${instance.group} · ${bytes(instance.bytes)}\n${instance.ranks.length} ranks, ${duration(instance.end_ns - instance.begin_ns)}, ` +
    `of which ${duration(instance.arrival_ns - instance.begin_ns)} until the last arrived (${scene.model.label(run, instance.last_rank)})${flags}`;
}
