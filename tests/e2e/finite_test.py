"""Outputs that are not finite where the uncompressed model's are: each command says which operator, and
ends with 1. What bench makes of outputs that are hard to compare."""

import csv
import json
import os
import random

import e2e
from onnx_bytes import field, model, node, value, weights

MADE = ("output 'y' is not finite (%d of %d values); the first result that is not is that of "
        "Div 'Div', on every target")


def two_layers(end, dims=("n", 4), out=("n", 4), columns=4):
    """`end` are nodes that read a and d, what both layers make of x."""
    source = random.Random(1)
    return model(node("MatMul", ["x", "v"], "a", name="above") +
                 node("MatMul", ["x", "w"], "d", name="below") + end + field(2, "two_layers") +
                 weights("v", [dims[-1], columns], source) +
                 weights("w", [dims[-1], columns], source) +
                 field(11, value("x", 1, list(dims))) + field(12, value("y", 1, list(out))))


class Finite(e2e.ProgramTest):
    def samples(self, name, count, size):
        source = random.Random(2)
        values = [source.gauss(0, size) for _ in range(4 * count)]
        return self.write(name, e2e.npy("<f4", "f", [count, 4], values))

    def quantized(self, *arguments):
        """a / d, whose d is 0 in int8: it is calibrated on far larger samples than it is tested on."""
        self.ratio = self.write("ratio.onnx", two_layers(node("Div", ["a", "d"], "y")))
        self.one = self.samples("one.npy", 1, 1)
        return self.mscgym(1, "quantize", self.ratio, "--keep-f32", "none", "--target", "reference", "--format", "npy",
                           "--calibration", self.samples("large.npy", 64, 1e6), "--samples",
                           "64", "--test", self.samples("small.npy", 8, 1), "--save-plan", self.at("plan.json"),
                           *arguments)

    def test_quantize_says_which_operator_and_writes_its_plan(self):
        done = self.quantized("--json")
        report = json.loads(done.stdout)
        self.assertIn(MADE % (32, 32), done.stderr)
        self.assertIn(MADE % (32, 32), report["not_finite"])
        self.assertNotIn("quality", report)
        self.assertTrue(os.path.exists(self.at("plan.json")))

    def test_sensitivity_goes_on_past_a_layer_that_fails(self):
        done = self.quantized("--json", "--sensitivity", self.at("rows.csv"), "--page",
                              self.at("page.html"))
        rows = {row["layer"]: row for row in json.loads(done.stdout)["sensitivity"]["layers"]}
        self.assertEqual(list(rows), ["above", "below"])
        # 0 / d is a number, a / 0 is none.
        failure = {"failure": "output 'y' is not finite"}
        self.assertGreater(e2e.loss(rows["above"]["alone"], "relative_error"), 0)
        self.assertEqual(rows["above"]["without"], failure)
        self.assertEqual(rows["below"]["alone"], failure)
        self.assertGreater(e2e.loss(rows["below"]["without"], "relative_error"), 0)
        with open(self.at("rows.csv"), encoding="utf-8", newline="") as file:
            table = {row["layer"]: row for row in csv.DictReader(file)}
        self.assertEqual(table["below"]["alone_distill_loss"], "")
        self.assertEqual(table["below"]["alone_failure"], "output 'y' is not finite")
        self.assertEqual(table["above"]["alone_failure"], "")
        self.assertGreater(float(table["above"]["alone_relative_error"]), 0)
        self.assertIn("is not finite", e2e.read(self.at("page.html")).decode())
        # And the table for people.
        shown = self.quantized("--sensitivity", self.at("rows.csv")).stdout
        self.assertIn("below, alone: output 'y' is not finite", shown)

    def test_compile_and_run_say_which_operator(self):
        self.quantized()
        plan = ["--strategy", self.at("plan.json")]
        artefact = self.at("artefact")
        done = self.mscgym(1, "compile", self.ratio, *plan, "--out", artefact)
        self.assertIn(MADE % (4, 4) + ". The uncompressed model's is finite there", done.stderr)
        done = self.mscgym(1, "run", self.ratio, *plan, "--input", self.one, "--out",
                           self.at("outputs"))
        self.assertIn(MADE % (4, 4) + ". The uncompressed model's is finite there", done.stderr)
        self.assertIn("output 0: f32[1,4]", done.stdout)
        self.assertTrue(os.path.exists(self.at("outputs/output_0.npy")))
        done = self.mscgym(1, "run", artefact, "--input", self.one)
        self.assertIn(MADE % (4, 4) + ". An artefact does not hold the uncompressed model",
                      done.stderr)
        self.assertEqual(self.mscgym(0, "run", self.ratio, "--input", self.one).stderr, "")
        self.mscgym(0, "compile", self.ratio, "--target", "reference", "--out", self.at("f32"))
        self.mscgym(0, "run", self.at("f32"), "--input", self.one)

    def test_bench_says_which_operator(self):
        self.quantized()
        done = self.mscgym(1, "bench", self.ratio, "--targets", "reference", "--max-ms", "20",
                           "--strategy", self.at("plan.json"), "--json")
        f32, strategy = json.loads(done.stdout)["rows"]
        self.assertGreater(f32["median_ms"], 0)
        self.assertIn(MADE % (4, 4), strategy["absent"])

    def test_a_models_own_is_no_failure(self):
        own = self.write("own.onnx", two_layers(node("Log", ["a"], "y")))
        one = self.samples("one.npy", 1, 1)
        done = self.mscgym(0, "run", own, "--target", "reference", "--input", one)
        self.assertIn("note: outputs are not finite, and the uncompressed model's are not either",
                      done.stderr)
        self.mscgym(0, "compile", own, "--target", "reference", "--out", self.at("own"))
        done = self.mscgym(0, "run", self.at("own"), "--input", one)
        self.assertIn("note: outputs are not finite, and the uncompressed model's are not either",
                      done.stderr)
        self.assertEqual([row["max_error"] for row in self.bench(own)], [0, 0])

    def bench(self, path, *arguments, targets="reference,reference:threads=1"):
        done = self.mscgym(0, "bench", path, "--max-ms", "20", "--json", "--targets", targets,
                           *arguments)
        rows = json.loads(done.stdout)["rows"]
        for row in rows:
            self.assertNotIn("absent", row)
        self.stderr = done.stderr
        return rows

    def test_bench_compares_one_number_and_constants(self):
        targets = [target for target in ("native", "onednn", "blas")
                   if f"{target} " in self.mscgym(0, "list", "targets").stdout]
        if not targets:
            self.skipTest("no target but reference is built")
        ends = {"one": node("ReduceMean", ["a"], "y"),
                "sum": node("Sub", ["a", "a"], "z") + node("Add", ["z", "d"], "y")}
        one = self.write("one.onnx", two_layers(ends["one"], dims=(1, 512), out=(1, 1), columns=64))
        zero = self.write("sum.onnx", two_layers(ends["sum"], dims=(1, 512), out=(1, 1), columns=1))
        for path in (one, zero):
            rows = self.bench(path, targets=",".join(["reference", *targets]))
            self.assertEqual(len(rows), 1 + len(targets))
            for row in rows:
                self.assertLess(row["max_error"], 1e-4)

    def test_bench_times_int8_whatever_random_inputs_make_of_it(self):
        # What int8 rounds off by 1 % is another number behind the sine.
        source = random.Random(3)
        steep = weights("k", [1], source)
        path = self.write("steep.onnx", two_layers(
            node("Mul", ["a", "k"], "b") + node("Mul", ["b", "b"], "c") +
            node("Mul", ["c", "c"], "e") + node("Mul", ["e", "e"], "f") + node("Sin", ["f"], "y") +
            steep, dims=("n", 64), out=("n", 64), columns=64))
        rows = self.bench(path, "--precision", "f32,int8", "--batch", "8")
        self.assertEqual([row["variant"] for row in rows], ["f32", "f32", "int8", "int8"])
        self.assertGreater(rows[2]["f32_error"], 0.5)
        self.assertIn("note: reference int8: outputs differ from those of reference f32 by",
                      self.stderr)


if __name__ == "__main__":
    e2e.main()
