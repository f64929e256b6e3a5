// Numbers as people read them.

const kTimeUnits = ['ns', 'µs', 'ms', 's'];
const kByteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

function trimmed(value: number, digits: number): string {
  const text = value.toPrecision(digits);
  if (text.includes('e')) return String(Math.round(value));
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** Four digits at most: "812 ns", "1.234 ms", "12.5 s", "3 min 20 s". */
export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return '–';
  const size = Math.abs(ns);
  if (size >= 120e9) {
    const seconds = Math.round(size / 1e9);
    return `${ns < 0 ? '−' : ''}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
  let unit = 0;
  let value = size;
  while (value >= 999.95 && unit < kTimeUnits.length - 1) {
    value /= 1000;
    ++unit;
  }
  const digits = trimmed(value, unit === 0 ? 3 : 4);
  return `${ns < 0 ? '−' : ''}${digits} ${kTimeUnits[unit]}`;
}

/** A point in time with as many digits as tell `resolution` ns apart: "1.204 518 s". */
export function instant(ns: number, resolution: number): string {
  const unit = ns >= 1e9 ? 3 : ns >= 1e6 ? 2 : ns >= 1e3 ? 1 : 0;
  const scale = 1000 ** unit;
  const decimals = Math.max(0, Math.min(unit * 3, Math.ceil(-Math.log10(Math.max(resolution, 1) / scale))));
  const [whole, part] = (ns / scale).toFixed(decimals).split('.');
  return `${whole}${part ? '.' + part.replace(/(\d{3})(?=\d)/g, '$1\u2009') : ''} ${kTimeUnits[unit]}`;
}

export function bytes(value: number): string {
  let unit = 0;
  while (value >= 999.5 && unit < kByteUnits.length - 1) {
    value /= 1000;
    ++unit;
  }
  return `${trimmed(value, 3)} ${kByteUnits[unit]}`;
}

/** 12345 → "12 345". */
export function count(value: number): string {
  return String(Math.round(value)).replace(/(\d)(?=(\d{3})+$)/g, '$1\u2009');
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value >= 9.95 || value === 0 ? value.toFixed(0) : value.toFixed(1)} %`;
}

/** "+12 %", "−3.1 %". */
export function change(before: number, after: number): string {
  if (before <= 0) return after > 0 ? 'new' : '–';
  const value = (after / before - 1) * 100;
  const text = Math.abs(value) < 9.95 ? Math.abs(value).toFixed(1) : Math.abs(value).toFixed(0);
  return Number(text) === 0 ? '±0 %' : `${value < 0 ? '−' : '+'}${text} %`;
}

/** A number with the unit of a chart's axis. */
export function quantity(value: number, unit: string): string {
  if (unit === 'bytes') return bytes(value);
  if (unit === 'bytes/s') return `${bytes(value)}/s`;
  if (unit === 'ns') return duration(value);
  return `${trimmed(value, 4)}${unit ? ' ' + unit : ''}`;
}
