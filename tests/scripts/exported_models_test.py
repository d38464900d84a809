"""benchmarks/exported_models without exporters: its catalogues, what it takes for equal, and its tables."""

import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "exported_models"
sys.path.insert(0, str(FOLDER))
import table  # noqa: E402


def program():
    """`run` as a module."""
    loader = importlib.machinery.SourceFileLoader("exported_models_run", str(FOLDER / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("exported_models_run", loader))
    loader.exec_module(module)
    return module


RUN = program()
MADE = {"exporter": "torch.onnx.export (dynamo)", "opset": 18, "sets": {"ai.onnx": 18}, "nodes": 49,
        "versions": {"torch": "2.15.0"}}


def timed(target, ratio, ms):
    return {"target": target, "ratio": ratio, "median_ms": ms, "noisy": False}


class Catalogues(unittest.TestCase):

    def test_name_folders_and_have_locks(self):
        for name, (environment, model) in RUN.MODELS.items():
            self.assertRegex(name, r"^[A-Za-z0-9_@-]+$")
            self.assertTrue((FOLDER / "locks" / f"{environment}.lock").exists(), environment)
            self.assertTrue(model.title)

    def test_locks_have_what_is_asked_for_by_hash(self):
        for asked in (FOLDER / "locks").glob("*.in"):
            lines = asked.with_suffix(".lock").read_text().splitlines()
            self.assertTrue(lines[0].startswith("# For cpython-"), asked)
            wanted = {line for line in asked.read_text().splitlines() if not line.startswith("#")}
            self.assertEqual(wanted - {line.split()[0] for line in lines}, set(), "lock it again")
            for line in lines[1:]:
                self.assertRegex(line, r"^[a-z0-9._-]+==[^ ]+ --hash=sha256:[0-9a-f]{64}$")

    def test_are_listed_without_packages(self):
        done = subprocess.run([sys.executable, FOLDER / "run", "--list"], capture_output=True, text=True, check=True)
        self.assertEqual(len(done.stdout.splitlines()), len(RUN.MODELS))

    def test_a_lacking_environment_is_said_and_skips_its_models(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, FOLDER / "run", "--models", "sklearn_ridge", "--folder", folder],
                                  capture_output=True, text=True, check=False,
                                  env={"PATH": "/usr/bin:/bin", "MSC_PEERS_DIR": folder})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, "^skipped the models of 'sklearn': .*the environment 'sklearn' is not there")


class Steps(unittest.TestCase):

    def wanted(self, step, results, again=False, retry=False):
        options = type("Options", (), {"again": again, "retry": retry})
        return RUN.wanted(options, step, "resnet18", results, "new")

    def test_only_what_is_missing_or_failed_with_another_program_is_done(self):
        made = {"make": {"nodes": 1}}
        self.assertTrue(self.wanted("make", {}))
        self.assertFalse(self.wanted("check", {}), "there is no model yet")
        self.assertTrue(self.wanted("check", made))
        self.assertFalse(self.wanted("check", {**made, "check": {"apart": 0, "mscgym": "old"}}))
        failed = {**made, "check": {"failed": "why", "mscgym": "old"}}
        self.assertTrue(self.wanted("check", failed))
        failed["check"]["mscgym"] = "new"
        self.assertFalse(self.wanted("check", failed))
        self.assertTrue(self.wanted("check", failed, retry=True))
        self.assertTrue(self.wanted("check", {**made, "check": {"apart": 0}}, again=True))

    def test_only_models_that_are_right_are_timed(self):
        made = {"make": {"nodes": 1}}
        self.assertFalse(self.wanted("time", made))
        self.assertFalse(self.wanted("time", {**made, "check": {"failed": "why"}}))
        self.assertFalse(self.wanted("time", {**made, "check": {"refused": "why"}}))
        self.assertTrue(self.wanted("time", {**made, "check": {"apart": 0}}))

    def test_an_exporter_s_error_is_named_and_not_its_advice(self):
        def said(errors):
            return RUN.message_of(subprocess.CompletedProcess([], 1, "", errors))
        self.assertEqual(said("Traceback:\n  File x\nValueError: no size\n\n(Refer to the trace above.)\n"), "ValueError: no size")
        caused = "torch.GuardOnDataDependentSymNode: no \x1b[96mguard\x1b[0m\n\nThe above was the cause:\n\nx.ExportError: Next steps:\n- try\n"
        self.assertEqual(said(caused), "torch.GuardOnDataDependentSymNode: no guard")
        self.assertEqual(said("mscgym: node 3 is odd\n"), "mscgym: node 3 is odd")
        self.assertEqual(said(""), "ended with 1")


class Tables(unittest.TestCase):

    def test_have_what_is_right_and_say_what_is_not(self):
        results = {
            "good": {"make": MADE, "check": {"apart": 2e-7}, "trip": {"apart": 0.0},
                     "time": {"rows": [timed("(onnxruntime)", 1.0, 8.0), timed("native", 0.5, 4.0), timed("onednn", 0.8, 6.4)]}},
            "bad": {"make": MADE, "check": {"failed": "floats differ by 2e-1 of the range", "apart": 0.2}},
            "refused": {"make": MADE, "check": {"refused": "operator 'X'"}},
            "unmade": {"make": {"failed": "ValueError: no"}},
        }
        models = {name: type("Model", (), {"title": name}) for name in results}
        text = table.render(results, models)
        self.assertIn("| `good`: good | torch.onnx.export (dynamo), set 18 | 49 | 2e-07 | 0e+00 |", text)
        self.assertIn("| `bad`: bad | torch.onnx.export (dynamo), set 18 | 49 | **no** | - |", text)
        self.assertIn("- `bad`, run: floats differ by 2e-1 of the range", text)
        self.assertIn("| refused, as it should be | - |", text)
        self.assertIn("- `unmade`: ValueError: no", text)
        self.assertIn("By torch 2.15.0.", text)
        self.assertIn("| `good` | 8.00 | 4.00 | native | 2.00 |", text)

    def test_sum_up_the_times(self):
        times = {"fast": {"rows": [timed("(onnxruntime)", 1.0, 8.0), timed("native", 0.25, 2.0)]},
                 "slow": {"rows": [timed("(onnxruntime)", 0.81, 6.5), timed("native", 0.9, 7.2)]},
                 "wrong": {"rows": [{"target": "native", "absent": "outputs differ"}]}}
        self.assertIn("Timed: 2 models, 1.90 times as fast in the geometric mean. Slower than ONNX Runtime: `slow` (0.90).",
                      table.summary(times))
        del times["slow"]
        self.assertIn("none", table.summary(times)[-1])
        self.assertEqual(table.summary({"wrong": times["wrong"]}), [])


class Distances(unittest.TestCase):
    """They need NumPy, which the environment `peers` has."""

    def setUp(self):
        done = subprocess.run([FOLDER.parents[1] / "scripts/peers", "python", "peers"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.skipTest(done.stderr.strip())
        self.python = done.stdout.strip()

    def apart(self, wanted, got, *rows):
        """Of outputs that are Python expressions of NumPy."""
        with tempfile.TemporaryDirectory() as folder:
            code = "\n".join(["import numpy as np, os", f"os.makedirs('{folder}/a'); os.makedirs('{folder}/b')"] + [
                f"np.save('{folder}/{side}/output_{i}.npy', np.array({array}))"
                for side, arrays in (("a", wanted), ("b", got)) for i, array in enumerate(arrays)])
            subprocess.run([self.python, "-c", code], check=True)
            done = subprocess.run([self.python, FOLDER / "onnxruntime_side.py", "apart", f"{folder}/a", f"{folder}/b", *rows],
                                  capture_output=True, text=True, check=True)
            return [(entry["kind"], entry["apart"]) for entry in json.loads(done.stdout)]

    def test_are_shares_of_the_range_and_of_whole_numbers(self):
        self.assertEqual(self.apart(["[0.0, 10.0, 4.0]", "[1, 2, 3, 4]"], ["[0.0, 10.0, 5.0]", "[1, 2, 3, 5]"]),
                         [("floats", 0.1), ("whole numbers", 0.25)])

    def test_of_other_sizes_and_of_other_infinities_are_none(self):
        (sizes, none), (infinite, also) = self.apart(["[1.0, 2.0]", "[np.inf, 1.0]"], ["[1.0]", "[-np.inf, 1.0]"])
        self.assertEqual((sizes, none, also), ("sizes [1] instead of [2]", None, None))
        self.assertRegex(infinite, "not finite")

    def test_of_objects_allow_neighbours_in_another_order_alone(self):
        boxes = ["[[0.0, 0], [5, 5], [9, 1]]", "[0.9, 0.8, 0.8]", "[3, 1, 2]"]
        swapped = ["[[0.0, 0], [9, 1], [5, 5]]", "[0.9, 0.8, 0.8]", "[3, 2, 1]"]
        self.assertGreater(self.apart(boxes, swapped)[0][1], 0.1)
        self.assertEqual([by for _, by in self.apart(boxes, swapped, "rows")], [0, 0, 0])
        wrong = ["[[0.0, 0], [9, 1], [5, 5]]", "[0.9, 0.8, 0.8]", "[3, 1, 2]"]
        self.assertGreater(max(by for _, by in self.apart(boxes, wrong, "rows")), 0.1)


if __name__ == "__main__":
    unittest.main()
