// For tests and benchmarks: frame times and what is loading.
import { svgOf } from './export';
import { yOf } from './timeline/scene';
import { encodeState, type State } from './state';
import type { Timeline } from './timeline/timeline';

export interface ShownRow { run: number; rank: number; track: number; top: number; height: number }

declare global {
  interface Window {
    orreryView: {
      /** The first picture is complete. */
      ready: Promise<void>;
      state(): State;
      address(): string;
      frameTimes(): number[];
      stats(): Record<string, number | string>;
      /** Lines of ranks (track -1) and tracks on the screen, in pixels of the page. */
      rows(): ShownRow[];
      /** Nothing that is on the screen is loading, and what draws it stays. */
      settled(): Promise<void>;
      svg(): string;
    };
  }
}

function nextFrame(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));
}

async function complete(timeline: Timeline): Promise<void> {
  await nextFrame();
  while (!timeline.store.isSettled || timeline.isMoving) {
    await timeline.store.whenSettled();
    await nextFrame();
  }
}

async function settled(timeline: Timeline): Promise<void> {
  await complete(timeline);
  while (timeline.layer.isStarting) await nextFrame();
}

function rowsOf(timeline: Timeline): ShownRow[] {
  const { scene, model } = timeline;
  if (!scene) return [];
  const box = timeline.above.getBoundingClientRect();
  const { layout } = scene;
  const rows: ShownRow[] = [];
  for (const stretch of layout.stretches(scene.scroll, scene.scroll + scene.plot.bottom - scene.plot.top)) {
    for (let line = stretch.first; line <= stretch.last; ++line) {
      for (let run = 0; run < model.numRuns; ++run) {
        if (line >= layout.linesOfRun[run]) continue;
        rows.push({ run, rank: model.order(run).rows[line * layout.fold], track: -1, top: box.top + yOf(scene, layout.top(run, line)), height: layout.lineHeight });
      }
    }
  }
  for (const block of layout.blocks) {
    for (const laid of block.tracks) rows.push({ run: block.run, rank: block.rank, track: laid.track, top: box.top + yOf(scene, block.top + laid.top), height: laid.height });
  }
  return rows;
}

export function installHook(started: Promise<Timeline>): void {
  let timeline: Timeline | undefined;
  const ready = started.then(async (made) => {
    timeline = made;
    await complete(made);
  });
  ready.catch(() => {});
  window.orreryView = {
    ready,
    state: () => structuredClone(timeline!.model.state),
    address: () => encodeState(timeline!.model.state),
    frameTimes: () => timeline?.frames.frameTimes ?? [],
    stats: () => ({ ...timeline!.store.stats(), painter: timeline!.painter.kind, rectangles: timeline!.rectangles, fold: timeline!.scene?.layout.fold ?? 0 }),
    rows: () => (timeline ? rowsOf(timeline) : []),
    settled: async () => settled(timeline ?? await started),
    svg: () => svgOf(timeline!) ?? '',
  };
}
