import type { Scene } from './scene';
import type { Selection } from '../state';

/** A selection of a time and of the ranks between two places of the content; without them: of all ranks. */
export function sliceRange(scene: Scene, begin: number, end: number, contents?: [number, number]): Selection {
  const { layout } = scene;
  const all = Math.max(...scene.model.session.runs.map((_, run) => scene.model.numRanks(run)));
  const whole = { begin: Math.round(begin), end: Math.max(Math.round(end), Math.round(begin) + 1), first: 0, count: all };
  if (!contents) return whole;
  const places = contents.map((content) => lineOf(scene, content));
  const first = Math.min(...places) * layout.fold;
  const last = Math.min(all, (Math.max(...places) + 1) * layout.fold);
  return { ...whole, first: Math.min(first, all - 1), count: Math.max(1, last - first) };
}

function lineOf({ layout }: Scene, content: number): number {
  const block = layout.blockAt(content);
  if (block) return block.line;
  return layout.lineAt(content)?.line ?? (content < 0 ? 0 : layout.numLines - 1);
}
