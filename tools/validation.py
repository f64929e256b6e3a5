"""Shared code of the validate_* tools: running the program, reading tables, markdown and the document whose tables are written."""

import argparse
import csv
import io
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
GRADES = "A,A-,B+"  # of measured runs that state nearly all that decides their time


def run(program, *arguments, environment=None):
    """Standard output of the program; ends the tool where it fails. Status 3 means a partial result, whose reasons are shown."""
    command = [str(word) for word in (program, *arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):  # 4: the job does not fit into memory, which is an answer
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {' '.join(command)}: {done.stderr.strip()}")
    if done.returncode == 3:
        print(done.stderr, file=sys.stderr, end="")
    return done.stdout


def run_json(program, *arguments, environment=None):
    return json.loads(run(program, *arguments, "--json", environment=environment))


def rows_of(path):
    """The rows of a CSV file, packed or not."""
    unpack = {".gz": ["gzip", "-dc"], ".zst": ["zstd", "-dqc"]}.get(pathlib.Path(path).suffix, ["cat"])
    text = subprocess.run([*unpack, str(path)], capture_output=True, check=True).stdout.decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def parser(description, **program):
    """Options --program and --write."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--program", **(program or {"default": ROOT / "build" / "orrery"}))
    made.add_argument("--write", type=pathlib.Path)
    return made


def fill(path, tables):
    """Writes each table into the document, between `<!-- NAME, made by tools/TOOL.py -->` and `<!-- end -->`; prints them where
    no document is given."""
    if not path:
        print("\n\n".join("\n".join(lines) for lines in tables.values()))
        return
    text = path.read_text(encoding="utf-8")
    for name, lines in tables.items():
        begin = f"<!-- {name}, made by tools/{pathlib.Path(sys.argv[0]).name} -->\n"
        before, after = text.split(begin, 1)
        text = before + begin + "\n".join(lines) + "\n" + after[after.index("<!-- end -->"):]
    path.write_text(text, encoding="utf-8")


def measured_steps(path):
    """{model: milliseconds of a step in each run}."""
    steps = {}
    for row in rows_of(path):
        steps.setdefault(row["name"], []).append(float(row["step_ms"]))
    return steps


def distance(value, low, high):
    """Percent by which a value is below or above an interval; 0 inside."""
    if value < low:
        return 100 * (value / low - 1)
    return max(0.0, 100 * (value / high - 1))
