#!/usr/bin/env python3
"""Compares `orrery analyze` with known answers on the two real 8-rank runs.

    tests/known_answers/check_metrics.py --program build/orrery --shared ../shared [--table]

Three kinds of answers: the values of the ccl-bench suite that shared/golden holds (status ok, to
1e-9 relative), those it derives from the suite's formulas, and the answers of the reference
documents for our own definitions, waits, arrivals and causes. --table prints every comparison as a
Markdown table, for docs/validation. Exit status: 0 all agree, 1 some differ, 77 the files are not
there.
"""

import argparse
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
RELATIVE = 1e-9

SETS = {
    "megatron-tp8": ("traces/astra-sim/megatron-tp8", "megatron"),
    "dlrm-8gpu": ("traces/param/dlrm-8gpu", "dlrm"),
}

# Derived from the suite's formulas with an independent script (the reference document marks them).
COMPAT_DERIVED = {
    "megatron-tp8": {"average_memory_bandwidth": 4.6673436350257544,
                     "memory_bound_fraction": 6.0686},
    "dlrm-8gpu": {"average_memory_bandwidth": 3.909869822485207,
                  "memory_bound_fraction": 8.4241},
}

# Our own definitions, without execution traces (sizes are not needed).
OWN = {
    "megatron-tp8": {
        "iteration_wall_clock_time": 0.60651925,
        "temporal_breakdown": 21.37703836511184,
        "communication_fraction": 67.27225507381473,
        "communication_overhead": 0.6727225507381473,
        "memory_transfer_overhead": 0.027452177428624082,
        "idle_breakdown": 11.323254383644798,
        "aggregate_gpu_utilization": 88.6767456163552,
        "comm_comp_overlap": 0,
        "load_imbalance_ratio": 1.0110326437181874,
        "mean_sm_coverage": 99.95583865369267,
        "dominant_kernel_concentration": 22.240727194960506,
        "average_memory_bandwidth": 14.933924050632912,
        "straggler": 0.7162113980718666,
        "coll_call_num": 84,
    },
    "dlrm-8gpu": {
        "iteration_wall_clock_time": 0.01600775,
        "temporal_breakdown": 7.823334289803569,
        "communication_fraction": 39.07323944366762,
        "communication_overhead": 0.3757580733229105,
        "memory_transfer_overhead": 0.14147428877438645,
        "idle_breakdown": 54.459384089131,
        "aggregate_gpu_utilization": 45.540615910869,
        "comm_comp_overlap": 4.553887813074646,
        "load_imbalance_ratio": 1.1244218838127467,
        "mean_sm_coverage": 24.86858432036098,
        "dominant_kernel_concentration": 5.44839255499154,
        "average_memory_bandwidth": 4.104421052631579,
        "straggler": 0.41817244772063533,
        "coll_call_num": 8,
    },
}

# With sizes from the execution traces.
SIZED = {
    "megatron-tp8": {"hockney_alpha_s": 2.2176467648703547e-06,
                     "hockney_beta_s_per_byte": 4.992303033421387e-12,
                     "collective_vol_total_gb": 5.435916288},
    "dlrm-8gpu": {"token_to_expert_assignment": 1664 / 424},
}

# Rounded in the reference document: to its digits.
SIZED_ROUNDED = {
    "megatron-tp8": {"busbw_allreduce": (194.760, 3), "avg_comm_bandwidth_GBps": (189.881, 3),
                     "comm_wait_fraction": (88.006, 3)},
    "dlrm-8gpu": {"comm_wait_fraction": (96.500, 3)},
}

FIRST_ARRIVALS = {
    "megatron-tp8": {0: 18, 1: 7, 2: 6, 3: 1, 4: 12, 5: 21, 6: 2, 7: 17},
    "dlrm-8gpu": {0: 2, 1: 3, 3: 2, 4: 1},
}

BLAME_US = {
    "megatron-tp8": {0: 1533247, 1: 513, 2: 170971, 3: 15738, 5: 85, 6: 1218936},
    "dlrm-8gpu": {4: 5009, 5: 6282, 7: 35552},
}

GAIN_US = {
    "megatron-tp8": {0: 167362, 1: 10, 2: 22017, 3: 1999, 6: 135062},
    "dlrm-8gpu": {4: 14, 5: 101, 7: 1309},
}

# (last rank, cause): times.
CAUSES = {
    "megatron-tp8": {(0, "host_wait"): 30, (0, "other"): 1, (2, "host_wait"): 3,
                     (3, "compute"): 14, (3, "host_wait"): 1, (6, "compute"): 12,
                     (6, "host_wait"): 14, (6, "other"): 2},
    "dlrm-8gpu": {(4, "host_wait"): 1, (5, "host_wait"): 2, (7, "host_wait"): 4},
}

CAUSE_EXCESS_US = {
    "megatron-tp8": {"host_wait": 359132, "compute": 514, "other": 34516},
    "dlrm-8gpu": {"host_wait": 2979},
}

IDLE_US = {
    "megatron-tp8": {
        "host_wait": [205947, 5871, 58568, 16089, 1802, 6369, 173737, 9473],
        "launch_overhead": [1233, 1512, 1490, 1482, 1527, 1609, 1382, 1542]},
    "dlrm-8gpu": {
        "host_wait": [6305, 6230, 6937, 7990, 8753, 9020, 6957, 8224],
        "unknown": [0, 89, 0, 83, 0, 0, 0, 0]},
}


class Checker:
    """Holds every comparison; what differs is told at the end."""

    def __init__(self):
        self.rows = []

    def check(self, run, what, expected, found, relative=RELATIVE):
        if isinstance(expected, float) or isinstance(found, float):
            agrees = found is not None and abs(found - expected) <= relative * abs(expected)
        else:
            agrees = found == expected
        self.rows.append((run, what, expected, found, agrees))

    def failures(self):
        return [row for row in self.rows if not row[-1]]

    def print_table(self):
        print("| run | what | known | orrery | agrees |\n|---|---|---|---|---|")
        for run, what, expected, found, agrees in self.rows:
            print(f"| {run} | {what} | {expected} | {found} | {'yes' if agrees else 'NO'} |")


def analyze(program, paths, *options):
    output = subprocess.run([program, "analyze", *map(str, paths), "--json", *options],
                            check=True, capture_output=True, text=True).stdout
    return json.loads(output)["metrics"]


def check_compat(checker, program, shared, run, folder):
    metrics = analyze(program, [folder], "--compat", "ccl-bench")
    with open(shared / "golden/reference_values.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["trace_set"] == run and row["status"] == "ok":
                found = metrics[row["metric"]]["value"]
                checker.check(run, f"ccl-bench {row['metric']}", float(row["value"]), found)
    for name, value in COMPAT_DERIVED[run].items():
        checker.check(run, f"ccl-bench {name}", value, metrics[name]["value"])


def per_rank(metric, key):
    return {row["rank"]: row[key] for row in metric["detail"]["per_rank"]}


def without_zeros(counts):
    return {rank: count for rank, count in counts.items() if count}


def check_arrivals(checker, shared, run, metrics):
    with open(shared / "golden/collective_arrival_by_rank.csv", newline="") as file:
        golden = [row for row in csv.DictReader(file) if row["trace_set"] == run]
    straggler = metrics["straggler"]
    last = per_rank(straggler, "times_last")
    wait = per_rank(straggler, "wait_us")
    duration = per_rank(metrics["comm_wait_fraction"], "duration_us")
    for row in golden:
        rank = int(row["rank"])
        checker.check(run, f"rank {rank} times last", int(row["times_last_to_arrive"]), last[rank])
        checker.check(run, f"rank {rank} wait, us", float(row["wait_us"]), wait[rank])
        checker.check(run, f"rank {rank} NCCL time, us", float(row["nccl_kernel_us"]),
                      duration[rank])
    checker.check(run, "times first", FIRST_ARRIVALS[run],
                  without_zeros(per_rank(straggler, "times_first")))
    checker.check(run, "blame, us", BLAME_US[run], without_zeros(per_rank(straggler, "blame_us")))
    checker.check(run, "gain, us", GAIN_US[run], without_zeros(per_rank(straggler, "gain_us")))
    with open(shared / "golden/collective_arrival_summary.csv", newline="") as file:
        summary = next(row for row in csv.DictReader(file) if row["trace_set"] == run)
    waits = metrics["comm_wait_fraction"]["detail"]
    checker.check(run, "collectives", int(summary["collectives"]), waits["collectives"])
    checker.check(run, "sum of minimum durations, s",
                  int(summary["sum_of_min_duration_us"]) / 1e6,
                  waits["sum_of_minimum_durations_s"])


def check_causes(checker, run, metrics):
    causes = metrics["straggler"]["detail"]["causes_by_rank"]
    checker.check(run, "causes of lateness", CAUSES[run],
                  {(row["rank"], row["cause"]): row["times"] for row in causes})
    for cause, excess in CAUSE_EXCESS_US[run].items():
        found = sum(row["excess_us"] for row in causes if row["cause"] == cause)
        checker.check(run, f"excess by {cause}, us", float(excess), found)
    idle = metrics["idle_breakdown"]
    for cause, expected in IDLE_US[run].items():
        by_rank = per_rank(idle, f"{cause}_ns")
        checker.check(run, f"idle by {cause}, us", expected,
                      [by_rank[rank] // 1000 for rank in range(8)])


def check_own(checker, shared, run, metrics, sized):
    for name, value in OWN[run].items():
        checker.check(run, name, float(value), metrics[name]["value"])
    for name, value in SIZED[run].items():
        checker.check(run, name, value, sized[name]["value"])
    for name, (value, digits) in SIZED_ROUNDED[run].items():
        checker.check(run, name, value, round(sized[name]["value"], digits))
    check_arrivals(checker, shared, run, metrics)
    check_causes(checker, run, metrics)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--table", action="store_true", help="print every comparison")
    arguments = parser.parse_args()
    if not (arguments.shared / "golden").is_dir():
        print("skipped: the shared folder is not there")
        return SKIPPED
    checker = Checker()
    for run, (folder, name) in SETS.items():
        with tempfile.TemporaryDirectory() as temporary:
            # The suite was given the Kineto files and a card, and nothing else.
            for file in (arguments.shared / folder).glob(f"{name}_kineto_*"):
                shutil.copy(file, temporary)
            shutil.copy(arguments.shared / "golden/workload_card_used.yaml", temporary)
            check_compat(checker, arguments.program, arguments.shared, run, temporary)
            metrics = analyze(arguments.program, [temporary])
        sized = analyze(arguments.program, [arguments.shared / folder])
        check_own(checker, arguments.shared, run, metrics, sized)
    if arguments.table:
        checker.print_table()
    for run, what, expected, found, _ in checker.failures():
        print(f"{run}: {what}: known {expected}, found {found}")
    print(f"{len(checker.rows) - len(checker.failures())} of {len(checker.rows)} answers agree")
    return 1 if checker.failures() else 0


if __name__ == "__main__":
    sys.exit(main())
