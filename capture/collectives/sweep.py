"""The loop over the sizes, the same for every rank; what touches the GPU is handed in."""

from collectives import log_text, plan as plans


def times_of(plan, message, bench, group):
    """Mean over the ranks, as nccl-tests reports it: out of place, and in place where there is."""
    times = []
    for in_place in (False, True):
        if in_place and not plan.kind.has_in_place:
            times.append(None)
            continue
        group.barrier()
        own_us = bench.time_us(message, in_place)
        all_us = group.gather(own_us)
        times.append(sum(all_us) / len(all_us))
    return times


def sweep(plan, bench, group, write):
    """Measures every message and writes its row; returns the bus bandwidths of all halves."""
    bus_bandwidths = []
    for message in plans.messages(plan, group.ranks):
        times_us = times_of(plan, message, bench, group)
        write(log_text.row(plan, message, times_us, group.ranks))
        bus_bandwidths += [
            log_text.bandwidths(plan.kind, message.size_bytes, time_us, group.ranks)[1]
            for time_us in times_us if time_us is not None]
    return bus_bandwidths
