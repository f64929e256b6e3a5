"""Which stream waits for which, noted in Python: CUPTI of CUDA 12.9 and later no longer tells Kineto
what an event was recorded on (wait_on_stream of `cuda_sync` is empty there)."""

import itertools
import threading

import torch

from tracer.stand_in_work import StandInWork

RECORD = "orrery.record#"
WAIT = "orrery.wait#"


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
            with self._range(f"{RECORD}{number}"):
                record(event, stream)

        def waited(event, stream=None):
            stream = torch.cuda.current_stream() if stream is None else stream
            number = getattr(event, "_orrery_number", None)
            if number is None:
                return wait(event, stream)
            self._note_wait(number, stream)
            with self._range(f"{WAIT}{number}"):
                wait(event, stream)

        def noted_future(work):
            number = None if work._stream is None else self._note_record(work._stream)
            if number is None:
                return made_future(work)
            self.futures.append(number)
            with self._range(f"{RECORD}{number}"):
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
