// Elements without markup: everything from a run is text.

type Child = Node | string | null | undefined | false;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** `on…` are listeners; `class` and `aria-…` are attributes; a child of text stays text. */
export function element<K extends keyof HTMLElementTagNameMap>(name: K, properties: Properties = {}, ...children: Child[]):
  HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') made.addEventListener(key.slice(2), value as EventListener);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child) made.append(child);
  }
  return made;
}

export function button(label: string, title: string, press: () => void, name = ''): HTMLButtonElement {
  return element('button', { type: 'button', title, class: name || undefined, onclick: press }, label);
}

/** A button that looks like a link: for places inside the timeline. */
export function link(label: string, press: () => void, title = ''): HTMLButtonElement {
  return element('button', { type: 'button', class: 'link', title: title || undefined, onclick: press }, label);
}

/** A text of which narrow places show some lines, and all of it beside the pointer. */
export function longText(text: string): HTMLElement {
  return element('span', { class: 'long', title: text.length > 60 ? text : undefined }, text);
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children.filter((child): child is Node | string => Boolean(child)));
}

/** `key` of a class adds its hatching. */
export function swatch(colour: string, key = ''): HTMLElement {
  const made = element('i', { class: key ? `swatch class-${key}` : 'swatch', 'aria-hidden': 'true' });
  made.style.backgroundColor = colour;
  return made;
}

export function debounced(ms: number, act: () => void): () => void {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(act, ms);
  };
}
