// Predictions for faster kernels or links: sliders, and the answer as they move.
import { button, debounced, element, replace } from '../dom';
import { isAborted, post, runOfServer } from '../client';
import { change, duration } from '../format';
import type { Model } from '../model';
import type { WhatIfAnswer, WhatIfChange } from '../protocol';
import type { Slider } from '../state';

const kLeast = 0.5;
const kMost = 8;
const kSteps = 400;
const kWaitMs = 150;

/** Place of a slider from 0 to kSteps, equal steps for equal factors. */
export function placeOf(speedup: number): number {
  return Math.round(Math.log(speedup / kLeast) / Math.log(kMost / kLeast) * kSteps);
}

export function speedupAt(place: number): number {
  const value = kLeast * (kMost / kLeast) ** (place / kSteps);
  return Math.abs(value - 1) < 0.008 ? 1 : Number(value.toPrecision(3));
}

interface Subject { subject: string; name: string; label: string }
const kUsual: Subject[] = [
  { subject: 'compute', name: '', label: 'All compute' }, { subject: 'network', name: '', label: 'Network' }, { subject: 'host', name: '', label: 'Host' },
  { subject: 'class', name: 'gemm', label: 'GEMM' }, { subject: 'class', name: 'attention', label: 'Attention' },
  { subject: 'class', name: 'compute', label: 'Other kernels' }, { subject: 'class', name: 'optimizer', label: 'Optimizer' },
];
const kSimulated: Subject = { subject: 'gpus', name: '', label: 'GPUs' };

function labelOf(model: Model, { subject, name }: Slider): string {
  const usual = [...kUsual, kSimulated].find((one) => one.subject === subject && one.name === name);
  if (usual) return usual.label;
  return subject === 'rank' ? `${model.label(model.state.run, Number(name))} is not late` : `Kernels with “${name}”`;
}

export class WhatIfPanel {
  readonly root = element('div', { class: 'what-if' });
  private readonly answer = element('div', { class: 'answer', 'aria-live': 'polite' });
  private readonly list = element('div', { class: 'sliders' });
  private controller: AbortController | undefined;
  private shownFor = '';
  private readonly askSoon = debounced(kWaitMs, () => void this.ask(false));

  constructor(private readonly model: Model, private readonly added: (run: number) => Promise<void>) {}

  /** Makes the panel for the state's run, and asks where sliders are set. */
  show(): HTMLElement {
    const { model } = this;
    const key = `${model.state.run}.${model.loads}.${model.state.sliders.map((one) => one.subject + one.name).join()}`;
    if (this.shownFor === key) return this.root;
    this.shownFor = key;
    const kind = model.runInfo(model.state.run).can_what_if;
    if (!kind) {
      replace(this.root, element('h2', {}, 'What if'), element('p', { class: 'empty' }, 'This run has no dependencies to ask: record it with its launches, or open a job file.'));
      return this.root;
    }
    const intro = kind === 'simulate' ? 'The job is simulated again.' : 'The recording is replayed through its dependencies.';
    this.fillList();
    replace(this.root, element('h2', {}, 'What if'), element('p', { class: 'soft' }, intro), this.answer, this.list, this.adders(kind),
      element('div', { class: 'row' }, button('Reset', 'All as they were', () => this.reset()),
        kind === 'simulate' && button('Keep as second run', 'Lay the answer beside this run', () => void this.ask(true))));
    void this.ask(false);
    return this.root;
  }

  private subjects(): Subject[] {
    const kind = this.model.runInfo(this.model.state.run).can_what_if;
    // A simulated host is a part of its framework: only a recording has one to change.
    const usual = kind === 'simulate' ? [...kUsual.filter(({ subject }) => subject !== 'host'), kSimulated] : kUsual;
    const others = this.model.state.sliders.filter((one) => !usual.some((known) => known.subject === one.subject && known.name === one.name));
    return [...usual, ...others.map((one) => ({ subject: one.subject, name: one.name, label: labelOf(this.model, one) }))];
  }

  private fillList(): void {
    replace(this.list, ...this.subjects().map((subject) => (subject.subject === 'rank' ? this.rankRow(subject) : this.sliderRow(subject))));
  }

  private rankRow(subject: Subject): HTMLElement {
    return element('div', { class: 'slider changed' }, element('span', {}, subject.label),
      button('×', 'Late again', () => this.change({ ...subject, speedup: 1 }, true), 'icon'));
  }

  private sliderRow(subject: Subject): HTMLElement {
    const now = this.model.state.sliders.find((one) => one.subject === subject.subject && one.name === subject.name)?.speedup ?? 1;
    const value = element('output', {}, `${now}×`);
    const input = element('input', { type: 'range', min: 0, max: kSteps, step: 1, 'aria-label': `Speed of ${subject.label}`, 'data-subject': `${subject.subject}:${subject.name}` });
    input.value = String(placeOf(now));
    const row = element('label', { class: now === 1 ? 'slider' : 'slider changed' }, element('span', {}, subject.label), input, value);
    input.addEventListener('input', () => {
      const speedup = speedupAt(Number(input.value));
      value.textContent = `${speedup}×`;
      row.className = speedup === 1 ? 'slider' : 'slider changed';
      this.change({ ...subject, speedup }, false);
    });
    input.addEventListener('dblclick', () => {
      input.value = String(placeOf(1));
      input.dispatchEvent(new Event('input'));
    });
    return row;
  }

  private adders(kind: string): HTMLElement {
    const kernel = element('input', { type: 'text', placeholder: 'part of a kernel’s name', 'aria-label': 'Kernels by name' });
    const addKernel = (): void => {
      if (kernel.value.trim()) this.change({ subject: 'kernel', name: kernel.value.trim(), speedup: 2 }, true);
    };
    kernel.addEventListener('keydown', (event) => { if (event.key === 'Enter') addKernel(); });
    const box = element('div', { class: 'adders' });
    if (kind === 'replay') box.append(element('div', { class: 'row' }, kernel, button('Add', 'A slider for these kernels', addKernel)), this.lateRanks());
    return box;
  }

  // The latest first: they are worth asking about.
  private lateRanks(): HTMLElement {
    const { run } = this.model.state;
    const late = this.model.ranks[run].late_ns;
    const rows = [...this.model.order(run, 'late').rows].slice(0, 100).filter((row) => late[row] > 0);
    const select = element('select', { 'aria-label': 'A rank that is late' }, element('option', { value: '' }, rows.length ? 'a rank that is not late any more …' : 'no rank is late'),
      ...rows.map((row) => element('option', { value: row }, `${this.model.label(run, row)} (${duration(late[row])} late)`)));
    select.addEventListener('change', () => {
      if (select.value) this.change({ subject: 'rank', name: select.value, speedup: 2 }, true);
    });
    return select;
  }

  private change(slider: Slider, isListChanged: boolean): void {
    const { subject, name, speedup } = slider;
    const others = this.model.state.sliders.filter((one) => one.subject !== subject || one.name !== name);
    const isKept = speedup !== 1 || (subject === 'kernel');
    this.shownFor = isListChanged ? '' : this.shownFor;
    const sliders = isKept ? [...others, { subject, name, speedup }] : others;
    if (!isListChanged) this.shownFor = `${this.model.state.run}.${this.model.loads}.${sliders.map((one) => one.subject + one.name).join()}`;
    this.model.set({ sliders });
    this.askSoon();
  }

  private reset(): void {
    this.shownFor = '';
    this.model.set({ sliders: [] });
  }

  private async ask(keep: boolean): Promise<void> {
    const { run } = this.model.state;
    const changes: WhatIfChange[] = this.model.state.sliders.filter((one) => one.speedup !== 1);
    this.controller?.abort();
    if (changes.length === 0) {
      const now = this.model.runInfo(run).step_ns;
      replace(this.answer, element('p', { class: 'soft' }, now ? `The step time is ${duration(now)}. Move a slider.` : 'Move a slider.'));
      return;
    }
    const controller = this.controller = new AbortController();
    this.answer.classList.add('busy');
    try {
      const body = { run: runOfServer(run), changes, ...(keep ? { keep: true } : {}) };
      const answer = await post('what-if', body, controller.signal);
      this.showAnswer(answer);
      if (keep && answer.run !== null) await this.added(answer.run);
    } catch (error) {
      if (isAborted(error)) return;
      replace(this.answer, element('p', { class: 'problem' }, (error as Error).message));
    } finally {
      if (this.controller === controller) this.answer.classList.remove('busy');
    }
  }

  private showAnswer({ before_ns, after_ns, sentences }: WhatIfAnswer): void {
    const good = after_ns <= before_ns;
    replace(this.answer, element('p', { class: 'before-after' }, element('span', {}, duration(before_ns)), ' → ', element('b', {}, duration(after_ns)),
      element('span', { class: good ? 'better' : 'worse' }, change(before_ns, after_ns))), ...sentences.map((text) => element('p', {}, text)));
  }
}
