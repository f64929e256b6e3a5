#!/usr/bin/env python3
"""Tests of tools/make_job_keys.py; that it reads the file as a YAML library does is a test of the module workload."""

import unittest

import make_job_keys
from make_job_keys import Key, outputs, parse

FILE = """
# A comment.
keys:
  - key: plan.tp
    type: whole
    least: 1
    meaning: "tensor: parallelism"
    search: {place: 1}
  - key: plan.context
    type: word
    of: ContextKind
    words:
      ring: {is: kRing, megatron: [p2p, "p, q"]}
      all: kAll
    meaning: how attention is divided
megatron:
  tensor-model-parallel-size: plan.tp
  cp-comm-type: plan.context
  gather: {plan.context: all}
  swiglu: {set: MegatronState::swiglu}
ignored_switches: [mock-data]
ignored_values: [lr, seed]
nemo:
  - {option: tensor-model-parallel-size, key: trainer.tp, absent: "1"}
"""


class MakeJobKeysTest(unittest.TestCase):
    def test_mappings_lists_and_flow_collections_are_read(self):
        read = parse(FILE)
        self.assertEqual(read["keys"][0]["meaning"], "tensor: parallelism")
        self.assertEqual(read["keys"][1]["words"], {"ring": {"is": "kRing", "megatron": ["p2p", "p, q"]}, "all": "kAll"})
        self.assertEqual(read["ignored_values"], ["lr", "seed"])
        self.assertEqual(read["nemo"], [{"option": "tensor-model-parallel-size", "key": "trainer.tp", "absent": "1"}])

    def test_lines_that_are_no_pair_are_refused(self):
        for text in ("a", "a: 1\na: 2", "a:\n    b: 1\n  c: 2"):
            with self.assertRaises(ValueError):
                parse(text)

    def test_unknown_fields_and_keys_without_meaning_are_refused(self):
        for entry in ({"key": "plan.tp", "type": "whole"}, {"key": "plan.tp", "type": "whole", "meaning": "m", "leats": "1"}):
            with self.assertRaises(ValueError):
                Key(entry)

    def test_options_set_members_of_keys(self):
        options = outputs(parse(FILE))["megatron_options.inc"]
        self.assertIn('{"tensor-model-parallel-size", true, Read<&Plan::tp>}', options)
        self.assertIn('{"cp-comm-type", true, Choose<&Plan::context, kMegatronContextKindWords>}', options)
        self.assertIn('{"gather", false, Set<&Plan::context, ContextKind::kAll>}', options)
        self.assertIn('{"swiglu", false, Set<&MegatronState::swiglu>, false}', options)

    def test_names_in_tools_follow_from_options(self):
        table = outputs(parse(FILE))["job_key_table.h"]
        self.assertIn('.megatron = "--tensor-model-parallel-size"', table)
        self.assertIn('.nemo = "trainer.tp"', table)

    def test_needs_of_a_search_are_known(self):
        with self.assertRaises(ValueError):
            outputs(parse(FILE.replace("{place: 1}", "{place: 1, needs: nothing}")))
        self.assertIn("tp", make_job_keys.NEEDS)


if __name__ == "__main__":
    unittest.main()
