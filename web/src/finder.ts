// Search: hits by pages in order of time, next and previous.
import { ask, isAborted } from './client';
import type { Model } from './model';
import type { Found, SlicePlace } from './protocol';
import { parseSearch } from './search_text';

const kFirstPage = 200;
const kPage = 1000;
const kMostKept = 10000;

function isSame(a: SlicePlace, b: SlicePlace): boolean {
  return a.begin_ns === b.begin_ns && a.rank === b.rank && a.track === b.track && a.row === b.row;
}

export class Finder {
  hits: SlicePlace[] = [];
  names: Found['names'] = [];
  total = 0;
  /** Place of the hit that was jumped to; -1: none yet. */
  at = -1;
  /** A sentence when the search failed. */
  problem = '';
  /** There was no answer: hits are not known. */
  isUnanswered = false;
  isBusy = false;
  run = 0;
  private text = '';
  private controller: AbortController | undefined;

  constructor(private readonly model: Model, private readonly changed: () => void) {}

  get isActive(): boolean { return this.text !== ''; }

  /** True if there are more hits than are marked and listed. */
  get isCut(): boolean { return this.hits.length < this.total && this.hits.length >= kMostKept; }

  /** Starts a search; the same again does nothing. */
  async search(input: string, run: number): Promise<void> {
    const parsed = parseSearch(input);
    const text = parsed.kind === 'text' || parsed.kind === 'pattern' ? parsed.text : '';
    const wrong = parsed.kind === 'wrong' ? parsed.reason : '';
    if (text === this.text && run === this.run) {
      if (!this.isUnanswered || wrong) this.problem = wrong;
      this.changed();
      return;
    }
    this.problem = wrong;
    this.isUnanswered = false;
    this.text = text;
    this.run = run;
    this.hits = [];
    this.names = [];
    this.total = 0;
    this.at = -1;
    this.controller?.abort();
    if (text) await this.page(0, kFirstPage);
    this.changed();
    void this.rest();
  }

  /** The hits behind the first page, so that all of them are marked. */
  private async rest(): Promise<void> {
    const { text, run } = this;
    for (let known = -1; known < this.hits.length && this.hits.length < Math.min(this.total, kMostKept);) {
      known = this.hits.length;
      await this.page(this.hits[known - 1].begin_ns, kPage);
      if (text !== this.text || run !== this.run) return;
      this.changed();
    }
  }

  private async page(from: number, most: number): Promise<void> {
    const controller = this.controller = new AbortController();
    this.isBusy = true;
    this.changed();
    try {
      const found = await ask('find', { run: this.run, text: this.text, from: Math.floor(from), rank: -1, most }, controller.signal);
      if (from === 0) {
        this.total = found.total;
        this.names = found.names;
      }
      // A page begins at the time of the last hit: those of the same time come again.
      const again = this.hits.filter((known) => known.begin_ns >= from);
      const fresh = found.hits.filter((hit) => !again.some((known) => isSame(known, hit)));
      if (this.hits.length < kMostKept) this.hits.push(...fresh);
    } catch (error) {
      if (isAborted(error)) return;
      this.problem = (error as Error).message;
      this.isUnanswered = true;
      this.model.fail(error);
    } finally {
      if (this.controller === controller) this.isBusy = false;
    }
  }

  /** The next hit, or the previous; the first one is the first after `time`. */
  async step(forward: boolean, time: number): Promise<SlicePlace | undefined> {
    if (this.hits.length === 0) return undefined;
    if (this.at < 0) {
      const after = this.hits.findIndex((hit) => hit.begin_ns >= time);
      this.at = after < 0 ? 0 : after;
    } else if (forward) {
      this.at = (this.at + 1) % this.hits.length;
    } else {
      this.at = (this.at - 1 + this.hits.length) % this.hits.length;
    }
    this.changed();
    return this.hits[this.at];
  }
}
