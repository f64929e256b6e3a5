"""Stages that write recordings of PyTorch's own tools."""

import json
import os

from torch.profiler import ProfilerActivity
import torch

from tracer import files, kineto_waits, step_file
from tracer.stages import Stage, between_ms, recorded_event
from tracer.stream_order import StreamOrder

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
    """What the caching allocator does in one step."""

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
