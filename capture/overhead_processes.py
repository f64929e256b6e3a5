"""Processes that train with and without a recording, and what the difference between them is."""

import json
import pathlib
import statistics
import subprocess
import sys
import time

_FOLDER = pathlib.Path(__file__).resolve().parent


def run(words, folder, options=None, out="s.orrs"):
    """Returns the output of overhead_steps.py, with the seconds of the whole process as `process_s`; with `options`, under capture."""
    line = [sys.executable, str(_FOLDER / "pytorch" / "overhead_steps.py"), *words]
    if options is not None:
        line = [sys.executable, str(_FOLDER / "orrery-capture"), "capture", *options, "--out", str(folder / out), "--", *line]
    begin = time.monotonic()
    ended = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = [text for text in ended.stdout.splitlines() if text.startswith("{")]
    if not found:
        raise SystemExit(f"{pathlib.Path(sys.argv[0]).name}: no step times (status {ended.returncode}): {ended.stderr[-500:]}")
    return {**json.loads(found[-1]), "process_s": time.monotonic() - begin}


def compare(plain, recorded):
    """Of the times of several processes each: medians, spreads, and what a recorded one takes longer, by the medians and at
    least and at most by single processes."""
    ratio = statistics.median(recorded) / statistics.median(plain)
    return {"plain_ms": round(statistics.median(plain), 3), "plain_range_ms": [round(min(plain), 3), round(max(plain), 3)],
            "recorded_ms": round(statistics.median(recorded), 3),
            "recorded_range_ms": [round(min(recorded), 3), round(max(recorded), 3)],
            "percent": round(100 * (ratio - 1), 1),
            "percent_range": [round(100 * (min(recorded) / max(plain) - 1), 1), round(100 * (max(recorded) / min(plain) - 1), 1)]}
