"""Hardware counters of each compute kernel alone, through Nsight Compute."""

import csv
import dataclasses
import os
import subprocess
import sys
import time

from doctor import programs
from overlap.tree import LAUNCH_DATA

# Column of the table: (metric of the raw page, unit that values are brought to). Other versions and
# GPUs name some otherwise: the first that the page has counts.
METRICS = {
    "duration_us": ("gpu__time_duration.sum", "us"),
    "compute_pct": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "memory_pct": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "dram_pct": (("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                  "dram__throughput.avg.pct_of_peak_sustained_elapsed"), "%"),
    "l1_hit_pct": ("l1tex__t_sector_hit_rate.pct", "%"),
    "l2_hit_pct": ("lts__t_sector_hit_rate.pct", "%"),
    "achieved_occupancy_pct": ("sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    "theoretical_occupancy_pct": ("sm__maximum_warps_per_active_cycle_pct", "%"),
    "registers": ("launch__registers_per_thread", ""),
    "grid": ("launch__grid_size", ""),
    "block": ("launch__block_size", ""),
    "cluster": ("launch__cluster_size", ""),
    "shared_static_bytes": ("launch__shared_mem_per_block_static", "byte"),
    "shared_dynamic_bytes": ("launch__shared_mem_per_block_dynamic", "byte"),
    "waves": ("launch__waves_per_multiprocessor", ""),
    "instructions": (("inst_executed", "smsp__inst_executed.sum", "sm__inst_executed.sum"), ""),
    "alu_pct": ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", "%"),
    "fma_pct": ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "%"),
    "lsu_pct": ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", "%"),
    "xu_pct": ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "%"),
    "tensor_pct": (("sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active",
                    "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active",
                    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"), "%"),
}
_TIME = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3,
         "s": 1e6, "second": 1e6}
_BYTES = {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


@dataclasses.dataclass
class Written:
    """The number of kernels that have counters, the number of all, and the columns that are empty in all rows."""

    found: int
    called: int
    missing: list


class NotRawPage(Exception):
    """The file is not what `ncu --csv --page raw` prints."""


def _bare(text):
    """Without the signs that only group digits: spaces of any kind and apostrophes."""
    return "".join(text.split()).replace("'", "").replace("’", "")


def _mark_of(text):
    """The decimal mark that one number shows, "" where it could be either."""
    dot, comma = text.rfind("."), text.rfind(",")
    if dot >= 0 and comma >= 0:
        return "." if dot > comma else ","
    mark = "." if dot >= 0 else ","
    groups = text.lstrip("-").split(mark)
    if len(groups) == 2 and (len(groups[1]) != 3 or len(groups[0]) > 3 or groups[0] == "0"):
        return mark
    if len(groups) > 2:
        return "," if mark == "." else "."  # a mark that occurs twice groups digits
    return ""


def decimal_mark(texts):
    """The mark of a page: what most of the numbers that tell it show; a dot if none does."""
    shown = [_mark_of(_bare(text)) for text in texts if text[:1].isdigit() or text[:1] == "-"]
    return "," if shown.count(",") > shown.count(".") else "."


def number_of(text, mark="."):
    """Reads "1,234.5", or "1.234,5" where the mark is a comma; None where there is no number."""
    grouping = "," if mark == "." else "."
    try:
        return float(_bare(text).replace(grouping, "").replace(mark, "."))
    except ValueError:
        return None


def _scaled(value, unit, wanted):
    unit = unit.split("/")[0]
    if value is None:
        return None
    if wanted == "us":
        return value * _TIME[unit] if unit in _TIME else None
    if wanted == "byte":
        return value * _BYTES[unit] if unit in _BYTES else None
    return value


def _places(header):
    """Returns the position of each of our columns on the page."""
    at = {name: index for index, name in enumerate(header)}
    found = {}
    for column, (names, _) in METRICS.items():
        names = (names,) if isinstance(names, str) else names
        known = [at[name] for name in names if name in at]
        if known:
            found[column] = known[0]
    return found


def read_raw_page(lines):
    """Lists (kernel name, {column: value}) for each profiled kernel."""
    table = csv.reader(line for line in lines if line.strip() and not line.startswith("=="))
    header, units = next(table, None), next(table, None)
    if not header or "Kernel Name" not in header or units is None or len(units) != len(header):
        raise NotRawPage("no table of kernels; it must come from `ncu --csv --page raw`")
    places, name_at = _places(header), header.index("Kernel Name")
    if not places:
        raise NotRawPage("none of the metrics is known; this version of ncu names them otherwise")
    kernels = [fields for fields in table if len(fields) == len(header)]
    mark = decimal_mark(fields[place] for fields in kernels for place in places.values())
    return [(fields[name_at],
             {column: _scaled(number_of(fields[place], mark), units[place], METRICS[column][1])
              for column, place in places.items()}) for fields in kernels]


def _base_name(name):
    """"layer_norm" of "void at::(anonymous namespace)::layer_norm<float>(int)"."""
    for unnamed in ("(anonymous namespace)::", "<unnamed>::"):
        name = name.replace(unnamed, "")
    words = name.split("(")[0].split("<")[0].split("::")
    return words[-1].split()[-1] if words[-1].split() else name


def _is_main(profiled, main):
    """ncu writes base names or whole ones, by version and setting."""
    return profiled == main or _base_name(profiled) == _base_name(main)


def join(counted, profiled):
    """Pairs calls with their kernels in order; a call whose kernels do not fit is left out.

    `counted` has (number, operator, kernels of the call, name of the main one).
    """
    at = 0
    for number, operator, kernels, main in counted:
        mine = profiled[at:at + kernels]
        at += kernels
        found = [values for name, values in mine if _is_main(name, main)]
        if len(mine) == kernels and found:
            longest = max(found, key=lambda values: values.get("duration_us") or 0.0)
            yield number, operator, main, longest


def write(raw_path, counted_path, out_path):
    """Writes the table; returns what became of it."""
    with open(raw_path, newline="", encoding="utf-8") as file:
        profiled = read_raw_page(file)
    with open(counted_path, newline="", encoding="utf-8") as file:
        counted = [(int(row["number"]), row["operator"], int(row["kernels"]), row["main_kernel"])
                   for row in csv.DictReader(file)]
    rows = list(join(counted, profiled))
    with open(out_path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["number", "operator", "kernel", *METRICS])
        for number, operator, main, values in rows:
            texts = ["" if values.get(c) is None else f"{values[c]:.6g}" for c in METRICS]
            writer.writerow([number, operator, main, *texts])
    missing = [column for column in METRICS
               if all(values.get(column) is None for *_, values in rows)]
    return Written(len(rows), len(counted), missing)


_SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "MemoryWorkloadAnalysis",
             "InstructionStats", "ComputeWorkloadAnalysis")
_CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counted_calls.py")
_POLL_SECONDS = 0.5


class NoCounters(Exception):
    """Why there are none, in one sentence with the fix."""


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
        return write(tree.path("features", "ncu_raw.csv"),
                                   tree.path("features", "counted.csv"),
                                   tree.path("features", "counters.csv"))
    except (NotRawPage, OSError) as error:
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
