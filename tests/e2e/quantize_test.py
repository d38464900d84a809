"""mscgym quantize on the shipped model: 4-bit weights, replayed, exported, refused."""

import csv
import json
import os
import random
import struct
import unittest

import e2e
from onnx_bytes import field, model, node, weights
from onnx_bytes import value as onnx_value

# Of 1000 test images, with 128 for calibration, at 2 bits a weight. Measured: 0.097 rounded to the
# nearest, 0.935 fitted to the samples, 0.953 in f32.
GAINED = 0.5
MOST_LOST = 0.04


class Quantize(e2e.ShippedModelTest):
    def quantize(self, *arguments):
        return json.loads(self.succeed("quantize", self.model, "--json", *self.calibration,
                                       *e2e.ANY_MODEL, *arguments).stdout)

    def test_fitted_weights_of_two_bits_are_better_and_are_replayed(self):
        onnx, plan, page = self.at("w2.onnx"), self.at("w2.json"), self.at("w2.html")
        nearest = self.quantize("--bits", "2", *self.test)["quality"]
        made = self.quantize("--bits", "2", "--grid", "mse", "--rounding", "descent",
                             "--reconstruct", *self.test, "--out", onnx, "--save-plan", plan, "--page", page)
        quality = made["quality"]
        self.assertGreater(quality["accuracy"], nearest["accuracy"] + GAINED)
        self.assertGreater(quality["accuracy"],
                           quality["reference_accuracy"] - MOST_LOST)
        for layer in made["layers"]:
            self.assertEqual((layer["precision"], layer["weight_bits"]), ("int8", 2), layer)
            self.assertLessEqual(layer["error_after"], layer["error_before"], layer)
            self.assertEqual(layer["pairs_can_saturate"], 0, layer)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("<td class='name'>"), len(made["layers"]))
        self.assertIn("<table class='bars'>", text)
        # The artefact says what its layers run in; so did the table.
        artefact = self.at("artefact")
        self.succeed("compile", self.model, "--strategy", plan, "--out", artefact)
        with open(artefact + "/manifest.json", encoding="utf-8") as file:
            self.assertEqual(json.load(file)["precisions"],
                             {layer["layer"]: layer["runs_in"] for layer in made["layers"]})
        # What was written is what the plan stands for.
        again = self.at("again.onnx")
        self.succeed("export", self.model, "--strategy", plan, "--out", again)
        with open(onnx, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.check_schedules(plan)

    def check_schedules(self, plan):
        """A search over kernels begins with the plan, fitted weights included."""
        config = e2e.small_config()
        config.update(env="schedule", target="native", strategy=os.path.basename(plan), trials=2,
                      finalists=1, agent="random", schedule={"choices": 2},
                      objective={"minimize": ["latency"]})
        config["quality"].update(samples=50, final_samples=50)
        path, run = self.write("config.json", config), self.at("run")
        self.succeed("search", path, "--out", run, "--workers", "2")
        with open(os.path.join(run, "best", "strategy.json"), encoding="utf-8") as file:
            best = json.load(file)
        with open(plan, encoding="utf-8") as file:
            begun = json.load(file)
        for part in ("quantize", "fit"):
            self.assertEqual(best[part], begun[part])
        self.assertEqual(best["target"], "native")
        for trial in e2e.trials(run).values():
            self.assertNotIn("failure", trial)
        weights = e2e.read(plan.replace(".json", ".weights"))
        self.assertEqual(e2e.read(os.path.join(run, "best", "strategy.weights")), weights)
        for change, text in (({"env": "prune"}, "decides precisions or channels itself"),
                             ({"strategy": "none.json"}, "none.json")):
            refused = self.mscgym("search", self.write("other.json", {**config, **change}), "--out",
                                  self.at("other"))
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(text, refused.stderr)
            self.assertFalse(os.path.exists(self.at("other")))

    def test_sensitivities_are_written(self):
        path, page = self.at("sensitivity.csv"), self.at("sensitivity.html")
        made = self.quantize("--bits", "2", "--layer", "/head/Gemm=f32", *self.test[:-1], "100",
                             "--sensitivity", path, "--page", page)
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["layer"] for row in rows],
                         [layer["layer"] for layer in made["layers"] if layer["weight_bits"]])
        for row in rows:
            self.assertEqual(row["bits"], "2")
            self.assertGreater(float(row["alone_distill_loss"]), 0)
            self.assertGreater(float(row["alone_relative_error"]), 0)
        # The same for scripts and on the page, with what it took.
        measured = made["sensitivity"]
        self.assertEqual([row["layer"] for row in measured["layers"]],
                         [row["layer"] for row in rows])
        for row, line in zip(measured["layers"], rows):
            for part in ("alone", "without"):
                for loss in ("distill_loss", "disagreement", "relative_error", "accuracy_drop"):
                    self.assertAlmostEqual(e2e.loss(row[part], loss), float(line[f"{part}_{loss}"]),
                                           places=6)
        self.assertEqual(measured["passes"], 2 * len(rows) + 1)
        self.assertEqual((measured["samples"], measured["calibration_samples"]), (100, 0))
        self.assertEqual(measured["rank_correlation"].keys(), {"distill_loss", "disagreement", "relative_error"})
        for value in measured["rank_correlation"].values():
            self.assertLessEqual(abs(value), 1)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        cost = (f"sensitivity of {len(rows)} layers, weights rounded to the nearest: "
                f"{2 * len(rows) + 1} passes over 100 samples")
        self.assertIn(cost + ".", text)
        self.assertIn("rank correlation with the accuracy drop of each layer alone: ", text)
        self.assertEqual(text.count("<td class='name'>"), len(made["layers"]) + len(rows))
        # One layer costs less than all but one, on the whole.
        self.assertLess(sum(float(row["alone_relative_error"]) for row in rows),
                        sum(float(row["without_relative_error"]) for row in rows))

    def test_a_file_that_cannot_be_written_stops_it_before_any_is(self):
        plan, page = self.at("plan.json"), self.at("no", "page.html")
        for command in (("quantize", self.model, *self.calibration),
                        ("prune", self.model, "--density", "0.5")):
            done = self.mscgym(*command, "--save-plan", plan, "--page", page)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("cannot create a file in", done.stderr)
            self.assertFalse(os.path.exists(plan))

    def test_sensitivities_of_a_pruned_model_are_of_quantizing_it(self):
        plan = self.at("half.json")
        self.succeed("prune", self.model, "--density", "0.5", "--save-plan", plan, "--no-speed")
        made = self.quantize("--strategy", plan, "--layer", "/head/Gemm=bf16", *self.test[:-1],
                             "100", "--sensitivity", self.at("rows.csv"))
        self.assertEqual([row["weight_bits"] for row in made["sensitivity"]["layers"]
                          if row["layer"] == "/head/Gemm"], [16])
        for row in made["sensitivity"]["layers"]:
            self.assertLess(e2e.loss(row["alone"], "distill_loss"),
                            e2e.loss(made["quality"], "distill_loss") / 10, row)

    def test_what_kernels_without_vnni_would_lose_is_said(self):
        page = self.at("page.html")
        made = self.quantize("--keep-f32", "none", "--page", page)
        worst = max(made["layers"], key=lambda layer: layer["outputs_saturated"])
        text = e2e.read(page).decode()
        said = f"of a layer&#39;s outputs (&#39;{worst['layer']}&#39;); weights of 7 bits rule"
        self.assertEqual(said in text.replace("'", "&#39;"), worst["outputs_saturated"] > 0)
        shown = self.succeed("quantize", self.model, "--keep-f32", "none", *self.calibration, "--no-speed").stdout
        kind = "note" if made["cpu_has_vnni"] else "warning"
        self.assertEqual(kind + ": kernels that add 8-bit products in 16 bits" in shown,
                         worst["outputs_saturated"] > 0)
        self.assertNotIn("8-bit products", self.succeed("quantize", self.model, "--bits", "7",
                                                        *self.calibration, "--no-speed").stdout)

    def test_groups_of_weights_and_ranges_are_written_for_others(self):
        onnx, table = self.at("w4.onnx"), self.at("table")
        made = self.quantize("--activations", "f32", "--bits", "4", "--group", "16", *self.test,
                             "--out", onnx)
        quality = made["quality"]
        self.assertGreater(quality["accuracy"], quality["reference_accuracy"] - MOST_LOST)
        self.assertEqual({layer["runs_in"] for layer in made["layers"]}, {"f32"})
        # The file is a model like any other here: its outputs are those that were judged.
        again = json.loads(self.succeed("quantize", onnx, "--json", "--no-speed", "--layer", "/head/Gemm=f32",
                                        *self.calibration, "--activations", "f32", "--bits", "8",
                                        *self.test).stdout)
        self.assertEqual(again["quality"]["reference_accuracy"], quality["accuracy"])
        self.quantize("--keep-f32", "none", "--scale-table", table)
        # Rules for all layers ask for what no rules do.
        self.quantize("--scale-table", table + ".json", "--rules", self.write("rules.json", {"rules": [
            {"of": "weights", "method": "int8"}, {"of": "input", "method": "int8"}]}))
        with open(table, encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(table + ".json", encoding="utf-8") as file:
            ranges = json.load(file)
        self.assertEqual(lines[0], "TRT-8501-EntropyCalibration2")
        read = {}
        for line in lines[1:]:
            name, digits = line.rsplit(": ", 1)
            read[name] = 127 * struct.unpack(">f", bytes.fromhex(digits))[0]
        self.assertEqual(read.keys(), ranges.keys())
        for name, value in ranges.items():
            self.assertAlmostEqual(read[name], value, delta=1e-6 * value)

    def test_mistakes_are_refused_and_leave_nothing(self):
        rows = (
            ("give --calibration", []),
            ("write --layer NAME=PRECISION", [*self.calibration, "--layer", "conv=9"]),
            ("the model has no layer 'conv' to quantize", [*self.calibration, "--layer", "conv=4"]),
            ("--labels needs --test", [*self.calibration, *self.test[2:]]),
            ("--sensitivity needs --test", [*self.calibration, "--sensitivity", "x.csv"]),
            ("groups of 8 inputs are for layers whose weights alone",
             [*self.calibration, "--group", "8"]),
            ("has no rule that quantizes a layer's weights",
             [*self.calibration, "--rules", self.write("none.json", [])]),
            ("no layer is int8", [*self.calibration, "--activations", "f32", "--scale-table", "t",
                                  *self.test, "--sensitivity", self.at("rows.csv")]),
            ("--bits", [*self.calibration, "--bits", "1"]),
            ("--method", [*self.calibration, "--method", "best"]),
        )
        out = self.at("out.onnx")
        for text, arguments in rows:
            with self.subTest(text):
                done = self.mscgym("quantize", self.model, "--out", out, "--save-plan",
                                   out + ".json", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                for file in (out, out + ".json", self.at("rows.csv")):
                    self.assertFalse(os.path.exists(file), file)


class Ranges(e2e.ProgramTest):
    """Which values of the calibration samples matter decides how ranges are found."""

    COUNT, WIDTH = 256, 100

    def quantize(self, outliers, *arguments):
        """One MatMul of normal values, but for these, by sample and place."""
        source = random.Random(4)
        values = [source.gauss(0, 1) for _ in range(self.COUNT * self.WIDTH)]
        for (sample, place), value in outliers.items():
            values[sample * self.WIDTH + place] = value
        network = self.write("net.onnx", model(
            node("MatMul", ["x", "w"], "y", name="layer") + field(2, "net") +
            weights("w", [self.WIDTH, 8], random.Random(5)) + field(11, onnx_value("x", 1, ["n", self.WIDTH])) +
            field(12, onnx_value("y", 1, ["n", 8]))))
        samples = self.write("x.npy", e2e.npy("<f4", "f", [self.COUNT, self.WIDTH], values))
        return self.mscgym(0, "quantize", network, "--calibration", samples, "--keep-f32", "none", "--no-speed",
                           "--output", "y=regression", "--save-plan", self.at("plan.json"), *arguments).stdout

    def chosen(self, outliers):
        ranges = json.loads(self.quantize(outliers, "--json"))["ranges"]
        self.assertEqual(ranges["samples"], 128)
        self.assertEqual(set(ranges["tried"]), {"mse", "minmax", "percentile"})
        plan = e2e.read(self.at("plan.json"))
        # The same again, and by its name.
        for arguments in ((), ("--method", ranges["method"])):
            said = self.quantize(outliers, *arguments)
            self.assertEqual(f"ranges by {ranges['method']}: on 128 calibration samples" in said, not arguments)
            self.assertEqual(e2e.read(self.at("plan.json")), plan)
        return ranges["method"], {method: e2e.loss(judged, "distill_loss")
                                  for method, judged in ranges["tried"].items()}

    def test_one_odd_value_does_not_widen_the_range(self):
        # Not among the samples that judge: no one misses it.
        method, losses = self.chosen({(200, 7): 3000})
        self.assertEqual(method, "percentile")
        self.assertGreater(losses["minmax"], 100 * losses["percentile"])

    def test_values_that_are_rare_but_matter_are_kept(self):
        method, losses = self.chosen({(9, 7): 60, (70, 8): -60})
        self.assertNotEqual(method, "percentile")
        self.assertGreater(losses["percentile"], 4 * losses[method])


if __name__ == "__main__":
    e2e.main()
