// Tiles by their address. Every frame says which ones it wants; requests for others are aborted.
import { getBytes, isAborted, recorded, ServerError } from '../client';
import { decodeActivity, decodeSlices, type ActivityTile, type SlicesTile } from '../decode';
import { Lru } from '../lru';

const kLimitBytes = 64e6;
const kMostInFlight = 6;
/** An address that failed is not asked for again at once. */
const kRetryMs = 3000;

export type Tile = ActivityTile | SlicesTile;
export interface TileStats { inFlight: number; waiting: number; loaded: number; bytes: number; requests: number; aborted: number }

export class TileStore {
  private readonly cache: Lru<Tile>;
  private readonly inFlight = new Map<string, AbortController>();
  private readonly failedAt = new Map<string, number>();
  private startTimer = 0;
  private wanted: string[] = [];
  private waiting: string[] = [];
  private requests = 0;
  private aborted = 0;
  private settled: (() => void)[] = [];

  constructor(private readonly changed: () => void, private readonly failed: (error: ServerError) => void,
              release: (tile: Tile) => void) {
    this.cache = new Lru(kLimitBytes, release);
  }

  activity(address: string): ActivityTile | undefined { return this.cache.get(address) as ActivityTile | undefined; }
  slices(address: string): SlicesTile | undefined { return this.cache.get(address) as SlicesTile | undefined; }

  /** Says that the tile is needed in this frame; those that are said first are fetched first. */
  want(address: string): void { this.wanted.push(address); }

  /** Ends a frame: aborts and starts requests. */
  flush(): void {
    const now = performance.now();
    const needed = new Set(this.wanted);
    for (const [address, controller] of this.inFlight) {
      if (needed.has(address)) continue;
      controller.abort();
      this.inFlight.delete(address);
      ++this.aborted;
    }
    this.waiting = [...needed].filter((address) => !this.cache.has(address) && !this.inFlight.has(address) &&
      now - (this.failedAt.get(address) ?? -kRetryMs) >= kRetryMs);
    this.wanted = [];
    if (this.waiting.length > 0) this.startSoon();
    else this.tellSettled();
  }

  /** Resolves when nothing that is wanted is missing. */
  whenSettled(): Promise<void> {
    return new Promise((resolve) => {
      this.settled.push(resolve);
      this.tellSettled();
    });
  }

  get isSettled(): boolean { return this.inFlight.size === 0 && this.waiting.length === 0; }

  stats(): TileStats {
    return { inFlight: this.inFlight.size, waiting: this.waiting.length, loaded: this.cache.size, bytes: this.cache.bytes,
      requests: this.requests, aborted: this.aborted };
  }

  clear(): void {
    for (const controller of this.inFlight.values()) controller.abort();
    this.inFlight.clear();
    this.waiting = [];
    this.cache.clear();
    this.failedAt.clear();
  }

  // A request takes a third of a frame's time to start: the frame goes to the screen before.
  private startSoon(): void {
    if (this.startTimer) return;
    this.startTimer = window.setTimeout(() => {
      this.startTimer = 0;
      this.startNext();
    }, 0);
  }

  private startNext(): void {
    while (this.inFlight.size < kMostInFlight && this.waiting.length > 0) void this.fetchTile(this.waiting.shift()!);
    this.tellSettled();
  }

  private async fetchTile(address: string): Promise<void> {
    const controller = new AbortController();
    this.inFlight.set(address, controller);
    ++this.requests;
    try {
      const buffer = await getBytes(address, controller.signal);
      const tile = address.startsWith('api/activity') ? decodeActivity(buffer) : decodeSlices(buffer);
      this.cache.set(address, tile, tile.bytes);
      this.failedAt.delete(address);
    } catch (error) {
      if (isAborted(error) || controller.signal.aborted) return;
      if (recorded) {
        this.failedAt.set(address, Infinity);  // other levels stand in for it
        this.inFlight.delete(address);
        this.startNext();
        return;
      }
      this.failedAt.set(address, performance.now());
      setTimeout(() => this.changed(), kRetryMs + 50);
      this.failed(error instanceof ServerError ? error : new ServerError((error as Error).message, false));
    }
    if (this.inFlight.get(address) === controller) this.inFlight.delete(address);
    this.startNext();
    this.changed();
  }

  private tellSettled(): void {
    if (!this.isSettled) return;
    const waiting = this.settled;
    this.settled = [];
    for (const resolve of waiting) resolve();
  }
}
