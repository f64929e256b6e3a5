#!/usr/bin/env python3
"""Lists the keys in the `detail` of each metric, as the table of docs/formats/answers/analyze.md.

Runs `orrery analyze --json` on each given run and merges the results:

    python3 tools/list_detail_keys.py build/orrery RUN...

`[]` stands for the rows of a list, `<name>` for names that come from the run.
"""
import json
import subprocess
import sys

# Objects whose fields are named after something in the run.
NAMED_BY_THE_RUN = {"busy_s", "delay_us_by_call", "kinds", "per_kind", "ridge_flops_per_byte"}


def collect(value, path, found):
    """Adds the paths of all values inside `value` to the ordered set `found`."""
    if isinstance(value, dict):
        name = path.rsplit(".", 1)[-1]
        for key, inner in value.items():
            shown = "<name>" if name in NAMED_BY_THE_RUN else key
            collect(inner, f"{path}.{shown}" if path else shown, found)
    elif isinstance(value, list):
        collect_list(value, path + "[]", found)
    else:
        found.setdefault(path)


def collect_list(items, path, found):
    if not any(isinstance(item, (dict, list)) for item in items):
        found.setdefault(path)
    for item in items:
        if isinstance(item, (dict, list)):
            collect(item, path, found)


def grouped(paths):
    """Joins fields of one object: `per_rank[]`: rank, device, value."""
    groups = {}
    for path in paths:
        parent, _, key = path.rpartition(".")
        groups.setdefault(parent, []).append(key)
    return [f"`{parent}`: {', '.join(keys)}" if parent else ", ".join(f"`{key}`" for key in keys)
            for parent, keys in groups.items()]


def main(program, runs):
    found = {}
    for run in runs:
        result = subprocess.run([program, "analyze", "--json", run], capture_output=True, text=True)
        if result.returncode not in (0, 3):
            sys.exit(result.stderr)
        for name, metric in json.loads(result.stdout)["metrics"].items():
            paths = found.setdefault(name, {})
            if metric["status"] == "ok":
                collect(metric["detail"], "", paths)
    print("| metric | detail |\n|---|---|")
    for name, paths in found.items():
        print(f"| `{name}` | {'; '.join(grouped(paths)) or '(none of these runs has it)'} |")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
