"""mscgym track: the outputs and the inner values of a model are compared stage by stage."""

import json
import os

import e2e

SAMPLES = 64
CLASSES = 10


class Track(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        config = e2e.small_config()
        self.model = config["model"]
        self.form = ["--mean", "0.286", "--std", "0.353"]
        self.calibration = config["calibration"]["data"]["images"]
        self.images = ["--data", config["quality"]["data"]["images"], *self.form]

    def int8(self, *form):
        """A strategy whose ranges come from samples of this form."""
        path = self.at("int8.json")
        self.succeed("quantize", self.model, "--calibration", self.calibration, "--samples", "64", "--no-speed", *form,
                     "--save-plan", path)
        return path

    def track(self, code, *arguments):
        done = self.mscgym("track", self.model, *arguments)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def disagreement(self, folder):
        """The share of decisions that the strategy changes, from the stored values."""
        rows = []
        for stage in ("baseline", "optimized"):
            name, = (name for name in os.listdir(folder) if name.endswith(f"_{stage}_logits.npy"))
            numbers = e2e.read_npy(os.path.join(folder, name))[1]
            rows.append([numbers[i:i + CLASSES] for i in range(0, len(numbers), CLASSES)])
        changed = [p.index(max(p)) != q.index(max(q)) for p, q in zip(*rows)]
        self.assertEqual(len(changed), SAMPLES)
        return 100 * sum(changed) / len(changed)

    def test_outputs_of_a_good_strategy_hold(self):
        int8, page = self.int8(*self.form), self.at("track.html")
        done = self.track(0, "--strategy", int8, "--targets", "native", *self.images, "--samples", str(SAMPLES),
                          "--limit", "disagreement=2", "--tolerance", "0.01", "--page", page)
        first, second = done.stdout.splitlines()[:2]
        self.assertRegex(first, "^Outputs hold: in 'optimized' on 64 samples .*; the limit is kept.$")
        self.assertRegex(second, "^Outputs hold: in 'native' on 64 samples ")
        # The strategy's own differences from the baseline are no fault.
        self.assertIn("\nNo value departs: ", done.stdout)
        self.assertIn("\nBy the strategy, 'optimized' differs from 'baseline', first at value ", done.stdout)
        self.assertRegex(done.stderr, r"\[track\] outputs of native: \d+ of 64 samples, [\d:]+ left")
        text = e2e.read(page).decode()
        self.assertIn("class='badge good'>\u2713 outputs hold</span> Outputs hold: ", text)
        self.assertIn("<td class='name'>native: logits</td>", text)

    def test_int8_that_changes_decisions_ends_in_a_red_mark(self):
        # Ranges of samples that are nearly black cut off what real ones hold.
        int8, page, values = self.int8("--scale", "0.0001", *self.form), self.at("track.html"), self.at("values")
        given = ["--strategy", int8, "--targets", "native", *self.images, "--samples", str(SAMPLES), "--json"]
        whole = json.loads(self.track(3, *given, "--batch", str(SAMPLES), "--store", values, "--page",
                                      page).stdout)
        self.assertEqual(whole["complaint"], "suspicious")
        self.assertRegex(whole["verdict"], "^Suspicious: in 'optimized' output 'logits' changes its decisions by ")
        truth = self.disagreement(values)
        self.assertGreater(truth, 2)
        for stage in whole["outputs"]:
            self.assertFalse(stage["holds"])
            self.assertEqual(stage["quality"]["samples"], SAMPLES)
            self.assertEqual([(row["output"], row["kind"]) for row in stage["outputs"]], [("logits", "logits")])
            self.assertAlmostEqual(stage["outputs"][0]["losses"]["disagreement"]["value"], truth, 3)
            self.assertGreater(stage["outputs"][0]["losses"]["disagreement"]["standard_error"], 0)
        text = e2e.read(page).decode()
        self.assertIn("class='badge bad'>\u2717 suspicious</span> Suspicious: ", text)
        # No compiled value departs, and calls of one sample make the same losses.
        self.assertIn("No value departs: ", whole["verdict"])
        single = json.loads(self.track(3, *given, "--limit", "distill_loss=0.001").stdout)
        self.assertEqual(single["complaint"], "limit missed")
        self.assertRegex(single["verdict"], "^Limit missed and suspicious: in 'optimized' distillation loss ")
        self.assertEqual([limit["kept"] for limit in single["outputs"][0]["limits"]], [False])
        for one, other in zip(single["outputs"], whole["outputs"]):
            for name, loss in one["quality"]["losses"].items():
                self.assertAlmostEqual(loss["value"], other["quality"]["losses"][name]["value"], 3)
        # Bounds of one's own.
        self.track(0, *given, *e2e.ANY_QUALITY)

    def test_files_hold_many_samples(self):
        data = self.at("x.npy")
        with open(data, "wb") as file:
            file.write(e2e.npy("<f4", "f", [5, 1, 28, 28], [i % 7 / 7 for i in range(5 * 784)]))
        told = json.loads(self.track(0, "--input", data, "--targets", "native", "--json").stdout)
        self.assertEqual(told["outputs"][0]["quality"]["samples"], 5)
        done = self.track(0, "--input", data, "--targets", "native", "--batch", "2")
        self.assertIn("the last 1 of 5 samples do not fill a call of 2", done.stderr)
        self.assertIn("in 'native' on 4 samples no decision changes", done.stdout)
        done = self.track(2, "--input", data, "--targets", "native", "--batch", "6")
        self.assertIn("a call takes 6 samples, but there are only 5", done.stderr)

    def test_limits_and_forms_that_do_not_exist_are_refused(self):
        for options, text in ((["--limit", "disagrement=1"], "did you mean 'disagreement'?"),
                              (["--limit", "iou_loss=1"], "the outputs have no loss 'iou_loss'; known: disagreement, "),
                              (["--limit", "accuracy_drop=1"], "track reads no labels; limit disagreement instead"),
                              (["--limit", "disagreement"], "write LOSS=VALUE"),
                              (["--output", "y=logits"], "the model has no output 'y'; it has 'logits'")):
            with self.subTest(options=options):
                done = self.track(2, "--targets", "native", "--random", "3", *options)
                self.assertIn(text, done.stderr)
                self.assertEqual(done.stdout, "")
        told = json.loads(self.track(0, "--targets", "native", "--random", "3", "--output",
                                     "logits=regression", "--json").stdout)
        self.assertEqual(told["outputs"][0]["quality"]["outputs"], {"logits": "regression"})
        self.assertNotIn("disagreement", told["outputs"][0]["quality"]["losses"])

    def test_values_are_compared_with_what_operators_mean(self):
        model = self.model
        report = json.loads(self.succeed("track", model, "--targets", "onednn,native", "--random",
                                         "3", "--bisect", "--json", "--store",
                                         self.at("values")).stdout)
        self.assertEqual([stage["reference"] for stage in report["stages"]], ["baseline"] * 2)
        for stage in report["stages"]:
            self.assertGreater(len(stage["errors"]), 10)
            self.assertNotIn("first", stage)
        self.assertEqual([row["blame"] for row in report["bisections"]], ["none"] * 2)
        self.assertGreater(len(os.listdir(self.at("values"))), 40)
        # Rules pick values stage by stage.
        names = [row["value"] for row in report["stages"][0]["errors"]][:3]
        page = self.at("track.html")
        rules = self.write("rules.json", [
            {"methods": {"tensor": "watch"}, "tensor_names": names[:2], "stages": ["compile"]},
            {"methods": {"tensor": {"method_name": "save_compared", "compare_to": "x"}},
             "tensor_names": names[2:], "stages": ["baseline"]}])
        done = self.mscgym("track", model, "--targets", "onednn", "--random", "3", "--json",
                           "--rules", rules, "--page", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'compare_to' of method 'save_compared' is passed over", done.stderr)
        self.assertEqual([row["value"] for row in json.loads(done.stdout)["stages"][0]["errors"]],
                         names[:2])
        text = e2e.read(page).decode()
        self.assertEqual(text.count("<tr><td class='name'>"), 1 + 2)
        self.assertIn("class='bars'", text)

        # An artefact is compared with its own strategy.
        pruned, artefact = self.at("pruned.json"), self.at("artefact")
        self.succeed("prune", model, "--density", "0.9", "--no-speed", "--save-plan", pruned)
        self.succeed("compile", model, "--strategy", pruned, "--out", artefact)
        done = self.mscgym("track", model, "--artefact", artefact, "--random", "3", "--bisect",
                           *e2e.ANY_QUALITY, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["stages"][0]["stage"], "optimized")
        # Or with the model as it was: pruning shows.
        int8 = self.at("int8.json")
        data = e2e.small_config()["calibration"]["data"]
        self.succeed("quantize", model, "--calibration", data["images"], "--samples", "32", "--no-speed",
                     "--save-plan", int8)
        errors = {}
        for against in ("optimized", "baseline"):
            report = json.loads(self.succeed("track", model, "--strategy", int8, "--random", "3",
                                             "--tolerance", "1000", "--against", against,
                                             *e2e.ANY_QUALITY, "--json").stdout)
            self.assertEqual([stage["reference"] for stage in report["stages"]],
                             ["baseline", against])
            errors[against] = report["stages"][1]["errors"][-1]["relative"]
        self.assertLess(errors["optimized"], errors["baseline"])
        for options, text in ((["--tensors", "x"], "--tensors excludes --bisect"),
                              (["--store-mb", "0.01"], "--bisect needs all values, but ")):
            done = self.mscgym("track", model, "--random", "3", "--bisect", *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
        done = self.mscgym("track", model, "--random", "3", "--input", "x.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give one of --input, --data and --random", done.stderr)


if __name__ == "__main__":
    e2e.main()
