// Everything that the address holds: who opens it sees the same picture.

export type Order = 'rank' | 'stage' | 'node' | 'late';
export const kOrders: Order[] = ['rank', 'stage', 'node', 'late'];
export type Overlay = 'collectives' | 'critical' | 'waits' | 'arrows';
export const kOverlays: Overlay[] = ['collectives', 'critical', 'waits', 'arrows'];
export type Theme = '' | 'light' | 'dark';
export type Panel = '' | 'what-if' | 'search' | 'differences' | 'rank';

export interface RankRef { run: number; rank: number }
export interface SliceRef extends RankRef { track: number; row: number }
/** Ranks `first` to `first + count` in the order that is shown. */
export interface Selection { begin: number; end: number; first: number; count: number }
export interface Slider { subject: string; name: string; speedup: number }

export interface State {
  tab: string;
  /** Run that tabs and panels are about: 0 or 1, of those that are drawn. */
  run: number;
  /** The open run that is drawn beside the first. */
  beside: number;
  /** The part of the time axis that is shown, ns after the first run's begin; equal: everything. */
  begin: number;
  end: number;
  scroll: number;
  /** Pixels a rank; 0: so that all fit. */
  rankHeight: number;
  order: Order;
  open: RankRef[];
  selection: Selection | null;
  slice: SliceRef | null;
  search: string;
  overlays: Overlay[];
  theme: Theme;
  panel: Panel;
  /** The alignment of the second run: -3 by the step or collective before `at`, -2 by begin, -1 by the first step, else by that step. */
  align: number;
  /** Time of the first run, where `align` is -3. */
  at: number;
  sliders: Slider[];
}

export function emptyState(): State {
  return {
    tab: 'timeline', run: 0, beside: 1, begin: 0, end: 0, scroll: 0, rankHeight: 0, order: 'rank', open: [], selection: null, slice: null,
    search: '', overlays: [], theme: '', panel: '', align: -1, at: 0, sliders: [],
  };
}

const kMostOpen = 64;
const kPanels: Panel[] = ['', 'what-if', 'search', 'differences', 'rank'];

// Thousandths of a nanosecond are below what a pixel shows at the deepest zoom.
function short(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}

/** The state as the part of the address after '#', without what is as in a new page. */
export function encodeState(state: State): string {
  const parts: [string, string][] = [];
  const add = (key: string, value: string, usual = ''): void => {
    if (value !== usual) parts.push([key, value]);
  };
  add('tab', state.tab, 'timeline');
  add('run', String(state.run), '0');
  add('beside', String(state.beside), '1');
  if (state.end > state.begin) add('t', `${short(state.begin)},${short(state.end)}`);
  add('y', short(Math.round(state.scroll)), '0');
  add('h', String(Math.round(state.rankHeight * 1e4) / 1e4), '0');
  add('order', state.order, 'rank');
  add('open', state.open.map(({ run, rank }) => `${run}.${rank}`).join(','));
  const range = state.selection;
  if (range) add('range', [range.begin, range.end, range.first, range.count].map(short).join(','));
  const slice = state.slice;
  if (slice) add('slice', [slice.run, slice.rank, slice.track, slice.row].join(','));
  add('q', state.search);
  add('on', state.overlays.join(','));
  add('theme', state.theme);
  add('panel', state.panel);
  add('align', String(state.align), '-1');
  if (state.align === -3) add('at', short(state.at), '0');
  add('if', state.sliders.map((one) => `${one.subject}:${encodeURIComponent(one.name)}:${one.speedup.toPrecision(4)}`).join(','));
  return parts.map(([key, value]) => `${key}=${encodeURIComponent(value).replace(/%2C/g, ',').replace(/%3A/g, ':')}`).join('&');
}

/** Numbers of a list of exactly `length`, none negative unless allowed. */
function numbers(text: string, length: number): number[] | undefined {
  const values = text.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)));
  return values.length === length && values.every((value) => Number.isFinite(value)) ? values : undefined;
}

function whole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function decodeOpen(text: string): RankRef[] {
  const refs = text.split(',').map((part) => part.split('.').map(Number)).filter((pair) => pair.length === 2 && pair.every(whole));
  return refs.slice(0, kMostOpen).map(([run, rank]) => ({ run, rank }));
}

function decodeSliders(text: string): Slider[] {
  const sliders: Slider[] = [];
  for (const part of text.split(',').slice(0, 32)) {
    const [subject, name, speedup] = part.split(':');
    const value = Number(speedup);
    if (subject && value > 0 && Number.isFinite(value)) sliders.push({ subject, name: decoded(name), speedup: value });
  }
  return sliders;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Setter = (state: State, value: string) => void;
const kSetters: Record<string, Setter> = {
  tab: (state, value) => { state.tab = value; },
  run: (state, value) => { state.run = value === '1' ? 1 : 0; },
  beside: (state, value) => { if (whole(Number(value)) && Number(value) > 0) state.beside = Number(value); },
  t: (state, value) => {
    const pair = numbers(value, 2);
    if (pair && pair[1] > pair[0]) [state.begin, state.end] = pair;
  },
  y: (state, value) => { state.scroll = Math.max(0, Number(value) || 0); },
  h: (state, value) => { state.rankHeight = Math.min(100, Math.max(0, Number(value) || 0)); },
  order: (state, value) => { if ((kOrders as string[]).includes(value)) state.order = value as Order; },
  open: (state, value) => { state.open = decodeOpen(value); },
  range: (state, value) => {
    const parts = numbers(value, 4);
    if (parts && parts[1] > parts[0] && whole(parts[2]) && whole(parts[3])) {
      state.selection = { begin: parts[0], end: parts[1], first: parts[2], count: parts[3] };
    }
  },
  slice: (state, value) => {
    const parts = numbers(value, 4);
    if (parts?.every(whole)) state.slice = { run: parts[0], rank: parts[1], track: parts[2], row: parts[3] };
  },
  q: (state, value) => { state.search = value.slice(0, 500); },
  on: (state, value) => { state.overlays = kOverlays.filter((one) => value.split(',').includes(one)); },
  theme: (state, value) => { if (value === 'light' || value === 'dark') state.theme = value; },
  panel: (state, value) => { if ((kPanels as string[]).includes(value)) state.panel = value as Panel; },
  align: (state, value) => { state.align = Number.isInteger(Number(value)) ? Math.max(-3, Number(value)) : -1; },
  at: (state, value) => { state.at = Math.max(0, Number(value) || 0); },
  if: (state, value) => { state.sliders = decodeSliders(value); },
};

/** Reads what encodeState wrote. What cannot be read is left as in a new page: the address comes from others. */
export function decodeState(hash: string): State {
  const state = emptyState();
  for (const part of hash.replace(/^#/, '').split('&')) {
    const at = part.indexOf('=');
    const key = part.slice(0, at);
    if (at > 0 && Object.prototype.hasOwnProperty.call(kSetters, key)) kSetters[key](state, decoded(part.slice(at + 1)));
  }
  return state;
}
