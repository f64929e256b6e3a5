// Keys, and the dialog that lists them.
import { button, element } from './dom';

export interface Key { keys: string[]; shown: string; what: string; act: () => void }

/** The dialog of all keys. */
export function helpDialog(groups: { title: string; keys: { shown: string; what: string }[] }[]): HTMLDialogElement {
  const dialog = element('dialog', { class: 'help', 'aria-label': 'Keys' });
  const columns = groups.map(({ title, keys }) => element('section', {}, element('h3', {}, title),
    element('dl', {}, ...keys.flatMap(({ shown, what }) => [element('dt', {}, ...shown.split(' ').map((key) => element('kbd', {}, key))), element('dd', {}, what)]))));
  dialog.append(element('div', { class: 'help-head' }, element('h2', {}, 'Keys and mouse'), button('×', 'Close (Esc)', () => dialog.close(), 'icon')),
    element('div', { class: 'help-columns' }, ...columns));
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  return dialog;
}

/** Returns true if a key belongs to a field that is being typed in. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'button'].includes(target.type);
  return target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement || target.isContentEditable;
}
