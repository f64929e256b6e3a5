// The tip about the place under the pointer.
import { collectiveText } from './timeline/draw_collectives';
import { lineLabel } from './timeline/draw_gutter';
import { count, duration, percent } from './format';
import type { Picked } from './timeline/pick';
import type { Timeline } from './timeline/timeline';

export function tipText(timeline: Timeline, picked: Picked): string {
  const { model, scene } = timeline;
  if (!scene) return '';
  switch (picked.kind) {
    case 'slice': {
      const { slice } = picked;
      const length = `${slice.isCut ? 'at least ' : ''}${duration(slice.end - slice.begin)}`;
      if (slice.merged > 1) return `${slice.name || 'slices'}\nand ${count(slice.merged - 1)} more in ${duration(slice.end - slice.begin)}`;
      const name = model.session.classes[slice.classOf]?.name;
      return `${slice.name || 'slice'}\n${length}${name ? ' · ' + name : ''}`;
    }
    case 'line': {
      const label = `${model.numRuns > 1 ? `${'AB'[picked.line.run]} · ` : ''}${lineLabel(scene, picked.line.run, picked.line.line)}`;
      if (picked.collective) return `${label}\n${collectiveText(scene, picked.line.run, picked.collective)}`;
      const { activity } = picked;
      if (!activity || activity.code === 255) return label;
      const name = model.session.classes[activity.code]?.name ?? '';
      return `${label}\n${name}${activity.share < 0.995 ? `, ${percent(activity.share)} of the time` : ''} · ${duration(activity.end - activity.begin)}`;
    }
    case 'label': {
      const late = model.ranks[picked.line.run].late_ns[picked.rank];
      const what = scene.layout.fold > 1 ? 'Click: one line for each of these ranks' : 'Click: tracks of this rank';
      return `${lineLabel(scene, picked.line.run, picked.line.line)}${late > 0 && scene.layout.fold === 1 ? `\n${duration(late)} late at collectives` : ''}\n${what}`;
    }
    case 'axis':
      return '';
    default:
      return '';
  }
}

/** The element that follows the pointer. */
export class Tip {
  private readonly box = document.getElementById('tip')!;

  show(text: string, x: number, y: number): void {
    this.box.hidden = text === '';
    if (!text) return;
    this.box.textContent = text;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    this.box.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    this.box.style.top = `${y + 20 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
  }

  hide(): void { this.box.hidden = true; }
}
