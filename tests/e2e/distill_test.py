"""mscgym distill: a student learns, stops, goes on."""

import json
import os
import signal
import time
import unittest

import e2e


class Distill(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        config = e2e.small_config()
        self.model = config["model"]
        self.form = ["--mean", "0.286", "--std", "0.353"]
        self.images = config["calibration"]["data"]["images"]
        self.test = ["--test", config["quality"]["data"]["images"],
                     "--labels", config["quality"]["data"]["labels"], "--test-samples", "256"]

    def distill(self, *arguments):
        done = self.mscgym("distill", self.model, "--data", self.images, *self.form, "--json",
                           *e2e.ANY_MODEL, *arguments)
        if "needs libtorch" in done.stderr:
            self.assertIn("install libtorch", done.stderr)
            self.skipTest("this build has no libtorch")
        return done

    def test_a_student_learns_and_its_strategy_replays(self):
        trained, model = self.at("trained.json"), self.at("trained.onnx")
        page = self.at("trained.html")
        loss = self.write("loss.json", {"rules": [
            {"by": "mark", "names": ["loss"],
             "method": {"name": "loss_kl_divergence", "temperature": 4}}]})
        done = self.distill("--weight-bits", "3", "--samples", "256", "--calibration-samples", "64",
                            "--batch", "32", "--epochs", "2", "--rate", "0.0005", "--rules", loss, *self.test,
                            "--save-strategy", trained, "--out", model, "--page", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads(done.stdout)
        self.assertLess(e2e.loss(made["after"], "distill_loss"),
                        0.8 * e2e.loss(made["before"], "distill_loss"))
        self.assertEqual(len(made["epochs"]), 2)
        layers = made["layers"]
        self.assertGreater(len(layers), 5)
        self.assertLess(sum(layer["error_after"] for layer in layers),
                        sum(layer["error_before"] for layer in layers))
        text = e2e.read(page).decode()
        self.assertEqual(text.count("<tr><td class='name'>"), len(layers))
        self.assertIn("Before training. On 256 samples", text)
        # The replayed strategy computes what its ONNX file says, and what its operators mean.
        done = self.mscgym("track", self.model, "--strategy", trained, "--targets", "onednn",
                           "--data", self.images, *self.form, *e2e.ANY_QUALITY, "--json", "--rules",
                           self.write("logits.json", [{"methods": {"tensor": "save_compared"},
                                                       "tensor_names": ["logits"]}]))
        self.assertEqual(done.returncode, 0, done.stderr)
        stages = json.loads(done.stdout)["stages"]
        self.assertEqual([stage["stage"] for stage in stages], ["optimized", "onednn"])
        self.assertEqual([row["value"] for row in stages[1]["errors"]], ["logits"])
        self.succeed("run", model, "--target", "reference")

    def test_an_interrupted_training_goes_on(self):
        arguments = ["--weight-bits", "8", "--samples", "192", "--calibration-samples", "32",
                     "--batch", "16", "--epochs", "2"]
        whole, broken = self.at("whole.json"), self.at("broken.json")
        self.assertEqual(self.distill(*arguments, "--save-strategy", whole).returncode, 0)
        done = self.distill(*arguments, "--save-strategy", broken, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"'{broken}.training' does not exist", done.stderr)
        process = self.start("distill", self.model, "--data", self.images, *self.form, *arguments,
                             "--save-strategy", broken)
        end = time.monotonic() + e2e.DEADLINE_S
        while process.poll() is None and time.monotonic() < end:
            # Until it answers: before training starts, a signal would end it at once.
            line = process.stderr.readline()
            if "[train]" in line or "[teacher]" in line:
                process.send_signal(signal.SIGINT)
                break
        _, errors = process.communicate(timeout=e2e.DEADLINE_S)
        if process.returncode == 1:
            self.assertIn("continue with --resume", errors)
            self.assertFalse(os.path.exists(broken))
        done = self.distill(*arguments, "--save-strategy", broken, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(e2e.read(broken), e2e.read(whole))
        self.assertEqual(e2e.read(self.at("broken.weights")), e2e.read(self.at("whole.weights")))
        # Another training does not take that file for its own.
        done = self.distill(*arguments, "--seed", "5", "--save-strategy", broken, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("belongs to a training of another model", done.stderr)

    def recipe_config(self):
        config = e2e.small_config()
        config.update(env="distill", trials=3, agent="random",
                      distill={"weight_bits": 3, "samples": 32, "batch": 16},
                      objective={"subject_to": {"train_steps": 15}})
        config["quality"].update(samples=50, finalists="others")
        return config

    def check_finalists(self, run, shown):
        """Of a search that is done: two, trained three times each on samples of their own."""
        found = e2e.results(run)
        self.assertGreater(found.pop("used_s"), 0)  # goes on with every start
        seed = e2e.small_config()["seed"]
        self.assertEqual(len(found["recipes"]), 2)
        for row in found["recipes"]:
            self.assertEqual([again["seed"] for again in row["repeats"]],
                             [seed + 1, seed + 2, seed + 3])
            losses = []
            for again in row["repeats"]:
                quality = json.loads(again["result"])["outcome"]["quality"]
                self.assertEqual(quality["samples"], 150)
                losses.append(e2e.loss(quality, "distill_loss"))
            self.assertAlmostEqual(row["metrics"]["distill_loss"], sum(losses) / 3)
            self.assertGreater(row["margins"]["distill_loss"], 0)
            self.assertIn("accuracy_drop", row["margins"])
        best = found["recipes"][found["best"]]
        self.assertEqual(best["metrics"]["distill_loss"],
                         min(row["metrics"]["distill_loss"] for row in found["recipes"]))
        self.assertEqual(json.loads(e2e.read(os.path.join(run, "best", "recipe.json"))),
                         json.loads(best["recipe"]))
        self.assertRegex(shown, rf"best: trial {best['trial']}, accuracy_drop \S+ \u00b1 \S+, "
                                r"disagreement \S+ \u00b1 \S+, "
                                rf"distill_loss {best['metrics']['distill_loss']:.4g} \u00b1 ")
        text = "judged on samples 51 to 200, which no trial saw"
        self.assertIn("trained 3 times each with seeds that no trial used, and " + text, shown)
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("<section id='finalists'", report)
        self.assertIn(text, report)
        self.assertIn(f"<tr class='is-best'><td class='name'>trial {best['trial']}<div class='note'>", report)
        self.assertIn("95 % interval", report)
        return found

    def test_a_search_of_recipes_goes_on_with_its_finalists(self):
        config = self.recipe_config()
        config["distill"]["samples"] = 64  # the long baseline, a finalist, takes a while
        config["objective"]["subject_to"] = {}
        file, run = self.write("recipe.json", config), self.at("run")
        done = self.mscgym("search", file, "--dry-run")
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        process = self.start("search", file, "--out", run)
        self.wait_for_trials(process, run, 3)
        end = time.monotonic() + e2e.DEADLINE_S
        trained = 0
        while trained < 1 and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
            kept = e2e.records(run, b"findings")
            if kept:
                trained = sum(len(row["repeats"]) for row in kept[-1]["findings"]["recipes"])
        self.assertIsNone(process.poll(), "it ended before it could be interrupted")
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=e2e.DEADLINE_S)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("interrupted; continue with --resume", shown)
        self.assertIn("best so far, not trained again: trial ", shown)
        self.assertTrue(os.path.exists(os.path.join(run, "best", "recipe.json")))
        self.assertIn("The search was not finished.",
                      e2e.read(os.path.join(run, "report.html")).decode())
        before = e2e.records(run, b"findings")[-1]["findings"]["recipes"][0]["repeats"]
        done = self.succeed("search", file, "--out", run, "--resume")
        found = self.check_finalists(run, done.stdout)
        self.assertEqual(found["recipes"][0]["repeats"][:len(before)], before)
        self.check_journal_alone(run)
        # What was trained is not trained again: there is nothing to keep but the start and the end.
        count = len(e2e.records(run, b"findings"))
        again = self.succeed("search", file, "--out", run, "--resume")
        self.assertEqual(self.check_finalists(run, again.stdout), found)
        self.assertEqual(len(e2e.records(run, b"findings")), count + 2)

    def test_recipes_that_were_lucky_in_their_trial_are_no_answer(self):
        # The limit is what the trial of the only finalist had; with other seeds it has more.
        config = self.recipe_config()
        config.update(trials=1, finalists=1)
        config["objective"] = {"minimize": ["train_steps"], "subject_to": {}}
        done = self.mscgym("search", self.write("first.json", config), "--out", self.at("first"))
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertTrue(os.path.exists(self.at("first", "best", "recipe.json")), done.stderr)
        loss = e2e.trials(self.at("first"))[0]["metrics"]["distill_loss"]
        found = e2e.results(self.at("first"))
        self.assertGreater(found["recipes"][0]["metrics"]["distill_loss"], 1.1 * loss,
                           "this test needs a seed that is lucky")
        config["objective"]["subject_to"] = {"distill_loss": loss}
        run = self.at("run")
        done = self.mscgym("search", self.write("limit.json", config), "--out", run)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stdout, r"nearest: trial 0, .*, train_steps 2, misses a limit\n")
        self.assertTrue(os.path.exists(os.path.join(run, "nearest", "recipe.json")))
        self.assertFalse(os.path.exists(os.path.join(run, "best")))
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("No recipe was found.", report)
        self.assertIn("constraint not met: ", report)
        self.check_journal_alone(run)

    def test_finalists_of_recipes_are_judged_on_all_and_on_fresh_samples(self):
        config = self.recipe_config()
        config.update(trials=1, finalists=1)
        del config["quality"]["finalists"]
        run = self.at("run")
        done = self.mscgym("search", self.write("both.json", config), "--out", run)
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertEqual(done.returncode, 0, done.stderr)
        recipe = e2e.results(run)["recipes"][0]
        fresh = []
        for again in recipe["repeats"]:
            outcome = json.loads(again["result"])["outcome"]
            self.assertEqual(outcome["quality"]["samples"], 200)
            self.assertEqual(outcome["fresh"]["samples"], 150)
            fresh.append(e2e.loss(outcome["fresh"], "distill_loss"))
            self.assertNotEqual(fresh[-1], e2e.loss(outcome["quality"], "distill_loss"))
        self.assertAlmostEqual(recipe["fresh_metrics"]["distill_loss"], sum(fresh) / 3)
        text = "on samples that no trial saw: accuracy_drop "
        self.assertIn(text, done.stdout)
        self.assertIn(text, e2e.read(os.path.join(run, "report.html")).decode())
        self.check_journal_alone(run)

    def test_finalists_of_recipes_need_fresh_samples(self):
        config = self.recipe_config()
        config["quality"].update(samples=200)
        done = self.mscgym("search", self.write("none.json", config), "--out", self.at("run"))
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are only 200: lower 'quality.samples'", done.stderr)
        config["quality"].update(samples=100)
        config["calibration"]["data"] = {**config["quality"]["data"], "first": 90}
        done = self.mscgym("search", self.write("same.json", config), "--out", self.at("run"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("that are used for calibration", done.stderr)
        self.assertFalse(os.path.exists(self.at("run")))

    def test_a_recipe_that_changes_many_decisions_is_suspicious(self):
        config = self.recipe_config()
        config.update(finalists=1)
        config["quality"]["guard"] = {"disagreement": 1}
        done = self.mscgym("search", self.write("recipe.json", config), "--out", self.at("run"))
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertEqual(done.returncode, 3, done.stderr)
        suspicions = e2e.results(self.at("run"))["suspicions"]
        self.assertIn("changes its decisions by", suspicions[0])
        self.assertIn("suspicious: " + suspicions[0], done.stdout)
        report = e2e.read(self.at("run", "report.html")).decode()
        self.assertRegex(report, "<span class='badge bad'>.{1,3} suspicious</span>")

    def test_a_search_finds_a_recipe_to_train_by(self):
        config = self.recipe_config()
        file, run = self.write("recipe.json", config), self.at("run")
        for text, options in (("tries one after another", ["--workers", "2"]),
                              ("caches no outcomes", ["--cache", self.at("cache")])):
            done = self.mscgym("search", file, "--out", run, *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)
        done = self.mscgym("search", file, "--dry-run")
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 of 1, 2, 4, 8: epochs, temperature\n", done.stdout)
        self.assertIn("one trial, the baseline 'short'", done.stdout)
        self.assertIn("2 finalists, trained 3 times each: about 00:00:", done.stdout)
        self.assertFalse(os.path.exists(run))
        done = self.succeed("search", file, "--out", run)
        self.assertIn("3 trials, 0 failed", done.stdout)
        self.assertEqual(e2e.results(run)["suspicions"], [])
        # The long baseline takes 16 steps.
        trials = e2e.trials(run)
        self.assertEqual([trials[i]["source"] for i in range(3)],
                         ["anchor:short", "anchor:long", "random"])
        self.assertEqual(trials[1]["metrics"]["train_steps"], 16)
        found = self.check_finalists(run, done.stdout)
        allowed = {number for number, trial in trials.items()
                   if trial["metrics"]["train_steps"] <= 15}
        self.assertLessEqual({row["trial"] for row in found["recipes"]}, allowed)
        self.succeed("search", file, "--out", run, "--resume", "--trials", "4")
        self.assertEqual({**e2e.trials(run), 3: None}, {**trials, 3: None})
        self.succeed("export-study", run, "--out", self.at("trials.csv"))
        self.assertIn("temperature", e2e.read(self.at("trials.csv")).decode().splitlines()[0])
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertRegex(report, r"The best recipe: \d epochs?, rate 0\.\d+, temperature \d, ")
        self.assertIn("<td class='name'>learning rate</td>", report)
        self.assertIn(f"--recipe {run}/best/recipe.json", report)
        self.assertNotIn("<section id='layers'", report)
        self.check_journal_alone(run)
        # What is given beside a recipe counts.
        recipe = os.path.join(run, "best", "recipe.json")
        best = json.loads(e2e.read(recipe))
        done = self.distill("--weight-bits", "3", "--samples", "32", "--epochs", "1", "--recipe",
                            recipe)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["settings"], {**best, "epochs": 1})
        done = self.distill("--weight-bits", "3", "--recipe", self.write("wrong.json", "{"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("wrong.json", done.stderr)

    def test_mistakes_are_refused_and_leave_nothing(self):
        rows = (
            ("the student is the same as the model", []),
            ("--hard needs --data-labels", ["--weight-bits", "8", "--hard", "1"]),
            ("fewer than a batch of 128", ["--weight-bits", "8", "--samples", "100"]),
            ("none is left to learn from",
             ["--weight-bits", "8", "--samples", "10", "--validation", "10"]),
            ("no rule says what is to be learned",
             ["--weight-bits", "8", "--samples", "128", "--rules", self.write("none.json", [])]),
            ("--layerwise and --blockwise exclude each other",
             ["--weight-bits", "8", "--layerwise", "--blockwise"]),
            ("--blockwise chooses which values are compared",
             ["--weight-bits", "8", "--blockwise", "--feature", "nowhere"]),
            ("computes no value 'nowhere'",
             ["--weight-bits", "8", "--samples", "128", "--feature", "nowhere"]),
        )
        for text, arguments in rows:
            with self.subTest(text):
                out = self.at("out.onnx")
                done = self.distill(*arguments, "--out", out)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
                self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    e2e.main()
