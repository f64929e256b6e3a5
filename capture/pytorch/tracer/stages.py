"""Stages of a recording: each is told when a step begins and ends, whoever runs the steps."""

import itertools
import json
import os
import statistics
import threading
import time

import torch
from torch.profiler import ProfilerActivity

from tracer import files, kineto_waits, step_file
from tracer.stand_in_group import StandInWork

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


class StreamOrder:
    """While installed, each record of and wait for an event of `torch.cuda` is a named range in the
    profile, with the number of the record; notes() says on which stream it was."""

    def __init__(self):
        self.streams = {}  # handle: stream
        self.recorded_on = {}  # number of a record: handle
        self.waited_on = []  # (number of a record, handle), by time
        self.futures = []  # numbers of records made for futures, by time
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._range = getattr(torch._C._profiler, "_RecordFunctionFast",
                              torch.profiler.record_function)

    def install(self):
        self._originals = (torch.cuda.Event.record, torch.cuda.Event.wait,
                           StandInWork._made_future)
        record, wait, made_future = self._originals

        def recorded(event, stream=None):
            stream = torch.cuda.current_stream() if stream is None else stream
            number = event._orrery_number = self._note_record(stream)
            with self._range(f"{kineto_waits.RECORD}{number}"):
                record(event, stream)

        def waited(event, stream=None):
            stream = torch.cuda.current_stream() if stream is None else stream
            number = getattr(event, "_orrery_number", None)
            if number is None:
                return wait(event, stream)
            self._note_wait(number, stream)
            with self._range(f"{kineto_waits.WAIT}{number}"):
                wait(event, stream)

        def noted_future(work):
            number = None if work._stream is None else self._note_record(work._stream)
            if number is None:
                return made_future(work)
            self.futures.append(number)
            with self._range(f"{kineto_waits.RECORD}{number}"):
                return made_future(work)

        torch.cuda.Event.record, torch.cuda.Event.wait = recorded, waited
        StandInWork._made_future = noted_future

    def remove(self):
        torch.cuda.Event.record, torch.cuda.Event.wait, StandInWork._made_future = self._originals

    def _note_record(self, stream):
        with self._lock:
            number = next(self._numbers)
            self.streams.setdefault(stream.cuda_stream, stream)
            self.recorded_on[number] = stream.cuda_stream
            return number

    def _note_wait(self, number, stream):
        with self._lock:
            self.streams.setdefault(stream.cuda_stream, stream)
            self.waited_on.append((number, stream.cuda_stream))

    def waits_by_record(self):
        """{number of a record: handles of streams that waited, by time}."""
        waits = {}
        for number, handle in self.waited_on:
            waits.setdefault(number, []).append(handle)
        return waits


_MOST_ALLOCATIONS = 2_000_000


class _Annotated(Stage):
    """Phases and collectives are ranges here."""

    def begin(self):
        self.recording.log.is_annotating = True
        self._open = {}

    def phase_begins(self, name):
        self._open[name] = torch.profiler.record_function(name)
        self._open[name].__enter__()

    def phase_ends(self, name):
        self._open.pop(name).__exit__(None, None, None)

    def end(self):
        self.recording.log.is_annotating = False


def _sync_events():
    """Waits between streams, where this version of the profiler can record them."""
    try:
        return torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    except TypeError:
        return None


class Profile(_Annotated):
    """Kineto: one step to settle, then those that are kept, from an idle GPU."""

    def __init__(self, recording, steps):
        super().__init__(recording, steps + 1)
        self._active = steps

    def begin(self):
        super().begin()
        self._order = StreamOrder()
        self._path = self.recording.path("kineto.json")
        self._is_settled = False
        self._events = []
        torch.cuda.synchronize()
        self._profiler = torch.profiler.profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True,
            schedule=torch.profiler.schedule(wait=0, warmup=1, active=self._active, repeat=1),
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(self._path),
            experimental_config=_sync_events())
        self._profiler.start()
        self._order.install()

    def after_step(self):
        if not self._is_settled:
            torch.cuda.synchronize()
            self._is_settled = True
        else:
            self.recording.note_exchanges()
        self._events.append(recorded_event())
        if len(self._events) == self.steps:
            torch.cuda.synchronize()
            self._order.remove()
        self._profiler.step()

    def end(self):
        super().end()
        self._profiler.stop()
        self.recording.file.with_profiler["step_ms"] = between_ms(self._events)
        trace = files.read_json(self._path)
        kineto_waits.add_waits(trace, self._stream_ids(), self._order.recorded_on,
                               self._order.waits_by_record(), self._order.futures)
        files.write_gzip(self._path + ".gz", [json.dumps(trace, separators=(",", ":"))])
        os.remove(self._path)

    def _stream_ids(self):
        """A short recording of its own: one activity on each stream, to learn Kineto's numbers."""
        path = self.recording.path("streams.json")
        marker = torch.zeros(1, device="cuda")
        with torch.profiler.profile(
                activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for handle, stream in self._order.streams.items():
                with torch.cuda.stream(stream), \
                        torch.profiler.record_function(f"{kineto_waits.STREAM}{handle}"):
                    marker.zero_()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(path)
        ids = kineto_waits.stream_ids(files.read_json(path))
        os.remove(path)
        return ids


class ExecutionTrace(_Annotated):
    """Operators of one step with their tensors."""

    def begin(self):
        super().begin()
        self._path = self.recording.path("execution.json")
        self._observer = torch.profiler.ExecutionTraceObserver()
        self._observer.register_callback(self._path)
        self._observer.start()

    def end(self):
        self._observer.stop()
        self._observer.unregister_callback()
        super().end()
        files.pack(self._path, self._path + ".gz")


class Memory(Stage):
    """Records the caching allocator in one step."""

    def begin(self):
        torch.cuda.synchronize()
        self._held = torch.cuda.memory_allocated()
        torch.cuda.memory._record_memory_history(enabled="all", context=None,
                                                 max_entries=_MOST_ALLOCATIONS)

    def end(self):
        torch.cuda.synchronize()
        traces = torch.cuda.memory._snapshot()["device_traces"]
        torch.cuda.memory._record_memory_history(enabled=None)
        events = traces[torch.cuda.current_device()] if traces else []
        files.write_gzip(self.recording.path("memory.csv.gz"), step_file.memory_rows(self._held, events))
