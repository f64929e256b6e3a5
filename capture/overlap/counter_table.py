"""From Nsight Compute's raw page to one row of counters for each compute kernel."""

import csv
import dataclasses

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
    """How many kernels have counters, of how many, and the columns that are empty in all rows."""

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
        return "," if mark == "." else "."  # what occurs twice groups digits
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
    """Where each column of ours stands on the page."""
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
