// Colours of the page's style sheet for what is drawn on canvases.

export type Rgb = [number, number, number];

export const kNumClasses = 10;
/** Colours of host slices, by name. */
export const kNumHostColours = 6;
export const kWait = 6;
export const kBubble = 7;
/** Classes in which a device works. */
export const kWorking = [false, true, true, true, true, false, false, false, false, true];

export interface Palette {
  /** Classes, then colours of the host. */
  colours: Rgb[];
  css: string[];
  /** Colour of text on each of them. */
  textOn: string[];
  hatch: Rgb;
  hatchBubble: Rgb;
  ground: Rgb;
  surface: string; page: string; ink: string; soft: string; line: string; grid: string; accent: string; roof: string; idle: string;
  transfer: string; less: string; more: string; other: string; path: string;
}

export function parseColour(text: string): Rgb {
  const digits = text.trim().replace(/^#/, '');
  const full = digits.length === 3 ? [...digits].map((c) => c + c).join('') : digits;
  const value = parseInt(full.slice(0, 6), 16);
  return Number.isNaN(value) ? [0.5, 0.5, 0.5] : [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

export function cssOf([red, green, blue]: Rgb): string {
  const part = (value: number): number => Math.round(Math.max(0, Math.min(1, value)) * 255);
  return `rgb(${part(red)},${part(green)},${part(blue)})`;
}

export function mixed(from: Rgb, to: Rgb, share: number): Rgb {
  return [0, 1, 2].map((i) => from[i] + (to[i] - from[i]) * share) as Rgb;
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// On any colour this or white has a contrast of 4.5: a lighter one would not.
const kDarkText = '#04060a';

/** White or near-black, whichever has more contrast. */
export function textColourOn(colour: Rgb): string {
  const light = luminance(colour);
  return 1.05 / (light + 0.05) >= (light + 0.05) / (luminance(parseColour(kDarkText)) + 0.05) ? '#ffffff' : kDarkText;
}

const kClassKeys = ['idle', 'gemm', 'attention', 'compute', 'optimizer', 'communication', 'wait', 'bubble', 'host', 'memory'];

/** CSS variable of a class, for legends and bars. */
export function classVariable(code: number): string {
  return code < kNumClasses ? `var(--class-${kClassKeys[code]})` : 'var(--host-0)';
}

export function readPalette(root: HTMLElement): Palette {
  const style = getComputedStyle(root);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  const names = [...kClassKeys.map((key) => `--class-${key}`), ...Array.from({ length: kNumHostColours }, (_, i) => `--host-${i}`)];
  const colours = names.map((name) => parseColour(get(name)));
  return {
    colours, css: colours.map(cssOf), textOn: colours.map(textColourOn),
    hatch: parseColour(get('--class-wait-line')), hatchBubble: parseColour(get('--class-bubble-line')), ground: parseColour(get('--plot')),
    surface: get('--surface'), page: get('--page'), ink: get('--ink'), soft: get('--soft'), line: get('--line'), grid: get('--grid'),
    accent: get('--accent'), roof: get('--roof'), idle: get('--class-idle'), transfer: get('--transfer'), less: get('--less'),
    more: get('--more'), other: get('--other'), path: get('--path'),
  };
}

/** The same for equal names on all machines (FNV-1a). */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Palette entry and tint (0 … 255, 128 is none) of a slice. */
export function lookOf(classOf: number, name: string): { colour: number; tint: number } {
  const hash = hashOf(name.replace(/[\d._:<>,\s]+/g, ''));
  if (classOf < kNumClasses) return { colour: classOf, tint: 88 + ((hash >>> 8) % 81) };
  return { colour: kNumClasses + (hash % kNumHostColours), tint: 108 + ((hash >>> 8) % 41) };
}

/** Applies a tint to a colour; the shader does the same. */
export function tinted(colour: Rgb, tint: number): Rgb {
  const shift = (tint - 128) / 128;
  return mixed(colour, shift > 0 ? [1, 1, 1] : [0, 0, 0], Math.abs(shift) * 0.45);
}
