#!/usr/bin/env python3
"""Prints the constants of the host that fit the fitted half of Megatron-LM's functional tests best: tools/fit_module_calls.py [--program build/orrery].

They are module_calls and step_calls of data/workload/frameworks.yaml and host_ratio of data/hardware/clusters.yaml; tools/pages/megatron_golden.py says which half
is fitted. Needs ../shared; half a minute.
"""

import json
import math
import statistics

import validation
from pages import megatron_golden as golden


def parts_of(program, rows):
    """{id: (measured seconds, predicted without calls, seconds of one module call, of one call between steps)}

    Steps that the host decides grow evenly with its calls, so that three predictions of each row tell all others.
    """
    none, many, step = (golden.predicted(program, f"module_calls={modules}", f"step_calls={steps}") for modules, steps in ((0, 0), (10, 0), (0, 2000)))
    parts = {}
    for one in (row["id"] for row in rows if row["id"] in none):
        fixed = none[one]["predicted_s"]
        parts[one] = (none[one]["measured_s"], fixed, (many[one]["predicted_s"] - fixed) / 10, (step[one]["predicted_s"] - fixed) / 2000)
    return parts


def main():
    program = validation.parser(__doc__.splitlines()[0]).parse_args().program
    rows = [row for row in golden.rows_in(0) if golden.is_timed(row)]
    catalogue = (validation.ROOT / "data" / "hardware" / "clusters.yaml").read_text(encoding="utf-8")
    shipped = float(catalogue.split("name: DGX A100\n", 1)[1].split("host_ratio: ", 1)[1].split()[0])
    parts = parts_of(program, rows)

    def error(modules, steps, ratio):
        """The mean |logarithm| of predicted over measured of configurations, each of which counts once: their tests differ little."""
        sizes = {}
        for row in (row for row in rows if row["id"] in parts):
            measured, fixed, module, between = parts[row["id"]]
            factor = ratio / shipped if golden.gpu_of(row) == "A100" else 1
            size = abs(math.log((fixed + factor * (modules * module + steps * between)) / measured))
            sizes.setdefault(golden.configuration_of(row), []).append(size)
        return statistics.fmean(statistics.fmean(found) for found in sizes.values())

    best = min((error(modules, 100 * steps, ratio / 20), modules, 100 * steps, ratio / 20)
               for modules in range(4, 17) for steps in range(0, 42, 2) for ratio in range(18, 36))
    print(json.dumps({"mean_log_error": round(best[0], 4), "module_calls": best[1], "step_calls": best[2], "host_ratio of DGX A100": best[3], "rows": len(parts)}))


if __name__ == "__main__":
    main()
