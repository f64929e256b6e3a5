"""Analyses the recordings and predicts the whole job with the program orrery."""

import os
import shlex
import subprocess

from tracer import files


def commands(orrery, out):
    """The command lines for the folder of a traced job."""
    ranks = files.read_json(os.path.join(out, "trace.json"))["ranks"]
    recordings = [os.path.join(out, rank["folder"], "kineto.json.gz") for rank in ranks]
    return [*([orrery, "analyze", path] for path in recordings if os.path.exists(path)),
            [orrery, "simulate", "--from", out]]


def _run(line):
    return subprocess.run(line, check=False).returncode


def make(orrery, out, say, run=_run):
    """Runs them, or says them where there is no program; True where all went well."""
    lines = commands(orrery or "orrery", out)
    if orrery is None:
        say(f"the program orrery is not on this machine; take the folder {out} to one that has it "
            f"and run: {' && '.join(shlex.join(line) for line in lines)}")
        return True
    for line in lines:
        say(shlex.join(line))
        status = run(line)
        if status not in (0, 3):  # 3: something was left out, and said
            say(f"`{shlex.join(line)}` ended with status {status}; the recording is kept in {out}")
            return False
    return True
