// A run that was never recorded: steps of forward, backward and optimizer, with pipeline stages, late ranks and collectives.
// Everything is computed from the numbers of rank and step, so that ten thousand ranks need no memory.

export const kClasses = [
  ['idle', 'Idle'], ['gemm', 'GEMM'], ['attention', 'Attention'], ['compute', 'Other kernels'], ['optimizer', 'Optimizer'], ['communication', 'Communication'],
  ['wait', 'Waiting for a peer'], ['bubble', 'Bubble'], ['host', 'Host'], ['memory', 'Memcpy'],
].map(([key, name]) => ({ key, name }));

export const kHostile = '<img src=x onerror="window.hacked=1">_kernel';

const kLayers = 8;
const kKernels = [
  ['ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn', 1, 9], ['flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>', 2, 6],
  ['void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>', 3, 2],
  ['ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn', 1, 12], ['void layer_norm_kernel<float, c10::BFloat16>', 3, 1.5], [kHostile, 3, 1],
];

function noise(a, b = 0) {
  let x = Math.imul(a + 1, 0x9e3779b1) ^ Math.imul(b + 7, 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39);
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
}

/** `slow`: factor of compute; `kind`: "recorded" or "simulated". */
export class SyntheticRun {
  constructor({ name, kind = 'recorded', numRanks = 64, numSteps = 12, stepNs = 40_000_000, slow = 1, startNs = 2_000_000 }) {
    Object.assign(this, { name, kind, numRanks, numSteps, slow, startNs });
    this.stepNs = Math.round(stepNs * (0.55 + 0.45 * slow));
    this.numStages = numRanks >= 4 ? 4 : 1;
    this.lengthNs = startNs * 2 + this.stepNs * numSteps;
    this.kernelLists = new Map();
    this.trackCache = new Map();
  }

  stage(rank) { return Math.floor(rank / (this.numRanks / this.numStages)); }
  node(rank) { return Math.floor(rank / 8); }
  late(rank) { return noise(rank) > 0.93 ? 600_000 + Math.round(noise(rank, 3) * 900_000) : Math.round(noise(rank, 5) * 60_000); }

  /** Kernels of one step: [begin, end, class, name], relative to the step's begin. Alike for ranks of one stage but for lateness. */
  kernels(rank) {
    const late = this.late(rank);
    const key = `${this.stage(rank)}.${late}`;
    const known = this.kernelLists.get(key);
    if (known) return known;
    const list = [];
    const unit = this.stepNs * 0.8 / (kLayers * 3 * 31.5) * this.slow / (0.55 + 0.45 * this.slow);
    let at = this.stage(rank) * this.stepNs * 0.02 + late;
    const add = (length, code, name) => {
      list.push([Math.round(at), Math.round(at + length * 0.97), code, name]);
      at += length;
    };
    for (let pass = 0; pass < 3; ++pass) {
      for (let layer = 0; layer < kLayers; ++layer) {
        for (const [name, code, length] of kKernels) add(length * unit * 0.82, code, name);
      }
      if (pass === 1) at += (this.numStages - this.stage(rank)) * this.stepNs * 0.008;
    }
    const arrival = Math.round(at);
    const last = this.lastArrival();
    const end = last + Math.round(this.stepNs * 0.035);
    list.push([arrival, end, 5, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)']);
    at = end;
    add(this.stepNs * 0.02, 4, 'multi_tensor_apply_kernel<AdamFunctor>');
    add(this.stepNs * 0.004, 9, 'Memcpy DtoH (Device -> Pinned)');
    this.kernelLists.set(key, list);
    return list;
  }

  /** When the last rank comes to the collective of a step. */
  lastArrival() {
    if (this.lastNs === undefined) {
      this.lastNs = 0;
      const unit = this.stepNs * 0.8 / (kLayers * 3 * 31.5) * this.slow / (0.55 + 0.45 * this.slow) * 0.82;
      const work = 3 * kLayers * kKernels.reduce((sum, kernel) => sum + kernel[2] * unit, 0);
      for (let rank = 0; rank < this.numRanks; ++rank) {
        this.lastNs = Math.max(this.lastNs, Math.round(this.stage(rank) * this.stepNs * 0.02 + this.late(rank) + work + (this.numStages - this.stage(rank)) * this.stepNs * 0.008));
      }
    }
    return this.lastNs;
  }

  arrival(rank) { return this.kernels(rank).find((kernel) => kernel[2] === 5)[0]; }

  /** The activity of a rank at an instant. */
  classAt(rank, ns) {
    const inRun = ns - this.startNs;
    if (ns < 0 || ns >= this.lengthNs) return 255;
    if (inRun < 0 || inRun >= this.stepNs * this.numSteps) return 0;
    const at = inRun % this.stepNs;
    const kernels = this.kernels(rank);
    if (at < kernels[0][0]) return this.stage(rank) > 0 && at < this.stage(rank) * this.stepNs * 0.02 ? 7 : 8;
    let low = 0;
    let high = kernels.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (kernels[middle][0] <= at) low = middle;
      else high = middle - 1;
    }
    const [, end, code] = kernels[low];
    if (code === 5) return at < this.lastArrival() ? 6 : at < end ? 5 : 0;
    if (at < end) return code;
    const next = kernels[low + 1];
    return next && next[0] - end > this.stepNs * 0.007 ? 7 : 8;
  }

  steps() {
    return Array.from({ length: this.numSteps }, (_, i) => ({ name: `ProfilerStep#${i + 3}`, begin_ns: this.startNs + i * this.stepNs, end_ns: this.startNs + (i + 1) * this.stepNs }));
  }

  tracks() {
    return [
      { track: 0, group: 'annotations', name: 'ranges', kind: 'ranges', depth: 1 }, { track: 1, group: 'thread 1201', name: 'Python main', kind: 'python', depth: 3 },
      { track: 2, group: 'thread 1201', name: 'operators', kind: 'host', depth: 3 }, { track: 3, group: 'GPU 0', name: 'stream 7 (compute)', kind: 'stream', depth: 1 },
      { track: 4, group: 'GPU 0', name: 'stream 20 (NCCL)', kind: 'stream', depth: 1 },
    ].map((one) => ({ ...one, count: 0 }));
  }

  /** Slices of a track in order of begin: {begin, end, depth, class, name}. */
  slices(rank, track) {
    const key = `${rank}.${track}`;
    if (!this.trackCache.has(key)) {
      if (this.trackCache.size > 60) this.trackCache.clear();
      const list = [];
      for (let step = 0; step < this.numSteps; ++step) this.addStep(list, rank, track, this.startNs + step * this.stepNs, step);
      list.sort((a, b) => a.begin - b.begin || a.depth - b.depth);
      this.trackCache.set(key, list);
    }
    return this.trackCache.get(key);
  }

  addStep(list, rank, track, from, step) {
    const kernels = this.kernels(rank);
    const add = (begin, end, depth, code, name) => list.push({ begin: from + Math.round(begin), end: from + Math.round(end), depth, class: code, name });
    if (track === 0) add(0, this.stepNs, 0, 255, `ProfilerStep#${step + 3}`);
    if (track === 3) kernels.filter((one) => one[2] !== 5).forEach(([begin, end, code, name]) => add(begin, end, 0, code, name));
    if (track === 4) kernels.filter((one) => one[2] === 5).forEach(([begin, end, code, name]) => add(begin, end, 0, code, name));
    if (track === 1) this.addFrames(add);
    if (track === 2) {
      kernels.forEach(([begin, end, code, name], i) => {
        const at = Math.max(0, begin * 0.93 - 30_000);
        const width = Math.min(end - begin, 40_000) * 0.8;
        const operator = code === 1 ? 'aten::linear' : code === 2 ? 'aten::scaled_dot_product_attention' : code === 5 ? 'c10d::allreduce_' : 'aten::add';
        add(at, at + width, 0, 255, i % 7 ? operator : kHostile.replace('_kernel', ''));
        add(at + width * 0.1, at + width * 0.8, 1, 255, operator.replace('aten::', 'aten::_impl_'));
        add(at + width * 0.5, at + width * 0.7, 2, 255, name.startsWith('Memcpy') ? 'cudaMemcpyAsync' : 'cudaLaunchKernel');
      });
    }
  }

  addFrames(add) {
    add(this.stepNs * 0.001, this.stepNs * 0.96, 0, 255, 'train.py(118): train_step');
    ['forward', 'backward', 'step'].forEach((part, i) => {
      const begin = this.stepNs * [0.002, 0.3, 0.86][i];
      const end = this.stepNs * [0.295, 0.855, 0.95][i];
      add(begin, end, 1, 255, `model.py(${40 + i * 31}): ${part}`);
      for (let layer = 0; layer < kLayers; ++layer) {
        const width = (end - begin) / kLayers;
        add(begin + layer * width, begin + (layer + 0.9) * width, 2, 255, `layer_${layer}(TransformerBlock).${part}`);
      }
    });
  }
}
