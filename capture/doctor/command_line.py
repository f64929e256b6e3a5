"""`orrery-capture doctor`: what is here, why it matters and how to mend what is missing."""

import dataclasses
import json
import sys

from doctor import capture_findings, findings, measurements
from doctor.machine import Machine


def add_options(parser):
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def text(found, judged):
    """The page for people."""
    lines = []
    for finding in found:
        lines.append(f"{finding.state:8} {finding.name:18} {finding.found}")
        if not finding.is_ok:
            lines.append(f"{'':8} {'':18} why:  {finding.why}")
            lines.append(f"{'':8} {'':18} mend: {finding.mend}")
    lines.append("")
    for one in judged:
        lines.append(f"{'works' if one.works else 'does not work':13}  {one.name}"
                     + (f" (lacks {', '.join(one.lacks)})" if one.lacks else ""))
    return "\n".join(lines)


def document(found, judged):
    """The same for programs."""
    return {"findings": [dataclasses.asdict(finding) for finding in found],
            "measurements": [{"name": one.name, "works": one.works, "lacks": one.lacks}
                             for one in judged],
            "status": measurements.status(judged)}


def report(machine, as_json):
    """(what is printed, exit status)."""
    found = findings.all_findings(machine) + capture_findings.all_findings(machine)
    judged = measurements.of(found)
    shown = (json.dumps(document(found, judged), indent=2, ensure_ascii=False) if as_json
             else text(found, judged))
    return shown, measurements.status(judged)


def main(options):
    shown, status = report(Machine(sys.executable), options.json)
    print(shown)
    return status
