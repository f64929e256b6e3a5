#!/usr/bin/env python3
"""Tests of the waits between streams that are written into a Kineto trace; needs no PyTorch."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tracer import kineto_waits  # noqa: E402

_MAIN, _SIDE = 0x10, 0x20  # handles of streams
_IDS = {_MAIN: 7, _SIDE: 45, 0: 7}  # 0: the stream of the caller, where PyTorch waits for futures


def _range(name, begin, end, thread=1):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 9, "tid": thread, "ts": begin, "dur": end - begin}


def _call(name, at, correlation, thread=1):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 9, "tid": thread, "ts": at, "dur": 1,
            "args": {"correlation": correlation}}


def _noted(correlation, stream):
    return {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": stream, "ts": 0, "dur": 1,
            "args": {"stream": stream, "correlation": correlation, "wait_on_stream": -1}}


def _waits(trace):
    """{correlation of the wait: (stream that waits, stream it waits for, correlation of the record)}."""
    return {one["args"]["correlation"]: (one["args"]["stream"], one["args"].get("wait_on_stream"),
                                         one["args"].get("wait_on_cuda_event_record_corr_id"))
            for one in trace["traceEvents"] if one["cat"] == "cuda_sync"}


class Waits(unittest.TestCase):
    def test_a_wait_gets_the_stream_and_the_record_that_it_is_for(self):
        trace = {"traceEvents": [
            _range("orrery.record#4", 10, 20), _call("cudaEventRecordWithFlags", 12, 100),
            _range("orrery.wait#4", 30, 40), _call("cudaStreamWaitEvent", 33, 101), _noted(101, 45)]}
        self.assertEqual(kineto_waits.add_waits(trace, _IDS, {4: _MAIN}, {4: [_SIDE]}, []), 1)
        self.assertEqual(_waits(trace), {101: (45, 7, 100)})

    def test_a_wait_that_kineto_does_not_show_is_added(self):
        trace = {"traceEvents": [
            _range("orrery.record#4", 10, 20), _call("cudaEventRecord", 12, 100),
            _range("orrery.wait#4", 30, 40), _call("cudaStreamWaitEvent", 33, 101)]}
        kineto_waits.add_waits(trace, _IDS, {4: _SIDE}, {4: [_MAIN]}, [])
        self.assertEqual(_waits(trace), {101: (7, 45, 100)})

    def test_calls_of_another_thread_are_not_taken(self):
        trace = {"traceEvents": [
            _range("orrery.record#4", 10, 20), _call("cudaEventRecord", 12, 100, thread=2),
            _range("orrery.wait#4", 30, 40), _call("cudaStreamWaitEvent", 33, 101), _noted(101, 45)]}
        self.assertEqual(kineto_waits.add_waits(trace, _IDS, {4: _MAIN}, {4: [_SIDE]}, []), 0)
        self.assertEqual(_waits(trace), {101: (45, -1, None)})

    def test_two_streams_that_wait_for_one_record_are_told_apart_by_time(self):
        trace = {"traceEvents": [
            _range("orrery.record#4", 10, 20), _call("cudaEventRecord", 12, 100),
            _range("orrery.wait#4", 50, 60), _call("cudaStreamWaitEvent", 53, 102),
            _range("orrery.wait#4", 30, 40), _call("cudaStreamWaitEvent", 33, 101)]}
        kineto_waits.add_waits(trace, {**_IDS, 0x30: 50}, {4: _MAIN}, {4: [_SIDE, 0x30]}, [])
        self.assertEqual(_waits(trace), {101: (45, 7, 100), 102: (50, 7, 100)})

    def test_futures_are_waited_for_in_the_order_in_which_they_were_made(self):
        # Waits of PyTorch itself (201, 202) have no range. The one before the first record (200) is of another matter.
        trace = {"traceEvents": [
            _call("cudaStreamWaitEvent", 5, 200), _noted(200, 7),
            _range("orrery.record#1", 10, 20), _call("cudaEventRecord", 12, 100),
            _range("orrery.record#2", 20, 30), _call("cudaEventRecord", 22, 110),
            _call("cudaStreamWaitEvent", 40, 201), _noted(201, 7),
            _call("cudaStreamWaitEvent", 50, 202), _noted(202, 7)]}
        self.assertEqual(kineto_waits.add_waits(trace, _IDS, {1: _SIDE, 2: _SIDE}, {}, [1, 2]), 2)
        self.assertEqual(_waits(trace), {200: (7, -1, None), 201: (7, 45, 100), 202: (7, 45, 110)})


class Streams(unittest.TestCase):
    def test_the_activity_inside_of_a_range_tells_the_number_of_its_stream(self):
        trace = {"traceEvents": [
            _range("orrery.stream#16", 10, 20), _call("cudaLaunchKernel", 12, 1),
            _range("orrery.stream#32", 30, 40), _call("cudaMemsetAsync", 33, 2),
            _range("orrery.stream#48", 50, 60),
            {"ph": "X", "cat": "kernel", "name": "fill", "ts": 13, "dur": 1,
             "args": {"correlation": 1, "stream": 7}},
            {"ph": "X", "cat": "gpu_memset", "name": "Memset", "ts": 34, "dur": 1,
             "args": {"correlation": 2, "stream": 45}}]}
        self.assertEqual(kineto_waits.stream_ids(trace), {16: 7, 32: 45})


if __name__ == "__main__":
    unittest.main()
