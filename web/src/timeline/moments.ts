// The same moment of two runs, which begin, wait and compute at different times.

/** Times of the first and of the second run at which both do the same. */
export type Moment = [number, number];

/** Steps and collectives that are in both, in order of the first run's time. */
export function momentsOf(steps: Moment[], pairs: Moment[]): Moment[] {
  return [...steps, ...pairs].sort((a, b) => a[0] - b[0]);
}

/** The last moment at or before a time of a run; before all of them, the first. */
export function momentAt(moments: Moment[], run: number, ns: number): Moment | undefined {
  if (run === 0) {
    let low = 0;
    let high = moments.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (moments[middle][0] <= ns) low = middle + 1;
      else high = middle;
    }
    return moments[Math.max(0, low - 1)];
  }
  // In the second run another order is possible.
  let best: Moment | undefined;
  for (const moment of moments) {
    if (moment[1] <= ns && (!best || moment[1] > best[1])) best = moment;
  }
  return best ?? moments[0];
}

/** The time of the other run that is as long after the same moment. */
export function otherTime(moments: Moment[], run: number, ns: number): number | undefined {
  const moment = momentAt(moments, run, ns);
  return moment && ns - moment[run] + moment[1 - run];
}
