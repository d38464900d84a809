"""mscgym prune on the shipped model: half the multiply-adds, refitted, exported, replayed, refused."""

import array
import json
import os
import unittest

import e2e

# Points of accuracy. Measured: 0.35 of 9984 samples with 1024 for calibration; here are fewer.
MOST_LOST = 0.02


class Prune(e2e.ShippedModelTest):
    def prune(self, *arguments):
        return json.loads(self.succeed("prune", self.model, "--json", *e2e.ANY_MODEL, *arguments).stdout)

    def test_half_the_work_is_refitted_exported_and_replayed(self):
        half, plan, page = self.at("half.onnx"), self.at("half.json"), self.at("half.html")
        made = self.prune("--macs", "0.5", "--score", "obs", "--reconstruct", "--align", "8",
                          *self.calibration, *self.test, "--out", half, "--save-plan", plan,
                          "--page", page)
        self.assertLessEqual(made["macs_kept"], 0.5 * made["macs"])
        self.assertGreater(made["macs_kept"], 0.35 * made["macs"])
        quality = made["quality"]
        self.assertLess(quality["reference_accuracy"] - quality["accuracy"], MOST_LOST)
        for layer in made["layers"]:
            if "fixed_because" not in layer:
                self.assertEqual(layer["channels_kept"] % 8, 0, layer)
        text = e2e.read(page).decode()
        self.assertEqual(text.count("<tr><td class='name'>"), len(made["layers"]))
        self.assertIn("of the multiply-adds", text)
        # The file holds the smaller weights for real.
        inspected = self.mscgym("inspect", half, "--json")
        self.assertEqual(json.loads(inspected.stdout)["weight_bytes"], made["weight_bytes_kept"])
        # The plan gives the same channels without the scores, and the fit the same numbers again.
        again = self.prune("--plan", plan, "--reconstruct", *self.calibration, *self.test)
        self.assertEqual(again["macs_kept"], made["macs_kept"])
        self.assertEqual(again["quality"], quality)
        # So does the plan by itself: the weights lie beside it.
        replayed = self.at("replayed.onnx")
        self.assertEqual(self.prune("--plan", plan, "--out", replayed, *self.form, *self.test)["quality"],
                         quality)
        self.assertEqual(e2e.read(replayed), e2e.read(half))
        # Without the fit the same channels are worth far less.
        with open(plan, encoding="utf-8") as file:
            strategy = json.load(file)
        del strategy["fit"]
        bare = self.prune("--plan", self.write("bare.json", strategy), *self.form, *self.test)
        self.assertLess(bare["quality"]["accuracy"], quality["accuracy"] - 0.05)

    def test_rules_say_which_layer_keeps_what(self):
        rules = {"tool_type": "pruner", "tool_config": {"strategys": [
            {"methods": {"weights": {"method_name": "per_channel", "density": 0.5, "stride": 8},
                         "output": {"method_name": "per_channel", "density": 0.5}},
             "op_types": ["nn.conv2d"]},
            {"methods": {"weights": {"method_name": "per_channel", "density": 1}},
             "op_names": ["/stage1/stage1.0/stage1.0.0/Conv"], "stages": ["prune"]}]}}
        files = [self.at("out.onnx"), self.at("masked.onnx")]
        made = self.prune("--rules", self.write("rules.json", rules),
                          "--out", files[0], "--masked", files[1])
        self.assertEqual(made["score"], "rules")
        # Without the channels or with them masked: the same outputs, but for the order of sums.
        outputs = []
        for file in files:
            self.succeed("run", file, "--target", "reference", "--seed", "3", "--out", file + ".run")
            data = e2e.read(file + ".run/output_0.npy")
            outputs.append(array.array("f", data[10 + int.from_bytes(data[8:10], "little"):]))
        self.assertEqual([len(values) for values in outputs], [10, 10])
        for cut, masked in zip(*outputs):
            self.assertAlmostEqual(cut, masked, delta=1e-5 * max(map(abs, outputs[1])))
        self.assertLess(os.path.getsize(files[0]), 0.8 * os.path.getsize(files[1]))
        for layer in made["layers"]:
            whole = ("fixed_because" in layer or
                     layer["group"] == "/stage1/stage1.0/stage1.0.0/Conv")
            self.assertEqual(layer["channels_kept"],
                             layer["channels"] if whole else layer["channels"] // 2, layer)

    def test_zeros_and_a_share_of_the_time_are_measured(self):
        sparse = self.at("sparse.onnx")
        made = self.prune("--sparsity", "2:4", "--max-ms", "100", *self.calibration,
                          *self.test[:-1], "200", "--out", sparse)
        zeros = [layer["zeros"] for layer in made["layers"] if "zeros" in layer]
        self.assertGreater(len(zeros), 3)
        for share in zeros:
            self.assertAlmostEqual(share, 0.5, places=2)
        self.assertEqual(made["macs_kept"], made["macs"])
        self.assertEqual(made["no_latency"], "not measured, because of --no-speed")
        self.assertGreater(made["quality"]["accuracy"], 0.8)
        timed = self.prune("--latency", "0.8", "--max-ms", "100", "--align", "8", "--least", "0.05")
        met = [plan for plan in timed["tried"] if plan["time"] <= 0.8]
        self.assertTrue(met)
        self.assertLessEqual(len(timed["tried"]), 8)
        self.assertLess(timed["macs_kept"], timed["macs"])

    def refused(self, text, *arguments):
        out = self.at("out.onnx")
        done = self.mscgym("prune", self.model, "--out", out, "--save-plan", out + ".json",
                           *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(out))
        self.assertFalse(os.path.exists(out + ".json"))

    def test_a_plan_at_other_sizes_is_refused_by_the_sizes(self):
        plan = self.at("plan.json")
        self.prune("--density", "0.5", "--save-plan", plan)
        with open(plan, encoding="utf-8") as file:
            strategy = json.load(file)
        (name, shape), = strategy["inputs"].items()
        strategy["inputs"][name] = "[1,1,99,99]"
        strategy["model_hash"] = "0" * 64
        self.refused(f"the strategy was made at other sizes: input '{name}' [1,1,99,99], here {shape}",
                     "--plan", self.write("other.json", strategy))

    def test_mistakes_are_refused_and_leave_nothing(self):
        plan = {"format": "msc-strategy-1", "prune": {"groups": {"conv": {"units": 4, "keep": [0]}}}}
        other = {**plan, "model_hash": "0" * 64}
        rows = (
            ("give one of --density", []),
            ("give one of --density", ["--density", "0.5", "--plan", "x.json"]),
            ("the density must be above 0", ["--density", "0"]),
            ("the density must be above 0", ["--density", "1.5"]),
            ("layer '/head/Gemm' cannot be pruned: 'logits' is an output of the model",
             ["--layer", "/head/Gemm=0.5"]),
            ("is pruned with '/stage1/stage1.0/stage1.0.0/Conv'",
             ["--layer", "/stage1/stage1.1/conv2/Conv=0.5"]),
            ("write --layer NAME=DENSITY", ["--layer", "conv"]),
            ("unknown score 'tailor'", ["--density", "0.5", "--score", "tailor"]),
            ("--score taylor needs --calibration", ["--density", "0.5", "--score", "taylor"]),
            ("--sparsity needs --calibration", ["--sparsity", "2:4"]),
            ("'4:2' is no sparsity", ["--sparsity", "4:2", *self.calibration]),
            ("give one of --density", ["--macs", "0.5", "--latency", "0.5"]),
            ("the share of the time must be above 0", ["--latency", "1.5"]),
            ("unknown key 'strategies'; did you mean 'strategys'?",
             ["--rules", self.write("rules.json", {"strategies": []})]),
            ("--score obs needs --calibration", ["--density", "0.5", "--score", "obs"]),
            ("--reconstruct needs --calibration", ["--density", "0.5", "--reconstruct"]),
            ("--masked cannot be used with refitted weights",
             ["--density", "0.5", "--reconstruct", "--masked", "m.onnx", *self.calibration]),
            ("the graph has no group 'conv'", ["--plan", self.write("plan.json", plan)]),
            ("made for another model", ["--plan", self.write("other.json", other)]),
            ("the budget cannot be met", ["--macs", "0.01", "--least", "0.5"]),
        )
        for text, arguments in rows:
            with self.subTest(text):
                self.refused(text, *arguments)


if __name__ == "__main__":
    e2e.main()
