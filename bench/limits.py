"""Rows of measured quantities with their limits, for the benchmarks of the whole program."""

import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Report:
    """Rows of a table, and whether all targets were met."""

    def __init__(self):
        self.rows = []
        self.is_met = True

    def add(self, what, value, unit, most=None, least=None):
        is_met = (most is None or value <= most) and (least is None or value >= least)
        limit = f"at most {most:g} {unit}" if most is not None else (
            f"at least {least:,.0f} {unit}" if least is not None else "")
        self.is_met &= is_met
        number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
        self.rows.append((what, f"{number} {unit}", limit, "" if is_met else "MISSED"))

    def text(self):
        return "\n".join(f"{what:58} {value:>22}  {limit} {missed}".rstrip()
                         for what, value, limit, missed in self.rows)

    def markdown(self):
        lines = ["| quantity | measured | target |", "|---|---:|---|"]
        lines += [f"| {what} | {value} | {limit} {missed} |" for what, value, limit, missed in self.rows]
        return "\n".join(lines)


def load_text():
    """Load average before the run, and what that means for it."""
    load, cores = os.getloadavg()[0], os.cpu_count()
    busy = "; the machine was busy with other work, so that wall times are too long: look at CPU times" if load > cores / 2 else ""
    return f"{load:.1f} on {cores} cores{busy}"


def said(*words):
    """The output of a command; nothing where it is missing or fails."""
    try:
        return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine_text():
    """Cores, processor and system of this machine."""
    models = [line.split(":", 1)[1].strip() for line in said("lscpu").splitlines() if line.startswith("Model name")]
    names = [line.split("=", 1)[1].strip('"') for line in said("cat", "/etc/os-release").splitlines() if line.startswith("PRETTY_NAME=")]
    return f"{os.cpu_count()} cores ({models[0] if models else 'unknown'}, {platform.machine()}), {names[0] if names else platform.system()}"


def write_measured(path, command, text):
    """Writes a document of speeds with the command, the machine and the version that they are of (tools/generated_header.py)."""
    version = said("git", "log", "-1", "--format=%h of %cs") or "unknown"
    path.write_text(f"<!-- generated\ncommand: {command}\ncheck: measured\nmachine: {machine_text()}\nversion: {version}\n-->\n{text}")
