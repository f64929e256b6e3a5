"""From slots and recorded activities to what each run of a batch showed."""

import dataclasses
import statistics

from overlap.device_library import MOST_BLOCKS

_GATE = "GateKernel<0>"
_END = "EndKernel"
_OURS = ("GateKernel", "EndKernel", "HeavyCommunication", "LightCommunication")


class Incomplete(Exception):
    """The recording lacks activities."""


@dataclasses.dataclass
class Shown:
    """What one slot showed; times in microseconds, None where it does not apply."""

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
