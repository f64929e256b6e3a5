#!/usr/bin/env python3
"""Tests of tools/scoreboard.py: baselines, groups and targets."""

import pathlib
import tempfile
import unittest

import scoreboard


def row(team, measured, flops, predicted=1.0, gpu="H100", stack=None, low=0.9):
    return {"id": f"{team}-{measured}", "team": team, "stack": stack or team, "gpu": gpu, "gpus": "8", "measured_s": str(measured), "predicted_s": str(predicted),
            "low_s": str(low), "high_s": "1.2", "model_flops": str(flops), "peak_flops": "100", "roofline_s": "0.5", "analytic_s": "0.8"}


class ScoreboardTest(unittest.TestCase):
    def test_a_stack_is_judged_by_the_median_mfu_of_the_others(self):
        # MFU: a 0.5; b 0.4, 0.2 and 0.3; c 0.6: medians 0.5, 0.3 and 0.6.
        rows = [row("a", 1, 50), row("b", 1, 40), row("b", 2, 40), row("b", 3, 90), row("c", 1, 60)]
        self.assertAlmostEqual(scoreboard.median_mfu(rows)["a"], 0.45)
        self.assertAlmostEqual(scoreboard.median_mfu(rows)["b"], 0.55)
        run = scoreboard.runs_of(rows, rows)[0]
        self.assertAlmostEqual(run["mfu"], 50 / 100 / 0.45)

    def test_columns_do_not_mix_left_out_and_fitted(self):
        rows = [row("a", 1, 50, 1.2), row("b", 1, 50, 1.2)]
        fitted = [row("a", 1, 50, 1.1), row("b", 1, 50, 1.1)]
        runs = scoreboard.runs_of(rows, fitted)
        self.assertAlmostEqual(scoreboard.mape(runs, "left_out"), 20)
        self.assertAlmostEqual(scoreboard.mape(runs, "fitted"), 10)
        self.assertAlmostEqual(scoreboard.coverage(runs), 100)

    def test_targets_count_stacks_with_many_runs(self):
        def verdict(error, outside=4):
            # Measured is 1: an interval from 1.05 does not have it.
            rows = [row("a", 1 + n / 1e6, 50, 1 + error, low=1.05 if n < outside else 0.9) for n in range(20)] + [row("b", 1, 50, 3)]
            return scoreboard.targets(scoreboard.runs_of(rows, rows))
        self.assertTrue(verdict(0.08)[1])
        self.assertFalse(verdict(0.10)[1])  # the mean
        sentences, is_met = verdict(0.2)
        self.assertFalse(is_met)
        self.assertIn("above: a 20.0 %, missed", sentences[0])
        self.assertTrue(verdict(0.08)[1])
        self.assertIn("missed", verdict(0.08, outside=0)[0][2])  # 100 % of an 80 % interval are too many
        self.assertIn("outside: a 50 %, missed", verdict(0.08, outside=10)[0][3])

    def test_teams_of_a_stack_are_folded(self):
        rows = [row("a", 1, 50, stack="one"), row("b", 2, 50, stack="one"), row("c", 1, 50)]
        runs = scoreboard.runs_of(rows, rows)
        self.assertEqual([(stack, len(found)) for stack, found in scoreboard.groups_of(runs, "stack")], [("one", 2), ("c", 1)])
        self.assertEqual([(stack, [team for team, _ in teams]) for stack, teams in scoreboard.shared_stacks(runs)], [("one", ["a", "b"])])
        self.assertIn("<summary>Teams that run the stack one</summary>", scoreboard.markdown(runs, []))

    def test_tables_of_other_pages_are_part_of_both_forms(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "held-out-models.md"
            path.write_text("<!-- steps, made by x -->\n| a |\n<!-- end -->\n<!-- summary, made by x -->\n| mean |\n|---|\n| 8 < 9 |\n<!-- end -->\n")
            others = list(scoreboard.other_tables(pathlib.Path(folder)))
        self.assertEqual(others, [("Models on one GPU", "held-out-models", ["| mean |", "|---|", "| 8 < 9 |"])])
        self.assertIn("## Models on one GPU", list(scoreboard.markdown_others(others)))
        self.assertIn("<table><tr><th>mean</th></tr><tr><td>8 &lt; 9</td></tr></table>", "".join(scoreboard.html_others(others)))

    def test_tables_of_other_pages_exist(self):
        folder = scoreboard.validation.ROOT / "docs" / "validation"
        self.assertEqual([title for title, _, _ in scoreboard.other_tables(folder)], [title for title, _, _ in scoreboard.OTHERS])


if __name__ == "__main__":
    unittest.main()
