// Everything that is known about a slice.
import { button, element, link, swatch } from '../dom';
import { duration, instant } from '../format';
import type { Model } from '../model';
import type { Navigator } from '../navigate';
import { classVariable } from '../palette';
import type { SliceDetails, SlicePlace } from '../protocol';
import type { SliceRef } from '../state';

export interface DetailsActions {
  navigator: Navigator;
  showCollective(run: number, id: number, details: SliceDetails): void;
  search(text: string): void;
}

function fact(name: string, ...value: (Node | string)[]): HTMLElement {
  return element('div', {}, element('dt', {}, name), element('dd', {}, ...value));
}

export function detailsPanel(model: Model, ref: SliceRef, details: SliceDetails, actions: DetailsActions): HTMLElement {
  const { run, rank } = ref;
  const goTo = (place: SlicePlace) => (): void => void actions.navigator.goToRow(run, place.rank, place.track, place.row, place.begin_ns);
  const trackName = (track: number): string => model.tracks(run, rank)?.find((one) => one.track === track)?.name ?? `track ${track}`;
  const code = model.session.classes.findIndex((one) => one.key === details.class);
  const facts = element('dl', { class: 'facts' },
    fact('begin', instant(details.begin_ns, 1)), fact('duration', duration(details.duration_ns)),
    fact('where', `${model.numRuns > 1 ? `${model.runInfo(run).name} · ` : ''}${model.label(run, rank)} · ${trackName(ref.track)}`),
    ...details.facts.map(({ name, value, place }) => fact(name, place ? link(value, goTo(place), 'Show it in the timeline') : value)));
  if (code >= 0) facts.prepend(fact('class', swatch(classVariable(code), details.class), model.session.classes[code].name));
  if (details.launch) facts.append(fact('launched by', link(`${trackName(details.launch.track)} at ${instant(details.launch.begin_ns, 1)}`, goTo(details.launch)),
                                        ` ${duration(details.begin_ns - details.launch.begin_ns)} before`));
  if (details.collective !== null) {
    const id = details.collective;
    facts.append(fact('collective', link(`no. ${id}: show all of its ranks`, () => actions.showCollective(run, id, details))));
  }
  const box = element('div', { class: 'details' }, element('h2', { class: 'name' }, details.name),
    element('div', { class: 'row' },
      button('Zoom to it', 'Zoom to this slice (F)', () => actions.navigator.fitChosen(details)),
      button('Find all', 'Search for this name', () => actions.search(details.name)),
      button('Select its time', 'Totals of all ranks during this slice (M)', () => selectTime(model, ref, details)),
      model.numRuns > 1 && button(`Same moment in ${'BA'[run]}`, 'By the step or collective before it that is in both runs', () => actions.navigator.goToSameMoment(ref, details.begin_ns, details.duration_ns))),
    facts);
  if (details.kernels.length) box.append(element('h3', {}, `Launches ${details.kernels.length} kernel${details.kernels.length > 1 ? 's' : ''}`),
    element('ul', { class: 'links' }, ...details.kernels.slice(0, 40).map((kernel) =>
      element('li', {}, link(`${trackName(kernel.track)} at ${instant(kernel.begin_ns, 1)}`, goTo(kernel))))));
  if (details.stack.length) box.append(element('h3', {}, 'Stack'), element('ol', { class: 'stack' }, ...details.stack.map((line) => element('li', {}, line))));
  return box;
}

export function selectTime(model: Model, ref: SliceRef, details: SliceDetails): void {
  const begin = details.begin_ns + model.shift(ref.run);
  model.set({ selection: { begin, end: begin + Math.max(1, details.duration_ns), first: 0, count: model.numRanks(ref.run) }, slice: null, panel: '', run: ref.run });
}
