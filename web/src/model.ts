// State of the page: the session, ranks, tracks, differences, and the state that the address holds.
import { ask, askAsIs, isAborted, ServerError, setSecond, recorded } from './client';
import { momentAt, momentsOf, otherTime, type Moment } from './timeline/moments';
import { inverse, rowsInOrder } from './order';
import type { Critical, Differences, Ranks, RunInfo, SessionInfo, Track } from './protocol';
import { decodeState, encodeState, type Order, type RankRef, type State } from './state';
import { clamped, type TimeWindow } from './window';

export type StateKey = keyof State;
type Listener = (changed: Set<StateKey | 'data'>) => void;

const kAddressMs = 250;

export class Model {
  state: State = decodeState(location.hash || (recorded?.state ?? ''));
  /** Its `runs` are those that are drawn; `opened` are all. */
  session!: SessionInfo;
  opened: RunInfo[] = [];
  /** The number of times that runs were loaded: results of earlier ones are out of date. */
  loads = 0;
  ranks: Ranks[] = [];
  differences: Differences | null = null;
  /** Times at which both runs do the same. */
  moments: Moment[] = [];
  /** A sentence when something failed; empty: nothing did. */
  notice = '';
  private readonly trackLists = new Map<string, Track[] | 'asked'>();
  private readonly criticalPaths = new Map<number, Critical | 'asked'>();
  private readonly orders = new Map<string, { rows: Uint32Array; places: Uint32Array }>();
  private readonly listeners: Listener[] = [];
  private addressTimer = 0;
  private noticeTimer = 0;

  subscribe(listener: Listener): void { this.listeners.push(listener); }

  private tell(changed: (StateKey | 'data')[]): void {
    const keys = new Set(changed);
    for (const listener of this.listeners) listener(keys);
  }

  /** Data arrived or a sentence changed: everything that shows it draws again. */
  touch(): void { this.tell(['data']); }

  set(part: Partial<State>): void {
    const changed = (Object.keys(part) as StateKey[]).filter((key) => part[key] !== this.state[key]);
    if (changed.length === 0) return;
    Object.assign(this.state, part);
    this.writeAddressSoon();
    this.tell(changed);
  }

  /** Reads the state from an address that somebody typed or went back to. Returns whether another run is to be loaded. */
  readAddress(): boolean {
    if (location.hash.replace(/^#/, '') === encodeState(this.state)) return false;
    const { beside } = this.state;
    this.state = decodeState(location.hash);
    this.tell(Object.keys(this.state) as StateKey[]);
    return this.state.beside !== beside;
  }

  /** Says which run is beside the first; it is drawn after load(). */
  setBeside(beside: number): void {
    const { open, slice } = this.state;
    Object.assign(this.state, { beside, open: open.filter(({ run }) => run === 0), slice: slice?.run === 1 ? null : slice });
    this.writeAddressSoon();
  }

  writeAddress(): void {
    clearTimeout(this.addressTimer);
    this.addressTimer = 0;
    history.replaceState(null, '', `#${encodeState(this.state)}`);
  }

  // Browsers refuse more than about a hundred changes in half a minute.
  private writeAddressSoon(): void {
    if (!this.addressTimer) this.addressTimer = window.setTimeout(() => this.writeAddress(), kAddressMs);
  }

  /** Shows a failure as one line. */
  fail(error: unknown): void {
    if (isAborted(error)) return;
    const text = error instanceof ServerError ? error.message : `The page failed: ${(error as Error).message}`;
    this.say(text);
  }

  say(text: string): void {
    this.notice = text;
    clearTimeout(this.noticeTimer);
    if (text) this.noticeTimer = window.setTimeout(() => this.say(''), 9000);
    this.touch();
  }

  /** Asks for the session and its ranks; again after a run was added. */
  async load(): Promise<void> {
    const ranksOf = (run: number): Promise<Ranks> => askAsIs('ranks', { run });
    // Every session has a first run: it is asked for at once.
    const [session, first] = await Promise.all([ask('session', {}), ranksOf(0)]);
    const opened = session.runs;
    if (this.state.beside >= opened.length) this.state.beside = 1;
    const { beside } = this.state;
    const drawn = opened.length > 1 ? [0, beside] : [0];
    session.runs = drawn.map((run) => opened[run]);
    const ranks = [first, ...await Promise.all(drawn.slice(1).map(ranksOf))];
    if (beside !== this.state.beside) return;  // another was chosen meanwhile
    ++this.loads;
    setSecond(beside);
    this.opened = opened;
    this.session = session;
    this.ranks = ranks;
    this.orders.clear();
    this.trackLists.clear();
    this.criticalPaths.clear();
    this.differences = null;
    this.state.open = this.state.open.filter(({ run, rank }) => run < session.runs.length && rank < this.numRanks(run));
    if (this.state.run >= session.runs.length) this.state.run = 0;
    if (this.state.slice && this.state.slice.run >= session.runs.length) this.state.slice = null;
    if (session.runs.length > 1) {
      this.differences = await ask('differences', { a: 0, b: beside }).catch((error) => {
        this.fail(error);
        return null;
      });
      if (this.differences?.notice) this.say(this.differences.notice);
    }
    this.moments = momentsOf(this.differences?.steps ?? [], this.differences?.pairs ?? []);
    this.touch();
  }

  get numRuns(): number { return this.session.runs.length; }
  runInfo(run: number): RunInfo { return this.session.runs[run]; }
  numRanks(run: number): number { return this.ranks[run].rank.length; }
  label(run: number, rank: number): string {
    return this.ranks[run].label[rank] ?? `rank ${this.ranks[run].rank[rank] ?? rank}`;
  }

  /** Rows by place, and places by row. */
  order(run: number, order: Order = this.state.order): { rows: Uint32Array; places: Uint32Array } {
    const key = `${run}.${order}`;
    let known = this.orders.get(key);
    if (!known) {
      const rows = rowsInOrder(this.ranks[run], order);
      this.orders.set(key, known = { rows, places: inverse(rows) });
    }
    return known;
  }

  /** Nanoseconds from a run's time to the axis, which is the first run's. */
  shift(run: number): number {
    if (run === 0) return 0;
    const { align, at } = this.state;
    const moment = align === -3 ? momentAt(this.moments, 0, at) : undefined;
    if (moment) return moment[0] - moment[1];
    const pair = align >= 0 ? this.differences?.steps[align] : undefined;
    if (pair) return pair[0] - pair[1];
    return align === -2 ? 0 : this.differences?.offset_ns ?? 0;
  }

  /** When the other run is where this one is at a time, both in their own times. */
  sameMoment(run: number, ns: number): number { return otherTime(this.moments, run, ns) ?? ns + this.shift(run) - this.shift(1 - run); }

  /** Lays the runs beside each other by the step or collective before a time of one of them. */
  alignAt(run: number, ns: number): void {
    const moment = momentAt(this.moments, run, ns);
    if (moment) this.set({ align: -3, at: moment[0] });
  }

  /** All of the time axis. */
  whole(): TimeWindow {
    let begin = Infinity;
    let end = -Infinity;
    this.session.runs.forEach((run, i) => {
      begin = Math.min(begin, this.shift(i));
      end = Math.max(end, this.shift(i) + run.length_ns);
    });
    return { begin: Number.isFinite(begin) ? begin : 0, end: Math.max(begin + 1, end) };
  }

  /** The part of it that is shown. */
  window(): TimeWindow {
    const { begin, end } = this.state;
    const whole = this.whole();
    if (end > begin) return clamped({ begin, end }, whole.begin, whole.end);
    const margin = (whole.end - whole.begin) * 0.01;
    return { begin: whole.begin - margin, end: whole.end + margin };
  }

  isOpen(ref: RankRef): boolean {
    return this.state.open.some((one) => one.run === ref.run && one.rank === ref.rank);
  }

  openRank(ref: RankRef, open = true): void {
    if (this.isOpen(ref) === open) return;
    const others = this.state.open.filter((one) => one.run !== ref.run || one.rank !== ref.rank);
    this.set({ open: open ? [...others, { run: ref.run, rank: ref.rank }] : others });
  }

  /** Tracks of a rank; nothing until the server has answered. */
  tracks(run: number, rank: number): Track[] | undefined {
    const key = `${run}.${rank}`;
    const known = this.trackLists.get(key);
    if (known) return known === 'asked' ? undefined : known;
    this.trackLists.set(key, 'asked');
    void this.tracksOf(run, rank).catch((error) => this.fail(error));
    return undefined;
  }

  async tracksOf(run: number, rank: number): Promise<Track[]> {
    const key = `${run}.${rank}`;
    const known = this.trackLists.get(key);
    if (known && known !== 'asked') return known;
    const tracks = await ask('tracks', { run, rank });
    this.trackLists.set(key, tracks);
    this.touch();
    return tracks;
  }

  critical(run: number): Critical | undefined {
    const known = this.criticalPaths.get(run);
    if (known) return known === 'asked' ? undefined : known;
    this.criticalPaths.set(run, 'asked');
    ask('critical', { run }).then((path) => {
      this.criticalPaths.set(run, path);
      this.touch();
    }, (error) => this.fail(error));
    return undefined;
  }
}
