#!/usr/bin/env python3
"""Recording overhead, known byte counts, the paper's working sets and timelines: the tables of docs/validation/memory.md.

    tools/validate_memory.py --program build/orrery [--write docs/validation/memory.md]

Reads data/memory (recordings of one H200), data/published/pasta_table5.csv and ../shared/traces/tracelens (third-party recordings).
"""

import collections
import json
import pathlib
import statistics
import struct
import sys
import tempfile

import validation
from validation import ROOT, line, run

sys.path.insert(0, str(ROOT / "capture"))
sys.path.insert(0, str(ROOT / "capture" / "sanitizer" / "tests" / "gpu"))

import check_known_kernels  # noqa: E402
import orrs_reader  # noqa: E402

MODES = ("plain", "coarse", "gpu", "pages", "cpu")
MODELS = ("alexnet", "resnet18", "resnet34", "bert", "gpt2", "whisper")
PHASES = {1: "collection", 2: "transfer", 3: "analysis", 4: "waiting", 5: "total"}
MIB = 1 << 20

PLANS = {"dp": "data parallel", "tp": "tensor parallel", "pp": "pipeline parallel"}


def header(*names):
    return [line(*names), line("---", *["---:"] * (len(names) - 1))]


def pass_ms(times):
    return statistics.median(times[1:] or times)


def times_of(path):
    """{recording: {mode: milliseconds of a pass}}, and {(recording, mode): number of passes}."""
    found, passes = collections.defaultdict(dict), {}
    for row in map(json.loads, path.read_text().splitlines()):
        if "milliseconds" in row:
            found[row["recording"]][row["mode"]] = pass_ms(row["milliseconds"])
            passes[row["recording"], row["mode"]] = len(row["milliseconds"])
    return found, passes


def cost_rows(times):
    yield from header("recording", *MODES, "coarse", "gpu", "pages", "cpu", "cheaper")
    for name, of_mode in times.items():
        plain = of_mode["plain"]
        slower = [f"{of_mode[mode] / plain:,.1f}×" if mode in of_mode else "–" for mode in ("gpu", "pages", "cpu")]
        coarse = f"{100 * (of_mode['coarse'] / plain - 1):+.1f} %" if "coarse" in of_mode else "–"
        both = "gpu" in of_mode and "cpu" in of_mode
        cheaper = f"{(of_mode['cpu'] - plain) / (of_mode['gpu'] - plain):.0f}×" if both else "–"
        cells = [f"{of_mode[mode]:.1f}" if mode in of_mode else "–" for mode in MODES]
        yield line(name, *cells, coarse, *slower, cheaper)


WAYS = ("capture", "capture --operators")


def step_rows(path):
    """Of what capture/measure_overhead wrote."""
    yield from header("steps of", "bound by", "plain", *WAYS, *WAYS)
    measured = collections.defaultdict(dict)
    for row in json.loads(path.read_text())["rows"] if path.exists() else []:
        measured[row["model"], row["binds"]][row["way"]] = row
    for (model, binds), of_way in measured.items():
        found = [of_way[way] for way in WAYS]
        yield line(model, f"the {binds}", f"{of_way['plain']['milliseconds']:.2f}", *(f"{row['milliseconds']:.2f}" for row in found),
                   *(f"{row['percent']:+.1f} %" for row in found))


def process_rows(path):
    """Of what capture/measure_process_cost wrote."""
    yield from header("steps of", "way", "processes", "median step", "of the processes", "longer", "by single processes")
    for row in json.loads(path.read_text())["rows"]:
        low, high = row["recorded_range_ms"]
        least, most = row["percent_range"]
        is_plain = row["way"] == "never recorded"
        yield line(row["model"], row["way"], row["processes"], f"{row['recorded_ms']:.2f} ms", f"{low:.2f} to {high:.2f} ms",
                   "–" if is_plain else f"{row['percent']:+.1f} %", "–" if is_plain else f"{least:+.1f} to {most:+.1f} %")


def costs_in(stream):
    """{phase: nanoseconds} of a stream."""
    return {PHASES.get(row["phase"], "other"): row["total_ns"] for row in stream.records("Overhead")}


def part_rows(times, passes, folder):
    yield from header("recording", "mode", "execution", "collection", "transfer", "analysis", "waiting", "lanes/s")
    for path in sorted(folder.glob("*-[cg]pu.orrs")):
        name, _, mode = path.stem.rpartition("-")
        stream = orrs_reader.read(path)
        costs = costs_in(stream)
        # Recorded over the whole process: divided by its passes.
        parts = {part: costs.get(part, 0) / 1e6 / passes[name, mode] for part in ("transfer", "analysis", "waiting")}
        total, execution = times[name][mode], times[name]["plain"]
        shares = {part: 100 * value / total for part, value in parts.items()}
        rest = 100 - 100 * execution / total - sum(shares.values())
        lanes = sum(touch["lanes"] for touch in stream.records("Touch"))
        speed = f"{lanes / costs['analysis'] * 1e3:.0f} M" if mode == "cpu" else "–"
        yield line(name, mode, f"{100 * execution / total:.1f}", f"{rest:.1f}",
                   *(f"{shares[part]:.1f}" for part in ("transfer", "analysis", "waiting")), speed)


def known_rows(folder):
    stream = orrs_reader.read(folder / "known-kernels.orrs")
    expected = json.loads((folder / "known-kernels.json").read_text())
    totals = check_known_kernels.touched_bytes(stream)
    launches = check_known_kernels.launches_by_kernel(stream)
    yield from header("kernel", "read, known", "counted", "written, known", "counted", "atomic, known", "counted")
    for row in expected["kernels"]:
        seen = totals[launches[row["name"]][0]]
        yield line(row["name"], *(cell for side in check_known_kernels.SIDES for cell in (f"{row[side]:,}", f"{seen[side]:,}")))


def answer(program, path, tool):
    coarse = path.parent.parent / "coarse" / path.name
    times = ["--times", coarse] if coarse.exists() else []
    return validation.run_json(program, "memory", path, *times, "--tool", tool)


def recorded_bytes(path):
    """The size of a stream as its recorder wrote it, before `orrery convert` compressed its chunks."""
    data, place, size = path.read_bytes(), 16, 16
    while place + 40 <= len(data):
        raw, stored = struct.unpack_from("<II", data, place + 20)
        place, size = place + 40 + stored, size + 40 + raw
    return size


def size_rows(program, folder):
    yield from header("recording", "bytes", "compressed", "launches", "coverage")
    for path in sorted(folder.glob("*.orrs")):
        facts = answer(program, path, "working-set")
        coverage = facts["coverage"][0].partition("launches: ")[2]
        yield line(path.stem, f"{recorded_bytes(path):,}", f"{path.stat().st_size:,}", facts["facts"]["kernels"], coverage)


def published(path):
    return {(row["pass"], row["model"]): row for row in validation.rows_of(path)}


def table_rows(program, folder, table):
    yield from header("recording", "kernels", "footprint", "working set", "footprint / working set", "published: kernels",
                      "footprint", "working set", "ratio")
    for one in ("inference", "training"):
        for model in MODELS:
            facts = answer(program, folder / f"{model}-{one}.orrs", "working-set")["facts"]
            row = table[one, model]
            ratio = float(row["footprint_mb"]) / float(row["working_set_mb"])
            yield line(f"{model}-{one}", facts["kernels"], f"{facts['mean_footprint_bytes'] / MIB:.0f}",
                       f"{facts['working_set_bytes'] / MIB:.0f}", f"{facts['footprint_by_largest']:.2f}×",
                       row["kernels"], row["footprint_mb"], row["working_set_mb"], f"{ratio:.2f}×")


def vendor_rows(program, traces):
    name = "Falconsai_nsfw_image_detection__1016002.json.gz"
    facts = validation.run_json(program, "memory", traces / "h100" / name, traces / "mi300" / name, "--tool", "timeline",
                                "--align", "progress")["facts"]
    yield from header("GPU", "changes", "peak MiB")
    for gpu, side in (("H100", "first"), ("MI300X", "second")):
        yield line(gpu, facts[f"{side}_changes"], f"{facts[f'{side}_peak_bytes'] / MIB:.1f}")


def rank_rows(program):
    yield from header("plan", "rank 0", "rank 1", "of data parallel", "distinct ranks")
    peaks_of = {}
    with tempfile.TemporaryDirectory() as folder:
        for plan, words in PLANS.items():
            trace = pathlib.Path(folder) / f"{plan}.orr"
            run(program, "simulate", ROOT / "examples" / f"gpt-345m-{plan}.yaml", "--trace", trace)
            found = answer(program, trace, "timeline")
            peaks = peaks_of[plan] = [row["peak_bytes"] for row in found["tables"]["timelines"]]
            yield line(words, *(f"{peak / 1024 / MIB:.2f}" for peak in peaks), f"{max(peaks) / max(peaks_of['dp']):.2f}",
                       found["facts"]["kinds_of_ranks"])
    alike = all(peaks_of[plan][0] == peaks_of[plan][1] for plan in ("dp", "tp"))
    half = 0.4 < peaks_of["tp"][0] / peaks_of["dp"][0] < 0.6
    if not (alike and half and peaks_of["pp"][1] > peaks_of["pp"][0]):
        sys.exit(f"validate_memory: the result of Figure 15 is not reproduced: {peaks_of}")


def wrong_averages(table):
    """Sentences about published averages that are not the mean of their column."""
    for (one, model), row in table.items():
        if model != "average":
            continue
        for column in ("kernels", "footprint_mb", "working_set_mb", "mean_mb", "median_mb", "p90_mb"):
            mean = statistics.mean(float(table[one, name][column]) for name in MODELS)
            if abs(mean - float(row[column])) > 0.01 * mean:
                yield f"Published average of {column} ({one}) is {row[column]}; the mean of its column is {mean:.0f}."


def main():
    options = validation.parser(__doc__.splitlines()[0], required=True).parse_args()
    memory = ROOT / "data" / "memory"
    times, passes = times_of(memory / "modes" / "times.jsonl")
    table = published(ROOT / "data" / "published" / "pasta_table5.csv")
    validation.fill(options.write, {
        "overhead": cost_rows(times),
        "steps": step_rows(memory / "overhead.json"),
        "processes": process_rows(memory / "process_cost.json"),
        "breakdown": part_rows(times, passes, memory / "modes"),
        "known byte counts": known_rows(memory / "known"),
        "streams": size_rows(options.program, memory / "h200"),
        "working sets": [*table_rows(options.program, memory / "h200", table), "", *wrong_averages(table)],
        "vendors": vendor_rows(options.program, validation.SHARED / "traces" / "tracelens"),
        "ranks": rank_rows(options.program)})


if __name__ == "__main__":
    main()
