#!/usr/bin/env python3
"""Writes Kineto JSON of any size, for benchmarks: what the PyTorch profiler would write for a
tensor-parallel transformer with stacks, shapes and memory.

    bench/generate_kineto.py [--bytes 100000000] [--seed 1] [--ranks 1] OUT
"""

import argparse
import collections
import dataclasses
import functools
import gzip
import multiprocessing
import pathlib
import sys
import time

from step_builder import mix_bits
from transformer_step import Transformer

TRACE_BEGIN_NS = 3_845_883_906_067_107  # counted from the base time
FIRST_CORRELATION = 28_000
FIRST_SEQUENCE = 30_000
GROUP_SIZE = 8
CATEGORIES = ("cpu_op", "user_annotation", "python_function", "cpu_instant_event", "cuda_runtime", "cuda_driver",
              "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "ac2g", "fwdbwd", "other")


def ranks_of_group(rank):
    """Tensor-parallel groups are neighbours."""
    first = rank // GROUP_SIZE * GROUP_SIZE
    return str(list(range(first, first + GROUP_SIZE)))


def micros(nanoseconds):
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"


@dataclasses.dataclass(frozen=True)
class Repetition:
    """The place of one repetition of the step, and its extra time."""

    number: int
    origin_ns: int
    scale: int  # in units of 2^-20

    def at(self, step_ns):
        """Monotonic, so that what nests in the step nests in every repetition."""
        return self.origin_ns + ((step_ns * self.scale) >> 20)


class KinetoFile:
    """Repetitions of a step as the PyTorch profiler would write them: operators of the autograd thread, then of
    the main thread, memory, Python, device and runtime rows side by side, ranges on the device, and names."""

    def __init__(self, step, num_steps, rank=0, world_size=8, seed=0):
        self._step = step
        self._rank = rank
        self._device = rank % 8
        self._world_size = world_size
        self._seed = seed
        self._process = 538 + rank
        self._event_index = 0
        self._repetitions = []
        origin_ns = TRACE_BEGIN_NS
        for number in range(num_steps):
            one = Repetition(number, origin_ns, (1 << 20) + mix_bits(seed + number + 1) % 65_536)
            self._repetitions.append(one)
            origin_ns = one.at(step.duration_ns)

    def write(self, write):
        """Returns how many rows of each category were written, and the bytes."""
        counts = collections.Counter()
        head, tail = self._head(), f'\n  ],\n  "traceName": "rank{self._rank}.json"\n}}'
        write(head)
        separator, num_bytes = "  {\n", len(head) + len(tail)
        for category, text in self._rows():
            counts[category] += 1
            num_bytes += len(separator) + len(text)
            write(separator + text)
            separator = ",\n  {\n"
        write(tail)
        return counts, num_bytes

    def _head(self):
        devices = ",\n".join(
            f'    {{\n      "id": {device}, "name": "NVIDIA H200", "totalGlobalMem": 150109880320,\n'
            '      "computeMajor": 9, "computeMinor": 0,\n'
            '      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,\n'
            '      "regsPerBlock": 65536, "warpSize": 32,\n'
            '      "sharedMemPerBlock": 49152, "numSms": 132\n    }' for device in range(8))
        return (f'\n  {{\n    "schemaVersion": 1,\n    "deviceProperties": [\n{devices}\n    ],\n'
                f'      "distributedInfo": {{"backend": "nccl", "rank": {self._rank}, '
                f'"world_size": {self._world_size}, "pg_count": 1, "pg_config": [{{"pg_name": "1", '
                '"pg_desc": "tensor_parallel", "backend_config": "cuda:nccl", "pg_size": 8, '
                f'"ranks": {ranks_of_group(self._rank)}}}], "nccl_version": "2.27.3"}},\n'
                '      "record_shapes": 1,\n      "profile_memory": 1,\n      "with_stack": 1,\n'
                '      "cuda_driver_version": 13000,\n      "cuda_runtime_version": 13000,\n'
                '      "cupti_version": 130001,\n  "displayTimeUnit": "ms",\n'
                '  "baseTimeNanoseconds": 1790857026000000000,\n  "traceEvents": [\n')

    def _rows(self):
        for is_autograd in (True, False):
            ops = [op for op in self._step.ops if op.is_autograd == is_autograd]
            for repetition in self._repetitions:
                for op in ops:
                    yield from self._op(repetition, op)
        for rows in (self._memory, self._python, self._calls, self._device_ranges):
            for repetition in self._repetitions:
                yield from rows(repetition)
        yield from (("other", text) for text in self._names())

    def _thread(self, is_autograd):
        return self._process + 60 if is_autograd else self._process

    def _slice(self, category, name, pid, tid, begin_ns, end_ns, arguments):
        return category, (f'    "ph": "X", "cat": "{category}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
                          f'    "ts": {micros(begin_ns)}, "dur": {micros(end_ns - begin_ns)},\n'
                          f'    "args": {{\n      {arguments}\n    }}\n  }}')

    def _arrow(self, phase, category, number, pid, tid, at_ns):
        end = ', "bp": "e"\n  }' if phase == "f" else "\n  }"
        return category, (f'    "ph": "{phase}", "id": {number}, "pid": {pid}, "tid": {tid}, "ts": {micros(at_ns)},\n'
                          f'    "cat": "{category}", "name": "{category}"{end}')

    def _next_index(self):
        self._event_index += 1
        return f'"Ev Idx": {self._event_index - 1}'

    def _external_id(self, repetition, op):
        return f'"External id": {repetition.number * len(self._step.ops) + op + 1}'

    def _name_of(self, repetition, op):
        return op.name if op.name != "ProfilerStep#" else f"{op.name}{repetition.number + 3}"

    def _op(self, repetition, op):
        begin_ns, tid = repetition.at(op.begin_ns), self._thread(op.is_autograd)
        arrow = repetition.number * self._step.num_sequences + op.sequence + 1
        sequence = (f'"Sequence number": {FIRST_SEQUENCE + arrow}, "Fwd thread id": {int(op.arrow != "s")}, '
                    if op.sequence >= 0 else "")
        yield self._slice("user_annotation" if op.is_annotation else "cpu_op", self._name_of(repetition, op),
                          self._process, tid, begin_ns, repetition.at(op.end_ns),
                          f'{self._external_id(repetition, op.index)},"Record function id": 0, {sequence}'
                          f'{op.arguments}{self._next_index()}')
        if op.arrow:
            yield self._arrow(op.arrow, "fwdbwd", arrow, self._process, tid, begin_ns)

    def _memory(self, repetition):
        for is_autograd, at_ns, num_bytes, address, allocated in self._step.memory:
            yield "cpu_instant_event", (
                '    "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", '
                f'"pid": {self._process}, "tid": {self._thread(is_autograd)},\n'
                f'    "ts": {micros(repetition.at(at_ns))},\n    "args": {{\n'
                f'      "Total Reserved": 85899345920, "Total Allocated": {allocated}, "Bytes": {num_bytes}, '
                f'"Addr": {address}, "Device Id": {self._device}, "Device Type": 1, {self._next_index()}\n    }}\n  }}')

    def _python(self, repetition):
        first = repetition.number * len(self._step.python_calls) + 1
        for call in self._step.python_calls:
            module = f'"Python module id": {call.module_id}, ' if call.module_id >= 0 else ""
            parent = "null" if call.parent < 0 else first + call.parent
            yield self._slice("python_function", call.name, self._process, self._process,
                              repetition.at(call.begin_ns), repetition.at(call.end_ns),
                              f'{module}"Python parent id": {parent}, "Python id": {first + call.index}, '
                              f'{self._next_index()}')

    def _calls(self, repetition):
        first = FIRST_CORRELATION + repetition.number * len(self._step.calls)
        for correlation, call in enumerate(self._step.calls, first):
            external_id = self._external_id(repetition, call.op)
            if call.work:
                yield from self._work(repetition, call.work, external_id, correlation)
            category = "cuda_runtime" if call.name.startswith("cuda") else "cuda_driver"
            begin_ns, tid = repetition.at(call.begin_ns), self._thread(call.is_autograd)
            yield self._slice(category, call.name, self._process, tid, begin_ns, repetition.at(call.end_ns),
                              f'{external_id},      "cbid": {call.callback_id}, "correlation": {correlation}')
            yield self._arrow("s" if call.work else "f", "ac2g", correlation, self._process, tid, begin_ns)

    def _work(self, repetition, work, external_id, correlation):
        begin_ns = repetition.at(work.begin_ns) + self._lateness(work, correlation)
        queued = '"queued": 0, ' if work.category == "kernel" else ""
        yield self._slice(work.category, work.name, self._device, work.stream, begin_ns, repetition.at(work.end_ns),
                          f'{external_id},      {queued}"device": {self._device}, "context": 1,      '
                          f'"stream": {work.stream}, "correlation": {correlation},      {work.arguments}')
        yield self._arrow("f", "ac2g", correlation, self._device, work.stream, begin_ns)

    def _lateness(self, work, correlation):
        """Ranks enter a collective one after the other and leave it together."""
        if not work.is_collective:
            return 0
        return mix_bits(self._seed + correlation * 1024 + self._rank) % ((work.end_ns - work.begin_ns) // 2)

    def _device_ranges(self, repetition):
        for op, begin_ns, end_ns in self._step.device_ranges:
            yield self._slice("gpu_user_annotation", self._name_of(repetition, op), self._device, 7,
                              repetition.at(begin_ns), repetition.at(end_ns), self._external_id(repetition, op.index))

    def _names(self):
        process = self._process
        for pid, label, sort_index in [(process, "CPU", process)] + [
                (device, f"GPU {device}", 5_000_000 + device) for device in range(8)]:
            yield _name("process_name", pid, 0, "name", '"python3"')
            yield _name("process_labels", pid, 0, "labels", f'"{label}"')
            yield _name("process_sort_index", pid, 0, "sort_index", sort_index)
        for stream in (7, 20):
            yield _name("thread_name", self._device, stream, "name", f'"stream {stream} "')
        for thread in (process, process + 60):
            yield _name("thread_name", process, thread, "name", f'"thread {thread} (python3)"')
        end_ns = self._repetitions[-1].at(self._step.duration_ns)
        yield (f'    "ph": "X", "cat": "Trace", "ts": {micros(TRACE_BEGIN_NS - 1000)}, '
               f'"dur": {micros(end_ns - TRACE_BEGIN_NS + 2000)},\n    "pid": "Spans", "tid": "PyTorch Profiler",\n'
               '    "name": "PyTorch Profiler (0)",\n    "args": {\n      "Op count": 0\n    }\n  }')
        yield ('    "name": "Record Window End", "ph": "i", "s": "g",\n    "pid": "", "tid": "", '
               f'"ts": {micros(end_ns + 1000)}\n  }}')


def _name(what, pid, tid, key, value):
    return (f'    "name": "{what}", "ph": "M", "ts": {micros(TRACE_BEGIN_NS)}, "pid": {pid}, "tid": {tid},\n'
            f'    "args": {{\n      "{key}": {value}\n    }}\n  }}')


def plan(options):
    """(layers, steps): a job of 32 layers, or of fewer where the file is too small for three such steps."""
    def size(num_steps):
        return KinetoFile(step, num_steps).write(lambda text: None)[1]

    for num_layers in (32, 16, 8, 4, 2, 1):
        step = Transformer(num_layers, options.seed, ranks_of_group(0))
        once = size(1)
        if num_layers > 1 and once > options.bytes:
            continue
        again = size(2) - once
        if num_layers == 1 or once + 2 * again <= options.bytes:
            print(f"{max(0, (options.bytes - once + again // 2) // again) + 1} steps of {len(step.ops)} operators")
            return num_layers, max(0, (options.bytes - once + again // 2) // again) + 1


def path_of_rank(options, rank):
    """"run.json.gz" gives "run.rank3.json.gz"."""
    stem, dot, suffix = options.out.name.partition(".")
    return options.out if options.ranks == 1 else options.out.with_name(f"{stem}.rank{rank}{dot}{suffix}")


def write_rank(options, num_layers, num_steps, rank):
    """Writes a file; returns what to print."""
    begin = time.monotonic()
    path = path_of_rank(options, rank)
    step = Transformer(num_layers, options.seed, ranks_of_group(rank))
    with gzip.open(path, "wt", compresslevel=1) if path.suffix == ".gz" else open(path, "w", 1 << 20) as file:
        counts, num_bytes = KinetoFile(step, num_steps, rank, max(8, options.ranks), options.seed).write(file.write)
    seconds, rows = time.monotonic() - begin, sum(counts.values())
    lines = [f"{path}: {num_bytes} bytes, {rows} rows, {num_bytes // rows} bytes a row, {seconds:.2f} s, "
             f"{num_bytes / 1e6 / seconds:.0f} MB/s"]
    lines += [f"  {category:20} {counts[category]:>12} {100 * counts[category] / rows:>6.1f} %"
              for category in CATEGORIES]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bytes", type=int, default=100_000_000, help="size of each file before packing, about")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other times")
    parser.add_argument("--ranks", type=int, choices=range(1, 1025), default=1, metavar="N",
                        help="files to write; more than one get .rankN in their name")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="file to write, packed where it ends in .gz")
    options = parser.parse_args()
    write = functools.partial(write_rank, options, *plan(options))
    with multiprocessing.Pool() as pool:
        for text in pool.imap(write, range(options.ranks)):
            print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
