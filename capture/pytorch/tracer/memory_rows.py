"""Events of PyTorch's caching allocator as rows of memory.csv."""

_ACTIONS = {"alloc": "alloc", "free_requested": "free"}
HEADER = "time_us,action,bytes,address,stream\n"


def rows(held_bytes, events):
    """Lines of the file; times begin with the first event."""
    yield HEADER
    yield f"0,held,{held_bytes},0,0\n"
    origin = next((one.get("time_us", 0) for one in events), 0)
    for one in events:
        action = _ACTIONS.get(one["action"])
        if action:
            yield (f"{one.get('time_us', origin) - origin},{action},{one['size']},{one['addr']},"
                   f"{one.get('stream', 0)}\n")
