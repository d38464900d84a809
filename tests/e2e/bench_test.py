"""mscgym bench: a row a target and precision, and a reason where there are no figures."""

import json
import math
import os
import random
import unittest

import e2e

MODEL = os.path.join(e2e.ROOT, "experiments", "models", "fashion_resnet.onnx")


class Bench(e2e.SearchTest):

    def bench(self, *arguments):
        return self.mscgym("bench", MODEL, "--max-ms", "30", *arguments)

    def test_rows_of_targets_and_precisions(self):
        done = self.bench("--targets", "reference,warp,reference:threads=1", "--precision",
                          "f32,int8", "--json", "--profile")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("smallest and largest values over random inputs", done.stderr)
        answer = json.loads(done.stdout)
        rows = {(row["target"], row["variant"]): row for row in answer["rows"]}
        self.assertEqual(len(rows), 6)
        for variant in ("f32", "int8"):
            self.assertIn("unknown target 'warp'", rows["warp", variant]["absent"])
            for target in ("reference", "reference:threads=1"):
                row = rows[target, variant]
                self.assertGreater(row["median_ms"], 0)
                self.assertLessEqual(row["ratio_low"], row["ratio_high"])
                self.assertGreater(row["gflops"], 0)
                self.assertGreater(row["roof_share"], 0)
                self.assertGreater(row["arena_bytes"], 0)
                self.assertLessEqual(row["conversions"], row["steps"])
                self.assertEqual(row["conversions"] > 0, row["conversion_bytes"] > 0)
                self.assertEqual(len(row["profile"]), row["steps"])
                self.assertEqual(row["steps_elsewhere"], 0)
        self.assertEqual(rows["reference", "f32"]["max_error"], 0)
        self.assertIsNone(rows["reference", "f32"]["f32_error"])
        self.assertEqual(rows["reference", "int8"]["max_error"], 0)
        self.assertGreater(rows["reference", "int8"]["f32_error"], 0)
        self.assertEqual(set(answer["roof"]), {"f32", "bf16", "int8", "copy_bytes_per_second"})
        self.assertEqual(answer["versions"]["reference"], "1")

    def test_strategies_are_timed_against_each_other(self):
        plans = []
        for precision in ("f32", "bf16"):
            plan = self.at(precision)
            self.succeed("partition", MODEL, "--cache", self.at("costs"), "--max-ms", "30", "--rounds",
                         "0", "--targets", "reference", "--out", plan, "--precision", precision)
            plans += ["--strategy", os.path.join(plan, "strategy.json")]
        done = self.bench("--targets", "reference", "--precision", "none", *plans, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([row["variant"] for row in rows], ["strategy", "strategy 2"])
        self.assertLessEqual(rows[1]["ratio_low"], rows[1]["ratio_high"])

    def test_without_a_precision_it_asks_for_a_strategy(self):
        done = self.bench("--targets", "reference", "--precision", "none")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--strategy", done.stderr)

    def test_the_table_says_why_a_row_is_absent(self):
        done = self.bench("--targets", "reference,reference:beads=bone", "--profile", "--peer")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("reference:beads=bone f32    absent: unknown key 'reference.beads'",
                      done.stdout)
        self.assertRegex(done.stdout, r"reference f32 +\d+\.\d+ +\d")
        self.assertIn("(onnxruntime) f32", done.stdout)

    def test_targets_are_compared_part_by_part(self):
        done = self.bench("--targets", "reference,reference:threads=1", "--profile")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Each part on its fastest target.*: [\d.]+ \(\d+\.\d\dx\)")

    def test_parts_say_what_they_are_for_scripts(self):
        done = self.bench("--targets", "reference,reference:threads=1", "--profile", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = json.loads(done.stdout)["parts"]["f32"]["parts"]
        kinds = {part["kind"] for part in parts}
        self.assertLessEqual({"convolution", "pool", "elementwise"}, kinds)
        for part in parts:
            self.assertEqual(set(part["us"]), {"reference", "reference:threads=1"})
            self.assertTrue(all(us > 0 for us in part["us"].values()), part)

    def images(self, *shape):
        source = random.Random(1)
        values = [source.random() for _ in range(math.prod(shape))]
        with open(self.at("images.npy"), "wb") as file:
            file.write(e2e.npy("<f4", "f", shape, values))
        return self.at("images.npy")

    def test_given_samples_are_timed_and_calibrate(self):
        common = ("--targets", "reference", "--batch", "2", "--precision", "f32,int8", "--json")
        done = self.bench(*common, "--input", self.images(8, 1, 28, 28))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("smallest and largest values over the given samples", done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["batch"], 2)
        self.assertTrue(all(row["median_ms"] > 0 for row in answer["rows"]))
        others = json.loads(self.bench(*common).stdout)
        self.assertNotEqual(answer["rows"][1]["f32_error"], others["rows"][1]["f32_error"])

    def test_samples_of_another_model(self):
        images = self.images(1, 3, 28, 28)
        done = self.bench("--targets", "reference", "--input", images)
        self.assertEqual(done.returncode, 2)
        self.assertIn("images.npy' holds f32[1,3,28,28]; the model needs f32[1,1,28,28]",
                      done.stderr)
        done = self.bench("--targets", "reference", "--input", images, images)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--input names 2 files; inputs of the model: 1", done.stderr)

    def test_no_row_at_all_is_a_failure(self):
        done = self.bench("--targets", "warp")
        self.assertEqual(done.returncode, 1)
        self.assertIn("absent: unknown target 'warp'", done.stdout)

    def test_more_threads_than_cores(self):
        done = self.bench("--threads", "1000")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--threads is more than the", done.stderr)


if __name__ == "__main__":
    e2e.main()
