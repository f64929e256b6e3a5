"""steps.json, trace.json and memory.csv: times of steps with and without the profiler, and what was traced."""

from tracer import files

UNDER_WAY = "the recording is under way"
_TIMES = ("step_ms", "issue_ms", "alone_ms")


class StepFile:
    """Kept on disk as it grows, so that what was measured before a crash is there."""

    def __init__(self, path):
        self._path = path
        self.without_profiler = {**{name: [] for name in _TIMES}, "gpu_ms": {}}
        self.with_profiler = {"step_ms": []}
        self.warmup_steps = 0
        self.peak_allocated_bytes = 0
        self.peak_reserved_bytes = 0

    def document(self, is_complete, why):
        return {"complete": is_complete, "why": why,
                "without_profiler": self.without_profiler, "with_profiler": self.with_profiler,
                "other_runs": [], "warmup_steps": self.warmup_steps,
                "peak_allocated_bytes": self.peak_allocated_bytes,
                "peak_reserved_bytes": self.peak_reserved_bytes}

    def write(self, is_complete=False, why=UNDER_WAY):
        files.write_json(self._path, self.document(is_complete, why))


def times(path):
    """Returns the times that another run of the same rank adds to `other_runs`."""
    found = files.read_json(path)["without_profiler"]
    return {name: found[name] for name in _TIMES}


def add_run(path, measured):
    """Writes the times of another run into the file of the first."""
    document = files.read_json(path)
    document["other_runs"].append(measured)
    files.write_json(path, document)


FORMAT = "orrery trace"
VERSION = 1


def stands_for(given, world, to_text):
    """[(rank, text)] for ranks of a script: the first stands for all that are not traced."""
    given = sorted(set(given))
    others = [rank for rank in range(world) if rank not in given]
    return [(rank, to_text([rank, *others] if rank == given[0] else [rank])) for rank in given]


def ranks(classes, statuses, recorded):
    """The section `ranks`: those of which there is a recording."""
    return [{"rank": rank, "folder": f"rank-{rank}", "stands_for": text}
            for rank, text in classes if statuses.get(rank) in recorded]


def of_model(description, parameters, traced_layers):
    """The section `model` of a built-in one."""
    return {"source": description.source, "name": description.name, "parameters": parameters,
            "layers": description.layers, "traced_layers": traced_layers,
            "layer_parameters": description.layer_parameters, "config": description.config}


def of_script(path):
    """The section `model` of a script: nothing is known but its name."""
    return {"source": "script", "name": path, "parameters": 0, "layers": 0, "traced_layers": 0,
            "layer_parameters": 0, "config": {}}


def script_plan():
    """The section `plan` of a script: groups are as it made them."""
    return {"kind": "script", "sharding": "none", "microbatches": 1, "schedule": "", "mesh": []}


def document(name, command, facts, world, plan, training, model, rank_list, remarks):
    """The whole file."""
    return {"format": FORMAT, "version": VERSION, "name": name, "command": command,
            "device": facts["device"], "host": facts["host"], "versions": facts["versions"],
            "world": world, "plan": plan, "training": training, "model": model,
            "ranks": rank_list, "remarks": remarks}


_ACTIONS = {"alloc": "alloc", "free_requested": "free"}
MEMORY_HEADER = "time_us,action,bytes,address,stream\n"


def memory_rows(held_bytes, events):
    """Lines of the file; times begin with the first event."""
    yield MEMORY_HEADER
    yield f"0,held,{held_bytes},0,0\n"
    origin = next((one.get("time_us", 0) for one in events), 0)
    for one in events:
        action = _ACTIONS.get(one["action"])
        if action:
            yield (f"{one.get('time_us', origin) - origin},{action},{one['size']},{one['addr']},"
                   f"{one.get('stream', 0)}\n")
