"""The managed memory simulator against the rankings of Figures 11 and 12 of the PASTA paper, and against its microbenchmark.

Each stream is simulated with memory for all of it and for a third. The rules must hold.
"""

import fit_uvm
import managed_patterns as patterns
from validation import ROOT, answer, table

MEMORY = ROOT / "data" / "memory"
MANAGED = MEMORY / "managed" / "h200.jsonl"  # by capture/measure_managed
STREAMS = {"recordings": ("prefetch", "measured"), "published": ("prefetch", "published"), "library": ("h200", "measured")}
ENOUGH, A_THIRD = "footprint / 1", "footprint / 3"
IN_FULL = 0.8  # with segments used to this degree, object level may gain at a third
ALIKE = 0.05  # relative time within which one level counts as no worse than the other


class Recording:
    """The relative times of one stream, by memory and policy."""

    def __init__(self, basis, policies):
        self.name = basis["recording"].removesuffix(".orrs")
        self.segment_use = basis["segment_use"]
        self.share_of_third = 3 * basis["operator_segment_bytes"] / basis["footprint_bytes"]
        self.best, self.times = {}, {}
        for row in policies:
            policy, _, ahead = row["policy"].partition("+")
            if ahead:
                self.best[row["memory"]] = ahead
            self.times.setdefault((row["memory"], "best" if ahead else policy), row["relative_time"])

    def time(self, memory, policy):
        return self.times.get((memory, policy), self.times[(memory, "tensor")])

    def failures(self):
        (whole_object, whole_tensor), (third_object, third_tensor) = (
            [self.time(memory, policy) for policy in ("object", "tensor")] for memory in (ENOUGH, A_THIRD))
        rules = {
            "sufficient memory: object level helps": whole_object < 1,
            "sufficient memory: tensor level helps": whole_tensor < 1,
            "sufficient memory: object level is no worse": whole_object <= whole_tensor + ALIKE,
            "a third: tensor level is no worse than object level": third_tensor <= third_object + ALIKE,
            "a third: object level is worse than none": third_object > 1 or self.segment_use >= IN_FULL}
        return [rule for rule, holds in rules.items() if not holds]

    def row(self):
        row = [self.name, f"{100 * self.segment_use:.0f} %", f"{self.share_of_third:.2f}"]
        for memory in (ENOUGH, A_THIRD):
            row += [f"{self.time(memory, policy):.2f}" for policy in ("object", "tensor", "best", "driver")]
            row[-2] += f" ({self.best.get(memory, 0)})"
        return [*row, "; ".join(self.failures()) or "hold"]


def simulate(program, section):
    folder, costs = STREAMS[section]
    return answer(program, "memory", *sorted((MEMORY / folder).glob("*.orrs")), "--tool", "uvm", "--costs", costs)


def recordings(program, section):
    tables = simulate(program, section)["tables"]
    return [Recording(basis, [row for row in tables["policies"] if row["recording"] == basis["recording"]]) for basis in tables["basis"]]


def section_table(section):
    def made(program):
        heads = " | ".join([">object | >tensor | >ahead (k) | >driver"] * 2)
        yield from table(f"recording | >segments used | >of a third | {heads} | rules", (one.row() for one in recordings(program, section)))
        yield from ("", *(f"- {sentence}" for sentence in simulate(program, section)["coverage"]))
    return made


def name_of(row):
    if row["experiment"] == "lanes":
        return f"{row['blocks']} pages, each in a separate block"
    if row["experiment"] == "pages":
        return f"{row['pages_per_block']} pages in each of {row['blocks']} blocks, {row['order']}"
    if row["experiment"] == "stream":
        return f"{row['access']} of {row['bytes'] >> 20} MiB"
    each = row["bytes"] // row["calls"] >> 10
    return f"prefetch, {row['calls']} calls of {each} KiB" if row["calls"] > 1 else f"prefetch, one call of {each} KiB"


def compared(program):
    """(row, held out, (simulated, measured)) of all patterns that the simulator supports, without the kernel time itself, which is minimal."""
    rows = patterns.rows(MANAGED)[1]
    chosen = [(row, is_held_out, patterns.write_faults, "driver")
              for row, is_held_out in fit_uvm.fault_rows(rows) if row["experiment"] != "chase"]
    chosen += [(row, fit_uvm.is_held_out(place), patterns.write_prefetch, "object")
               for place, row in enumerate(fit_uvm.prefetch_rows(rows)) if not row["resident"]]
    return [(row, is_held_out, (patterns.played(program, row, write, fit_uvm.NO_TIME_NS)[policy]["total_ns"], row["median_ns"]))
            for row, is_held_out, write, policy in chosen]


def costs(program):
    found, summary = compared(program), []
    for kind in dict.fromkeys(row["experiment"] for row, *_ in found):
        summary.append([kind])
        for wanted in (False, True):
            pairs = [pair for row, is_held_out, pair in found if row["experiment"] == kind and is_held_out == wanted]
            summary[-1] += [len(pairs), f"{100 * fit_uvm.mean_error(pairs):.0f} %" if pairs else "–"]
    yield from table("experiment | >fitted | >mean error | >held out | >mean error", summary)
    yield ""
    yield from table("held-out pattern | written by | >measured, µs | >simulated, µs | >ratio", (
        (name_of(row), "host" if row["backing"] == "written" else "none", f"{measured / 1e3:,.0f}", f"{simulated / 1e3:,.0f}",
         f"{simulated / measured:.2f}") for row, is_held_out, (simulated, measured) in found if is_held_out))


def problems(program):
    for section in STREAMS:
        for one in recordings(program, section):
            yield from (f"{section}, {one.name}: this does not hold: {rule}" for rule in one.failures())


TABLES = {"costs": costs, **{section: section_table(section) for section in STREAMS}}
