"""From the document of one compute kernel to rows of the table of pairs."""

import csv
import itertools
import os
import statistics

HEADER = ["pair", "gpu", "driver", "cuda", "torch", "sm_clock_mhz", "mem_clock_mhz", "power_w",
          "mode", "first", "priority", "k_name", "k_kind", "k_operator", "k_copies", "k_grid",
          "k_block", "k_regs", "k_smem", "k_occupancy", "k_alone_us", "k_alone_spread_pct",
          "c_pattern", "c_place", "c_blocks", "c_threads", "c_regs", "c_smem", "c_rate_set_gbps",
          "c_chunk_bytes", "c_alone_gbps", "c_alone_us", "k_launch_us", "c_launch_us", "offset_us", "k_together_us",
          "k_together_spread_pct", "k_gap_alone_us", "k_gap_us", "k_start_delay_us",
          "c_together_gbps", "c_together_us", "c_start_delay_us", "c_first_delay_us", "repeats",
          "rejected"]

_MOST_DRIFT = 0.02
# From a gate's release to its end as CUPTI records it: the median over 11,040 launches of kernels
# that say themselves when their first block began (H200).
_GATE_END_US = 1.28
_MOST_CLOCK_DRIFT = 0.01


def spread_pct(values):
    """Distance of the quartiles over the median, per cent."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return 100.0 * (high - low) / middle if middle > 0 else 0.0


class _Alone:
    """The compute kernel alone, before and after a slot."""

    def __init__(self, runs, slot):
        alone = [run for run in runs if run["row"] < 0]
        before = [run for run in alone if run["slot"] < slot][-1]
        after = [run for run in alone if run["slot"] > slot][0]
        # The first launch of a train finds other caches than the rest.
        self._halves = [run["compute_us"][1:] or run["compute_us"] for run in (before, after)]
        self.medians = [statistics.median(half) for half in self._halves]
        self.us = sum(self.medians) / 2
        self.spread_pct = spread_pct([x for half in self._halves for x in half])
        self.clock_mhz = (before["clock_mhz"] + after["clock_mhz"]) / 2
        self.gap_us = statistics.median([run["gap_us"] for run in (before, after)])

    def drift(self):
        return abs(self.medians[1] / self.medians[0] - 1.0)


def _median_of(runs, key):
    values = [run[key] for run in runs if run[key] is not None]
    return statistics.median(values) if values else None


def _rejected(alone, together):
    if any(run["timed_out"] for run in together):
        return "the host was held up"
    if alone.drift() > _MOST_DRIFT:
        return "alone it changed by more than 2 %"
    clock = _median_of(together, "clock_mhz")
    if clock and alone.clock_mhz and abs(clock / alone.clock_mhz - 1.0) > _MOST_CLOCK_DRIFT:
        return "the clock changed by more than 1 %"
    return ""


def _delay(together, alone, key):
    """The delay of the communication blocks' begin, compared with communication alone."""
    found = _median_of(together, key)
    return None if found is None or alone[key] is None else max(0.0, found - alone[key])


def _compute_times(together):
    return [time for run in together for time in (run["compute_us"][1:] or run["compute_us"])]


def _row(document, number, row, registers):
    runs = [run for run in document["runs"] if run["row"] == number]
    communication = next(run for run in runs if run["part"] == "communication")
    together = [run for run in runs if run["part"] == "both"]
    alone = _Alone(document["runs"], communication["slot"])
    times = _compute_times(together)
    shape = document["shape"]
    steady = row["mode"] == "steady"
    return {
        **{key: document[key] for key in ("gpu", "driver", "cuda", "torch", "power_w")},
        "pair": f"{document['number']}.{number}", "sm_clock_mhz": alone.clock_mhz,
        "mem_clock_mhz": document["mem_mhz"], "mode": row["mode"], "first": row.get("first", "C"),
        "priority": row["priority"], "k_name": shape["name"],
        "k_kind": document["operator"].split()[0], "k_operator": document["operator"],
        "k_copies": document["copies"], "k_grid": shape["grid"], "k_block": shape["block"],
        "k_regs": shape["registers"], "k_smem": shape["shared_bytes"],
        "k_occupancy": shape["occupancy"], "k_alone_us": alone.us,
        "k_alone_spread_pct": alone.spread_pct, "c_pattern": row["pattern"],
        "c_place": row["place"], "c_blocks": row["blocks"], "c_threads": row["threads"],
        "c_regs": registers[row["heavy"]], "c_smem": row["shared_bytes"],
        "c_rate_set_gbps": row["rate_gbps"], "c_chunk_bytes": row["chunk_bytes"],
        "c_alone_gbps": communication["communication_gbps"],
        "c_alone_us": None if steady else communication["communication_us"],
        "k_launch_us": alone.gap_us + _GATE_END_US,
        "c_launch_us": communication["communication_first_us"],
        "offset_us": None if steady else _median_of(together, "releases_us"),
        "k_together_us": statistics.median(times), "k_together_spread_pct": spread_pct(times),
        "k_gap_alone_us": alone.gap_us, "k_gap_us": _median_of(together, "gap_us"),
        "k_start_delay_us": None if steady else _median_of(together, "start_delay_us"),
        "c_together_gbps": _median_of(together, "communication_gbps"),
        "c_together_us": None if steady else _median_of(together, "communication_us"),
        "c_start_delay_us": _delay(together, communication, "communication_last_us"),
        "c_first_delay_us": _delay(together, communication, "communication_first_us"),
        "repeats": len(times), "rejected": _rejected(alone, together)}


def text(value):
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) and abs(value) < 1e-3 else (
        f"{value:.3f}" if isinstance(value, float) else str(value))


def rows(document, registers):
    """The rows of a document as texts in the order of HEADER; `registers` of light and heavy."""
    out = []
    for number, row in enumerate(document["rows"]):
        found = _row(document, number, row, registers)
        out.append([text(found[key]) for key in HEADER])
    return out


def write_table(tree, registers, more_rows=()):
    """Writes processed/pairs.csv from all raw documents; returns how many rows it has."""
    path = tree.path("processed", "pairs.csv")
    num_rows = 0
    with open(path + ".part", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        ours = (row for document in tree.documents() for row in rows(document, registers))
        for row in itertools.chain(ours, more_rows):
            writer.writerow(row)
            num_rows += 1
    os.replace(path + ".part", path)
    return num_rows
