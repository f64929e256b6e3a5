// The element under the pointer.
import { activityAt, type ActivityAt } from './draw_lines';
import { collectiveAt } from './draw_collectives';
import { sliceAt, type SliceAt } from './draw_slices';
import { kHeadHeight, type Block, type LineAt } from './layout';
import type { CollectiveInstance } from '../protocol';
import { contentAt, kAxisHeight, kGutter, timeAt } from './scene';
import type { Timeline } from './timeline';

export type Picked =
  | { kind: 'axis' }
  | { kind: 'label'; line: LineAt; rank: number }
  | { kind: 'head'; block: Block }
  | { kind: 'slice'; slice: SliceAt }
  | { kind: 'track'; block: Block; track: number }
  | { kind: 'line'; line: LineAt; rank: number; activity: ActivityAt | undefined; collective: CollectiveInstance | undefined }
  | { kind: 'nothing' };

export function pick(timeline: Timeline, x: number, y: number): Picked {
  const { scene, model } = timeline;
  if (!scene) return { kind: 'nothing' };
  if (y < kAxisHeight) return { kind: 'axis' };
  const content = contentAt(scene, y);
  const block = scene.layout.blockAt(content);
  if (block) {
    if (content < block.top + kHeadHeight && x < kGutter) return { kind: 'head', block };
    const at = scene.layout.trackAt(content);
    if (!at) return { kind: 'nothing' };
    const slice = x >= kGutter ? sliceAt(scene, block, at.track, at.depth, timeAt(scene, x)) : undefined;
    return slice ? { kind: 'slice', slice } : { kind: 'track', block, track: at.track.track };
  }
  const line = scene.layout.lineAt(content);
  if (!line) return { kind: 'nothing' };
  const rank = model.order(line.run).rows[line.line * scene.layout.fold];
  if (x < kGutter) return { kind: 'label', line, rank };
  const time = timeAt(scene, x);
  const shown = model.state.overlays.includes('collectives') ? timeline.collectives[line.run].value?.instances ?? [] : [];
  return { kind: 'line', line, rank, activity: activityAt(scene, line.run, line.line, time), collective: collectiveAt(scene, line.run, line.line, time, shown) };
}
