#!/usr/bin/env python3
"""Fails where steps or peaks of memory of the held-out half of Megatron-LM's functional tests got worse than golden_targets.json beside this file says.

    tests/left_out/check_megatron_golden.py --program build/orrery --shared ../shared [--update]

golden_targets.json has the mean |error| of steps and peaks and the largest error of peaks in percent, and the rows that are said not to fit, as they were when
`--update` last wrote it. tools/pages/megatron_golden.py says which half is held out. Ends with 77 without ../shared.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from pages import megatron_golden as golden  # noqa: E402

MARGIN = 0.3  # points
TARGETS = pathlib.Path(__file__).parent / "golden_targets.json"


def evaluated(program):
    times, peaks = (of(golden.rows_in(1), golden.predicted(program)) for of in (golden.time_errors, golden.memory_errors))
    return {"step_rows": len(times), "step_mean": golden.mean_size(times), "peak_rows": len(peaks), "peak_mean": golden.mean_size(peaks),
            "peak_largest": max(map(abs, peaks)), "out_of_memory": len(golden.whole(program)["out_of_memory"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--shared", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write what is found as the new targets")
    options = parser.parse_args()
    golden.TRUTH = options.shared / "truth" / "megatron_golden.csv.gz"
    if not golden.TRUTH.exists():
        print(f"skipped: {golden.TRUTH} is not there")
        return 77
    found = evaluated(options.program)
    if options.update:
        TARGETS.write_text(json.dumps({name: round(value, 1) for name, value in found.items()}, indent=2) + "\n", encoding="utf-8")
    failed = False
    for name, target in json.loads(TARGETS.read_text(encoding="utf-8")).items():
        worse = found[name] < target if name.endswith("_rows") else found[name] > target + MARGIN
        failed = failed or worse
        print(f"{name}: {found[name]:.2f} (target {target}){': worse' if worse else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
