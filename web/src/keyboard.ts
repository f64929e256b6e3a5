// Actions of each key.
import type { Actions } from './actions';
import { helpDialog, isTyping, type Key } from './keys';
import { plotHeight } from './timeline/scene';
import type { Timeline } from './timeline/timeline';
import { zoomed, moved } from './window';

const kZoomKeys: Record<string, number> = { w: 1, s: -1 };
const kMoveKeys: Record<string, number> = { a: -1, d: 1 };

export class Keyboard {
  readonly help: HTMLDialogElement;
  private readonly keys: Key[];

  constructor(private readonly timeline: Timeline, private readonly actions: Actions) {
    this.keys = this.list();
    this.help = helpDialog([
      { title: 'Move', keys: [
        { shown: 'W S', what: 'zoom in, out at the pointer' }, { shown: 'A D', what: 'move left, right' }, { shown: '← →', what: 'move by a quarter of the screen' },
        { shown: '↑ ↓', what: 'previous, next rank' }, { shown: 'PageUp PageDown', what: 'scroll ranks' }, { shown: '+ −', what: 'higher, lower lines' }] },
      { title: 'Mouse', keys: [
        { shown: 'wheel', what: 'zoom at the pointer' }, { shown: 'ctrl wheel', what: 'higher, lower lines; goes into a rank' }, { shown: 'shift wheel', what: 'scroll ranks' },
        { shown: 'drag', what: 'move' }, { shown: 'shift drag', what: 'select a time and ranks' }, { shown: 'drag-on-axis', what: 'select a time' },
        { shown: 'double-click', what: 'zoom to what is there' }, { shown: 'click-on-name', what: 'tracks of a rank' }] },
      { title: 'Do', keys: this.keys.filter((key) => key.what) },
    ]);
    document.addEventListener('keydown', (event) => this.down(event));
    document.addEventListener('keyup', (event) => this.up(event));
    window.addEventListener('blur', () => this.release());
  }

  private list(): Key[] {
    const { actions, timeline } = this;
    return [
      { keys: ['/'], shown: '/', what: 'search names or /regex/', act: () => actions.focusSearch() },
      { keys: ['n'], shown: 'N', what: 'next hit', act: () => void actions.nextHit(true) },
      { keys: ['N'], shown: 'shift N', what: 'previous hit', act: () => void actions.nextHit(false) },
      { keys: ['f', 'F'], shown: 'F', what: 'fit the slice or the selection', act: () => actions.fit() },
      { keys: ['m', 'M'], shown: 'M', what: 'select the time of the slice', act: () => actions.selectSlice() },
      { keys: ['0', 'Home'], shown: '0 Home', what: 'show everything', act: () => timeline.showAll() },
      { keys: ['Enter'], shown: 'Enter', what: 'open or close the rank', act: () => actions.openCurrent() },
      { keys: ['c', 'C'], shown: 'C', what: 'collectives', act: () => actions.toggle('collectives') },
      { keys: ['p', 'P'], shown: 'P', what: 'critical path', act: () => actions.toggle('critical') },
      { keys: ['x', 'X'], shown: 'X', what: 'waits only', act: () => actions.toggle('waits') },
      { keys: ['l', 'L'], shown: 'L', what: 'launches', act: () => actions.toggle('arrows') },
      { keys: ['r', 'R'], shown: 'R', what: 'drag selects instead of moving', act: () => actions.toggleSelecting() },
      { keys: ['o', 'O'], shown: 'O', what: 'next order of ranks', act: () => actions.nextOrder() },
      { keys: ['i', 'I'], shown: 'I', what: 'what if', act: () => actions.togglePanel('what-if') },
      { keys: ['t', 'T'], shown: 'T', what: 'dark or light', act: () => actions.toggleTheme() },
      { keys: ['Escape'], shown: 'Esc', what: 'close the panel, forget the selection', act: () => actions.escape() },
      { keys: ['?'], shown: '?', what: 'this list', act: () => this.help.showModal() },
      { keys: ['ArrowUp'], shown: '', what: '', act: () => actions.moveCurrent(-1) },
      { keys: ['ArrowDown'], shown: '', what: '', act: () => actions.moveCurrent(1) },
      { keys: ['PageUp'], shown: '', what: '', act: () => this.page(-1) },
      { keys: ['PageDown'], shown: '', what: '', act: () => this.page(1) },
      { keys: ['ArrowLeft'], shown: '', what: '', act: () => this.quarter(-1) },
      { keys: ['ArrowRight'], shown: '', what: '', act: () => this.quarter(1) },
      { keys: ['+', '='], shown: '', what: '', act: () => timeline.zoomRanks(1.5) },
      { keys: ['-', '−'], shown: '', what: '', act: () => timeline.zoomRanks(1 / 1.5) },
    ];
  }

  private page(sign: number): void {
    const { scene } = this.timeline;
    if (scene) this.timeline.scrollBy(sign * plotHeight(scene) * 0.85);
  }

  private quarter(sign: number): void {
    const window = this.timeline.model.window();
    this.timeline.show(moved(window, sign * (window.end - window.begin) / 4), true);
  }

  private down(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    if (isTyping(event.target)) return;
    const isOnButton = event.target instanceof HTMLElement && Boolean(event.target.closest('button,a,summary,[role=tab]'));
    if (isOnButton && ['Enter', ' ', 'ArrowLeft', 'ArrowRight'].includes(event.key)) return;
    const isTimeline = this.timeline.model.state.tab === 'timeline';
    const key = event.key.toLowerCase();
    if (isTimeline && (key in kZoomKeys || key in kMoveKeys)) {
      if (!event.repeat) this.hold(key);
      event.preventDefault();
      return;
    }
    const found = this.keys.find((one) => one.keys.includes(event.key));
    const isGlobal = ['/', '?', 't', 'T', 'Escape'].includes(event.key);
    if (!found || (!isTimeline && !isGlobal)) return;
    event.preventDefault();
    found.act();
  }

  // A short press moves too: one step at once, the rest while the key is down.
  private hold(key: string): void {
    const { held, model } = this.timeline;
    const window = model.window();
    const width = window.end - window.begin;
    if (key in kZoomKeys) {
      held.zoom = kZoomKeys[key];
      const { pointer, scene } = this.timeline;
      const at = scene && pointer?.isInPlot ? window.begin + (pointer.x - scene.plot.left) / (scene.plot.right - scene.plot.left) * width : window.begin + width / 2;
      this.timeline.show(zoomed(window, held.zoom > 0 ? 0.88 : 1 / 0.88, at), false);
    } else {
      held.move = kMoveKeys[key];
      this.timeline.show(moved(window, held.move * width * 0.04), false);
    }
    this.timeline.frames.invalidate();
  }

  private up(event: KeyboardEvent): void {
    const key = event.key.toLowerCase();
    if (kZoomKeys[key] === this.timeline.held.zoom) this.timeline.held.zoom = 0;
    if (kMoveKeys[key] === this.timeline.held.move) this.timeline.held.move = 0;
  }

  private release(): void {
    this.timeline.held.zoom = 0;
    this.timeline.held.move = 0;
  }
}
