#!/usr/bin/env python3
"""Keeps what commands print into documents current.

    tools/refresh_outputs.py --program build/orrery --check [PAGE...]
    tools/refresh_outputs.py --program build/orrery --update [PAGE...]
    tools/refresh_outputs.py --program build/orrery --accept PAGE...

Without pages: README.md and all documents under docs/. Two kinds of output are kept:

- In blocks that begin with ```console, lines "$ …" are bash commands, run beside the repository's files with `orrery` in the path
  (`build/orrery` is the same); the lines after a command are its output.
- A document that begins with a comment "<!-- generated" is made by the commands in it (tools/generated_header.py has its keys).

--check writes nothing: exit status 1 where an output differs other than in run time, where a digest of inputs is not the noted one, or
where speeds have neither machine nor version. --update runs the commands of pages that are stale (with pages named: of these) and notes the digest.
--accept notes the digest alone, for a page whose commands were just run. Pages that need ../shared are skipped by name where it is absent.
"""

import argparse
import contextlib
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import generated_header
from generated_header import ROOT, HeaderError

BEGIN, END = "```console", "```"
RUN_TIME = re.compile(r" in [0-9.]+ s$")
PROGRESS = re.compile(r"\S.* \([0-9]{2,} s\)")  # every ten seconds, where the machine is slow
SHARED = ROOT.parent / "shared"
NOT_PAGES = ("docs/man",)


@contextlib.contextmanager
def workplace(program):
    """A folder that looks like the root of the repository, with ../shared beside it, and into which commands may write."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        root, programs = folder / "orrery", folder / "bin"
        root.mkdir()
        programs.mkdir()
        for entry in ROOT.iterdir():
            if entry.name not in (".git", "build"):
                (root / entry.name).symlink_to(entry)
        if SHARED.is_dir():
            (folder / "shared").symlink_to(SHARED)
        (programs / "orrery").symlink_to(os.path.abspath(program))
        yield root, programs


def output_of(command, root, programs):
    """The output of a command, including errors, as lines, without those of progress."""
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(["bash", "-c", command.replace("build/orrery", "orrery")], cwd=root, env={**os.environ, **path},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    lines = done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []
    return [line for line in lines if not PROGRESS.fullmatch(line)]


def console_commands(text):
    """The commands of all console blocks."""
    commands = []
    refreshed(text, lambda command: commands.append(command) or [])
    return commands


def refreshed(text, run):
    """The document with the outputs of `run(command)`."""
    lines, is_inside = [], False
    for line in text.split("\n"):
        if is_inside and line == END:
            is_inside = False
        if not is_inside:
            lines.append(line)
        elif line.startswith("$ "):
            lines += [line, *run(line[2:])]
        is_inside = is_inside or line == BEGIN
    return "\n".join(lines)


def without_times(text):
    return [RUN_TIME.sub("", line) for line in text.split("\n")]


def without_blocks(text, names):
    """The document with the named generated blocks left empty: what they say differs from run to run."""
    return generated_header.BLOCK.sub(lambda found: found.group(1) if found.group(1) in names else found.group(0), text)


def remade(page, header, program):
    """The text that the commands of a page write, which is left as it is."""
    name = page.relative_to(ROOT).as_posix()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / page.name
        shutil.copyfile(page, copy)
        for command in header.all("command"):
            if name not in command:
                raise HeaderError(f"'{command}' does not name {name}, which check: output needs")
            generated_header.run_in_place(command.replace(name, str(copy)), program)
        return generated_header.parse(copy.read_text(encoding="utf-8"))[1]


def problem_of(page, text, program, run):
    """The problem of the generated part of a page, as a sentence; None if there is none."""
    header, body = generated_header.parse(text)
    if header is None or header.one("check") == "measured":
        return None
    if header.one("behind"):
        return problem_of_known(page, header, body)
    if header.one("check") == "inputs":
        now = generated_header.digest(header, body, run)
        return None if now == header.one("digest") else f"is stale (digest {now}, noted {header.one('digest')})"
    again = remade(page, header, program)
    same = without_times(without_blocks(body, header.all("except"))) == without_times(
        without_blocks(again, header.all("except")))
    return None if same else "differs from what its command writes"


def problem_of_known(page, header, body):
    """A document that is known to be behind must say so itself."""
    version = header.one("behind")
    if generated_header.BEHIND.format(version) not in body:
        return f"is behind and does not say so: it must have the sentence {generated_header.BEHIND.format(version)}"
    print(f"behind: {page.relative_to(ROOT)} was made at {version}")
    return None


def make(page, program, run):
    """Runs the commands of a page and notes the digest, and keeps the header of documents that are written as a whole."""
    header, _ = generated_header.parse(page.read_text(encoding="utf-8"))
    if header is None or header.one("check") == "measured":
        return
    for command in header.all("command"):
        generated_header.run_in_place(command, program)
    note(page, header, run)


def note(page, header, run):
    """Writes the header with the present digest."""
    _, body = generated_header.parse(page.read_text(encoding="utf-8"))
    if header.one("behind"):
        body = body.replace(generated_header.BEHIND.format(header.one("behind")) + "\n\n", "")
        header = generated_header.without_field(header, "behind")
    if header.one("check") == "inputs":
        header = generated_header.with_field(header, "digest", generated_header.digest(header, body, run))
    page.write_text(header.text() + body, encoding="utf-8")


def all_pages():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if not page.relative_to(ROOT).as_posix().startswith(NOT_PAGES)]


def is_missing_shared(text):
    header, body = generated_header.parse(text)
    words = console_commands(body) + ([word for values in header.fields.values() for word in values] if header else [])
    return generated_header.needs_shared(words) and not SHARED.is_dir()


def refresh(page, options, run):
    """One page; the sentence about what is wrong with it, or None."""
    text = page.read_text(encoding="utf-8")
    if is_missing_shared(text):
        print(f"skipped: {page.relative_to(ROOT)} needs ../shared")
        return None
    if options.accept:
        header, _ = generated_header.parse(text)
        if header is None:
            raise HeaderError("has no header to note a digest in")
        note(page, header, run)
        return None
    problem = problem_of(page, text, options.program, run)
    is_behind = generated_header.parse(text)[0] is not None and generated_header.parse(text)[0].one("behind")
    if options.update and (problem or options.pages or is_behind):
        make(page, options.program, run)
        text = page.read_text(encoding="utf-8")
        problem = None
    after = refreshed(text, run)
    if without_times(text) == without_times(after):
        return problem
    if options.update:
        page.write_text(after, encoding="utf-8")
        return problem
    return problem or "has outputs that differ from what its commands print"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--update", action="store_true")
    what.add_argument("--accept", action="store_true")
    parser.add_argument("--times", action="store_true", help="print how long each page took")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    options.program = options.program.resolve()
    stale = 0
    with workplace(options.program) as (root, programs):
        run = functools.cache(lambda command: tuple(output_of(command, root, programs)))
        for page in [path.resolve() for path in options.pages] or all_pages():
            started = time.monotonic()
            try:
                problem = refresh(page, options, run)
            except HeaderError as error:
                problem = str(error)
            if problem:
                stale += 1
                print(f"{page.relative_to(ROOT)} {problem}")
            if options.times and time.monotonic() - started > 1:
                print(f"{page.relative_to(ROOT)}: {time.monotonic() - started:.0f} s")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
