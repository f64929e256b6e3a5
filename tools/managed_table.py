"""Measured against simulated: the patterns of capture/measure_managed, as a table for docs/validation/uvm.md."""

import fit_uvm
import managed_patterns as patterns


def _name(row):
    if row["experiment"] == "lanes":
        return f"{row['blocks']} pages, each in a separate block"
    if row["experiment"] == "pages":
        return f"{row['pages_per_block']} pages in each of {row['blocks']} blocks, {row['order']}"
    if row["experiment"] == "stream":
        return f"{row['access']} of {row['bytes'] >> 20} MiB"
    each = row["bytes"] // row["calls"] >> 10
    return f"prefetch, {row['calls']} calls of {each} KiB" if row["calls"] > 1 else f"prefetch, one call of {each} KiB"


def _backing(row):
    return "host" if row["backing"] == "written" else "none"


def _compared(program, row, write, policy):
    """(simulated, measured) without the kernel time itself, which is minimal."""
    outcome = patterns.played(program, row, write, fit_uvm.NO_TIME_NS)[policy]
    return outcome["total_ns"], row["median_ns"]


def compare(program, rows):
    """[(row, held out, simulated, measured)] of all patterns that the simulator supports."""
    compared = [(row, held_out, *_compared(program, row, patterns.write_faults, "driver"))
                for row, held_out in fit_uvm.fault_rows(rows) if row["experiment"] != "chase"]
    for place, row in enumerate(fit_uvm.prefetch_rows(rows)):
        if not row["resident"]:
            compared.append((row, fit_uvm.is_held_out(place),
                             *_compared(program, row, patterns.write_prefetch, "object")))
    return compared


def _summary(compared):
    lines = ["| experiment | fitted | mean error | held out | mean error |", "|---|---:|---:|---:|---:|"]
    for kind in dict.fromkeys(row["experiment"] for row, *_ in compared):
        cells = [kind]
        for wanted in (False, True):
            pairs = [pair for row, held_out, *pair in compared if row["experiment"] == kind and held_out == wanted]
            cells += [str(len(pairs)), f"{100 * fit_uvm.mean_error(pairs):.0f} %" if pairs else "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def table(program, path):
    compared = compare(program, patterns.rows(path)[1])
    lines = [*_summary(compared), "", "| held-out pattern | written by | measured, µs | simulated, µs | ratio |",
             "|---|---|---:|---:|---:|"]
    for row, held_out, simulated, measured in compared:
        if held_out:
            lines.append(f"| {_name(row)} | {_backing(row)} | {measured / 1e3:,.0f} | {simulated / 1e3:,.0f} | "
                         f"{simulated / measured:.2f} |")
    return "\n".join(lines)
