// Search: hits by pages in order of time, next and previous.
import { getJson, isAborted, query } from './client';
import type { Model } from './model';
import type { Found, Hit } from './protocol';
import { parseSearch } from './search_text';

const kPage = 200;
const kMostKept = 4000;

function isSame(a: Hit, b: Hit): boolean {
  return a.begin_ns === b.begin_ns && a.rank === b.rank && a.track === b.track && a.row === b.row;
}

export class Finder {
  hits: Hit[] = [];
  names: Found['names'] = [];
  total = 0;
  /** Place of the hit that was jumped to; -1: none yet. */
  at = -1;
  /** A sentence when the search failed. */
  problem = '';
  isBusy = false;
  run = 0;
  private text = '';
  private controller: AbortController | undefined;

  constructor(private readonly model: Model, private readonly changed: () => void) {}

  get isActive(): boolean { return this.text !== ''; }

  /** Starts a search; the same again does nothing. */
  async search(input: string, run: number): Promise<void> {
    const parsed = parseSearch(input);
    const text = parsed.kind === 'text' || parsed.kind === 'pattern' ? parsed.text : '';
    this.problem = parsed.kind === 'wrong' ? parsed.reason : '';
    if (text === this.text && run === this.run) {
      this.changed();
      return;
    }
    this.text = text;
    this.run = run;
    this.hits = [];
    this.names = [];
    this.total = 0;
    this.at = -1;
    this.controller?.abort();
    if (text) await this.page(0);
    this.changed();
  }

  private async page(from: number): Promise<void> {
    const controller = this.controller = new AbortController();
    this.isBusy = true;
    this.changed();
    try {
      const found = await getJson<Found>(query('api/find', { run: this.run, text: this.text, from: Math.floor(from), rank: -1, most: kPage }), controller.signal);
      if (from === 0) {
        this.total = found.total;
        this.names = found.names;
      }
      const fresh = found.hits.filter((hit) => !this.hits.slice(-kPage).some((known) => isSame(known, hit)));
      if (this.hits.length < kMostKept) this.hits.push(...fresh);
    } catch (error) {
      if (isAborted(error)) return;
      this.problem = (error as Error).message;
      this.model.fail(error);
    } finally {
      if (this.controller === controller) this.isBusy = false;
    }
  }

  /** The next hit, or the previous; the first one is the first after `time`. */
  async step(forward: boolean, time: number): Promise<Hit | undefined> {
    if (this.hits.length === 0) return undefined;
    if (this.at < 0) {
      const after = this.hits.findIndex((hit) => hit.begin_ns >= time);
      this.at = after < 0 ? 0 : after;
    } else if (forward) {
      if (this.at + 1 >= this.hits.length && this.hits.length < this.total) await this.page(this.hits[this.hits.length - 1].begin_ns);
      this.at = (this.at + 1) % this.hits.length;
    } else {
      this.at = (this.at - 1 + this.hits.length) % this.hits.length;
    }
    this.changed();
    return this.hits[this.at];
  }
}
