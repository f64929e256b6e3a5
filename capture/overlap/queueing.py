"""Puts the runs of one compute kernel into the streams: alone, beside communication, staggered."""

import dataclasses

from overlap.communication_plan import PRIORITIES

_BEFORE_NS = 60_000       # communication is there for so long before a train begins
_ALONE_NS = 300_000       # communication alone is measured for so long
_ARRIVAL_REPEATS = 5
_TRAIN_US = 500.0
_SHORTEST_TRAIN = 6
_LONGEST_TRAIN = 40


@dataclasses.dataclass
class Run:
    """One slot: which row it belongs to and what ran."""

    slot: int
    row: int      # -1: the compute kernel alone
    part: str     # "compute", "communication", "both"
    launches: int  # of the compute kernel


def train_length(compute_us):
    return max(_SHORTEST_TRAIN, min(_LONGEST_TRAIN, round(_TRAIN_US / max(1.0, compute_us))))


class Queue:
    """Fills slots; the streams hold everything until the host says go."""

    def __init__(self, device, externals):
        self._device = device
        self._externals = externals  # the compute streams as PyTorch sees them
        self.runs = []

    def clear(self):
        self._device.clear()
        self.runs = []

    def _new(self, row, part, launches):
        run = Run(len(self.runs), row, part, launches)
        self.runs.append(run)
        return run.slot

    def compute_alone(self, compute, launches):
        slot = self._new(-1, "compute", launches)
        self._compute(compute, 0, slot, launches, 0)
        self._finish(slot)

    def _compute(self, compute, stream, slot, launches, offset_ns):
        self._device.gate(stream, slot, 0, 1, offset_ns)
        for _ in range(launches):
            compute.launch(stream, self._externals[stream], slot)
        self._device.end(stream, slot)

    @staticmethod
    def _streams(communication):
        """The compute and the communication stream that give the drawn priority."""
        high = PRIORITIES.index(communication.priority)
        return (1 if high == 2 else 0), (3 if high == 1 else 2)

    def _communicate(self, stream, slot, settings, offset_ns):
        self._device.gate(stream, slot, 1, 0, offset_ns)
        self._device.communicate(stream, slot, settings)

    def steady(self, row, steady, compute, compute_us):
        drawn = steady.communication
        compute_stream, other = self._streams(drawn)
        slot = self._new(row, "communication", 0)
        self._communicate(other, slot, drawn.settings(0, _BEFORE_NS + _ALONE_NS), 0)
        self._device.gate(compute_stream, slot, 0, 1, _BEFORE_NS)
        self._finish(slot)
        launches = train_length(compute_us)
        slot = self._new(row, "both", launches)
        longest = 2_000_000 + 20_000 * launches * compute_us
        self._communicate(other, slot, drawn.settings(0, longest), 0)
        self._compute(compute, compute_stream, slot, launches, _BEFORE_NS)
        self._finish(slot)

    def arrival(self, row, arrival, compute, compute_us):
        drawn = arrival.communication
        compute_stream, other = self._streams(drawn)
        length_us = max(20.0, arrival.length * compute_us)
        settings = drawn.settings(drawn.chunks_for(length_us))
        slot = self._new(row, "communication", 0)
        self._communicate(other, slot, settings, _BEFORE_NS)
        self._device.gate(compute_stream, slot, 0, 1, _BEFORE_NS)
        self._device.end(compute_stream, slot)
        self._finish(slot)
        first_us = compute_us if arrival.first == "K" else length_us
        late = _BEFORE_NS + int(1e3 * arrival.offset * first_us)
        offsets = (_BEFORE_NS, late) if arrival.first == "K" else (late, _BEFORE_NS)
        for _ in range(_ARRIVAL_REPEATS):
            slot = self._new(row, "both", 1)
            self._communicate(other, slot, settings, offsets[1])
            self._compute(compute, compute_stream, slot, 1, offsets[0])
            self._finish(slot)

    def _finish(self, slot):
        self._device.join()
        self._device.go(slot)
