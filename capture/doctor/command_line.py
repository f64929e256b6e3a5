"""`orrery-capture doctor`: what is here, why it matters and how to fix what is missing."""

import dataclasses
import json
import sys

from doctor import findings
from doctor.programs import Machine

# The requirements of each verb. None needs nsys or compute-sanitizer.
_NEEDS = {
    "measure kernels": ("gpu", "pytorch", "cupti"),
    "measure collectives": ("gpu", "pytorch", "nccl"),
    "measure ceilings": ("gpu", "nvcc", "build folder"),
    "measure overlap": ("gpu", "pytorch", "cupti", "nvcc", "build folder"),
    "counters of measure overlap": ("gpu", "pytorch", "cupti", "nvcc", "ncu", "counters"),
    "capture": ("gpu", "cupti", "g++", "cupti.h", "other tool", "build folder"),
    "capture --accesses": ("gpu", "nvcc", "g++", "sanitizer library", "other tool", "sandbox", "build folder"),
}


@dataclasses.dataclass
class Measurement:
    """One that works when nothing is lacking."""

    name: str
    lacks: list

    @property
    def works(self):
        return not self.lacks


def measurements_of(findings):
    """Returns all measurements with the requirements that they lack."""
    ok = {finding.name for finding in findings if finding.is_ok}
    return [Measurement(name, [need for need in needs if need not in ok])
            for name, needs in _NEEDS.items()]


def status(measurements):
    """0 when all work, 3 when some do, 2 when none does."""
    working = [measurement.works for measurement in measurements]
    return 0 if all(working) else 3 if any(working) else 2


def add_options(parser):
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def text(found, judged):
    """The page for people."""
    lines = []
    for finding in found:
        lines.append(f"{finding.state:8} {finding.name:18} {finding.found}")
        if not finding.is_ok:
            lines.append(f"{'':8} {'':18} why:  {finding.why}")
            lines.append(f"{'':8} {'':18} fix:  {finding.fix}")
    lines.append("")
    for one in judged:
        lines.append(f"{'works' if one.works else 'does not work':13}  {one.name}"
                     + (f" (lacks {', '.join(one.lacks)})" if one.lacks else ""))
    return "\n".join(lines)


def document(found, judged):
    """The same for programs."""
    return {"findings": [{**dataclasses.asdict(finding), "mend": finding.fix}  # the key before "fix"
                         for finding in found],
            "measurements": [{"name": one.name, "works": one.works, "lacks": one.lacks}
                             for one in judged],
            "status": status(judged)}


def report(machine, as_json):
    """(what is printed, exit status)."""
    found = findings.all_findings(machine) + findings.capture_findings(machine)
    judged = measurements_of(found)
    shown = (json.dumps(document(found, judged), indent=2, ensure_ascii=False) if as_json
             else text(found, judged))
    return shown, status(judged)


def main(options):
    shown, status = report(Machine(sys.executable), options.json)
    print(shown)
    return status
