#!/usr/bin/env python3
"""Tests of what is made of slots, block records and recordings: runs, then rows of pairs."""

import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from microbench.separators import Activity  # noqa: E402
from overlap import nccl_rows, pairs, queueing  # noqa: E402
from overlap.device_library import MOST_BLOCKS, BlockRecord, Slot  # noqa: E402
from overlap.queueing import Run  # noqa: E402

_GATE = "void GateKernel<0>(unsigned int const volatile*, Slot*, int, long long)"
_OTHER_GATE = _GATE.replace("<0>", "<1>")


def us(name, start, duration):
    return Activity(name, int(start * 1000), int(duration * 1000))


def shape(name="k", repeats=1):
    return types.SimpleNamespace(name=name, repeats=repeats)


def decode(run, slot, window, blocks=(), kernel=None):
    records = (BlockRecord * ((run.slot + 1) * MOST_BLOCKS))()
    for index, block in enumerate(blocks):
        records[run.slot * MOST_BLOCKS + index] = block
    return queueing.decode(run, slot, records, window, kernel or shape())


class WindowsTest(unittest.TestCase):
    def test_each_gate_of_the_compute_side_opens_a_window_and_our_kernels_are_left_out(self):
        recorded = [us("before", 0, 1), us(_OTHER_GATE, 1, 9), us(_GATE, 2, 8),
                    us("HeavyCommunication(x)", 11, 50), us("k", 12, 5), us("k", 18, 5),
                    us("EndKernel(Slot*)", 24, 1), us(_GATE, 70, 3), us("k", 75, 4)]
        found = queueing.windows(reversed(recorded), 2)
        self.assertEqual([[a.name for a in window] for window in found],
                         [[_GATE, "k", "k"], [_GATE, "k"]])

    def test_a_recording_that_lacks_a_gate_is_not_guessed(self):
        with self.assertRaisesRegex(queueing.Incomplete, "1 runs were recorded of 2"):
            queueing.windows([us(_GATE, 0, 1)], 2)


class DecodeTest(unittest.TestCase):
    # The gate ends at 10 us, the first kernel begins at 12.25: a gap of 2.25.
    def test_the_gap_is_from_the_gates_end_to_the_first_kernel(self):
        window = [us(_GATE, 0, 10), us("k", 12.25, 5), us("k", 18, 6)]
        shown = decode(Run(0, 0, "both", 2), Slot(), window)
        self.assertEqual((shown.gap_us, shown.compute_us), (2.25, [5.0, 6.0]))

    def test_a_call_of_two_launches_is_their_sum_and_other_kernels_do_not_count(self):
        window = [us(_GATE, 0, 1), us("k", 2, 5), us("other", 8, 90), us("k", 99, 7),
                  us("k", 110, 1), us("k", 112, 2)]
        shown = decode(Run(0, 0, "both", 2), Slot(), window, kernel=shape(repeats=2))
        self.assertEqual(shown.compute_us, [12.0, 3.0])

    def test_a_missing_launch_is_an_error(self):
        with self.assertRaisesRegex(queueing.Incomplete, "1 launches of k of 2"):
            decode(Run(0, 0, "both", 2), Slot(), [us(_GATE, 0, 1), us("k", 2, 5)])

    # 19,800 cycles in 10,000 ns are 1980 MHz.
    def test_the_gate_tells_the_clock(self):
        slot = Slot(gate_ns=(10_000, 0), gate_cycles=(19_800, 0), timed_out=1)
        shown = decode(Run(0, -1, "compute", 0), slot, [us(_GATE, 0, 1)])
        self.assertEqual((shown.clock_mhz, shown.timed_out, shown.gap_us), (1980.0, True, None))

    # First block 3 us after the release, last block 8 us; the first is kept as its complement, so
    # that a maximum over blocks finds it.
    def test_a_stamped_kernel_tells_its_own_delays(self):
        slot = Slot(release_ns=(1_000_000, 0), first_begin_ns=2**64 - 1 - 1_003_000,
                    last_begin_ns=1_008_000)
        window = [us(_GATE, 0, 1), us("k", 2, 5)]
        shown = decode(Run(0, 0, "both", 1), slot, window)
        self.assertEqual((shown.start_delay_us, shown.last_delay_us), (3.0, 8.0))

    # Released at 1,000,000 ns. Block a runs from +2 to +102 us and sees the compute side's release
    # at +52 us with 4000 B moved of 14,000: 10,000 B in 50,000 ns, 0.2 GB/s. Block b begins later,
    # at +62, and never sees one: 8000 B in 40,000 ns, 0.2 GB/s. Both on SM 7.
    def test_communication_is_summed_over_its_blocks(self):
        first = BlockRecord(begin_ns=1_002_000, mark_ns=1_052_000, end_ns=1_102_000,
                            mark_bytes=4000, end_bytes=14_000, cycles=198_000, sm=7)
        second = BlockRecord(begin_ns=1_062_000, end_ns=1_102_000, end_bytes=8000, cycles=79_200,
                             sm=7)
        slot = Slot(release_ns=(1_010_000, 1_000_000))
        shown = decode(Run(1, 0, "both", 0), slot, [us(_GATE, 0, 1)], (first, second))
        self.assertEqual((shown.communication_first_us, shown.communication_last_us), (2.0, 62.0))
        self.assertEqual((shown.communication_us, shown.communication_sms), (100.0, 1))
        self.assertAlmostEqual(shown.communication_gbps, 0.4)
        self.assertEqual((shown.communication_clock_mhz, shown.releases_us), (1980.0, -10.0))

    def test_without_blocks_there_is_no_communication(self):
        shown = decode(Run(0, -1, "compute", 0), Slot(), [us(_GATE, 0, 1)])
        self.assertIsNone(shown.communication_gbps)


def run_document(slot, row, part, **shown):
    base = {"compute_us": [], "gap_us": None, "start_delay_us": None, "last_delay_us": None,
            "clock_mhz": 1980.0, "timed_out": False, "communication_first_us": None,
            "communication_last_us": None, "communication_us": None, "communication_gbps": None,
            "releases_us": None}
    return {"slot": slot, "row": row, "part": part, **base, **shown}


def document(alone_after=(30.0, 10.0, 10.0), clock_mhz=1980.0, timed_out=False):
    """A kernel of 10 us with one steady row and one arrival.

    The first launch of a train does not count, so alone it takes 10 us before and after.
    """
    drawn = {"pattern": "copy", "place": "hbm", "blocks": 8, "threads": 544, "heavy": 1,
             "shared_bytes": 82240, "rate_gbps": 0.0, "chunk_bytes": 131072, "priority": "same"}
    runs = [
        run_document(0, -1, "compute", compute_us=[20.0, 10.0, 10.0, 10.0], gap_us=1.0),
        run_document(1, 0, "communication", communication_gbps=100.0, communication_us=360.0,
                     communication_first_us=1.0, communication_last_us=2.0),
        run_document(2, 0, "both", compute_us=[40.0, 12.0, 14.0, 13.0], gap_us=1.5,
                     communication_gbps=80.0, communication_us=700.0, clock_mhz=clock_mhz,
                     communication_first_us=1.5, communication_last_us=1.0, timed_out=timed_out),
        run_document(3, 1, "communication", communication_gbps=90.0, communication_us=30.0,
                     communication_first_us=1.0, communication_last_us=2.0)]
    runs += [run_document(4 + i, 1, "both", compute_us=[time], gap_us=gap, releases_us=-5.0,
                          start_delay_us=0.5, communication_gbps=70.0, communication_us=40.0,
                          communication_first_us=2.0, communication_last_us=9.0)
             for i, (time, gap) in enumerate(((11.0, 4.0), (15.0, 5.0), (12.0, 9.0)))]
    runs.append(run_document(7, -1, "compute", compute_us=list(alone_after), gap_us=3.0))
    return {"number": 12, "operator": "gemm m=8 n=8 k=8 bf16", "copies": 2, "runs": runs,
            "shape": {"name": "k, j", "grid": 264, "block": 128, "registers": 64,
                      "shared_bytes": 1024, "occupancy": 50.0},
            "rows": [{"mode": "steady", **drawn},
                     {"mode": "arrival", "first": "C", "offset": 0.5, "length": 3.0, **drawn}],
            "gpu": "NVIDIA H200", "driver": "580", "cuda": "13.0", "torch": "2.11",
            "mem_mhz": 3201, "sm_mhz": 1980, "power_w": 300.0}


def row_of(number, **changes):
    return dict(zip(pairs.HEADER, pairs.rows(document(**changes), [32, 96])[number]))


class PairsTest(unittest.TestCase):
    def test_a_steady_row_compares_medians_without_the_first_launch(self):
        row = row_of(0)
        self.assertEqual((row["pair"], row["mode"], row["first"]), ("12.0", "steady", "C"))
        self.assertEqual((row["k_alone_us"], row["k_together_us"]), ("10.000", "13.000"))
        # 12 13 14: quartiles 12.5 and 13.5, a distance of 1 over 13.
        self.assertEqual((row["k_together_spread_pct"], row["repeats"]), ("7.692", "3"))
        self.assertEqual((row["c_alone_gbps"], row["c_together_gbps"]), ("100.000", "80.000"))
        # Alone 1 and 3 us, so 2; in steady state there is no time of the communication.
        self.assertEqual((row["k_gap_alone_us"], row["k_gap_us"]), ("2.000", "1.500"))
        self.assertEqual((row["c_alone_us"], row["c_together_us"], row["offset_us"]), ("", "", ""))

    def test_a_start_that_is_earlier_than_alone_is_no_delay(self):
        row = row_of(0)
        self.assertEqual((row["c_start_delay_us"], row["c_first_delay_us"]), ("0", "0.500"))

    def test_an_arrival_has_medians_over_its_repeats(self):
        row = row_of(1)
        self.assertEqual((row["k_together_us"], row["k_gap_us"]), ("12.000", "5.000"))
        self.assertEqual((row["offset_us"], row["k_start_delay_us"]), ("-5.000", "0.500"))
        self.assertEqual((row["c_alone_us"], row["c_together_us"]), ("30.000", "40.000"))
        self.assertEqual((row["c_start_delay_us"], row["repeats"]), ("7.000", "3"))

    def test_registers_are_those_of_the_kernel_that_ran(self):
        self.assertEqual(row_of(0)["c_regs"], "96")

    def test_rows_that_do_not_count_say_why(self):
        self.assertEqual(row_of(0)["rejected"], "")
        self.assertEqual(row_of(0, alone_after=(30.0, 10.3, 10.3))["rejected"],
                         "alone it changed by more than 2 %")
        self.assertEqual(row_of(0, clock_mhz=1900.0)["rejected"],
                         "the clock changed by more than 1 %")
        self.assertEqual(row_of(0, timed_out=True)["rejected"], "the host was held up")


class NcclRowsTest(unittest.TestCase):
    # Collectives from 0 to 100 and 100 to 200. The launches at 10 and 95 lie within them; of that
    # at 195, 5 of 10 us do. The computing covers 25 of the first collective's 100 us.
    def test_only_launches_within_collectives_count(self):
        name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
        found = nccl_rows.together([us("k", 195, 10), us(name, 0, 100), us(name, 100, 100),
                                    us("k", 10, 20), us("k", 95, 10)], "k")
        self.assertEqual((found.compute_us, found.launches), ([20.0, 10.0], 3))
        self.assertEqual(found.communication_us, [])

    def test_collectives_that_lie_within_computing_count(self):
        found = nccl_rows.together([us("k", 0, 50), us("k", 50, 50),
                                    us("ncclKernel_AllGather", 40, 30)], "k")
        self.assertEqual(found.communication_us, [30.0])

    @staticmethod
    def setting_document(**changes):
        kernel = {"operator": "gemm m=8 n=8 k=8 bf16", "copies": 1,
                  "shape": document()["shape"], "alone_us": [[10.0, 10.0], [10.0]],
                  "together_us": [12.0, 13.0, 14.0], "nccl_together_us": [40.0], "launches": 5}
        machine = {key: document()[key] for key in ("gpu", "driver", "cuda", "torch", "mem_mhz",
                                                    "sm_mhz", "power_w")}
        return {"number": 3, "ranks": 4, "alone_us": [20.0], "kernels": [{**kernel, **changes}],
                "setting": {"collective": "all_reduce", "algorithm": "Ring", "protocol": "LL",
                            "channels": 8, "size_bytes": 10**6},
                "nccl_shape": {"grid": 8, "block": 544, "registers": 96, "shared_bytes": 0},
                **machine}

    # 1 MB in 20 us is 50 GB/s; on the buses of 4 GPUs 2 * 3 / 4 of it: 75. In 40 us: 37.5.
    def test_a_row_of_nccl_has_the_columns_of_the_others(self):
        fields, = nccl_rows.rows(self.setting_document())
        self.assertEqual(len(fields), len(pairs.HEADER))
        row = dict(zip(pairs.HEADER, fields))
        self.assertEqual((row["pair"], row["c_pattern"], row["c_place"]),
                         ("nccl3.0", "nccl_all_reduce_ring_ll", "peers"))
        self.assertEqual((row["c_alone_gbps"], row["c_together_gbps"]), ("75.000", "37.500"))
        self.assertEqual((row["k_alone_us"], row["k_together_us"]), ("10.000", "13.000"))
        self.assertEqual((row["c_blocks"], row["c_chunk_bytes"], row["rejected"]),
                         ("8", "1000000", ""))

    def test_a_kernel_that_missed_the_collectives_is_rejected(self):
        fields, = nccl_rows.rows(self.setting_document(together_us=[], nccl_together_us=[]))
        row = dict(zip(pairs.HEADER, fields))
        self.assertEqual((row["k_together_us"], row["rejected"]),
                         ("", "no launch lay within collectives"))


if __name__ == "__main__":
    unittest.main()
