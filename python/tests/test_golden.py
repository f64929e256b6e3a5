"""The golden cases of the program, called in this process: the same words give the same output."""
import os
import pathlib
import re
import shlex
import tempfile

import pytest
import run_golden
from orrery import Error, _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Verbs that need a terminal, a browser or another machine, or take their input from elsewhere.
OTHER_VERBS = {"view", "capture", "measure", "doctor", "trace", "completion", "help"}
SHELL = re.compile(r"[|<>$;&`*?]")


def plain_words(step):
    """The words of a command that needs no shell and prints a document; None for others."""
    script = "\n".join(line[2:] for line in step.command)
    if SHELL.search(script) or "\\" in script or not script.startswith("orrery "):
        return None
    words = shlex.split(script)[1:]
    if not words or words[0] in OTHER_VERBS or any(word in ("--help", "--version", "--csv", "--color", "--progress") for word in words):
        return None
    return words


def cases():
    for path in sorted((ROOT / "tests" / "golden").rglob("*.case")):
        case = run_golden.parse(path.read_text())
        if case.needs_shared and not run_golden.shared_folder(ROOT).is_dir():
            continue
        name = f"{path.parent.name}/{path.stem}"
        plain = [place for place, step in enumerate(case.steps) if plain_words(step)]
        if plain:
            yield pytest.param(path, case.steps[:plain[-1] + 1], id=name)


def lines(mark, step):
    return [line[2:] if len(line) > 1 else "" for line in step.expected if line.startswith(mark)]


@pytest.mark.parametrize("path, steps", cases())
def test_same_output(path, steps, program, monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        work, environment = run_golden.make_folder(pathlib.Path(folder), path, ROOT, pathlib.Path(program))
        monkeypatch.chdir(work)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        for step in steps:
            words = plain_words(step)
            if words is None:
                run_golden.run_command(step.command, work, environment)  # others may need its files
            else:
                check_step(step, words)


def check_step(step, words):
    try:
        delivered = _native.run_verb(words, None)
    except Error as error:
        assert lines("!", step)[-1:] and str(error).splitlines() == [
            line.removeprefix("orrery: ") for line in lines("!", step)][-len(str(error).splitlines()):]
        assert step.expected[-1] in ("= 2", "= 70")
        return
    text = delivered.json if "--json" in words else delivered.text(100)
    expected = "\n".join(lines(">", step))
    assert text.rstrip("\n") == expected.rstrip("\n") or os.linesep.join(text.split()) == os.linesep.join(expected.split())
    status = [int(line[2:]) for line in step.expected if line.startswith("= ")] or [0]
    assert delivered.status == status[0]
