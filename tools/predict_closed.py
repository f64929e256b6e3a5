#!/usr/bin/env python3
"""Predicts the closed part of the held-out models, once.

    tools/predict_closed.py [--program build/orrery]

Writes data/held_out_models/closed/predicted.csv: what the program says about each model from its execution trace and from its recording, before
an error was looked at; refuses to do so again. Then prints predicted against measured steps. The files can afterwards be moved
to data/held_out_models/h200, steps-*.csv and predicted.csv (to predicted-before.csv) being appended there.
"""

import csv
import sys

import validation
from pages.held_out_models import FILES, GRAPH, HEADS, RECORDING, SUMMARY, LIMITS, predict, step_row, steps_of, summary_row

CLOSED = validation.ROOT / "data" / "held_out_models" / "closed"
PREDICTED = CLOSED / "predicted.csv"


COLUMNS = ("model", "execution_trace_ms", "execution_trace_active_ms", "unmodelled_share", "recording_ms", "recording_active_ms")


def milliseconds(made, key):
    return "" if isinstance(made, str) else round(made[key] * 1e3, 4)


def main():
    options = validation.parser(__doc__.splitlines()[0]).parse_args()
    if PREDICTED.exists():
        sys.exit(f"predict_closed: {PREDICTED} is there: these models are no test any more")
    steps = steps_of(CLOSED)
    made = {name: {way: predict(options.program, next(CLOSED.glob(f"{name}.{kind}.*")), []) for way, kind in FILES.items()}
            for name in steps}
    with open(PREDICTED, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(COLUMNS)
        for name, ways in made.items():
            share = "" if isinstance(ways[GRAPH], str) else round(ways[GRAPH]["unmodelled_share"], 4)
            writer.writerow((name, milliseconds(ways[GRAPH], "step_time_s"), milliseconds(ways[GRAPH], "active_time_s"), share,
                             milliseconds(ways[RECORDING], "step_time_s"), milliseconds(ways[RECORDING], "active_time_s")))
    for line in validation.table(HEADS, (step_row(name, steps[name], ways) for name, ways in made.items())):
        print(line)
    for line in validation.table(SUMMARY, (summary_row(way, [(steps[name], made[name][way]) for name in steps]) for way in LIMITS)):
        print(line)


if __name__ == "__main__":
    main()
