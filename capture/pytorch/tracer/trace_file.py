"""trace.json: what was traced, from what the processes of the ranks reported."""

FORMAT = "orrery trace"
VERSION = 1


def stands_for(given, world, to_text):
    """[(rank, text)] for ranks of a script: the first stands for all that are not played."""
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
