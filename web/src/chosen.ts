// The slice that was clicked.
import { ask, isAborted } from './client';
import type { Model } from './model';
import type { SliceDetails } from './protocol';
import type { SliceRef } from './state';

export class Chosen {
  details: SliceDetails | undefined;
  ref: SliceRef | null = null;
  private controller: AbortController | undefined;

  constructor(private readonly model: Model, private readonly changed: () => void) {}

  /** Asks about the state's slice where it is another one than before. */
  follow(): void {
    const { slice } = this.model.state;
    if (slice === this.ref) return;
    this.ref = slice;
    this.details = undefined;
    this.controller?.abort();
    if (slice) void this.ask(slice);
  }

  private async ask(slice: SliceRef): Promise<void> {
    const controller = this.controller = new AbortController();
    try {
      const { run, rank, track, row } = slice;
      this.details = await ask('slice', { run, rank, track, row }, controller.signal);
    } catch (error) {
      if (isAborted(error)) return;
      this.model.fail(error);
      this.ref = null;
      this.model.set({ slice: null });
    }
    this.changed();
  }
}
