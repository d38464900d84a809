"""experiments/real: parts of samples share none, limits, what a stopped run goes on with, tables of made-up results."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "real"
sys.dont_write_bytecode = True
sys.path.insert(0, str(FOLDER))
import contenders  # noqa: E402
import results  # noqa: E402
import summary  # noqa: E402
import tasks  # noqa: E402
from results import Key  # noqa: E402

try:
    import numpy as np
    import data
except ImportError:
    data = None


def result(value, ratio, **more):
    return {"value": value, "ratio": [ratio, ratio * 0.98, ratio * 1.02], "seconds": 1, **more}


@unittest.skipIf(data is None, "NumPy is absent")
class Data(unittest.TestCase):

    def test_a_sample_is_in_one_part(self):
        rng = np.random.default_rng(0)
        drawn = rng.normal(size=(9, 2, 3))
        parts = {"calibration": drawn[:2], "search": drawn[2:5], "heldout": drawn[5:]}
        data.check_disjoint(parts)
        parts["heldout"] = drawn[4:]
        with self.assertRaisesRegex(ValueError, "'heldout' is also one of 'search'"):
            data.check_disjoint(parts)

    def test_samples_of_several_inputs_are_compared_as_a_whole(self):
        ids, state = np.arange(8).reshape(4, 2), np.zeros((1, 4))
        data.check_disjoint({"search": {"ids": ids[:2], "mask": ids[:2] * 0, "state": state},
                             "heldout": {"ids": ids[2:], "mask": ids[2:] * 0, "state": state}})
        with self.assertRaises(ValueError):
            data.check_disjoint({"search": {"ids": ids, "state": state}, "heldout": {"ids": ids[:2], "state": state}})

    def test_beginning_and_end_of_a_file(self):
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "file"
            path.write_bytes(b"  \nab" + b"c" * 5000 + b"yz \n")
            row = data.file_bytes(path)
            self.assertEqual((bytes(row[:3].tolist()), bytes(row[-2:].tolist())), (b"abc", b"yz"))
            path.write_bytes(b" short ")
            row = data.file_bytes(path)
            self.assertEqual(row[[0, 5, 6, 1023, 1024]].tolist(), [ord("s"), ord(" "), 256, 256, 256])
            self.assertEqual(row[-6:].tolist(), list(b" short"))


class Limits(unittest.TestCase):

    def test_in_the_direction_of_the_metric(self):
        self.assertTrue(tasks.keeps("ppocr_rec", 99.5, "strict"))
        self.assertFalse(tasks.keeps("ppocr_rec", 99.49, "strict"))
        self.assertTrue(tasks.keeps("fashion_vgg", 0.1 + 1e-12, "strict"))
        self.assertTrue(tasks.keeps("fashion_vgg", -0.4, "strict"))
        self.assertFalse(tasks.keeps("fr_pose", 1.01, "middle"))
        self.assertTrue(tasks.keeps("fr_pose", 1.01, "loose"))

    def test_what_a_search_may_lose(self):
        self.assertEqual(tasks.most_lost("ppocr_rec", "strict"), 0.5)
        self.assertEqual(tasks.most_lost("fr_feature", "middle"), 0.01)
        self.assertEqual(tasks.most_lost("fashion_resnet", "loose"), 1)

    def test_of_metrics_of_truth(self):
        self.assertAlmostEqual(tasks.value_of("fashion_vgg", {"accuracy": 0.92, "reference accuracy": 0.93}), 1)
        self.assertEqual(tasks.value_of("encoder", {"cosine": 0.99, "Spearman": 0.98}), 0.98)
        self.assertEqual(tasks.value_of("magika", {"same class": 0.5}), 50)

    def test_every_task_has_looser_limits_to_the_right(self):
        for name, task in tasks.TASKS.items():
            lost = [tasks.most_lost(name, limit) for limit in tasks.LIMITS]
            self.assertEqual(lost, sorted(lost), name)
            self.assertIn(task.metric, tasks.METRICS)
            self.assertIn(name, tasks.networks.NETWORKS)


class Resume(unittest.TestCase):

    def test_only_what_is_missing_is_made(self):
        keys = results.plan(["magika"], ["strict", "loose"], [1, 2], contenders.CONTENDERS)
        self.assertEqual(len(keys), len(set(keys)))
        per_limit = [contender for contender in contenders.CONTENDERS if contender.scope == "limit"]
        whole = [contender for contender in contenders.CONTENDERS if contender.scope == "any"]
        self.assertEqual(len(keys), len(whole) + 2 * (len(per_limit) + 2))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(results.missing(keys, folder), keys)
            results.write(folder, keys[0], result(100, 1))
            results.write(folder, keys[-1], {"failed": "nothing keeps the limit"})
            half_written = keys[1].file(folder).with_suffix(".new")
            half_written.write_text('{"task"')
            self.assertEqual(results.missing(keys, folder), keys[1:-1])
            self.assertEqual(results.missing(keys, folder, retry=True), keys[1:])
            self.assertEqual(results.read(folder)[keys[0]]["value"], 100)


class Summary(unittest.TestCase):

    def found(self):
        found = {
            Key("magika", "any", "f32"): result(100, 1),
            Key("magika", "any", "int8"): result(99.6, 0.5, data="a"),
            Key("magika", "any", "density50_int8"): result(90, 0.2, data="b"),  # keeps no limit
            Key("magika", "any", "ort_f32"): result(100, 1.2),
            Key("magika", "any", "ort_int8"): result(50, 0.1),
            Key("magika", "any", "bf16"): {"failed": "this CPU has no bf16 instructions"},
            Key("magika", "middle", "bisection"): result(99.5, 0.6),
        }
        for seed, (value, ratio) in enumerate([(99.7, 0.4), (99.5, 0.3), (99.4, 0.1)], 1):
            found[Key("magika", "middle", "optimize", seed)] = result(value, ratio)
        return found

    def test_a_seed_that_misses_the_limit_counts_as_f32(self):
        found = self.found()
        middle, kept, of = summary.searched(found, "magika", "middle")
        self.assertEqual((middle["ratio"][0], kept, of), (0.4, 2, 3))
        found[Key("magika", "middle", "optimize", 1)] = {"failed": "nothing keeps the limit"}
        self.assertEqual(summary.searched(found, "magika", "middle")[0], summary.F32)
        self.assertIsNone(summary.searched(found, "magika", "loose"))

    def test_the_best_baseline_keeps_the_limit(self):
        found = self.found()
        self.assertEqual(summary.best(found, "magika", "middle", "baseline")[0].contender, "int8")
        self.assertEqual(summary.best(found, "magika", "strict", "baseline")[0].contender, "f32")
        self.assertEqual(summary.best(found, "magika", "strict", "peer")[0].contender, "ort_f32")

    def test_tables_say_what_is_missed(self):
        page = summary.render(self.found(), ["middle"])
        self.assertIn("| file types (Magika) | 99.50 % | int8, 2.00 [1.96, 2.04] | 2.50 [2.45, 2.55], 99.70 % | "
                      "2 of 3 | 1.25 [1.22, 1.29] | 3.00 [2.92, 3.09] (ONNX Runtime f32) |", page)
        self.assertIn("to the best baseline: 1.25x over 1 task, goal 1.15x: **reached**", page)
        self.assertIn("to the better of ONNX Runtime's: 3.00x over 1 task, goal 2.5x: **reached**", page)
        self.assertIn("**preliminary**: not all contenders are measured of fashion_resnet", page)
        self.assertIn("results differ in `data`: a, b", page)
        found = self.found()
        found[Key("magika", "any", "ort_f32")] = result(100, 0.45)
        page = summary.render(found, ["middle"])
        self.assertIn("goal 2.5x: **MISSED**", page)
        self.assertIn("**MISSED** by file types (Magika) 1.12x", page)

    def test_intervals_of_products(self):
        wide = contenders.product([2, 1, 4], [1, 1, 1])
        self.assertEqual([round(number, 6) for number in wide], [2, 1, 4])
        self.assertEqual(contenders.inverse([2, 1, 4]), [0.5, 0.25, 1])

    def test_run_lists_and_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            for key, found in self.found().items():
                results.write(pathlib.Path(folder) / "results", key, found)

            def said(*words):
                done = subprocess.run([sys.executable, FOLDER / "run", "--folder", folder, *words], capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                return done.stdout

            listed = said("--list", "--tasks", "magika", "--limits", "middle")
            self.assertIn("missing: magika, any, density75\n", listed)
            self.assertNotIn("optimize", listed)
            self.assertIn("### Limit: strict", said("summary"))
            bad = subprocess.run([sys.executable, FOLDER / "run", "--tasks", "mnist"], capture_output=True, text=True,
                                 check=False)
            self.assertEqual(bad.returncode, 2)
            self.assertIn("unknown 'mnist'", bad.stderr)


if __name__ == "__main__":
    unittest.main()
