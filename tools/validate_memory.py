#!/usr/bin/env python3
"""What recording costs, what it counts, the paper's working sets and timelines: the tables of docs/validation/memory.md.

    tools/validate_memory.py --program build/orrery [--write docs/validation/memory.md]

Reads data/memory (recordings of one H200), data/published/pasta_table5.csv and ../shared/traces/tracelens (recordings of others).
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
sys.path.insert(0, str(ROOT / "capture" / "sanitizer" / "check"))

import check_known_kernels  # noqa: E402
import orrs_reader  # noqa: E402

MODES = ("plain", "coarse", "gpu", "pages", "cpu")
MODELS = ("alexnet", "resnet18", "resnet34", "bert", "gpt2", "whisper")
PHASES = {1: "collection", 2: "transfer", 3: "analysis", 4: "waiting", 5: "total"}
MIB = 1 << 20

HEAD = """# Memory: what recording costs and what it counts

Made by `tools/validate_memory.py --program build/orrery --write docs/validation/memory.md` from `data/memory` (one H200; how it
was recorded: data/memory/README.md).
"""
COST_HEAD = """
## Cost of recording

Time of a pass in ms: the median of all passes but the first, which loads kernels (of one pass: that one). *coarse*: `orrery capture`;
*gpu*: `orrery capture --accesses`, every access of every kernel counted on the GPU; *pages*: `--pages 65536`, also which pages it
touched; *cpu*: the same accesses sent to the host and attributed there by one thread, nothing sampled. *cheaper*: overhead of cpu by
overhead of gpu.

"""
PARTS_HEAD = """
## Where the time goes (Figure 10)

Of one pass, percent of its time. *execution*: the pass without recording. *transfer*, *analysis*, *waiting*: measured by the recorder;
analysis on the CPU runs beside the kernels, whose patches wait for it. *collection*: the rest, that is patched instructions and
callbacks. *lanes a second*: lanes attributed by time of analysis, one core.

"""
KNOWN_HEAD = """
## Bytes that arithmetic knows

`capture/build/known_kernels`, recorded on the GPU (`data/memory/known`); the program's results are the same with and without.

"""
SIZE_HEAD = """
## Streams

One pass with aggregates, pages of 64 KiB and operators; as recorded, and as kept here (`orrery convert`). Shares of kernel time: where
data/memory/coarse has the same program with times (`--times`).

"""
TABLE_HEAD = """
## Working sets beside Table V

In MiB: mean footprint over kernels; working set: the largest over kernels seen exactly, objects. Published: A100, convolutions without
cuDNN and a backward pass in two of the six training rows only, so kernels differ; footprint above working set is what must show.

"""
VENDORS_HEAD = """
## Two vendors (Figure 14)

`orrery memory H100 MI300X --tool timeline --align progress` of one program on both (Falconsai/nsfw_image_detection, inference, recorded by
others with PyTorch's profiler; PyTorch's allocator, GPU 0). The paper says of GPT-2: same ramp, peak and descent; NVIDIA with fewer
events and a slightly higher peak.

"""
VENDORS_TAIL = """
Fewer events on NVIDIA holds. A higher peak does not: the MI300X holds less at first and more from a tenth of the recording on. Nor
is there a ramp or a descent: it is inference, another program than the paper's; no recording of GPT-2 on an AMD GPU was at hand.
"""
RANKS_HEAD = """
## Parallel ranks (Figure 15)

GPT-2 345M on two GPUs, simulated: `orrery simulate examples/gpt-345m-dp.yaml --trace dp.orr`, then `orrery memory dp.orr --tool timeline`
(`tp`, `pp` alike). GiB of the allocator at the peak. The paper shows: data and tensor parallel, both GPUs equal, the peak of tensor
parallel about half; pipeline parallel uneven, the last stage heavier.

"""
RANKS_TAIL = """
All hold (this page is not written otherwise). The last stage is heavier by its logits.
"""
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


def costs_in(stream):
    """{phase: nanoseconds} of a stream."""
    return {PHASES.get(row["phase"], "other"): row["total_ns"] for row in stream.records("Overhead")}


def part_rows(times, passes, folder):
    yield from header("recording", "way", "execution", "collection", "transfer", "analysis", "waiting", "lanes a second")
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
    twin = path.parent.parent / "coarse" / path.name
    times = ["--times", twin] if twin.exists() else []
    return validation.run_json(program, "memory", path, *times, "--tool", tool)


def recorded_bytes(path):
    """The size of a stream as its recorder wrote it, before `orrery convert` packed its chunks."""
    data, place, size = path.read_bytes(), 16, 16
    while place + 40 <= len(data):
        raw, stored = struct.unpack_from("<II", data, place + 20)
        place, size = place + 40 + stored, size + 40 + raw
    return size


def size_rows(program, folder):
    yield from header("recording", "bytes", "packed", "launches", "coverage")
    for path in sorted(folder.glob("*.orrs")):
        facts = answer(program, path, "working-set")
        coverage = facts["coverage"][0].partition("launches: ")[2]
        yield line(path.stem, f"{recorded_bytes(path):,}", f"{path.stat().st_size:,}", facts["facts"]["kernels"], coverage)


def published(path):
    return {(row["pass"], row["model"]): row for row in validation.rows_of(path)}


def table_rows(program, folder, table):
    yield from header("recording", "kernels", "footprint", "working set", "footprint by working set", "published: kernels",
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
    yield from header("plan", "rank 0", "rank 1", "of data parallel", "ranks that differ")
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
        sys.exit(f"validate_memory: what Figure 15 shows does not hold: {peaks_of}")


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
    parts = [(COST_HEAD, cost_rows(times)), (PARTS_HEAD, part_rows(times, passes, memory / "modes")),
             (KNOWN_HEAD, known_rows(memory / "known")), (SIZE_HEAD, size_rows(options.program, memory / "h200")),
             (TABLE_HEAD, table_rows(options.program, memory / "h200", table))]
    text = HEAD + "".join(head + "\n".join(rows) + "\n" for head, rows in parts)
    text += "\n" + "\n".join(wrong_averages(table)) + "\n"
    traces = validation.SHARED / "traces" / "tracelens"
    text += VENDORS_HEAD + "\n".join(vendor_rows(options.program, traces)) + "\n" + VENDORS_TAIL
    text += RANKS_HEAD + "\n".join(rank_rows(options.program)) + "\n" + RANKS_TAIL
    validation.write(text, options.write)


if __name__ == "__main__":
    main()
