#!/usr/bin/env python3
"""Tests of what is drawn: compute kernels, communication-like kernels, rows, NCCL's settings."""

import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from overlap import nccl_rows, plans  # noqa: E402

_NUMBERS = range(80)


def all_rows(seed):
    return [plans.rows(seed, number, 50.0) for number in _NUMBERS]


class ComputePlanTest(unittest.TestCase):
    def test_a_kernel_depends_on_seed_and_number_alone(self):
        forwards = [plans.planned(3, number).text for number in _NUMBERS]
        backwards = [plans.planned(3, number).text for number in reversed(_NUMBERS)]
        self.assertEqual(forwards, backwards[::-1])
        self.assertNotEqual(forwards, [plans.planned(4, n).text for n in _NUMBERS])

    def test_eighty_draws_are_at_least_sixty_kernels_of_many_kinds(self):
        texts = {plans.planned(1, number).text for number in _NUMBERS}
        self.assertGreaterEqual(len(texts), 60)
        kinds = {text.split()[0] for text in texts}
        self.assertLessEqual({"gemm", "attention", "elementwise", "reduce", "embedding",
                              "optimizer", "stamped"}, kinds)

    def test_every_seventh_is_our_own_and_fits_the_gpu(self):
        for number in _NUMBERS:
            planned = plans.planned(1, number)
            self.assertEqual(planned.stamped is not None, number % 7 == 6)
            if planned.stamped is not None:
                self.assertGreater(planned.stamped.work_each, 0)
                self.assertLessEqual(planned.stamped.threads, 1024)

    def test_operands_are_rotated_for_about_half_and_never_beyond_six_sets(self):
        copies = [plans.planned(1, number).copies for number in range(200)]
        self.assertLessEqual(max(copies), 6)
        self.assertTrue(30 < sum(count > 1 for count in copies) < 150)


class RowPlanTest(unittest.TestCase):
    def test_rows_are_the_same_each_time(self):
        self.assertEqual(all_rows(1), all_rows(1))
        self.assertNotEqual(all_rows(1), all_rows(2))

    def test_each_kernel_meets_all_ten_widths_in_steady_state(self):
        for rows in all_rows(1):
            widths = {row.communication.blocks for row in rows if isinstance(row, plans.Steady)}
            self.assertEqual(widths, set(plans.WIDTHS))

    def test_a_third_or_more_arrives_staggered_and_both_sides_come_first(self):
        for rows in all_rows(1):
            arrivals = [row for row in rows if isinstance(row, plans.Arrival)]
            self.assertGreaterEqual(3 * len(arrivals), len(rows))
            self.assertEqual({row.first for row in arrivals}, {"K", "C"})

    def test_all_patterns_places_shapes_and_priorities_occur(self):
        drawn = [row.communication for rows in all_rows(1) for row in rows]
        seen = lambda name: {getattr(one, name) for one in drawn}
        self.assertEqual(seen("pattern"), {"copy", "reduce_copy", "spin", "ll", "ll128"})
        self.assertEqual(seen("place"), {"hbm", "l2", "host"})
        self.assertEqual(seen("shape"), {"ring", "tree", "light"})
        self.assertEqual(seen("priority"), {"same", "communication", "compute"})
        self.assertLessEqual({0.0, 25.0, 800.0}, seen("rate_gbps"))


class CommunicationPlanTest(unittest.TestCase):
    @staticmethod
    def drawn(**changes):
        fields = {"pattern": "copy", "place": "hbm", "shape": "ring", "blocks": 4,
                  "rate_gbps": 0.0, "chunk_bytes": 128 << 10, "priority": "same"}
        return plans.Drawn(**{**fields, **changes})

    # 4 blocks at 40 GB/s together: each has 131072 B to move in 4 * 131072 / 40 = 13107.2 ns.
    def test_a_rate_is_the_time_of_a_chunk(self):
        self.assertEqual(self.drawn(rate_gbps=40.0).settings().chunk_ns, 13107)
        self.assertEqual(self.drawn().settings().chunk_ns, 0)

    # 10 GB/s a block (40 of 4) are 1 MB in 100 us: 7.6 chunks of 128 KiB.
    def test_chunks_fill_the_time_asked_for(self):
        self.assertEqual(self.drawn(rate_gbps=40.0).chunks_for(100.0), 8)
        self.assertEqual(self.drawn(pattern="spin").chunks_for(100.0), 100)
        self.assertEqual(self.drawn(rate_gbps=40.0).chunks_for(0.1), 2)

    def test_chunks_are_small_enough_to_be_counted(self):
        rng = random.Random(1)
        for _ in range(300):
            drawn = plans.draw(rng, rng.choice(plans.WIDTHS), 400.0)
            at_most = max(8 << 10, drawn.block_gbps() * 1e3 * 400.0 / 4)
            self.assertLessEqual(drawn.chunk_bytes, at_most)

    def test_spinning_blocks_have_no_rate_and_no_place_of_their_own(self):
        rng = random.Random(2)
        spins = [drawn for drawn in (plans.draw(rng, 8, 400.0) for _ in range(300))
                 if drawn.pattern == "spin"]
        self.assertTrue(spins)
        self.assertEqual({(drawn.rate_gbps, drawn.place) for drawn in spins}, {(0.0, "hbm")})


class NcclPlanTest(unittest.TestCase):
    def test_settings_depend_on_seed_and_number_alone(self):
        settings = [nccl_rows.setting(1, number) for number in range(60)]
        self.assertEqual(settings, [nccl_rows.setting(1, number) for number in range(60)])
        self.assertGreaterEqual(len({one.channels for one in settings}), 8)
        self.assertEqual({one.collective for one in settings},
                         {"all_reduce", "all_gather", "reduce_scatter", "alltoall"})

    def test_only_what_nccl_can_do_is_forced(self):
        for number in range(200):
            setting = nccl_rows.setting(2, number)
            if setting.algorithm == "Tree":
                self.assertEqual(setting.collective, "all_reduce")
            if setting.collective == "alltoall":
                self.assertEqual(setting.protocol, "Simple")

    def test_the_environment_forces_width_algorithm_and_protocol(self):
        setting = nccl_rows.Setting("all_reduce", "Tree", "LL128", 12, 2**20)
        self.assertEqual(setting.environment(), {
            "NCCL_MIN_NCHANNELS": "12", "NCCL_MAX_NCHANNELS": "12", "NCCL_ALGO": "Tree",
            "NCCL_PROTO": "LL128"})
        self.assertEqual(setting.pattern, "nccl_all_reduce_tree_ll128")
        exchange = nccl_rows.Setting("alltoall", "Ring", "Simple", 4, 2**20).environment()
        self.assertEqual(exchange["NCCL_MAX_P2P_NCHANNELS"], "4")

    def test_kernels_beside_nccl_are_operators(self):
        kernels = nccl_rows.kernels(1, 5)
        self.assertEqual(len(kernels), nccl_rows.KERNELS_EACH)
        self.assertTrue(all(one.sample is not None for one in kernels))


if __name__ == "__main__":
    unittest.main()
