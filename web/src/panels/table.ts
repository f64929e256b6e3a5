// Tables that can be sorted by their heads and filtered by a text.
import { button, debounced, element, link, longText, replace } from '../dom';
import { count } from '../format';
import type { SlicePlace, TableData } from '../protocol';

const kFilterFrom = 12;
const kShown = 200;

/** A table of an answer, or one that the page makes. */
type Table = Pick<TableData, 'rows'> & Partial<Pick<TableData, 'keys' | 'links'>> & { columns: (Pick<Column, 'name'> & Partial<Column>)[] };
type Column = TableData['columns'][number];

/** A button at the end of every row; `row` is the place of a row in the table. */
interface RowAction { name: string; act: (row: number) => void }

/** Links and actions of rows; nothing by default. */
export interface RowLinks { goTo?: (place: SlicePlace) => void; action?: RowAction }

interface Sorting { column: number; down: boolean }

/** Places of rows that have the text, in the order asked for; equal ones stay as they were. */
export function arranged(table: Table, filter: string, sorting: Sorting | undefined): number[] {
  const text = filter.trim().toLowerCase();
  const places = table.rows.map((_, i) => i).filter((i) => !text || table.rows[i].some((cell) => String(cell).toLowerCase().includes(text)));
  if (!sorting) return places;
  const { column, down } = sorting;
  const sign = down ? -1 : 1;
  const numbers = table.keys?.some((keys) => keys[column] !== null && keys[column] !== undefined) ?? false;
  return places.sort((a, b) => {
    if (!numbers) return sign * String(table.rows[a][column]).localeCompare(String(table.rows[b][column])) || a - b;
    const x = table.keys![a][column];
    const y = table.keys![b][column];
    // Rows without a number are last, in either direction.
    if (x === null || x === undefined || y === null || y === undefined) return Number(x === null || x === undefined) - Number(y === null || y === undefined) || a - b;
    return sign * (x - y) || a - b;
  });
}

function isNumber(table: Table, column: number): boolean {
  const { align } = table.columns[column];
  return align === 'right' || (!align && Boolean(table.keys?.some((keys) => typeof keys[column] === 'number')));
}

export function tableElement(table: Table, { goTo, action }: RowLinks = {}): HTMLElement {
  let sorting: Sorting | undefined;
  let shown = kShown;
  const filter = element('input', { type: 'search', placeholder: `Filter ${count(table.rows.length)} rows`, 'aria-label': 'Filter rows', class: 'filter' });
  const body = element('tbody');
  const more = button('', 'Show more rows', () => { shown *= 5; fill(); }, 'more');
  const heads = table.columns.map((column, i) => {
    const press = (): void => {
      sorting = sorting?.column !== i ? { column: i, down: isNumber(table, i) } : { column: i, down: !sorting.down };
      fill();
    };
    const head = element('button', { type: 'button', onclick: press }, column.name, column.unit ? element('small', {}, ` ${column.unit}`) : null);
    return element('th', { class: isNumber(table, i) ? 'number' : undefined, scope: 'col' }, head);
  });
  const named = Math.max(0, table.columns.findIndex((_, i) => !isNumber(table, i)));
  function cellElement(row: number, column: number): HTMLElement {
    const text = String(table.rows[row][column]);
    const place = column === named ? table.links?.[row] : undefined;
    if (isNumber(table, column)) return element('td', { class: 'number' }, text);
    return element('td', { class: 'words' }, place && goTo ? link(text, () => goTo(place), 'Show it in the timeline') : longText(text));
  }
  function rowElement(row: number): HTMLElement {
    return element('tr', {}, ...table.rows[row].map((_, column) => cellElement(row, column)),
      action && element('td', {}, button(action.name, '', () => action.act(row))));
  }
  function fill(): void {
    heads.forEach((head, i) => head.setAttribute('aria-sort', sorting?.column === i ? (sorting.down ? 'descending' : 'ascending') : 'none'));
    const places = arranged(table, filter.value, sorting);
    replace(body, ...places.slice(0, shown).map(rowElement));
    more.hidden = places.length <= shown;
    more.textContent = `${count(places.length - shown)} more rows`;
  }
  filter.addEventListener('input', debounced(80, () => { shown = kShown; fill(); }));
  fill();
  const head = element('thead', {}, element('tr', {}, ...heads, action && element('th', { scope: 'col' })));
  return element('div', { class: 'table' }, table.rows.length >= kFilterFrom && filter,
                 element('div', { class: 'scroll' }, element('table', {}, head, body)), more);
}
