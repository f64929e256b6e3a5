"""Stages of a recording: each is told when a step begins and ends, whoever runs the steps."""

import statistics
import time

import torch

_LEAST_STEPS = 3
_LONGEST_S = 3.0


def _now_ms():
    return time.perf_counter() * 1e3


def recorded_event():
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def between_ms(events):
    return [round(first.elapsed_time(last), 4) for first, last in zip(events, events[1:])]


class Stage:
    """Some steps for one purpose."""

    def __init__(self, recording, steps):
        self.recording = recording
        self.steps = steps

    def begin(self):
        pass

    def before_step(self):
        pass

    def after_step(self):
        pass

    def end(self):
        pass

    def phase_begins(self, name):
        pass

    def phase_ends(self, name):
        pass


class WarmUp(Stage):
    """Caches, autotuners and the allocator settle; the first steps give numbers to the outputs of
    collectives. The last step alone says how long one takes."""

    _FILLING_STEPS = 2

    def begin(self):
        self._done = 0
        self.recording.log.is_filling = True

    def before_step(self):
        if self._done == self.steps - 1:
            torch.cuda.synchronize()
            self._begin_ms = _now_ms()

    def after_step(self):
        self._done += 1
        self.recording.log.is_filling = self._done < self._FILLING_STEPS
        self.recording.file.warmup_steps = self._done

    def end(self):
        torch.cuda.synchronize()
        self.recording.estimated_step_s = (_now_ms() - self._begin_ms) / 1e3
        torch.cuda.reset_peak_memory_stats()


class Running(Stage):
    """Steps one behind the other, as training runs them."""

    def begin(self):
        fitting = int(_LONGEST_S / max(self.recording.estimated_step_s, 1e-6))
        self.steps = max(min(self.steps, fitting), min(self.steps, _LEAST_STEPS))
        torch.cuda.synchronize()
        self._events = [recorded_event()]

    def after_step(self):
        self._events.append(recorded_event())

    def end(self):
        torch.cuda.synchronize()
        file = self.recording.file
        file.without_profiler["step_ms"] = between_ms(self._events)
        file.peak_allocated_bytes = torch.cuda.max_memory_allocated()
        file.peak_reserved_bytes = torch.cuda.max_memory_reserved()


class Phases(Stage):
    """Forward, backward and optimizer by events on the stream."""

    def begin(self):
        self._spans = []  # of steps: {phase: [(begin, end)]}

    def before_step(self):
        self._spans.append({})

    def phase_begins(self, name):
        self._spans[-1].setdefault(name, []).append([recorded_event(), None])

    def phase_ends(self, name):
        self._spans[-1][name][-1][1] = recorded_event()

    def end(self):
        torch.cuda.synchronize()
        times = {}
        for spans in self._spans:
            for name, parts in spans.items():
                whole = [first.elapsed_time(last) for first, last in parts if last is not None]
                times.setdefault(name, []).append(sum(whole))
        self.recording.file.without_profiler["gpu_ms"] = {
            name: round(statistics.median(sums), 4) for name, sums in times.items()}


class Alone(Stage):
    """Steps that find the GPU idle: how long the host issues, and how long until all is done."""

    def before_step(self):
        torch.cuda.synchronize()
        self._begin_ms = _now_ms()

    def after_step(self):
        issued = _now_ms()
        torch.cuda.synchronize()
        times = self.recording.file.without_profiler
        times["issue_ms"].append(round(issued - self._begin_ms, 4))
        times["alone_ms"].append(round(_now_ms() - self._begin_ms, 4))
