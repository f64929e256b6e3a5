"""Times calls with CUDA events, and the kernels of a batch of calls with the profiler (CUPTI)."""

import statistics
import time

import torch
from torch.autograd import profiler as autograd_profiler

from microbench import separators
from microbench.prepare import set_tf32

_FLUSH_BYTES = 192 << 20
_SEPARATOR_ELEMENTS = 1021


class Stream:
    """The two small kernels that stand between measured calls."""

    def __init__(self):
        flushed = torch.empty(_FLUSH_BYTES // 4, device="cuda", dtype=torch.float32)
        separator = torch.zeros(_SEPARATOR_ELEMENTS, device="cuda", dtype=torch.int16)
        self.flush = flushed.zero_
        self.separate = separator.bitwise_not_


_NOT_ACTIVITIES = ("gpu_user_annotation", "user_annotation", "cuda_sync", "overhead")
_LEARNT_SEPARATORS = 3
# Kineto drops activities that seem to lie outside its window; the clocks of the GPU and the host
# differ a little, so the window is opened earlier and closed later than needed.
_MARGIN_SECONDS = 0.002


class Recorder:
    """Records GPU activities between start and stop, without building the profiler's tables."""

    def __init__(self):
        self._direct = all(hasattr(torch.autograd, name) for name in
                           ("_prepare_profiler", "_enable_profiler", "_disable_profiler"))
        self._profiler = None

    def use_context_manager(self):
        """Gives up the direct way; returns whether it was in use."""
        was_direct, self._direct = self._direct, False
        return was_direct

    def start(self):
        self._start()
        time.sleep(_MARGIN_SECONDS)

    def _start(self):
        if self._direct:
            try:
                self._start_directly()
                return
            except Exception as error:
                print(f"profiler: direct start failed ({error}); the slower method is used",
                      flush=True)
                self._direct = False
        self._profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CUDA])
        self._profiler.__enter__()

    def _start_directly(self):
        """Does what the profiler's context manager does up to the recording."""
        try:
            settings = autograd_profiler.profile(use_cpu=False, use_device="cuda", use_kineto=True)
        except TypeError:
            settings = autograd_profiler.profile(use_cpu=False, use_cuda=True, use_kineto=True)
        config, activities = settings.config(), settings.kineto_activities
        torch.autograd._prepare_profiler(config, activities)
        torch.autograd._enable_profiler(config, activities)

    def stop(self):
        """Returns the activities as separators.Activity; the GPU must have finished."""
        time.sleep(_MARGIN_SECONDS)
        if self._direct:
            results = torch.autograd._disable_profiler()
        else:
            self._profiler.__exit__(None, None, None)
            results = self._profiler.profiler.kineto_results
            self._profiler = None
        return [_activity(event) for event in results.events() if _is_activity(event)]

    def during(self, work):
        """Records what `work` does on the GPU, until it is done."""
        torch.cuda.synchronize()
        self.start()
        try:
            work()
            torch.cuda.synchronize()
        finally:
            activities = self.stop()
        return activities


def _is_activity(event):
    if not str(event.device_type()).upper().endswith("CUDA"):
        return False
    kind = getattr(event, "activity_type", None)
    return kind is None or str(kind()).lower() not in _NOT_ACTIVITIES


def _activity(event):
    if hasattr(event, "start_ns"):
        return separators.Activity(event.name(), event.start_ns(), event.duration_ns())
    return separators.Activity(event.name(), event.start_us() * 1000, event.duration_us() * 1000)


class KernelTimer:
    """Measures kernel_us and warm_us of many calls in one recording."""

    def __init__(self, stream):
        self._stream = stream
        self._recorder = Recorder()
        self._separator_name = self._learn_separator()

    def _learn_separator(self):
        """Records separators alone, since their kernel's name is PyTorch's own affair."""
        self._names_of_separators()  # the first recording also starts CUPTI
        names = self._names_of_separators()
        if not _is_one_name(names) and self._recorder.use_context_manager():
            names = self._names_of_separators()
        if not _is_one_name(names):
            raise RuntimeError(f"the profiler recorded {names} for {_LEARNT_SEPARATORS} separators")
        return names[0]

    def _names_of_separators(self):
        torch.cuda.synchronize()
        self._recorder.start()
        for _ in range(_LEARNT_SEPARATORS):
            self._stream.separate()
        torch.cuda.synchronize()
        return [activity.name for activity in self._recorder.stop()]

    def measure(self, prepared):
        """Returns a KernelTimes (or None) for each of the prepared calls.

        Raises SeparatorMismatch when the recording is not complete.
        """
        torch.cuda.synchronize()
        plan = [(separators.cold_repeats(one.op_us), separators.warm_repeats(one.op_us))
                for one in prepared]
        self._recorder.start()
        try:
            self._stream.separate()
            for one, (cold, warm) in zip(prepared, plan):
                set_tf32(one.uses_tf32)
                self._enqueue(one.call, cold, warm)
            torch.cuda.synchronize()
        finally:
            activities = self._recorder.stop()
        # Before each cold call a border closes the flush, so a cold call makes two segments.
        expected = 1 + sum(2 * cold + warm for cold, warm in plan)
        return separators.by_call(self._cut(activities, expected), plan)

    def _cut(self, activities, expected):
        """Cuts; what is before the first separator belongs to no call."""
        return separators.cut(activities, self._separator_name, expected)[1:]

    def _enqueue(self, call, cold, warm):
        flush, separate = self._stream.flush, self._stream.separate
        for _ in range(cold):
            flush()
            separate()
            call()
            separate()
        for _ in range(warm):
            call()
            separate()


def _is_one_name(names):
    return len(names) == _LEARNT_SEPARATORS and len(set(names)) == 1


_MOST_REPEATS = 21
_SPIN_CYCLES_PER_US = 1980  # of the SM clock; a lower clock only makes the wait longer
_LONGEST_SPIN_US = 40_000
_FLUSH_US = 20              # a lower bound of what one flush gives the host


class EventTimer:
    """Measures op_us: the median over repeats, each with an empty L2, less an empty pair."""

    def __init__(self, stream):
        self._flush = stream.flush
        make = lambda: torch.cuda.Event(enable_timing=True)
        self._pairs = [(make(), make()) for _ in range(_MOST_REPEATS)]
        self.empty_us = 0.0
        self._flush()
        self._measure(lambda: None, 5, 10.0)
        self.empty_us = self._measure(lambda: None, _MOST_REPEATS, 10.0)

    def warm_up(self, call):
        """Calls twice; returns (time on the GPU, time of the host) of the second, in µs."""
        call()
        torch.cuda.synchronize()
        begin, end = self._pairs[0]
        begin.record()
        started = time.perf_counter()
        call()
        host_us = (time.perf_counter() - started) * 1e6
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3, host_us

    def op_us(self, call):
        """Returns the time of one call in µs."""
        rough_us, host_us = self.warm_up(call)
        count = separators.event_repeats(max(rough_us, host_us))
        return max(0.0, self._measure(call, count, host_us) - self.empty_us)

    def _measure(self, call, count, host_us):
        spin_us = min(_LONGEST_SPIN_US, 150 + count * (max(0.0, host_us - _FLUSH_US) + 25.0))
        torch.cuda._sleep(int(spin_us * _SPIN_CYCLES_PER_US))
        flush = self._flush
        pairs = self._pairs[:count]
        for begin, end in pairs:
            flush()
            begin.record()
            call()
            end.record()
        pairs[-1][1].synchronize()
        return statistics.median(begin.elapsed_time(end) for begin, end in pairs) * 1e3
