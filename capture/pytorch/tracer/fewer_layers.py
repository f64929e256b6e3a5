"""Goes on with fewer layers where the GPU's memory does not suffice."""

from tracer import request as requests

FEWEST = 2


def counts(layers, fewest=FEWEST):
    """How many layers are tried, one after the other; 0 means all there are, of whatever kind."""
    yield layers
    while layers // 2 >= max(fewest, 1):
        layers //= 2
        yield layers


def play_all(ranks, layers, fewest, play, say):
    """Plays every rank with the same number of layers, the highest that fits.

    play(rank, layers) returns a status. Returns ({rank: status}, layers)."""
    for count in counts(layers, fewest):
        statuses = _statuses(ranks, count, play)
        if requests.OUT_OF_MEMORY not in statuses.values():
            break
        say(f"the GPU's memory does not suffice for {_shown(count)}")
    return statuses, count


def _statuses(ranks, layers, play):
    statuses = {}
    for rank in ranks:
        statuses[rank] = play(rank, layers)
        if statuses[rank] == requests.OUT_OF_MEMORY or _is_refused(statuses):
            break
    return statuses


def _is_refused(statuses):
    """Whether not even the first rank could be played: then none can."""
    return list(statuses.values()) == [requests.REFUSED]


def _shown(count):
    return f"{count} layers" if count else "the model"


def remark(layers, traced):
    """For trace.json; empty where all layers were traced."""
    if traced == layers:
        return ""
    return (f"{traced} of {layers} layers were traced; layers are alike, and the inner ones are to "
            "be repeated.")
