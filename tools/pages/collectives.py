"""Predicted against measured collectives."""

import pathlib
import tempfile

from validation import SHARED, answer, cells, pooled, rows_of, run_json, table, write_rows

TRUTH = SHARED / "truth" / "nccl.csv"
MEASURED = sorted((SHARED / "kernels" / "aiconfigurator").glob("*_nccl.csv.gz"))
PIPEWEAVE = SHARED / "kernels" / "collectives" / "pipeweave.csv.gz"
NEEDS = (TRUTH, PIPEWEAVE)
NONE = {"rows": 0, "mape": float("nan")}


def evaluate(program, files, *options):
    return answer(program, "evaluate", "collectives", *files, *options)


def met(is_met):
    return "yes" if is_met else "no"


def in_sample(program):
    files = [TRUTH, *MEASURED]
    large = pooled(evaluate(program, files, "--min-bytes", "4000000")["groups"], "machine", "source")
    rows = []
    for place, found in pooled(evaluate(program, files)["groups"], "machine", "source").items():
        from_4_mb = large.get(place, NONE)
        gpus = sorted({group["gpus"] for group in found["groups"]})
        rows.append((*place, f"{gpus[0]}–{gpus[-1]}" if len(gpus) > 1 else gpus[0],
                     *cells(from_4_mb, "rows", "mape:.1f"), met(from_4_mb["mape"] <= 6),
                     *cells(found, "rows", "median:.1f"), met(found["median"] <= 12)))
    return table("machine | source | GPUs | >rows ≥ 4 MB | >MAPE % | met | >rows | >median %, all sizes | met", rows)


def more_gpus(program):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        echo = write_rows(pathlib.Path(folder) / "echo.csv", [row for row in rows_of(TRUTH) if row["source"].startswith("Echo")])
        for name, least, limit in (("4 MB", "4000000", 6), ("1 KB", "1024", None)):
            overall = run_json(program, "evaluate", "collectives", echo, "--split", "above:gpus:16", "--min-bytes", least)["overall"]
            rows.append((name, *cells(overall, "rows", "mape:.1f", "median:.1f", "bias:+.1f"),
                         "–" if limit is None else met(overall["mape"] <= limit)))
    return table("from | >rows | >MAPE % | >median % | >bias % | met", rows)


def inside_a_node(program):
    groups = evaluate(program, MEASURED, "--min-bytes", "1000000")["groups"]
    return table("machine | collective | >rows | >2 GPUs % | >4 GPUs % | >8 GPUs % | >MAPE % | met", (
        (*place, found["rows"], *(f"{group['mape']:.1f}" for group in sorted(found["groups"], key=lambda group: group["gpus"])),
         f"{found['mape']:.1f}", met(found["mape"] <= 8))
        for place, found in pooled(groups, "machine", "collective").items()))


def held_out_sizes(program):
    groups = evaluate(program, [TRUTH, *MEASURED], "--split", "random:20", "--min-bytes", "4000000")["groups"]
    return table("machine | source | >rows | >MAPE %", (
        (*place, *cells(found, "rows", "mape:.1f")) for place, found in pooled(groups, "machine", "source").items()))


def machines_left_out(program):
    """Each machine by the constants of the others: the constants of a machine without measurements."""
    files = [TRUTH, TRUTH.with_name("nccl_multi.csv"), *MEASURED]
    found = pooled(evaluate(program, files, "--unseen-machine", "--min-bytes", "1000000")["groups"], "machine", "source")
    mean = sum(of_place["mape"] for of_place in found.values()) / len(found)
    rows = [(*place, *cells(of_place, "rows", "mape:.1f", "bias:+.1f")) for place, of_place in found.items()]
    return table("machine | source | >rows ≥ 1 MB | >MAPE % | >bias %", [*rows, ("mean", "", "", f"{mean:.1f}", "")])


def machines_without_a_fit(program):
    return table("machine used | collective | >GPUs | >rows | >MAPE % | >median % | >bias %", (
        cells(group, "machine", "collective", "gpus", "rows", "mape:.1f", "median:.1f", "bias:+.1f")
        for group in evaluate(program, [PIPEWEAVE], "--min-bytes", "4000000")["groups"]))


TABLES = {"in-sample": in_sample, "more GPUs": more_gpus, "inside a node": inside_a_node, "held-out sizes": held_out_sizes,
          "machines left out": machines_left_out, "machines without a fit": machines_without_a_fit}
