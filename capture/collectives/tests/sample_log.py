#!/usr/bin/env python3
"""Prints a log as our own loop writes it, with made-up times, for the tests of its reader.

    sample_log.py COLLECTIVE
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from collectives import log_text, plan as plans  # noqa: E402

RANKS = 4


class SteadyBench:
    """10 µs and 1 µs for each 100,000 bytes; in place 1 µs less."""

    def time_us(self, message, in_place):
        return 10 + message.size_bytes / 1e5 - in_place


class SameTimes:
    """A group whose ranks all take the same time."""

    ranks = RANKS

    def barrier(self):
        pass

    def gather(self, value):
        return [value] * RANKS


def lines(collective):
    plan = plans.Plan(collective, 2**12, 2**26, 4, 20, 5, "bfloat16")
    devices = [log_text.Device(rank, 4100 + rank, "node-a", rank, f"0000:{rank:02x}:00",
                               "NVIDIA H200") for rank in range(RANKS)]
    head = log_text.header(plan, devices, log_text.Versions("2.29.3", "2.9.0", "580.65", "13.0"))
    rows = []
    bus_bandwidths = log_text.sweep(plan, SteadyBench(), SameTimes(), rows.append)
    return head + rows + log_text.closing(plan, bus_bandwidths)


if __name__ == "__main__":
    print("\n".join(lines(sys.argv[1])))
