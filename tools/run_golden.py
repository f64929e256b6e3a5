#!/usr/bin/env python3
"""Runs golden cases: commands and their exact output.

    tools/run_golden.py --program build/orrery CASE_OR_FOLDER ...
    tools/run_golden.py --program build/orrery --update CASE_OR_FOLDER ...

A case is a text file:

    # What it shows.
    needs shared
    $ orrery info data/h200/fake-tp8.kineto.json.gz | head -1
    > a line of standard output
    ! a line of standard error
    = 2

'$' is a command for bash (with pipefail; a line that ends in '\\' goes on in the next '$' line),
'>' a line of standard output, '!' of standard error, '=' the exit status if it is not 0, '#' a
comment. Sizes of written files are not compared
("wrote page.html (SIZE)"), nor are lines of progress ("fitting (10 s)"). A last line that does not end in a newline is followed by a line '\\'. Each case runs in a
folder of its own, where `data` is tests/data, `traced` is data/traced, `memory` is data/memory, `shared` is ../shared, and a
folder NAME.files
beside NAME.case was copied in. "needs shared" skips the case where ../shared is absent.

Exit status: 0 all as written, 1 some differ, 2 a case cannot be used, 77 all were skipped.
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
TIME_LIMIT_S = 300
NO_NEWLINE = "\\"
PROGRESS = re.compile(r"^.* \([0-9]+ s\)\n", re.M)  # a line of work that took ten seconds here
WRITTEN = re.compile(r"^(wrote .* )\([0-9.,]+ [kMG]?B\)$", re.M)  # pages change their size with every word


class BadCase(Exception):
    """The case file does not follow the syntax."""


@dataclasses.dataclass
class Step:
    """One command, the lines before it, and its expected result (as lines of the case)."""

    before: list
    command: list
    expected: list


@dataclasses.dataclass
class Case:
    steps: list
    after: list
    needs_shared: bool = False

    def text(self):
        lines = []
        for step in self.steps:
            lines += step.before + step.command + step.expected
        return "\n".join(lines + self.after) + "\n"


def is_remark(line):
    return not line.strip() or line.startswith("#") or line.startswith("needs ")


def parse(text):
    """Reads a case; raises BadCase with the line number."""
    case = Case([], [])
    for number, line in enumerate(text.splitlines(), 1):
        if is_remark(line):
            if line.startswith("needs ") and line != "needs shared":
                raise BadCase(f"line {number}: only 'needs shared' is known, not '{line}'")
            case.needs_shared = case.needs_shared or line == "needs shared"
            case.after.append(line)
        elif line.startswith("$ "):
            add_command(case, line)
        elif line[0] in ">!=\\":
            if not case.steps or case.after:
                raise BadCase(f"line {number}: expected output must follow its command")
            case.steps[-1].expected.append(line)
        else:
            raise BadCase(f"line {number}: must start with one of $ > ! = #, not '{line[0]}'")
    if not case.steps:
        raise BadCase("there is no command in it")
    return case


def add_command(case, line):
    last = case.steps[-1] if case.steps and not case.after else None
    if last and not last.expected and last.command[-1].endswith("\\"):
        last.command.append(line)
        return
    case.steps.append(Step(case.after, [line], []))
    case.after = []


def output_lines(mark, text):
    """Returns a stream's text as lines of a case."""
    if not text:
        return []
    lines = [f"{mark} {line}" if line else mark
             for line in WRITTEN.sub(r"\1(SIZE)", text).removesuffix("\n").split("\n")]
    return lines if text.endswith("\n") else lines + [NO_NEWLINE]


def run_command(command, folder, environment):
    """Runs one command and returns its result as lines of a case."""
    script = "\n".join(line[2:] for line in command)
    try:
        done = subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=folder,
                              env=environment, capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return [f"= no end within {TIME_LIMIT_S} s"]
    status = [f"= {done.returncode}"] if done.returncode else []
    return (output_lines(">", done.stdout.decode(errors="backslashreplace"))
            + output_lines("!", PROGRESS.sub("", done.stderr.decode(errors="backslashreplace"))) + status)


def make_folder(folder, path, root, program):
    """Prepares the directory of a case; returns it and the environment of its commands."""
    work, bin_folder = folder / "work", folder / "bin"
    files = path.with_suffix(".files")
    if files.is_dir():
        shutil.copytree(files, work)
    else:
        work.mkdir()
    bin_folder.mkdir()
    (work / "data").symlink_to(root / "tests" / "data")
    for name in ("traced", "memory"):
        if (root / "data" / name).is_dir():
            (work / name).symlink_to(root / "data" / name)
    if shared_folder(root).is_dir():
        (work / "shared").symlink_to(shared_folder(root))
    (bin_folder / "orrery").symlink_to(program.resolve())
    # Cases run in parallel: threads that wait must not spin on the core of another case.
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "HOME": str(work), "OMP_WAIT_POLICY": "PASSIVE",
                   "SOURCE_DATE_EPOCH": "1767225600",  # pages say 2026-01-01
                  
                   "PATH": f"{bin_folder}:{os.environ['PATH']}"}
    for name in ("COLUMNS", "XDG_DATA_HOME"):  # otherwise an installed model would be used
        environment.pop(name, None)
    return work, environment


def shared_folder(root):
    return root.parent / "shared"


def run_case(case, path, root, program):
    """Returns the actual result of each step."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        work, environment = make_folder(pathlib.Path(folder), path, root, program)
        return [run_command(step.command, work, environment) for step in case.steps]


def print_difference(path, step, actual):
    print(f"{path}: differs at")
    for line in step.command:
        print(f"    {line}")
    for line in difflib.unified_diff(step.expected, actual, "expected", "actual", lineterm=""):
        print(f"    {line}")


def check_case(path, root, program, update):
    """Runs one case file and returns "ok", "differs", "updated" or "skipped"."""
    case = parse(path.read_text())
    if case.needs_shared and not shared_folder(root).is_dir():
        print(f"SKIPPED {path}: ../shared is not there")
        return "skipped"
    results = run_case(case, path, root, program)
    changed = [(step, actual) for step, actual in zip(case.steps, results)
               if step.expected != actual]
    if not changed:
        return "ok"
    if not update:
        for step, actual in changed:
            print_difference(path, step, actual)
        return "differs"
    for step, actual in changed:
        step.expected = actual
    path.write_text(case.text())
    print(f"updated {path}")
    return "updated"


def case_files(paths):
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob("*.case"))
        else:
            yield path


def exit_status(outcomes):
    if "bad" in outcomes or not outcomes:
        return 2
    if "differs" in outcomes:
        return 1
    return SKIPPED if set(outcomes) == {"skipped"} else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="update the cases with the actual output")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("cases", nargs="+", type=pathlib.Path)
    options = parser.parse_args()

    outcomes = []
    for path in case_files(options.cases):
        try:
            outcomes.append(check_case(path, options.root.resolve(), options.program,
                                       options.update))
        except (BadCase, OSError) as error:
            print(f"{path}: {error}")
            outcomes.append("bad")
    counts = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in sorted(set(outcomes)))
    print(f"{len(outcomes)} cases: {counts}" if outcomes else "no cases found")
    return exit_status(outcomes)


if __name__ == "__main__":
    sys.exit(main())
