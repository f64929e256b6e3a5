"""How often a configuration is called: slow operators less often, so that a run covers more."""


def _between(low, value, high):
    return max(low, min(high, int(value)))


def event_repeats(op_us):
    return _between(2, 14e3 / max(op_us, 1.0), 3)


def cold_repeats(op_us):
    return _between(2, 14e3 / max(op_us, 1.0), 5)


def warm_repeats(op_us):
    return _between(1, 8e3 / max(op_us, 1.0), 3)
