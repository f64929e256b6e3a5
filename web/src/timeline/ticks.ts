// Places of ticks on a time axis.

export interface Ticks {
  /** Distance of labelled ticks in ns. */
  step: number;
  /** Distance of ticks without label. */
  minor: number;
  values: number[];
}

/** A step of 1, 2 or 5 times a power of ten so that labelled ticks are at least `apart` pixels from each other. */
export function tickStep(nsPerPixel: number, apart: number): number {
  const least = nsPerPixel * apart;
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) {
    if (power * factor >= least * (1 - 1e-9)) return power * factor;
  }
  return power * 10;
}

export function ticks(begin: number, end: number, pixels: number, apart = 110): Ticks {
  const step = tickStep((end - begin) / Math.max(1, pixels), apart);
  const leading = Math.round(step / 10 ** Math.floor(Math.log10(step) + 1e-9));
  const minor = leading === 2 ? step / 4 : step / 5;
  const values: number[] = [];
  // Multiples, not sums: a sum of steps would drift over a long axis.
  for (let i = Math.ceil(begin / step - 1e-9); i * step <= end + step * 1e-9; ++i) values.push(i * step + 0);  // + 0: no negative zero
  return { step, minor, values };
}

const kUnits: [string, number][] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];

/** Text of a tick: whole digits in the unit that fits the step, "1 204.5 ms". */
export function tickText(value: number, step: number): string {
  const size = Math.max(Math.abs(value), step);
  let [name, scale] = kUnits.find(([, ns]) => size >= ns) ?? ['ns', 1];
  if (scale / step > 1e6) [name, scale] = scale === 1e9 ? ['ms', 1e6] : ['µs', 1e3];
  const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / scale) + 1e-9)));
  const [whole, part] = (value / scale).toFixed(decimals).split('.');
  const grouped = whole.replace(/(\d)(?=(\d{3})+$)/g, '$1\u2009');
  const fine = part ? '.' + part.replace(/(\d{3})(?=\d)/g, '$1\u2009') : '';
  return `${grouped}${fine} ${name}`;
}
