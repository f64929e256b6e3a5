"""One case of an attack: a folder with inputs and outputs, the runs on it, and what is wrong afterwards."""

import json
import os
import pathlib
import random
import re
import shlex
import shutil

from attack import mutations, oracle

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = ROOT.parent / "shared"
PART = re.compile(r"(^|/)\.orrery-part-")
ENVIRONMENT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8"}


def content_of(path):
    if path.is_symlink():
        return f"link to {os.readlink(path)}"
    try:
        return path.read_bytes() if path.is_file() else "folder"
    except PermissionError:
        return "unreadable"


def snapshot(folder):
    """The content of every file below a folder."""
    return {str(path.relative_to(folder)): content_of(path) for path in sorted(folder.rglob("*"))}


class Case:
    """Has `in` for what the program reads, `out` for what it writes. The same seed, kind and number make the same case."""

    def __init__(self, program, work, seed, kind, number, limits):
        self.program, self.kind, self.number, self.limits = program, kind, number, limits
        self.rng = random.Random(f"{seed}/{kind}/{number}")
        self.folder = work / "case"
        for name in ("in", "out", "tmp", "home"):
            (self.folder / name).mkdir(parents=True)
        self.runs, self.commands, self.findings = 0, [], []
        self.streams = [work / "stdout", work / "stderr"]
        self._before = None
        self.may_leave_parts = self.is_answered = False

    def add(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pathlib.Path):
            shutil.copyfile(content, path)
        else:
            path.write_bytes(content)
        return name

    def find(self, reason):
        self.findings.append(reason.replace("\n", " "))

    def forget(self, name):
        """An input that the case removes itself."""
        (self.folder / "in" / name).unlink()
        self._before.pop(name, None)

    def run(self, words, faults=None, environment=None, prefix=(), folder=None):
        """Runs the program in the case's folder and checks the run."""
        faults = faults or oracle.Faults()
        if self._before is None:
            self._before = snapshot(self.folder / "in")
        command = [*prefix, str(self.program), *words]
        self.commands.append(" ".join(shlex.quote(word) for word in command) + f"  # {faults}")
        self.runs += 1
        folders = {"HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp")}
        result = oracle.run([os.fsencode(word) for word in command], folder or self.folder, self.streams,
                            (environment or ENVIRONMENT) | folders, faults, self.limits)
        for reason in oracle.judge(words, result, faults, self.limits):
            self.find(f"{self.verb_of(words)}: {reason}")
        self.is_answered = result.status in (0, 1, 3, 4)
        self.may_leave_parts = self.may_leave_parts or bool(faults.signal_after and faults.signal_after[0] == 9) or result.is_late
        return result

    @staticmethod
    def verb_of(words):
        return " ".join(word for word in words[:2] if word.isalpha())

    def check_folder(self):
        """Inputs are as before, outputs are what they say, and nothing else was written."""
        if self._before is not None and snapshot(self.folder / "in") != self._before:
            self.find("an input was changed")
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            if PART.search(name) and not name.startswith("in/") and not self.may_leave_parts:
                self.find("a part file was left")
            elif name.split("/")[0] not in ("in", "out", "tmp", "home") or name.split("/")[0] in ("tmp", "home") and "/" in name:
                self.find(f"written outside the output folder: {name}")
            elif name.startswith("out/") and path.is_file() and self.is_answered and not PART.search(name):
                self.check_output(path)

    def check_output(self, path):
        if path.suffix == ".html" and mutations.MARK.encode() in path.read_bytes():
            self.find("a name became a tag of a page")
        if path.suffix in (".html", ".svg"):
            for reason in oracle.stream_faults("a page", path.read_bytes().decode("utf-8", "surrogateescape")):
                self.find(reason)
        if path.suffix == ".json":
            try:
                json.loads(path.read_bytes(), parse_constant=oracle.refuse_constant)
            except (ValueError, RecursionError) as error:
                self.find(f"an output is no JSON: {str(error)[:80]}")

    def keep(self, folder, seed):
        """Keeps what reproduces the findings."""
        shutil.copytree(self.folder, folder, symlinks=True, ignore_dangling_symlinks=True)
        for stream in self.streams:
            shutil.copyfile(stream, folder / stream.name)
        lines = [f"# tools/attack.py --seed {seed} --only {self.kind} --run {self.number}", *(f"# {reason}" for reason in self.findings),
                 "cd \"$(dirname \"$0\")\"", *self.commands]
        (folder / "reproduce.sh").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")
