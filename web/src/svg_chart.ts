// A chart that our server drew. It is markup of ours, and still nothing of it may run.

const kNamespace = 'http://www.w3.org/2000/svg';
const kAllowed = new Set(['svg', 'g', 'path', 'rect', 'line', 'circle', 'text', 'tspan', 'title', 'desc', 'defs', 'pattern', 'polyline', 'polygon', 'ellipse', 'clippath']);

function cleaned(node: Element): void {
  for (const child of [...node.children]) {
    if (child.namespaceURI !== kNamespace || !kAllowed.has(child.localName.toLowerCase())) child.remove();
    else cleaned(child);
  }
  for (const { name } of [...node.attributes]) {
    const lower = name.toLowerCase();
    if (lower.startsWith('on') || lower === 'style' || lower.endsWith('href')) node.removeAttribute(name);
  }
}

export function svgChart(text: string): SVGElement | undefined {
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
  const root = parsed.documentElement;
  if (root.localName !== 'svg' || root.namespaceURI !== kNamespace || parsed.querySelector('parsererror')) return undefined;
  cleaned(root);
  return document.adoptNode(root) as unknown as SVGElement;
}

/** A square in the colour of a series. */
export function swatch(style: string): HTMLElement {
  const svg = document.createElementNS(kNamespace, 'svg');
  svg.setAttribute('class', 'swatch');
  svg.setAttribute('viewBox', '0 0 10 10');
  const rect = document.createElementNS(kNamespace, 'rect');
  rect.setAttribute('width', '10');
  rect.setAttribute('height', '10');
  rect.setAttribute('class', style);
  svg.append(rect);
  return svg as unknown as HTMLElement;
}
