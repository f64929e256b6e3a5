"""Which measurements work with what was found."""

import dataclasses

# What each needs. Nothing needs nsys or compute-sanitizer.
_NEEDS = {
    "measure kernels": ("gpu", "pytorch", "cupti"),
    "measure collectives": ("gpu", "pytorch", "nccl"),
    "measure ceilings": ("gpu", "nvcc"),
    "measure overlap": ("gpu", "pytorch", "cupti", "nvcc"),
    "counters of measure overlap": ("gpu", "pytorch", "cupti", "nvcc", "ncu", "counters"),
    "capture": ("gpu", "cupti", "g++", "cupti.h", "other tool"),
    "capture --accesses": ("gpu", "nvcc", "g++", "sanitizer library", "other tool", "sandbox"),
}


@dataclasses.dataclass
class Measurement:
    """One that works when nothing is lacking."""

    name: str
    lacks: list

    @property
    def works(self):
        return not self.lacks


def of(findings):
    """Judges all measurements."""
    ok = {finding.name for finding in findings if finding.is_ok}
    return [Measurement(name, [need for need in needs if need not in ok])
            for name, needs in _NEEDS.items()]


def status(measurements):
    """0 when all work, 3 when some do, 2 when none does."""
    working = [measurement.works for measurement in measurements]
    return 0 if all(working) else 3 if any(working) else 2
