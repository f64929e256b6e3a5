#!/usr/bin/env python3
"""Tests of refresh_outputs.py."""

import unittest

import refresh_outputs


class Refreshed(unittest.TestCase):
    PAGE = "before\n```console\n$ one\nold\n$ two\n```\nbetween\n```\n$ three\nkept\n```\n"

    def test_outputs_of_console_blocks_are_replaced_and_others_kept(self):
        made = refresh_outputs.refreshed(self.PAGE, lambda command: [f"output of {command}", "more"])
        self.assertEqual(made, "before\n```console\n$ one\noutput of one\nmore\n$ two\noutput of two\nmore\n```\nbetween\n"
                               "```\n$ three\nkept\n```\n")

    def test_a_second_time_changes_nothing(self):
        run = lambda command: [command.upper()]
        once = refresh_outputs.refreshed(self.PAGE, run)
        self.assertEqual(refresh_outputs.refreshed(once, run), once)

    def test_times_of_runs_do_not_count(self):
        self.assertEqual(refresh_outputs.without_times("9 events in 0.31 s"), refresh_outputs.without_times("9 events in 2 s"))
        self.assertNotEqual(refresh_outputs.without_times("8 events in 2 s"), refresh_outputs.without_times("9 events in 2 s"))


if __name__ == "__main__":
    unittest.main()
