// What the unit tests see.
export * from './cover';
export * from './decode';
export { firstHop } from './draw_critical';
export { differenceOf } from './draw_difference';
export * from './format';
export * from './layout';
export * from './lru';
export * from './order';
export { hashOf, lookOf, parseColour, textColourOn } from './palette';
export { escapeXml, SvgPen } from './pen';
export * from './search_text';
export * from './state';
export { arranged } from './table';
export * from './ticks';
export * from './tiles';
export { placeOf, speedupAt } from './what_if_panel';
export * from './window';
export { roomy } from './windowed';
