// Starts the page.
import { Actions } from './actions';
import { Chosen } from './chosen';
import { element, replace } from './dom';
import { Finder } from './finder';
import { installHook } from './hook';
import { Keyboard } from './keyboard';
import { Model } from './model';
import { Navigator } from './navigate';
import { Page } from './page';
import { PointerInput } from './timeline/pointer_input';
import { SearchBox } from './search_box';
import { SidePanel } from './panels/side_panel';
import { Timeline } from './timeline/timeline';
import { Toolbar } from './toolbar';
import { WhatIfPanel } from './panels/what_if_panel';

async function start(): Promise<Timeline> {
  const model = new Model();
  if (model.state.theme) document.documentElement.dataset.theme = model.state.theme;
  await model.load();
  const update = (): void => {
    page?.update();
    timeline.frames.invalidate();
  };
  let page: Page | undefined;
  const finder = new Finder(model, update);
  const chosen = new Chosen(model, update);
  const timeline = new Timeline(model, finder, chosen);
  const navigator = new Navigator(model, timeline);
  const actions = new Actions(model, timeline, finder, navigator);
  const whatIf = new WhatIfPanel(model, (run) => actions.showBeside(run));
  const side = new SidePanel(model, timeline, whatIf, {
    navigator, showCollective: (run, _, details) => actions.showCollective(run, details), search: (text) => actions.setSearch(text),
  }, (hit, place) => actions.goToHit(hit, place));
  const keyboard = new Keyboard(timeline, actions);
  page = new Page(actions, new Toolbar(actions), side, new SearchBox(actions), keyboard.help);
  new PointerInput(model, timeline, navigator, () => actions.isSelecting);
  document.title = `${model.session.title} · Orrery`;

  model.subscribe((changed) => {
    if (changed.has('theme')) timeline.forgetColours();
    if (changed.has('slice')) chosen.follow();
    // Most frames only move the window: the elements around it stay as they are.
    const isMove = [...changed].every((key) => key === 'begin' || key === 'end' || key === 'scroll');
    if (!isMove) page?.update();
    if (changed.has('theme')) timeline.forgetColours();
    timeline.frames.invalidate();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    timeline.forgetColours();
    update();
  });
  window.addEventListener('hashchange', () => { if (model.readAddress()) void actions.reload().catch((error) => model.fail(error)); });
  window.addEventListener('pagehide', () => model.writeAddress());
  if (model.numRuns === 1 && model.numRanks(0) === 1 && !location.hash) model.openRank({ run: 0, rank: 0 });
  if (model.state.search) void finder.search(model.state.search, model.state.run);
  chosen.follow();
  page.update();
  timeline.frames.invalidate();
  return timeline;
}

const started = start();
installHook(started);
started.catch((error: Error) => {
  const text = error.message || 'The page could not start.';
  replace(document.getElementById('page')!, element('p', { class: 'problem start' }, text));
});
