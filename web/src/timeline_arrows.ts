import { drawLaunch, drawLaunches } from './draw_arrows';
import { visibleBlocks } from './draw_slices';
import type { DrawnScene } from './scene';
import type { Timeline } from './timeline';
import { moved } from './window';

/** The arrow of the slice that was clicked, and all of opened ranks where they are asked for. */
export function drawArrowsOf(timeline: Timeline, scene: DrawnScene): void {
  const { model, chosen } = timeline;
  if (model.state.overlays.includes('arrows')) {
    for (const block of visibleBlocks(scene)) {
      const asked = timeline.launchesOf(block.run, block.rank);
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
