"""The CSV of measured operators (layout "orrery-kernels 1")."""

import csv
import dataclasses
import os

HEADER = ["operator", "kernel_us", "warm_us", "op_us", "spread_pct", "repeats", "kernels",
          "main_kernel", "gpu", "sm_mhz", "mem_mhz", "driver", "cuda", "torch"]
_LONGEST_NAME = 80


class NotOurTable(Exception):
    """The file to continue is some other table."""


@dataclasses.dataclass
class Machine:
    """The columns that stay the same over a run."""

    gpu: str
    driver: str
    cuda: str
    torch: str


def row(text, op_us, times, sm_mhz, mem_mhz, machine):
    """Makes the fields of one row from separators.KernelTimes and the event time."""
    return [text, f"{times.kernel_us:.3f}", f"{times.warm_us:.3f}", f"{op_us:.3f}",
            f"{times.spread_pct:.2f}", times.repeats, times.kernels,
            times.main_kernel[:_LONGEST_NAME], machine.gpu, sm_mhz, mem_mhz, machine.driver,
            machine.cuda, machine.torch]


def operators_in(path):
    """Lists the operators a CSV already holds; a last line that was cut off does not count."""
    if not os.path.exists(path):
        return set()
    with open(path, newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        header = next(lines, None)
        if header is not None and header != HEADER:
            raise NotOurTable(f"{path}: not a CSV of measured operators; give another --out")
        return {fields[0] for fields in lines if len(fields) == len(HEADER)}


class Writer:
    """Appends rows and hands each batch to the system at once."""

    def __init__(self, path):
        _drop_torn_line(path)
        is_new = not os.path.exists(path) or os.path.getsize(path) == 0
        self._file = open(path, "a", newline="", encoding="utf-8")
        self._csv = csv.writer(self._file, lineterminator="\n")
        if is_new:
            self._csv.writerow(HEADER)
            self._file.flush()

    def write(self, rows):
        self._csv.writerows(rows)
        self._file.flush()

    def close(self):
        self._file.close()


def _drop_torn_line(path):
    """Cuts off what a killed run left of a last line."""
    if not os.path.exists(path):
        return
    with open(path, "rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
