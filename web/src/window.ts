// The part of the time axis that is shown.

export interface TimeWindow { begin: number; end: number }

/** Narrower windows show nothing more: times are whole nanoseconds. */
export const kNarrowest = 20;

/** Keeps a window inside [0, length] with a margin, and not narrower than makes sense. */
export function clamped(window: TimeWindow, from: number, to: number): TimeWindow {
  const most = (to - from) * 1.1 + kNarrowest;
  const width = Math.min(most, Math.max(kNarrowest, window.end - window.begin));
  let begin = window.begin + (window.end - window.begin - width) / 2;
  const margin = width * 0.5;
  begin = Math.max(from - margin, Math.min(begin, to + margin - width));
  if (width >= to - from) begin = Math.max(to - width, Math.min(begin, from));
  return { begin, end: begin + width };
}

/** Makes the window `factor` times as wide; the instant `at` stays where it is. */
export function zoomed(window: TimeWindow, factor: number, at: number): TimeWindow {
  return { begin: at + (window.begin - at) * factor, end: at + (window.end - at) * factor };
}

export function moved(window: TimeWindow, ns: number): TimeWindow {
  return { begin: window.begin + ns, end: window.end + ns };
}

/** A window around [begin, end] with some room on both sides. */
export function around(begin: number, end: number, room = 0.15): TimeWindow {
  const width = Math.max(end - begin, kNarrowest / 2);
  return { begin: begin - width * room, end: begin + width * (1 + room) };
}
