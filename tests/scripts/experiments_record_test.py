"""experiments/record: what a strategy does, in words."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "record"
sys.dont_write_bytecode = True


def load():
    loader = importlib.machinery.SourceFileLoader("record", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("record", loader))
    loader.exec_module(module)
    return module


def strategy(**parts):
    return {"target": "native", "quantize": {"layers": {}}, "prune": {"groups": {}}, "partition": [],
            "schedules": {}, **parts}


class Contents(unittest.TestCase):

    def test_says_who_runs_how_many_nodes(self):
        regions = [{"target": "onednn", "nodes": ["a"]}, {"target": "native", "nodes": ["b", "c"]},
                   {"target": "native", "nodes": ["d"]}]
        self.assertEqual(load().contents(strategy(partition=regions), "Partition-v0"),
                         "3 nodes on native, 1 node on onednn")
        self.assertEqual(load().contents(strategy(), "Partition-v0"), "all nodes on native")

    def test_says_how_many_schedules_were_chosen(self):
        self.assertEqual(load().contents(strategy(schedules={"a": {}, "b": {}}), "Schedule-v0"), "2 schedules")
        self.assertEqual(load().contents(strategy(schedules={"a": {}}), "Schedule-v0"), "1 schedule")

    def test_says_all_that_is_done_to_a_model(self):
        self.assertEqual(load().contents(strategy(), "Quantize-v0"), "unchanged model")
        self.assertEqual(load().contents(strategy(
            quantize={"layers": {"a": "int8", "b": "f32", "c": "int8"}},
            prune={"groups": {"g": {"keep": [0], "units": 4}}},
            partition=[{"target": "blas", "nodes": ["a"]}], schedules={"a": {}}), "Compress-v0"),
            "1 f32, 2 int8, 25 % of the channels of 1 groups, 1 node on blas, 1 schedule")


class Partitions(unittest.TestCase):

    def test_names_searches_without_a_plan(self):
        plan = {"name": "native", "also": ["greedy"], "best": True, "regions": 1, "measured_micros": 300.0,
                "ratio": 1.0, "ratio_low": 1.0, "ratio_high": 1.0, "note": ""}
        found = {"machine": "CPU", "plans": [plan], "without_plan": [{"search": "collage", "why": "it is stuck"}]}
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "run.txt").write_text(json.dumps(found) + json.dumps({**found, "without_plan": []}))
            lines = load().partitions(pathlib.Path(folder, "run"))
        self.assertEqual(lines.count("- collage gave no plan: it is stuck"), 1)
        self.assertIn("| native (also greedy), **best** | 1 | 0.300 | 1.000 [1.000, 1.000] |", lines)


if __name__ == "__main__":
    unittest.main()
