"""Hardware counters of each compute kernel alone, through Nsight Compute."""

import os
import shutil
import subprocess
import sys
import time

from overlap import counter_table

_SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "MemoryWorkloadAnalysis",
             "InstructionStats", "ComputeWorkloadAnalysis")
_CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counted_calls.py")
_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")


def find_ncu():
    found = shutil.which("ncu")
    if found:
        return found
    return next((place for place in _PLACES if os.access(place, os.X_OK)), None)


def _note(tree, text):
    """Says why there are no counters, to the user and in the data."""
    print(f"overlap: {text}; the table has none", file=sys.stderr)
    with open(tree.path("features", "counters.txt"), "w", encoding="utf-8") as file:
        file.write(text + "\n")


def measure(options, tree, deadline):
    """Writes features/ncu_details.csv and ncu_raw.csv for the kernels measured so far."""
    ncu = find_ncu()
    if ncu is None:
        _note(tree, "ncu of Nsight Compute is not installed, or not in $PATH")
        return
    report = tree.path("features", "counters")
    command = [ncu, "--clock-control", "none", "--profile-from-start", "off", "--force-overwrite",
               "--export", report, "--target-processes", "all"]
    for section in _SECTIONS:
        command += ["--section", section]
    command += [sys.executable, _CALLS, options.out, str(options.seed), str(deadline)]
    began = time.time()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        _note(tree, "the driver lets only administrators read counters (ERR_NVGPUCTRPERM): run as "
                    "root, or load the module with NVreg_RestrictProfilingToAdminUsers=0")
        return
    if done.returncode != 0 or not os.path.exists(report + ".ncu-rep"):
        last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no output"]
        _note(tree, f"ncu failed ({last[0][:200]})")
        return
    for page in ("details", "raw"):
        with open(tree.path("features", f"ncu_{page}.csv"), "w", encoding="utf-8") as file:
            subprocess.run([ncu, "--import", report + ".ncu-rep", "--csv", "--page", page],
                           check=False, stdout=file)
    _write_table(tree)
    print(f"overlap: counters took {time.time() - began:.0f} s", file=sys.stderr)


def _write_table(tree):
    """Writes features/counters.csv; a page that this version cannot read is said, not lost."""
    try:
        found, called = counter_table.write(tree.path("features", "ncu_raw.csv"),
                                            tree.path("features", "counted.csv"),
                                            tree.path("features", "counters.csv"))
    except (counter_table.NotRawPage, OSError) as error:
        _note(tree, f"ncu's raw page could not be read ({error}); it is kept as it is")
        return
    print(f"overlap: counters of {found} kernels of {called}", file=sys.stderr)
