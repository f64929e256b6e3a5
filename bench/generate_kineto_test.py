#!/usr/bin/env python3
"""Tests that generated traces are plausible profiler output."""

import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).with_name("generate_kineto.py")


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class GenerateKinetoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = cls.generate("a.json")
        cls.document = json.loads(cls.path.read_text())
        cls.events = cls.document["traceEvents"]

    @classmethod
    def generate(cls, name, *options, size=3_000_000):
        path = pathlib.Path(cls.folder.name) / name
        subprocess.run([sys.executable, PROGRAM, "--bytes", str(size), *options, path], check=True,
                       stdout=subprocess.DEVNULL)
        return path

    def slices(self, category):
        return [e for e in self.events if e["ph"] == "X" and e["cat"] == category]

    def test_size_is_about_as_asked(self):
        for size in (3_000_000, 30_000_000):
            real = self.generate("size.json", size=size).stat().st_size
            self.assertLess(abs(real - size) / size, 0.2, size)

    def test_same_seed_gives_the_same_bytes_and_another_does_not(self):
        self.assertEqual(self.generate("b.json").read_bytes(), self.path.read_bytes())
        self.assertNotEqual(self.generate("c.json", "--seed", "2").read_bytes(),
                            self.path.read_bytes())

    def test_packed_file_holds_the_same(self):
        self.assertEqual(gzip.decompress(self.generate("a.json.gz").read_bytes()),
                         self.path.read_bytes())

    def test_every_category_is_there(self):
        present = collections.Counter(e.get("cat") for e in self.events)
        for category in ("cpu_op", "user_annotation", "python_function", "cpu_instant_event",
                         "cuda_runtime", "cuda_driver", "kernel", "gpu_memcpy", "gpu_memset",
                         "gpu_user_annotation", "ac2g", "fwdbwd", "Trace"):
            self.assertGreater(present[category], 0, category)

    def test_host_slices_nest(self):
        threads = collections.defaultdict(list)
        for category in ("cpu_op", "user_annotation", "python_function", "cuda_runtime",
                         "cuda_driver"):
            for e in self.slices(category):
                begin = nanoseconds(e["ts"])
                threads[e["tid"]].append((begin, -(begin + nanoseconds(e["dur"]))))
        self.assertEqual(len(threads), 2)
        for rows in threads.values():
            open_ends = []
            for begin, minus_end in sorted(rows):
                while open_ends and open_ends[-1] <= begin:
                    open_ends.pop()
                if open_ends:
                    self.assertLessEqual(-minus_end, open_ends[-1])
                open_ends.append(-minus_end)

    def test_streams_do_one_thing_after_another(self):
        streams = collections.defaultdict(list)
        for category in ("kernel", "gpu_memcpy", "gpu_memset"):
            for e in self.slices(category):
                streams[e["tid"]].append((nanoseconds(e["ts"]), nanoseconds(e["dur"])))
        for rows in streams.values():
            end = 0
            for begin, duration in sorted(rows):
                self.assertGreaterEqual(begin, end)
                self.assertGreater(duration, 0)
                end = begin + duration

    def test_every_device_row_has_its_earlier_launch(self):
        launch = {e["args"]["correlation"]: e["ts"]
                  for category in ("cuda_runtime", "cuda_driver") for e in self.slices(category)}
        for category in ("kernel", "gpu_memcpy", "gpu_memset"):
            for e in self.slices(category):
                self.assertLess(launch[e["args"]["correlation"]], e["ts"])

    def test_forward_and_backward_arrows_pair(self):
        ends = collections.Counter((e["ph"], e["id"]) for e in self.events
                                   if e.get("cat") == "fwdbwd")
        self.assertEqual({ph for ph, _ in ends}, {"s", "f"})
        self.assertEqual({i for ph, i in ends if ph == "s"}, {i for ph, i in ends if ph == "f"})
        self.assertEqual(set(ends.values()), {1})

    def test_memory_of_a_step_is_given_back(self):
        memory = [e["args"] for e in self.events if e.get("cat") == "cpu_instant_event"]
        self.assertEqual(sum(args["Bytes"] for args in memory), 0)

    def test_steps_are_numbered_and_follow_each_other(self):
        steps = [e for e in self.slices("user_annotation")
                 if e["name"].startswith("ProfilerStep#")]
        self.assertEqual([e["name"] for e in steps],
                         [f"ProfilerStep#{number + 3}" for number in range(len(steps))])
        for earlier, later in zip(steps, steps[1:]):
            self.assertLessEqual(earlier["ts"] + earlier["dur"], later["ts"])

    def test_ranks_leave_a_collective_together(self):
        self.generate("run.json", "--ranks", "2")
        ends = []
        for rank in (0, 1):
            document = json.loads(
                (pathlib.Path(self.folder.name) / f"run.rank{rank}.json").read_text())
            self.assertEqual(document["distributedInfo"]["rank"], rank)
            kernels = [e for e in document["traceEvents"] if e["name"].startswith("ncclDevKernel")]
            ends.append([nanoseconds(e["ts"]) + nanoseconds(e["dur"]) for e in kernels])
        self.assertGreater(len(ends[0]), 0)
        self.assertEqual(ends[0], ends[1])


if __name__ == "__main__":
    unittest.main()
