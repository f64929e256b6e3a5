#!/usr/bin/env python3
"""Tests of the counting rules of check_counts.py on small made-up files."""

import gzip
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import check_counts


def slice_event(category, name, ts=0, dur=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args}


class CheckCountsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kineto(self, *events):
        path = self.folder / "a.json.gz"
        path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
        return check_counts.count_kineto(path)

    def execution_trace(self, *nodes):
        path = self.folder / "a.json"
        path.write_text(json.dumps({"nodes": nodes}))
        return check_counts.count_execution_trace(path)

    def test_kineto_categories_old_and_new(self):
        counts = self.kineto(
            slice_event("kernel", "gemm"), slice_event("Kernel", "gemm"),
            slice_event("gpu_memcpy", "c"), slice_event("gpu_memset", "s"),
            slice_event("cuda_runtime", "r"), slice_event("cuda_driver", "d"),
            slice_event("cpu_op", "aten::mm"), slice_event("Operator", "aten::mm"),
            slice_event("Operator", "ProfilerStep#3"), slice_event("python_function", "f"),
            slice_event("user_annotation", "forward"), slice_event("gpu_user_annotation", "forward"),
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]"},
            {"ph": "s", "cat": "kernel", "name": "not a slice"})
        self.assertEqual(counts, {"kernels": 2, "copies": 1, "sets": 1, "host_ops": 3,
                                  "annotations": 1, "device_annotations": 1,
                                  "python_functions": 1, "runtime_calls": 2, "memory_events": 1,
                                  "collectives": 0})

    # Two cores, each with 2 steps of a program, a copy in two halves, a fusion and an all-reduce.
    def test_xplane_copies_are_joined_from_their_halves(self):
        data = pathlib.Path(__file__).resolve().parent.parent / "data" / "xplane"
        counts = check_counts.count_xplane(data / "two_tpus.xplane.pb")
        self.assertEqual(counts, {"kernels": 8, "copies": 4, "sets": 0, "other_device_work": 0,
                                  "runtime_calls": 0, "annotations": 2, "device_annotations": 16,
                                  "collectives": 4})

    def test_collectives_are_kernels_where_there_are_any(self):
        counts = self.kineto(
            slice_event("kernel", "ncclDevKernel_AllReduce"),
            slice_event("cpu_op", "record_param_comms", **{"Collective name": "allreduce"}),
            slice_event("cpu_op", "record_param_comms", **{"Collective name": "allreduce"}))
        self.assertEqual(counts["collectives"], 1)

    def test_collectives_without_kernels_are_calls_that_do_not_wait(self):
        counts = self.kineto(
            slice_event("cpu_op", "record_param_comms", **{"Collective name": "broadcast"}),
            slice_event("cpu_op", "record_param_comms", **{"Collective name": "wait"}))
        self.assertEqual(counts["collectives"], 1)

    def test_nameless_call_counts_when_an_nccl_mark_lies_inside(self):
        counts = self.kineto(
            slice_event("cpu_op", "record_param_comms", ts=0, dur=10),
            slice_event("user_annotation", "nccl:all_to_all", ts=2, dur=5),
            slice_event("cpu_op", "record_param_comms", ts=20, dur=10))
        self.assertEqual(counts["collectives"], 1)

    def test_functional_operator_and_its_c10d_operator_are_one_call(self):
        counts = self.kineto(
            slice_event("cpu_op", "_c10d_functional::all_reduce"),
            slice_event("cpu_op", "c10d::allreduce_"),
            slice_event("cpu_op", "_c10d_functional::wait_tensor"))
        self.assertEqual(counts["collectives"], 1)

    def test_execution_trace_operators_are_neither_roots_nor_scopes_nor_gpu_nodes(self):
        counts = self.execution_trace(
            {"name": "[pytorch|profiler|execution_trace|process]", "scope": 7},
            {"name": "## forward ##", "attrs": [{"name": "scope", "value": 7}]},
            {"name": "gemm", "ph": "X"},
            {"name": "aten::mm", "attrs": [{"name": "scope", "value": 0}]},
            {"name": "aten::mm", "scope": 1})
        self.assertEqual(counts, {"host_ops": 2, "collectives": 0})

    def test_execution_trace_waits_are_no_collectives(self):
        counts = self.execution_trace(
            {"name": "record_param_comms", "inputs": [1, 0, 0, "wait", []]},
            {"name": "record_param_comms", "inputs": {"values": [[1], 0, 0, "allreduce"]}},
            {"name": "record_param_comms", "inputs": {"values": []},
             "attrs": [{"name": "collective_name", "value": "wait"}]})
        self.assertEqual(counts["collectives"], 1)

    def test_nsys_counts_rows_and_takes_absent_tables_as_empty(self):
        path = self.folder / "a.sqlite"
        database = sqlite3.connect(path)
        database.executescript(
            "CREATE TABLE StringIds(id, value);"
            "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_SendRecv');"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(shortName);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1), (2), (2);")
        database.close()
        self.assertEqual(check_counts.count_nsys(path),
                         {"kernels": 3, "copies": 0, "sets": 0, "runtime_calls": 0,
                          "collectives": 2})

    def test_nccl_rows_of_every_generation_and_prefix_count_and_others_do_not(self):
        path = self.folder / "a.log"
        path.write_text(
            "# nThread 1 nGpus 1 minBytes 8\n"
            "[1,0]<stdout>:  1024  256  float  sum  34.66  0.03  0.06  N/A  34.47  0.03  0.06  N/A\n"
            "0:  8  2  float  sum  -1  164.3  0.00  0.00  0  163.3  0.00  0.00  0\n"
            "  8  2  float  none  0  1.2e+07  0.00  0.00  0  163.3  0.00  0.00  0\n"
            "  8  2  float  sum  -1  164.3  0.00  0.00  0  163.3\n"
            "# Avg bus bandwidth : 60.5716\n")
        self.assertEqual(check_counts.count_nccl_tests(path), {"rows": 3})

    def test_mismatch_names_file_count_and_both_values(self):
        self.assertEqual(list(check_counts.mismatches("a", {"kernels": 2, "sets": 0},
                                                      {"kernels": 1})), [("a", "kernels", 2, 1)])

    def test_unreadable_file_is_a_mismatch(self):
        self.assertEqual(list(check_counts.mismatches("a", {"kernels": 0}, "exit status 2: no")),
                         [("a", "-", "-", "exit status 2: no")])

    def test_every_format_has_samples_of_our_own(self):
        for kind in check_counts.COUNT:
            self.assertTrue(list(check_counts.own_files(kind, self.folder)), kind)


if __name__ == "__main__":
    unittest.main()
