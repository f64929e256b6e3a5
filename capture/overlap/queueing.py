"""Puts the runs of one compute kernel into the streams, and decodes what each run showed."""

import dataclasses
import statistics

from overlap.device_library import MOST_BLOCKS
from overlap.plans import PRIORITIES

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


_GATE = "GateKernel<0>"
_END = "EndKernel"
_OURS = ("GateKernel", "EndKernel", "HeavyCommunication", "LightCommunication")


class Incomplete(Exception):
    """The recording lacks activities."""


@dataclasses.dataclass
class Shown:
    """The measurement of one slot; times in microseconds, None where it does not apply."""

    compute_us: list = dataclasses.field(default_factory=list)
    gap_us: float = None            # from the gate's end to the first kernel, as recorded
    start_delay_us: float = None    # from the release to a stamped kernel's first block
    last_delay_us: float = None     # … to its last block
    clock_mhz: float = 0.0
    timed_out: bool = False
    communication_first_us: float = None  # from its release to its first block
    communication_last_us: float = None   # … to its last block
    communication_us: float = None        # from its first block to its end
    communication_gbps: float = None      # payload after the compute side's release
    communication_sms: int = 0
    communication_clock_mhz: float = None
    releases_us: float = None             # communication's release less the compute side's


def _is_ours(name):
    return any(own in name for own in _OURS)


def windows(activities, count):
    """Cuts a recording into one list of the compute side's activities for each slot."""
    out, current = [], None
    for activity in sorted(activities, key=lambda a: a.start_ns):
        if _GATE in activity.name:
            current = [activity]
            out.append(current)
        elif current is not None and not _is_ours(activity.name):
            current.append(activity)
    if len(out) != count:
        raise Incomplete(f"{len(out)} runs were recorded of {count}")
    return out


def _blocks(records, slot):
    mine = records[slot * MOST_BLOCKS:(slot + 1) * MOST_BLOCKS]
    return [block for block in mine if block.begin_ns]


def _rate_gbps(blocks):
    """Payload by time since the compute side's release; what began later counts from there."""
    total = 0.0
    for block in blocks:
        begin = block.mark_ns or block.begin_ns
        moved = block.end_bytes - (block.mark_bytes if block.mark_ns else 0)
        if block.end_ns > begin:
            total += moved / (block.end_ns - begin)
    return total


def _fill_communication(shown, slot, blocks):
    release = slot.release_ns[1]
    begins = [block.begin_ns for block in blocks]
    shown.communication_first_us = (min(begins) - release) / 1e3
    shown.communication_last_us = (max(begins) - release) / 1e3
    shown.communication_us = (max(block.end_ns for block in blocks) - min(begins)) / 1e3
    shown.communication_gbps = _rate_gbps(blocks)
    shown.communication_sms = len({block.sm for block in blocks})
    clocks = [1e3 * block.cycles / (block.end_ns - block.begin_ns) for block in blocks
              if block.end_ns - block.begin_ns > 20_000]
    shown.communication_clock_mhz = statistics.median(clocks) if clocks else None
    if slot.release_ns[0]:
        shown.releases_us = (int(release) - int(slot.release_ns[0])) / 1e3


def _call_times(window, launches, shape):
    """The time of each call in microseconds; a call may launch its kernel several times."""
    kernels = [a.duration_ns / 1e3 for a in window[1:] if a.name == shape.name]
    if len(kernels) != launches * shape.repeats:
        raise Incomplete(f"{len(kernels)} launches of {shape.name[:40]} of "
                         f"{launches * shape.repeats}")
    return [sum(kernels[at:at + shape.repeats]) for at in range(0, len(kernels), shape.repeats)]


def decode(run, slot, records, window, shape):
    """Sums up one slot."""
    shown = Shown(timed_out=bool(slot.timed_out))
    if slot.gate_ns[0]:
        shown.clock_mhz = 1e3 * slot.gate_cycles[0] / slot.gate_ns[0]
    shown.compute_us = _call_times(window, run.launches, shape)
    if len(window) > 1:
        gate = window[0]
        shown.gap_us = (window[1].start_ns - gate.start_ns - gate.duration_ns) / 1e3
    if slot.last_begin_ns and run.launches == 1:
        first = ~slot.first_begin_ns & 0xFFFFFFFFFFFFFFFF
        shown.start_delay_us = (first - slot.release_ns[0]) / 1e3
        shown.last_delay_us = (slot.last_begin_ns - slot.release_ns[0]) / 1e3
    blocks = _blocks(records, run.slot)
    if blocks:
        _fill_communication(shown, slot, blocks)
    return shown
