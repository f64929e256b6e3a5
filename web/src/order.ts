import type { Ranks } from './protocol';
import type { Order } from './state';

/** Rows of a run in the order in which they are shown, as the server orders them; equal ones by row. */
export function rowsInOrder(ranks: Ranks, order: Order): Uint32Array {
  const rows = Uint32Array.from(ranks.rank, (_, row) => row);
  const column = order === 'stage' ? ranks.stage : order === 'node' ? ranks.node : ranks.late_ns;
  if (order === 'rank') return rows;
  const sign = order === 'late' ? -1 : 1;
  return rows.sort((a, b) => sign * (column[a] - column[b]) || a - b);
}

/** Place in the order by row. */
export function inverse(rows: Uint32Array): Uint32Array {
  const places = new Uint32Array(rows.length);
  rows.forEach((row, place) => { places[row] = place; });
  return places;
}
