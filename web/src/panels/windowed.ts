// Answers about a window of time: asked for again when the window leaves what was asked for, or is much narrower.
import { isAborted } from '../client';
import type { TimeWindow } from '../window';

const kWaitMs = 120;

/** A window with room on both sides, rounded so that small moves ask for the same. */
export function roomy(window: TimeWindow): TimeWindow {
  const width = window.end - window.begin;
  const unit = 2 ** Math.floor(Math.log2(Math.max(1, width)) - 1);
  return { begin: Math.max(0, Math.floor((window.begin - width / 2) / unit) * unit), end: Math.ceil((window.end + width / 2) / unit) * unit };
}

export class Windowed<T> {
  value: T | undefined;
  private asked: TimeWindow | undefined;
  private key = '';
  private timer = 0;
  private controller: AbortController | undefined;

  constructor(private readonly ask: (window: TimeWindow, signal: AbortSignal) => Promise<T>, private readonly changed: () => void,
              private readonly failed: (error: unknown) => void) {}

  /** Says what is shown; `key` is what else the answer depends on. */
  show(window: TimeWindow, key: string): void {
    const asked = this.asked;
    const fits = asked && key === this.key && window.begin >= asked.begin - 1 && window.end <= asked.end + 1 &&
      (asked.end - asked.begin) / (window.end - window.begin) < 6;
    if (fits) return;
    if (key !== this.key) this.value = undefined;
    this.asked = roomy(window);
    // At the run's begin there is nothing to ask for to the left.
    this.asked.begin = Math.min(this.asked.begin, window.begin);
    this.key = key;
    clearTimeout(this.timer);
    this.timer = self.setTimeout(() => void this.fetchNow(), kWaitMs);
  }

  forget(): void {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.asked = undefined;
    this.value = undefined;
    this.key = '';
  }

  private async fetchNow(): Promise<void> {
    this.controller?.abort();
    const controller = this.controller = new AbortController();
    const asked = this.asked;
    if (!asked) return;
    try {
      const value = await this.ask({ begin: Math.max(0, Math.floor(asked.begin)), end: Math.max(1, Math.ceil(asked.end)) }, controller.signal);
      if (controller.signal.aborted) return;
      this.value = value;
      this.changed();
    } catch (error) {
      if (!isAborted(error)) this.failed(error);
    }
  }
}
