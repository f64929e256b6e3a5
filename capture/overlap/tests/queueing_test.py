#!/usr/bin/env python3
"""Tests of the order of launches, with a device that only notes them; and of shared structures."""

import ctypes
import pathlib
import shutil
import subprocess
import sys
import unittest

_OVERLAP = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(_OVERLAP.parent))

from overlap import device_library, plans, queueing  # noqa: E402


class NotingDevice:
    """Notes (what, stream, slot) of each call."""

    def __init__(self):
        self.calls = []

    def clear(self):
        self.calls.clear()

    def gate(self, stream, slot, side, leads, offset_ns):
        self.calls.append(("gate", stream, slot, side, leads, offset_ns))

    def communicate(self, stream, slot, settings):
        self.calls.append(("communicate", stream, slot, settings))

    def end(self, stream, slot):
        self.calls.append(("end", stream, slot))

    def join(self):
        self.calls.append(("join",))

    def go(self, slot):
        self.calls.append(("go", None, slot))


class NotingCompute:
    def __init__(self, device):
        self._device = device

    def launch(self, stream, external, slot):
        assert external == f"external {stream}"
        self._device.calls.append(("kernel", stream, slot))


def drawn(priority="same", blocks=8):
    return plans.Drawn("copy", "hbm", "ring", blocks, 0.0, 128 << 10, priority)


class QueueTest(unittest.TestCase):
    def setUp(self):
        self.device = NotingDevice()
        self.compute = NotingCompute(self.device)
        self.queue = queueing.Queue(self.device, ["external 0", "external 1"])

    def fill(self, compute_us=50.0):
        """All rows of one compute kernel, as a run queues them."""
        self.queue.compute_alone(self.compute, 4)
        for index, row in enumerate(plans.rows(1, 0, compute_us)):
            one = self.queue.steady if isinstance(row, plans.Steady) else self.queue.arrival
            one(index, row, self.compute, compute_us)
        self.queue.compute_alone(self.compute, 4)

    def calls_of(self, slot, *names):
        return [call for call in self.device.calls
                if call[0] != "join" and call[2] == slot and (not names or call[0] in names)]

    def test_every_slot_gets_go_once_in_order(self):
        self.fill()
        slots = [call[2] for call in self.device.calls if call[0] == "go"]
        self.assertEqual(slots, list(range(len(self.queue.runs))))

    def test_a_slot_ends_with_joined_streams_and_then_go(self):
        self.fill()
        calls = self.device.calls
        for at, call in enumerate(calls):
            if call[0] == "go":
                self.assertEqual(calls[at - 1], ("join",))
        self.assertEqual(calls[-1][0], "go")

    def test_a_gate_stands_before_everything_in_its_stream_and_one_of_them_leads(self):
        self.fill()
        for run in self.queue.runs:
            calls = self.calls_of(run.slot)
            for stream in {call[1] for call in calls if call[1] is not None}:
                first = next(call for call in calls if call[1] == stream)
                self.assertEqual(first[0], "gate")
            leading = [call for call in calls if call[0] == "gate" and call[4] == 1]
            self.assertEqual([call[3] for call in leading], [0])

    def test_launches_are_as_many_as_the_run_says_and_end_follows_them(self):
        self.fill()
        for run in self.queue.runs:
            self.assertEqual(len(self.calls_of(run.slot, "kernel")), run.launches)
            if run.launches:
                self.assertEqual(self.calls_of(run.slot, "kernel", "end")[-1][0], "end")

    def test_all_runs_of_a_kernel_fit_the_slots(self):
        self.fill()
        self.assertLessEqual(len(self.queue.runs) + 4, 160)

    def test_priorities_choose_the_streams(self):
        streams = {priority: self.queue._streams(drawn(priority))
                   for priority in plans.PRIORITIES}
        self.assertEqual(streams, {"same": (0, 2), "communication": (0, 3), "compute": (1, 2)})

    # Communication of 3 * 40 = 120 us; half of it after its start the kernel comes: 60 us later.
    def test_the_second_to_arrive_is_released_later_by_the_offset(self):
        self.queue.arrival(0, plans.Arrival(drawn(), "C", 0.5, 3.0), self.compute, 40.0)
        releases = {call[3]: call[5] for call in self.calls_of(1, "gate")}
        self.assertEqual(releases[0] - releases[1], 60_000)
        self.queue.clear()
        self.queue.arrival(0, plans.Arrival(drawn(), "K", 0.5, 3.0), self.compute, 40.0)
        releases = {call[3]: call[5] for call in self.calls_of(1, "gate")}
        self.assertEqual(releases[1] - releases[0], 20_000)

    def test_an_arrival_is_communication_alone_and_five_runs_of_both(self):
        self.queue.arrival(7, plans.Arrival(drawn(), "K", 0.0, 1.0), self.compute, 40.0)
        self.assertEqual([(run.row, run.part, run.launches) for run in self.queue.runs],
                         [(7, "communication", 0)] + 5 * [(7, "both", 1)])

    def test_a_train_lasts_half_a_millisecond_within_bounds(self):
        self.assertEqual([queueing.train_length(us) for us in (0.1, 25.0, 1000.0)], [40, 20, 6])


class StructuresTest(unittest.TestCase):
    def test_structures_are_laid_out_as_in_the_header_of_the_kernels(self):
        compiler = shutil.which("c++") or shutil.which("g++")
        if compiler is None:
            self.skipTest("no C++ compiler")
        lines = ["#include <cstddef>", '#include "device.h"',
                 f"static_assert(kMostBlocks == {device_library.MOST_BLOCKS});"]
        for kind in (device_library.Slot, device_library.BlockRecord, device_library.Communication,
                     device_library.Stamped):
            name = kind.__name__
            lines.append(f"static_assert(sizeof({name}) == {ctypes.sizeof(kind)});")
            lines += [f"static_assert(offsetof({name}, {field}) == {getattr(kind, field).offset});"
                      for field, _ in kind._fields_]
        made = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", "-x", "c++",
                               "-I", str(_OVERLAP / "device"), "-"], input="\n".join(lines) + "\n",
                              text=True, capture_output=True, check=False)
        self.assertEqual((made.returncode, made.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
