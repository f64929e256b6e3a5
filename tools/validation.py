"""Shared code of the tools that evaluate: running the program, reading tables, markdown and the document whose tables are written."""

import argparse
import csv
import functools
import io
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GRADES = "A,A-,B+"  # of measured runs that state nearly all that decides their time


def run(program, *arguments):
    """Standard output of the program; ends the tool where it fails. Status 3 means a partial result, whose reasons are shown."""
    command = [str(word) for word in (program, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):  # 4: the job does not fit into memory, which is an answer
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {' '.join(command)}: {done.stderr.strip()}")
    if done.returncode == 3:
        print(done.stderr, file=sys.stderr, end="")
    return done.stdout


def run_json(program, *arguments):
    return json.loads(run(program, *arguments, "--json"))


# For what several tables of a page are made from: the program is run once.
answer = functools.cache(run_json)


def rows_of(path):
    """The rows of a CSV file, packed or not."""
    unpack = {".gz": ["gzip", "-dc"], ".zst": ["zstd", "-dqc"]}.get(pathlib.Path(path).suffix, ["cat"])
    text = subprocess.run([*unpack, str(path)], capture_output=True, check=True).stdout.decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def write_rows(path, rows):
    """Writes rows, of which there is one at least, as CSV; returns the path."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return path


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(heads, rows):
    """A markdown table. Heads are separated by " | "; one that begins with ">" is of a column of numbers."""
    names = [name.strip() for name in heads.split(" | ")]
    yield line(*(name.removeprefix(">") for name in names))
    yield "|" + "|".join("---:" if name.startswith(">") else "---" for name in names) + "|"
    for row in rows:
        yield line(*row)


def cells(found, *fields):
    """Values of an answer as text: "mape:.1f" is found["mape"] with one decimal."""
    return [format(found[name], form) for name, _, form in (field.partition(":") for field in fields)]


def pooled(groups, *keys):
    """{values of the keys: errors of all groups that have them}, in order. Means are weighted by rows; that of GMAE is of logarithms."""
    of_values = {}
    for group in groups:
        of_values.setdefault(tuple(group[key] for key in keys), []).append(group)
    return {values: _pool(found) for values, found in sorted(of_values.items())}


def _pool(groups):
    rows = sum(group["rows"] for group in groups)
    pool = {"rows": rows, "groups": groups}
    for name in {"mape", "median", "bias"} & groups[0].keys():
        pool[name] = sum(group["rows"] * group[name] for group in groups) / rows
    if "gmae" in groups[0]:
        pool["gmae"] = math.exp(sum(group["rows"] * math.log(group["gmae"]) for group in groups) / rows)
    return pool


def parser(description, **program):
    """Options --program and --write."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--program", **(program or {"default": ROOT / "build" / "orrery"}))
    made.add_argument("--write", type=pathlib.Path)
    return made


def fill(path, tables, maker=None):
    """Writes each table into the document, between `<!-- NAME, made by tools/TOOL.py -->` and `<!-- end -->`; prints them where
    no document is given."""
    if not path:
        print("\n\n".join("\n".join(lines) for lines in tables.values()))
        return
    text = path.read_text(encoding="utf-8")
    for name, lines in tables.items():
        begin = f"<!-- {name}, made by tools/{maker or pathlib.Path(sys.argv[0]).name} -->\n"
        before, after = text.split(begin, 1)
        text = before + begin + "\n".join(lines) + "\n" + after[after.index("<!-- end -->"):]
    path.write_text(text, encoding="utf-8")


def measured_steps(paths, name="name"):
    """{model: milliseconds of a step in each run} in tables whose column `name` is the model."""
    steps = {}
    for path in paths:
        for row in rows_of(path):
            steps.setdefault(row[name], []).append(float(row["step_ms"]))
    return steps


def span(values):
    """The interval of measured values as text."""
    return f"{min(values):.2f}–{max(values):.2f}"


def percent_outside(value, measured):
    """Percent by which a value is below or above an interval of measured values; 0 inside."""
    if value < min(measured):
        return 100 * (value / min(measured) - 1)
    return max(0.0, 100 * (value / max(measured) - 1))


def step_cells(step_ms, measured):
    """A predicted step, and its distance from the interval of measured ones."""
    return f"{step_ms:.2f}", f"{percent_outside(step_ms, measured):+.1f} %"
