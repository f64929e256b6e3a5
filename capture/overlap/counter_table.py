"""From Nsight Compute's raw page to one row of counters for each compute kernel."""

import csv

# Column of the table: (metric of the raw page, unit that values are brought to).
METRICS = {
    "duration_us": ("gpu__time_duration.sum", "us"),
    "compute_pct": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "memory_pct": ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    "dram_pct": ("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
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
    "instructions": ("inst_executed", ""),
    "alu_pct": ("sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active", "%"),
    "fma_pct": ("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "%"),
    "lsu_pct": ("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active", "%"),
    "xu_pct": ("sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "%"),
    "tensor_pct": ("sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_active", "%"),
}
_TIME = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3,
         "s": 1e6, "second": 1e6}
_BYTES = {"byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


class NotRawPage(Exception):
    """The file is not what `ncu --csv --page raw` prints."""


def number_of(text):
    """Reads "1,234.5" and "1.234,5" alike; None where there is no number."""
    text = text.strip().replace(" ", "").replace(" ", "").replace("'", "")
    if "," in text and "." in text:
        decimal = "," if text.rfind(",") > text.rfind(".") else "."
        text = text.replace("." if decimal == "," else ",", "").replace(decimal, ".")
    elif text.count(",") == 1 and len(text.split(",")[1]) != 3:
        text = text.replace(",", ".")
    else:
        text = text.replace(",", "")
    try:
        return float(text)
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


def read_raw_page(lines):
    """Yields (kernel name, {column: value}) for each profiled kernel."""
    table = csv.reader(line for line in lines if not line.startswith("=="))
    header = next(table, None)
    units = next(table, None)
    if not header or "Kernel Name" not in header or units is None:
        raise NotRawPage("no table of kernels; it must come from `ncu --csv --page raw`")
    at = {name: index for index, name in enumerate(header)}
    for fields in table:
        values = {}
        for column, (metric, wanted) in METRICS.items():
            if metric in at and at[metric] < len(fields):
                place = at[metric]
                values[column] = _scaled(number_of(fields[place]), units[place], wanted)
        yield fields[at["Kernel Name"]], values


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
    """Writes the table; returns how many kernels it has, and of how many."""
    with open(raw_path, newline="", encoding="utf-8") as file:
        profiled = list(read_raw_page(file))
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
    return len(rows), len(counted)
