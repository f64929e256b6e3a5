"""Recording overhead, known byte counts, the paper's working sets and timelines.

Reads data/memory (recordings of one H200), data/published/pasta_table5.csv and ../shared/traces/tracelens (third-party recordings).
"""

import collections
import functools
import json
import pathlib
import statistics
import struct
import sys
import tempfile

from validation import ROOT, SHARED, answer, cells, rows_of, run, run_json, table

sys.path[1:1] = [str(ROOT / "capture"), str(ROOT / "capture" / "sanitizer" / "tests" / "gpu")]

import check_known_kernels  # noqa: E402
import orrs_reader  # noqa: E402

MEMORY = ROOT / "data" / "memory"
VENDORS = SHARED / "traces" / "tracelens"
NEEDS = (VENDORS,)
MODES = ("plain", "coarse", "gpu", "pages", "cpu")
WAYS = ("capture", "capture --operators")
MODELS = ("alexnet", "resnet18", "resnet34", "bert", "gpt2", "whisper")
PHASES = {1: "collection", 2: "transfer", 3: "analysis", 4: "waiting", 5: "total"}
PARTS = ("transfer", "analysis", "waiting")
PLANS = {"dp": "data parallel", "tp": "tensor parallel", "pp": "pipeline parallel"}
MIB = 1 << 20


def numbers(heads):
    """Heads of columns of numbers beside a first one of names."""
    return heads.replace("| ", "| >")


def times_of_passes():
    """{recording: {mode: milliseconds of each pass}}"""
    found = collections.defaultdict(dict)
    for row in map(json.loads, (MEMORY / "modes" / "times.jsonl").read_text().splitlines()):
        if "milliseconds" in row:
            found[row["recording"]][row["mode"]] = row["milliseconds"]
    return found


def pass_ms(times):
    return {mode: statistics.median(of_mode[1:] or of_mode) for mode, of_mode in times.items()}


def overhead(_):
    rows = []
    for name, times in times_of_passes().items():
        found = pass_ms(times)
        plain = found["plain"]
        rows.append((
            name, *(f"{found[mode]:.1f}" if mode in found else "–" for mode in MODES),
            f"{100 * (found['coarse'] / plain - 1):+.1f} %" if "coarse" in found else "–",
            *(f"{found[mode] / plain:,.1f}×" if mode in found else "–" for mode in ("gpu", "pages", "cpu")),
            f"{(found['cpu'] - plain) / (found['gpu'] - plain):.0f}×" if {"gpu", "cpu"} <= found.keys() else "–"))
    return table(numbers(f"recording | {' | '.join(MODES)} | coarse | gpu | pages | cpu | cheaper"), rows)


def steps(_):
    """Of what capture/measure_overhead wrote."""
    measured = collections.defaultdict(dict)
    for row in json.loads((MEMORY / "overhead.json").read_text())["rows"]:
        measured[row["model"], row["binds"]][row["way"]] = row
    return table(numbers(f"steps of | bound by | plain | {' | '.join(WAYS * 2)}"), (
        (model, f"the {binds}", *(f"{of_way[way]['milliseconds']:.2f}" for way in ("plain", *WAYS)),
         *(f"{of_way[way]['percent']:+.1f} %" for way in WAYS)) for (model, binds), of_way in measured.items()))


def process_row(row):
    """Of what capture/measure_process_cost wrote."""
    low, high = row["recorded_range_ms"]
    least, most = row["percent_range"]
    longer = ("–", "–") if row["way"] == "never recorded" else (f"{row['percent']:+.1f} %", f"{least:+.1f} to {most:+.1f} %")
    return (*cells(row, "model", "way", "processes"), f"{row['recorded_ms']:.2f} ms", f"{low:.2f} to {high:.2f} ms", *longer)


def processes(_):
    return table(numbers("steps of | way | processes | median step | of the processes | longer | by single processes"),
                 map(process_row, json.loads((MEMORY / "process_cost.json").read_text())["rows"]))


def breakdown_row(path, times):
    name, _, mode = path.stem.rpartition("-")
    stream = orrs_reader.read(path)
    costs_ns = {PHASES.get(row["phase"], "other"): row["total_ns"] for row in stream.records("Overhead")}
    found = pass_ms(times[name])
    # Recorded over the whole process: divided by its passes.
    shares = [100 * (costs_ns.get(part, 0) / 1e6 / len(times[name][mode])) / found[mode] for part in PARTS]
    execution = 100 * found["plain"] / found[mode]
    lanes = sum(touch["lanes"] for touch in stream.records("Touch"))
    return (name, mode, f"{execution:.1f}", f"{100 - execution - sum(shares):.1f}", *(f"{share:.1f}" for share in shares),
            f"{lanes / costs_ns['analysis'] * 1e3:.0f} M" if mode == "cpu" else "–")


def breakdown(_):
    times = times_of_passes()
    return table(numbers(f"recording | mode | execution | collection | {' | '.join(PARTS)} | lanes/s"),
                 (breakdown_row(path, times) for path in sorted((MEMORY / "modes").glob("*-[cg]pu.orrs"))))


def known_byte_counts(_):
    stream = orrs_reader.read(MEMORY / "known" / "known-kernels.orrs")
    totals, launches = check_known_kernels.touched_bytes(stream), check_known_kernels.launches_by_kernel(stream)
    rows = []
    for row in json.loads((MEMORY / "known" / "known-kernels.json").read_text())["kernels"]:
        seen = totals[launches[row["name"]][0]]
        rows.append((row["name"], *(f"{of[side]:,}" for side in check_known_kernels.SIDES for of in (row, seen))))
    return table(numbers("kernel | read, known | counted | written, known | counted | atomic, known | counted"), rows)


def working_set(program, path):
    coarse = MEMORY / "coarse" / path.name
    times = ["--times", coarse] if coarse.exists() else []
    return answer(program, "memory", path, *times, "--tool", "working-set")


def recorded_bytes(path):
    """The size of a stream as its recorder wrote it, before `orrery convert` compressed its chunks."""
    data, place, size = path.read_bytes(), 16, 16
    while place + 40 <= len(data):
        raw, stored = struct.unpack_from("<II", data, place + 20)
        place, size = place + 40 + stored, size + 40 + raw
    return size


def streams(program):
    rows = []
    for path in sorted((MEMORY / "h200").glob("*.orrs")):
        made = working_set(program, path)
        rows.append((path.stem, f"{recorded_bytes(path):,}", f"{path.stat().st_size:,}", made["facts"]["kernels"],
                     made["coverage"][0].partition("launches: ")[2]))
    return table(numbers("recording | bytes | compressed | launches | coverage"), rows)


def working_set_row(program, name, published):
    facts = working_set(program, MEMORY / "h200" / f"{name}.orrs")["facts"]
    return (name, facts["kernels"], *(f"{facts[key] / MIB:.0f}" for key in ("mean_footprint_bytes", "working_set_bytes")),
            f"{facts['footprint_by_largest']:.2f}×", *cells(published, "kernels", "footprint_mb", "working_set_mb"),
            f"{float(published['footprint_mb']) / float(published['working_set_mb']):.2f}×")


def working_sets(program):
    """Also sentences about published averages that are not the mean of their column."""
    published = {(row["pass"], row["model"]): row for row in rows_of(ROOT / "data" / "published" / "pasta_table5.csv")}
    yield from table(numbers("recording | kernels | footprint | working set | footprint / working set | published: kernels "
                             "| footprint | working set | ratio"), (
        working_set_row(program, f"{model}-{one}", published[one, model]) for one in ("inference", "training") for model in MODELS))
    yield ""
    for one, average in ((one, row) for (one, model), row in published.items() if model == "average"):
        for column in ("kernels", "footprint_mb", "working_set_mb", "mean_mb", "median_mb", "p90_mb"):
            mean = statistics.mean(float(published[one, name][column]) for name in MODELS)
            if abs(mean - float(average[column])) > 0.01 * mean:
                yield f"Published average of {column} ({one}) is {average[column]}; the mean of its column is {mean:.0f}."


def vendors(program):
    name = "Falconsai_nsfw_image_detection__1016002.json.gz"
    facts = run_json(program, "memory", VENDORS / "h100" / name, VENDORS / "mi300" / name, "--tool", "timeline", "--align", "progress")["facts"]
    return table(numbers("GPU | changes | peak MiB"), (
        (gpu, facts[f"{side}_changes"], f"{facts[f'{side}_peak_bytes'] / MIB:.1f}") for gpu, side in (("H100", "first"), ("MI300X", "second"))))


@functools.cache
def rank_peaks(program):
    """{plan: (peaks of its ranks, distinct ranks)}"""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for plan in PLANS:
            trace = pathlib.Path(folder) / f"{plan}.orr"
            run(program, "simulate", ROOT / "examples" / f"gpt-345m-{plan}.yaml", "--trace", trace)
            made = run_json(program, "memory", trace, "--tool", "timeline")
            found[plan] = [row["peak_bytes"] for row in made["tables"]["timelines"]], made["facts"]["kinds_of_ranks"]
    return found


def ranks(program):
    found = rank_peaks(program)
    return table(numbers("plan | rank 0 | rank 1 | of data parallel | distinct ranks"), (
        (PLANS[plan], *(f"{peak / 1024 / MIB:.2f}" for peak in peaks), f"{max(peaks) / max(found['dp'][0]):.2f}", kinds)
        for plan, (peaks, kinds) in found.items()))


def problems(program):
    dp, tp, pp = (peaks for peaks, _ in rank_peaks(program).values())
    if not (dp[0] == dp[1] and tp[0] == tp[1] and 0.4 < tp[0] / dp[0] < 0.6 and pp[1] > pp[0]):
        yield f"the result of Figure 15 is not reproduced: {rank_peaks(program)}"


TABLES = {"overhead": overhead, "processes": processes, "steps": steps, "breakdown": breakdown,
          "known byte counts": known_byte_counts, "streams": streams, "working sets": working_sets, "vendors": vendors, "ranks": ranks}
