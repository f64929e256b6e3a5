"""Hardware counters of each compute kernel alone, through Nsight Compute."""

import os
import subprocess
import sys
import time

from doctor import programs
from overlap import counter_table
from overlap.run_record import LAUNCH_DATA

_SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "MemoryWorkloadAnalysis",
             "InstructionStats", "ComputeWorkloadAnalysis")
_CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counted_calls.py")
_POLL_SECONDS = 0.5


class NoCounters(Exception):
    """Why there are none, in one sentence with the mend."""


def _sentence(output):
    """Why ncu gave no counters, by what it printed."""
    if "ERR_NVGPUCTRPERM" in output:
        return ("the driver lets only administrators read counters (ERR_NVGPUCTRPERM): run as "
                "root, or load the module with NVreg_RestrictProfilingToAdminUsers=0")
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("==ERROR==")]
    last = (errors[:1] or lines[-1:] or ["it printed nothing"])[0]
    said = last.replace("==ERROR==", "").strip()[:200]
    return f"ncu failed ({said}); a version that knows this GPU and driver may be needed"


def _command(ncu, report, options, deadline):
    command = [ncu, "--clock-control", "none", "--profile-from-start", "off", "--force-overwrite",
               "--export", report, "--target-processes", "all"]
    for section in _SECTIONS:
        command += ["--section", section]
    return command + [sys.executable, _CALLS, options.out, str(options.seed), str(deadline)]


def _run(command, log_path, stop, stop_path):
    """Runs ncu in a session of its own, so that Ctrl-C reaches it only as our word to stop."""
    _remove(stop_path)
    with open(log_path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None:
            if stop.is_set and not os.path.exists(stop_path):
                open(stop_path, "w", encoding="utf-8").close()
            time.sleep(_POLL_SECONDS)
    _remove(stop_path)
    with open(log_path, encoding="utf-8", errors="replace") as log:
        return process.returncode, log.read()


def _remove(path):
    if os.path.exists(path):
        os.remove(path)


def _profile(ncu, options, tree, deadline, stop):
    """Leaves ncu's pages under features/."""
    report = tree.path("features", "counters")
    _remove(report + ".ncu-rep")  # one of an earlier run would be taken for this one's
    status, output = _run(_command(ncu, report, options, deadline),
                          tree.path("features", "ncu.log"), stop, tree.path("features", "stop"))
    if "ERR_NVGPUCTRPERM" in output or status != 0 or not os.path.exists(report + ".ncu-rep"):
        raise NoCounters(_sentence(output))
    for page in ("details", "raw"):
        with open(tree.path("features", f"ncu_{page}.csv"), "w", encoding="utf-8") as file:
            subprocess.run([ncu, "--import", report + ".ncu-rep", "--csv", "--page", page],
                           check=False, stdout=file)


def _table(tree):
    """Writes features/counters.csv; a page that cannot be read is said, not lost."""
    try:
        return counter_table.write(tree.path("features", "ncu_raw.csv"),
                                   tree.path("features", "counted.csv"),
                                   tree.path("features", "counters.csv"))
    except (counter_table.NotRawPage, OSError) as error:
        raise NoCounters(f"ncu's raw page could not be read ({error}); it is kept as it is under "
                         "features/") from error


def _without(tree, reason):
    """Says why there are no counters, to the user and in the data."""
    print(f"overlap: no counters: {reason}; the table of pairs has launch data only",
          file=sys.stderr)
    with open(tree.path("features", "counters.txt"), "w", encoding="utf-8") as file:
        file.write(reason + "\n")
    return {"source": LAUNCH_DATA, "reason": reason}


def measure(options, tree, deadline, stop, ncu=None):
    """Counts for the kernels measured so far; returns what processed/run.json says of it."""
    ncu = ncu or programs.find("ncu")
    try:
        if ncu is None:
            raise NoCounters("ncu of Nsight Compute is not installed, or not in $PATH")
        version = programs.version(ncu)
        if not version:
            raise NoCounters(f"{ncu} does not start or does not tell its version")
        _profile(ncu, options, tree, deadline, stop)
        written = _table(tree)
    except NoCounters as reason:
        return _without(tree, str(reason))
    return _found(tree, version, written)


def _found(tree, version, written):
    if not written.found:
        return _without(tree, "ncu's kernels fit none of the calls; its pages are kept as they are "
                              "under features/")
    text = f"counters of {written.found} kernels of {written.called} by ncu {version}"
    if written.missing:
        text += "; this version or GPU has no " + ", ".join(written.missing)
    print(f"overlap: {text}", file=sys.stderr)
    with open(tree.path("features", "counters.txt"), "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return {"source": f"ncu {version}", "kernels": written.found, "called": written.called,
            "missing_columns": written.missing}
