"""The effect of each mechanism on the errors of teams that were left out, all scalars fitted without it; 15 minutes."""

import pathlib
import tempfile

from pages.training import TRUTH, is_headline
from validation import cells, rows_of, run_json, table, write_rows

NEEDS = (TRUTH,)
MECHANISMS = ("power", "host_calls", "graphs", "receives", "user_buffers", "calibration")  # of `orrery validate --without`
ROWS_OF_A_TEAM = 24  # spread evenly: a refit for each mechanism would take too long with all
LEAST_ROWS = 4


def thinned_truth():
    rows = [row for row in rows_of(TRUTH) if is_headline(row)]
    for team in dict.fromkeys(row["team"] for row in rows):
        of_team = [row for row in rows if row["team"] == team]
        count = min(ROWS_OF_A_TEAM, len(of_team))
        yield from (of_team[i * len(of_team) // count] for i in range(count))


def ablations(program):
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(pathlib.Path(folder) / "training.csv", list(thinned_truth()))
        results = {"everything": run_json(program, "validate", path, "--leave-team-out")}
        for mechanism in MECHANISMS:
            results[f"without {mechanism}"] = run_json(program, "validate", path, "--leave-team-out", "--without", mechanism)
    names = [team["team"] for team in results["everything"]["teams"] if team["simulated"] >= LEAST_ROWS]
    teams = {name: {team["team"]: team for team in result["teams"]} for name, result in results.items()}
    return table(" | >" + " | >".join(names), (
        (name, *(cell for team in names for cell in cells(of_team[team], "mape:.2f"))) for name, of_team in teams.items()))


TABLES = {"ablations": ablations}
