import type { Chosen } from '../chosen';
import type { Launches } from '../decode';
import { drawLaunch, drawLaunches } from './draw_arrows';
import { visibleBlocks } from './draw_slices';
import type { Model } from '../model';
import type { DrawnScene } from './scene';
import { moved } from '../window';
import type { Windowed } from '../panels/windowed';

/** Sources of arrows: the slice that was clicked, and the launches of ranks. */
export interface ArrowSource {
  readonly model: Model;
  readonly chosen: Chosen;
  launchesOf(run: number, rank: number): Windowed<Launches>;
}

/** The arrow of the slice that was clicked, and all of opened ranks where they are asked for. */
export function drawArrowsOf(source: ArrowSource, scene: DrawnScene): void {
  const { model, chosen } = source;
  if (model.state.overlays.includes('arrows')) {
    for (const block of visibleBlocks(scene)) {
      const asked = source.launchesOf(block.run, block.rank);
      asked.show(moved(scene.window, -model.shift(block.run)), String(model.numRuns));
      if (asked.value) drawLaunches(scene, block, asked.value);
    }
  }
  const { ref, details } = chosen;
  const block = ref && scene.layout.blocks.find((one) => one.run === ref.run && one.rank === ref.rank);
  if (!ref || !details || !block) return;
  const shift = model.shift(ref.run);
  const own = { track: ref.track, row: ref.row, begin: details.begin_ns + shift };
  const { launch } = details;
  if (launch) drawLaunch(scene, block, { track: launch.track, row: launch.row, begin: launch.begin_ns + shift }, own);
  for (const kernel of details.kernels.slice(0, 20)) {
    drawLaunch(scene, block, own, { track: kernel.track, row: kernel.row, begin: kernel.begin_ns + shift });
  }
}
