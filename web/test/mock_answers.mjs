// Answers of docs/formats/view.md about synthetic runs.
import { kClasses, SyntheticRun } from './synthetic_run.mjs';

const kBins = 512;

function bytesOf(parts) {
  return Buffer.concat(parts.map((part) => Buffer.from(part.buffer, part.byteOffset, part.byteLength)));
}

function keyOf(code) { return kClasses[code]?.key ?? 'host'; }

function orderedRows(run, order) {
  const rows = Array.from({ length: run.numRanks }, (_, row) => row);
  const column = { rank: (row) => row, stage: (row) => run.stage(row), node: (row) => run.node(row), late: (row) => -run.late(row) }[order];
  return rows.sort((a, b) => column(a) - column(b) || a - b);
}

export function activity(run, { level, tile, order, first, count, fold }) {
  const rows = orderedRows(run, order);
  const bin = 2 ** level;
  const begin = tile * kBins * bin;
  const samples = Math.min(4, bin);
  const lines = Math.max(0, Math.min(count, Math.ceil(rows.length / fold) - first));
  const firstRun = [0];
  const bins = [];
  const classes = [];
  const shares = [];
  const votes = new Uint16Array(256);
  for (let line = first; line < first + lines; ++line) {
    // A few ranks of a line stand for all of it: this is a mock.
    const ranks = rows.slice(line * fold, Math.min(rows.length, (line + 1) * fold)).filter((_, i, all) => i % Math.ceil(all.length / 3) === 0);
    for (let i = 0, last = -1; i < kBins; ++i) {
      votes.fill(0);
      let best = 255;
      for (const rank of ranks) {
        for (let s = 0; s < samples; ++s) {
          const code = run.classAt(rank, begin + (i + (s + 0.5) / samples) * bin);
          if (++votes[code] > votes[best] || best === 255) best = code;
        }
      }
      if (best === last) continue;
      last = best;
      bins.push(i);
      classes.push(best);
      shares.push(Math.round(votes[best] / (samples * ranks.length) * 255));
    }
    firstRun.push(bins.length);
  }
  return bytesOf([new Uint32Array([lines, bins.length, ...firstRun]), Uint16Array.from(bins), Uint8Array.from(classes), Uint8Array.from(shares)]);
}

export function slices(run, { rank, track, level, tile }) {
  const list = run.slices(rank, track);
  const bin = 2 ** level;
  const from = tile * kBins * bin;
  const to = from + kBins * bin;
  const place = (ns) => Math.round(Math.max(0, Math.min(kBins * 256, (ns - from) / bin * 256)));
  const shown = [];
  const open = new Map();
  list.forEach((slice, row) => {
    if (slice.end <= from || slice.begin >= to) return;
    const narrow = slice.end - slice.begin < bin;
    const before = open.get(slice.depth);
    if (narrow && before && slice.begin - before.begin < bin) {
      before.end = Math.max(before.end, slice.end);
      ++before.merged;
      if (slice.end - slice.begin > before.longest) Object.assign(before, { row, name: slice.name, class: slice.class, longest: slice.end - slice.begin });
      return;
    }
    const one = { ...slice, row, merged: 1, longest: slice.end - slice.begin };
    shown.push(one);
    if (narrow) open.set(slice.depth, one);
    else open.delete(slice.depth);
  });
  const names = [];
  const placeOfName = new Map();
  const nameOf = (name) => {
    if (!placeOfName.has(name)) placeOfName.set(name, names.push(name) - 1);
    return placeOfName.get(name);
  };
  const nameColumn = Uint16Array.from(shown, (one) => nameOf(one.name));
  const texts = names.map((name) => Buffer.from(name));
  let end = 0;
  const ends = Uint32Array.from(texts, (text) => (end += text.length));
  return bytesOf([new Uint32Array([shown.length, names.length, end]), Uint32Array.from(shown, (one) => place(one.begin)), Uint32Array.from(shown, (one) => place(one.end)),
    Uint32Array.from(shown, (one) => one.row), Uint32Array.from(shown, (one) => one.merged), nameColumn, Uint8Array.from(shown, (one) => one.depth),
    Uint8Array.from(shown, (one) => one.class), ends, ...texts]);
}

/** The call that launches a kernel, and the reverse: operators have three slices a kernel. */
function launchOf(run, rank, track, row) {
  const kernel = run.slices(rank, track)[row];
  const calls = run.slices(rank, 2).map((slice, i) => ({ slice, i })).filter(({ slice }) => slice.depth === 2);
  const stream = [3, 4].flatMap((one) => run.slices(rank, one).map((slice, i) => ({ slice, one, i }))).sort((a, b) => a.slice.begin - b.slice.begin);
  const at = stream.findIndex((one) => one.slice === kernel);
  return calls[at] && { rank, track: 2, row: calls[at].i, begin_ns: calls[at].slice.begin };
}

function placeOf(run, rank, track, row) {
  const { begin, end } = run.slices(rank, track)[row];
  return { rank, track, row, begin_ns: begin, duration_ns: end - begin };
}

export function slice(run, { rank, track, row }) {
  const one = run.slices(rank, track)[row];
  if (!one) return undefined;
  const isKernel = track >= 3;
  const facts = isKernel
    ? [['grid', '432 × 1 × 1'], ['block', '256'], ['registers', '168'], ['shape', '[4096, 8192] × [8192, 8192]'], ['types', 'bfloat16'], ['achieved', '612 TFLOP/s, 62 % of the roof'],
      ['predicted', '1.02 of the measured time'], ['operator', 'aten::linear', placeOf(run, rank, 2, 0)], ['correlation', String(row + 1000)]]
    : [['thread', '1201'], ['operator', one.name]];
  const kernels = [];
  if (track === 2 && one.depth === 2) {
    const calls = run.slices(rank, 2).filter((slice) => slice.depth === 2);
    const at = calls.indexOf(one);
    const stream = [3, 4].flatMap((t) => run.slices(rank, t).map((s, i) => ({ s, t, i }))).sort((a, b) => a.s.begin - b.s.begin);
    if (stream[at]) kernels.push({ rank, track: stream[at].t, row: stream[at].i, begin_ns: stream[at].s.begin });
  }
  return {
    name: one.name, begin_ns: one.begin, duration_ns: one.end - one.begin, class: keyOf(one.class), facts: facts.map(([name, value, place]) => ({ name, value, ...(place && { place }) })),
    launch: isKernel ? launchOf(run, rank, track, row) ?? null : null, kernels, collective: track === 4 ? row : null,
    stack: isKernel ? ['train.py(118): train_step', 'model.py(40): forward', 'torch/nn/modules/linear.py(125): forward', '<script>window.hacked=2</script>'] : [],
  };
}

export function launches(run, { rank, begin, end, most }) {
  const calls = run.slices(rank, 2).filter((one) => one.depth === 2);
  const stream = [3, 4].flatMap((track) => run.slices(rank, track).map((one, row) => ({ one, track, row }))).sort((a, b) => a.one.begin - b.one.begin);
  const found = stream.map((kernel, i) => ({ ...kernel, from: calls[i]?.begin ?? kernel.one.begin }))
    .filter(({ one, from }) => one.begin >= begin && from < end).sort((a, b) => (b.one.begin - b.from) - (a.one.begin - a.from)).slice(0, most);
  // Float64Array must not begin at an odd place of a buffer; bytes are put together one by one.
  return bytesOf([new Uint32Array([found.length]), Float64Array.from(found, (one) => one.from), Float64Array.from(found, (one) => one.one.begin),
    Uint32Array.from(found, () => 2), Uint32Array.from(found, (one) => one.track), Uint32Array.from(found, (one) => one.row)]);
}

export function collectives(run, { begin, end, most }) {
  const instances = run.steps().map((step, id) => {
    const ranks = Array.from({ length: Math.min(run.numRanks, 2048) }, (_, rank) => rank);
    const begins = ranks.map((rank) => step.begin_ns + run.arrival(rank));
    const last = begins.indexOf(Math.max(...begins));
    const finish = step.begin_ns + run.lastArrival() + Math.round(run.stepNs * 0.035);
    return { id, kind: 'all_reduce', group: 'data parallel', bytes: 134217728, begin_ns: Math.min(...begins), arrival_ns: begins[last], end_ns: finish, last_rank: last, ranks,
      begins_ns: begins, ends_ns: ranks.map(() => finish), flags: id === 2 ? ['size mismatch'] : [] };
  }).filter((one) => one.end_ns >= begin && one.begin_ns <= end);
  return { total: instances.length, instances: instances.slice(0, most) };
}

export function critical(run) {
  const hops = [];
  run.steps().forEach((step, i) => {
    const rank = Math.floor(run.numRanks * ((i * 0.37) % 1));
    const other = (rank + Math.floor(run.numRanks / 3)) % run.numRanks;
    hops.push({ begin_ns: step.begin_ns, duration_ns: run.stepNs * 0.45, rank, track: 3, class: 'compute', name: 'gemm' },
              { begin_ns: step.begin_ns + run.stepNs * 0.45, duration_ns: run.stepNs * 0.55, rank: other, track: 4, class: 'communication', name: 'all_reduce' });
  });
  return { step: 3, begin_ns: run.startNs, length_ns: run.stepNs, hops };
}

export function range(run, { begin, end, order, first, count }) {
  const rows = orderedRows(run, order).slice(first, first + count);
  const sampled = rows.filter((_, i) => i % Math.ceil(rows.length / 200) === 0);
  const totals = new Array(10).fill(0);
  const ranks = sampled.map((rank) => {
    const classes = new Array(10).fill(0);
    for (let i = 0; i < 400; ++i) {
      const code = run.classAt(rank, begin + (end - begin) * (i + 0.5) / 400);
      if (code < 10) classes[code] += (end - begin) / 400;
    }
    classes.forEach((ns, code) => { totals[code] += ns * rows.length / sampled.length; });
    return { rank, label: `rank ${rank}`, classes: classes.map(Math.round) };
  });
  ranks.sort((a, b) => b.classes[6] - a.classes[6]);
  const byName = new Map();
  for (const rank of rows.slice(0, 2)) {
    for (const one of [...run.slices(rank, 3), ...run.slices(rank, 4)]) {
      if (one.end < begin || one.begin > end) continue;
      const known = byName.get(one.name) ?? { name: one.name, class: keyOf(one.class), count: 0, ns: 0 };
      known.count += 1;
      known.ns += one.end - one.begin;
      byName.set(one.name, known);
    }
  }
  const kernels = [...byName.values()].sort((a, b) => b.ns - a.ns);
  return { classes: totals.map(Math.round), kernels: kernels.slice(0, 50), ranks: ranks.slice(0, 64), num_kernels: kernels.length };
}

export function find(run, { text, from, most }) {
  const isPattern = text.startsWith('/') && text.endsWith('/') && text.length > 2;
  const pattern = isPattern ? new RegExp(text.slice(1, -1)) : undefined;
  const has = (name) => (pattern ? pattern.test(name) : name.toLowerCase().includes(text.toLowerCase()));
  const names = new Map();
  const hits = [];
  for (const rank of [0, 1, 2, 3].filter((one) => one < run.numRanks)) {
    for (const { track } of run.tracks()) {
      run.slices(rank, track).forEach((one, row) => {
        if (!has(one.name)) return;
        const known = names.get(one.name) ?? { name: one.name, count: 0, ns: 0 };
        known.count += 1;
        known.ns += one.end - one.begin;
        names.set(one.name, known);
        hits.push({ rank, track, row, begin_ns: one.begin, duration_ns: one.end - one.begin, name: one.name, depth: one.depth });
      });
    }
  }
  hits.sort((a, b) => a.begin_ns - b.begin_ns || a.rank - b.rank || a.track - b.track || a.row - b.row);
  return { total: hits.length, names: [...names.values()].sort((a, b) => b.ns - a.ns), hits: hits.filter((hit) => hit.begin_ns >= from).slice(0, most) };
}

export function differences(a, b) {
  const place = (run, row) => placeOf(run, 0, 3, row);
  const changes = [0, 1, 2, 3, 4].map((row) => {
    const before = a.slices(0, 3)[row];
    const after = b.slices(0, 3)[row];
    return { what: 'kernel', name: before.name, before_ns: (before.end - before.begin) * 24, after_ns: (after.end - after.begin) * 24, count_before: 24, count_after: 24, a: place(a, row), b: place(b, row) };
  });
  const pairs = a.steps().map((step, i) => [step.begin_ns + 4000, b.steps()[i].begin_ns + 5000]);
  const collectives = pairs.slice(0, 3).map((begin_ns, step) => ({ name: 'all_reduce, 1.0 MiB, 8 ranks', step, transfer_ns: [40_000, 50_000], wait_ns: [2000, 7000], begin_ns, a: place(a, step), b: place(b, step) }));
  changes.push({ what: 'collective', name: 'all_reduce · data parallel', before_ns: 1_900_000, after_ns: 1_200_000, count_before: 1, count_after: 1, a: null, b: null });
  changes.sort((x, y) => Math.abs(y.after_ns - y.before_ns) - Math.abs(x.after_ns - x.before_ns));
  return { offset_ns: a.startNs - b.startNs, common_collectives: a.numSteps, steps: a.steps().map((step, i) => [step.begin_ns, b.steps()[i].begin_ns]), notice: '', pairs, collectives, changes };
}

export function session(runs, title) {
  return {
    version: '0.2.0', title,
    runs: runs.map((run) => ({ name: run.name, kind: run.kind, begin_ns: '1700000000000000000', length_ns: run.lengthNs, num_ranks: run.numRanks, num_traces: Math.min(run.numRanks, 64),
      num_events: run.numRanks * run.numSteps * 900, problems: ['2 kernels have no launch.'], steps: run.steps(), steps_rank: null, step_ns: run.stepNs, step_definition: null, can_predict: run.kind === 'recorded',
      can_what_if: run.kind === 'recorded' ? 'replay' : 'simulate', has_memory: true })),
    classes: kClasses, tabs: ['overview', 'kernels', 'collectives', 'memory', 'metrics', ...(runs.length > 1 ? ['differences'] : []), 'search'],
  };
}

export function ranks(run) {
  const rows = Array.from({ length: run.numRanks }, (_, row) => row);
  return { rank: rows, trace: rows.map((row) => row % 64), stage: rows.map((row) => run.stage(row)), node: rows.map((row) => run.node(row)), late_ns: rows.map((row) => run.late(row)),
    label: rows.map((row) => (row === 3 ? 'rank 3 <b>x</b>' : `rank ${row}`)) };
}

export function tracks(run, { rank }) {
  return run.tracks().map((track) => ({ ...track, count: run.slices(rank, track.track).length }));
}

const kChart = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 90" data-x="80.0 650.0 0 40000000 ns" data-rows="14.0 30.0" data-row-names="rank 0" role="img" aria-label="Parts" onload="window.hacked=3"><script>window.hacked=4</script>' +
  '<text x="0" y="30" class="label">rank 0</text><rect x="80" y="14" width="360" height="24" class="compute" data-tip="compute: 25.3 ms"/><rect x="440" y="14" width="120" height="24" class="transfer"/>' +
  '<rect x="560" y="14" width="90" height="24" class="waiting"/><line x1="80" y1="60" x2="650" y2="60" class="grid"/><text x="80" y="78">0 ms</text><text x="650" y="78" text-anchor="end">40 ms</text></svg>';

export function tab(run, { name }) {
  const title = name[0].toUpperCase() + name.slice(1);
  const total = run.find ? 0 : find(run, { text: 'kernel', from: 0, most: 1 });
  if (name === 'kernels') {
    const rows = total.names.map((one) => [one.name, String(one.count), `${(one.ns / 1e6).toFixed(2)} ms`]);
    const more = Array.from({ length: 30 }, (_, i) => [`triton_poi_fused_${i}`, String(i * 3), `${i}.00 ms`]);
    return { title, sections: [{ heading: 'Kernels', sentences: ['GEMM takes most of the time.'], charts: [], tables: [{ columns: [{ name: 'kernel', align: 'left' }, { name: 'count', align: 'right' }, { name: 'time', align: 'right', unit: 'a step' }],
      rows: [...rows, ...more], keys: [...total.names.map((one) => [null, one.count, one.ns]), ...more.map((_, i) => [null, i * 3, i * 1e6])],
      links: [...rows, ...more].map((_, i) => (i === 0 ? placeOf(run, 5, 3, 7) : null)) }] }] };
  }
  if (name === 'collectives') {
    const x = Array.from({ length: 14 }, (_, i) => 2 ** (12 + i));
    return { title, sections: [{ heading: 'Bandwidth by size', sentences: ['The all-reduce reaches 71 % of the link.'],
      points: { x_unit: 'bytes', y_unit: 'bytes/s', x_log: true, series: [{ name: 'all_reduce', x, y: x.map((size) => 4e11 * size / (size + 4e6)) }, { name: 'all_gather', x, y: x.map((size) => 3e11 * size / (size + 1e6)) }] } }] };
  }
  return { title, sections: [{ heading: title, sentences: ['Ranks 5 and 17 are late: the others wait 4.2 % of the time.', `Names are text: ${'<img src=x onerror=window.hacked=5>'}`], tables: [], charts: [{ heading: '', svg: kChart, caption: '', legend: [] }] }] };
}

export function whatIf(run, { changes }) {
  const factor = changes.reduce((time, { subject, speedup }) => time * (1 - ({ compute: 0.6, network: 0.1, host: 0.05, class: 0.3, kernel: 0.1, gpus: 0.9, rank: 0.03 }[subject] ?? 0) * (1 - 1 / speedup)), 1);
  const after = Math.round(run.stepNs * factor);
  return { before_ns: run.stepNs, after_ns: after, sentences: [`A step would take ${(after / 1e6).toFixed(2)} ms instead of ${(run.stepNs / 1e6).toFixed(2)} ms.`], run: null };
}

export { SyntheticRun };
