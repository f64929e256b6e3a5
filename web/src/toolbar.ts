// Buttons above the timeline.
import type { Actions } from './actions';
import { button, element, replace, swatch } from './dom';
import { classVariable } from './palette';
import { kOrders, type Order, type Overlay } from './state';

const kOrderNames: Record<Order, string> = { rank: 'rank', stage: 'pipeline stage', node: 'node', late: 'lateness' };
const kOverlayNames: [Overlay, string, string][] = [
  ['collectives', 'Collectives', 'A shape over the ranks of each collective, the last to arrive is marked (C)'],
  ['critical', 'Critical path', 'What the length of a step depends on, from rank to rank (P)'],
  ['waits', 'Waits', 'All but waits and bubbles become pale (X)'],
  ['arrows', 'Launches', 'Arrows from calls to kernels of opened ranks (L)'],
];

export class Toolbar {
  readonly root = element('div', { class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline' });
  private readonly order = element('select', { 'aria-label': 'Order of ranks', title: 'Order of ranks (O)' });
  private readonly align = element('select', { 'aria-label': 'How the second run is laid beside the first', title: 'How B is laid beside A' });
  private readonly beside = element('select', { 'aria-label': 'Run beside the first', title: 'Which run is drawn beside the first (B)' });
  private readonly overlays: Map<Overlay, HTMLButtonElement>;
  private readonly selecting: HTMLButtonElement;
  private readonly predict: HTMLButtonElement;
  private readonly differences: HTMLButtonElement;
  private readonly whatIf: HTMLButtonElement;
  private readonly legend = element('ul', { class: 'legend', 'aria-label': 'Colours' });

  constructor(private readonly actions: Actions) {
    const { timeline, model } = actions;
    this.order.addEventListener('change', () => actions.setOrder(this.order.value as Order));
    this.align.addEventListener('change', () => this.setAlign(Number(this.align.value)));
    this.beside.addEventListener('change', () => void actions.showBeside(Number(this.beside.value)).catch((error) => model.fail(error)));
    this.overlays = new Map(kOverlayNames.map(([overlay, name, title]) => [overlay, button(name, title, () => actions.toggle(overlay))]));
    this.selecting = button('Select', 'A drag selects instead of moving (R, or shift and drag)', () => actions.toggleSelecting());
    this.predict = button('Predict this', 'Simulates this run and lays the prediction beside it', () => void actions.predict());
    this.differences = button('Differences', 'What differs between A and B, the largest first', () => actions.togglePanel('differences'));
    this.whatIf = button('What if …', 'What if something were faster (I)', () => actions.togglePanel('what-if'));
    const zoom = element('div', { class: 'group', role: 'group', 'aria-label': 'Zoom' },
      button('−', 'Zoom out (S)', () => timeline.zoomAt(1.6), 'icon'), button('+', 'Zoom in (W)', () => timeline.zoomAt(1 / 1.6), 'icon'),
      button('Fit', 'Show everything (0)', () => timeline.showAll()));
    const heights = element('div', { class: 'group', role: 'group', 'aria-label': 'Height of lines' },
      button('▾', 'Lower lines: more ranks (−)', () => timeline.zoomRanks(1 / 1.6), 'icon'),
      button('▴', 'Higher lines: fewer ranks (+)', () => timeline.zoomRanks(1.6), 'icon'));
    this.root.append(element('label', { class: 'pair' }, element('span', {}, 'Order'), this.order), this.beside, this.align, zoom, heights,
      element('div', { class: 'group', role: 'group', 'aria-label': 'Overlays' }, ...this.overlays.values()), this.selecting, this.whatIf, this.differences, this.predict, this.legend);
  }

  update(): void {
    const { model, isSelecting } = this.actions;
    const { state } = model;
    this.fillOrders();
    this.fillAlign();
    this.fillBeside();
    for (const [overlay, made] of this.overlays) made.setAttribute('aria-pressed', String(state.overlays.includes(overlay)));
    this.selecting.setAttribute('aria-pressed', String(isSelecting));
    this.whatIf.setAttribute('aria-pressed', String(state.panel === 'what-if'));
    this.whatIf.hidden = !model.session.runs.some((run) => run.can_what_if);
    this.differences.setAttribute('aria-pressed', String(state.panel === 'differences'));
    this.differences.hidden = model.numRuns < 2;
    this.predict.hidden = !model.runInfo(0).can_predict;
    if (this.legend.childElementCount === 0) {
      replace(this.legend, ...model.session.classes.map((one, code) => {
        return element('li', {}, swatch(classVariable(code), one.key), one.name);
      }));
    }
  }

  private fillOrders(): void {
    const { model } = this.actions;
    const has = (values: number[]): boolean => values.some((value) => value >= 0);
    const known = model.ranks[0];
    const orders = kOrders.filter((order) => (order !== 'stage' || has(known.stage)) && (order !== 'node' || has(known.node)));
    if (this.order.options.length !== orders.length) replace(this.order, ...orders.map((order) => element('option', { value: order }, kOrderNames[order])));
    this.order.value = model.state.order;
  }

  private setAlign(align: number): void {
    const { model } = this.actions;
    const { begin, end } = model.window();
    if (align === -3) model.alignAt(0, (begin + end) / 2);
    else model.set({ align });
  }

  private fillBeside(): void {
    const { model } = this.actions;
    this.beside.hidden = model.opened.length < 3;
    const key = `${model.loads}`;
    if (this.beside.dataset.key !== key) replace(this.beside, ...model.opened.slice(1).map(({ name }, i) => element('option', { value: i + 1 }, `B: ${name}`)));
    this.beside.dataset.key = key;
    this.beside.value = String(model.state.beside);
  }

  private fillAlign(): void {
    const { model } = this.actions;
    this.align.hidden = model.numRuns < 2;
    const steps = model.differences?.steps ?? [];
    const choices: [number, string][] = [[-2, 'A and B by begin'], [-1, steps.length ? 'A and B by the first step' : 'A and B as matched'], [-3, 'A and B by what is before the middle'], ...steps.map((_, i): [number, string] => [i, `A and B by step ${i + 1}`])];
    if (this.align.options.length !== choices.length) replace(this.align, ...choices.map(([value, name]) => element('option', { value }, name)));
    this.align.value = String(model.state.align);
  }
}
