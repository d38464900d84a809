"""What a search does with its best: they are judged again, on more samples than trials had."""

import json
import os

import e2e


class Finalists(e2e.SearchTest):
    def test_keep_on_all_samples_what_trials_kept_on_few(self):
        # Sizes rank the trials, so that chance has no part; few samples flatter the small ones.
        config = e2e.small_config()
        config.update(trials=8, finalists=2, compare=["onednn"])
        config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {"disagreement": 0.6}}
        config["prune"] = {"positions": 4}
        config["calibration"]["samples"] = 32
        config["quality"].update(samples=8, most_samples=8, final_samples=200, finalists="all")
        run = self.at("few")
        done = self.succeed("search", self.write("few.json", config), "--env", "prune", "--out", run)
        found = e2e.results(run)

        def disagreement(row):
            quality = json.loads(row["result"])["outcome"]["quality"]
            self.assertEqual(quality["samples"], 200)
            return e2e.loss(quality, "disagreement")

        sizes = {n: trial["metrics"]["weight_bytes"] for n, trial in e2e.trials(run).items()}
        largest = max(sizes[row["trial"]] for row in found["finalists"])
        self.assertTrue(found["rejected"])
        for row in found["rejected"]:
            self.assertGreater(disagreement(row), 0.6)
            self.assertLessEqual(sizes[row["trial"]], largest)
        for row in found["finalists"]:
            self.assertLessEqual(disagreement(row), 0.6)
        self.assertIn("candidates were rejected: they keep the limits on the samples of trials, but miss",
                      done.stdout)
        self.assertIn("judged on all 200 samples, including those of trials", done.stdout)
        self.assertRegex(done.stdout, r"the best is [\d.]+x as fast as f32 on onednn")
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("f32 on onednn", report)
        self.assertIn("judged on all 200 samples, including those of trials", report)
        self.assertIn("but miss one on these samples: trials", report)
        self.assertIn("of its channels kept", report)
        self.check_journal_alone(run)
        # With as many samples as it takes, no trial is flattered: none has to be left out.
        config["quality"]["most_samples"] = 0
        run = self.at("more")
        self.succeed("search", self.write("more.json", config), "--env", "prune", "--out", run)
        self.assertEqual(e2e.results(run)["rejected"], [])
        self.assertGreater(max(json.loads(trial["record"])["result"]["outcome"]["quality"]["samples"]
                               for trial in e2e.trials(run).values()), 8)

    def test_are_timed_beside_onnx_runtime(self):
        config = e2e.small_config()
        # native has int8 on every CPU, and a search for small weights ends in it.
        config.update(trials=3, finalists=1, estimate_s=0, explain_s=0, target="native")
        config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {"disagreement": 100}}
        file = self.write("config.json", config)
        run = self.at("absent")
        done = self.succeed("search", file, "--out", run, env=dict(os.environ, MSC_ORT_LIBRARY="/nowhere.so"))
        self.assertEqual(done.stdout.count("onnxruntime was not timed: "), 1, done.stdout)
        self.assertNotIn("ONNX Runtime", done.stdout.replace("not timed: ONNX Runtime is absent", ""))
        self.assertNotIn("Against ONNX Runtime", e2e.read(os.path.join(run, "report.html")).decode())
        if "has no ONNX" in done.stdout or "without the headers" in done.stdout:
            self.skipTest("this build has no ONNX Runtime")
        run = self.at("beside")
        done = self.succeed("search", file, "--out", run)
        if "onnxruntime was not timed: " in done.stdout:
            self.skipTest("ONNX Runtime is not installed")
        found = e2e.results(run)["compared"]
        self.assertEqual([row["exported"] for row in found], [False, True])
        report = e2e.read(os.path.join(run, "report.html")).decode()
        for row, what in zip(found, ("f32", "the exported model")):
            version = row["version"].split()[0]
            self.assertRegex(version, r"^\d+\.\d+")
            best, timed = row["best"], json.loads(row["result"])["outcome"]["latency"]
            self.assertLessEqual(best["low"], best["value"])
            self.assertLessEqual(best["value"], best["high"])
            first = json.loads(e2e.results(run)["finalists"][0]["result"])["outcome"]["latency"]
            self.assertAlmostEqual(best["value"], timed["ratio"] / first["ratio"])
            self.assertIn(f"the best is {best['value']:.2f}x as fast as {what} on ONNX Runtime {version} "
                          f"(95 %: {best['low']:.2f}x to {best['high']:.2f}x", done.stdout)
            self.assertIn(f"95 % interval {best['low']:.2f} to {best['high']:.2f}; {what} on ONNX Runtime {version} takes",
                          report)
        self.assertIn("<dt>Against ONNX Runtime</dt>", report)
        self.assertIn("<dt>Against ONNX Runtime, compressed</dt>", report)
        self.check_journal_alone(run)
        config["compare"] = []
        run = self.at("alone")
        done = self.succeed("search", self.write("alone.json", config), "--out", run)
        self.assertEqual(e2e.results(run)["compared"], [])
        self.assertNotIn("ONNX Runtime", done.stdout)

    def test_are_judged_on_samples_that_no_trial_saw(self):
        config = e2e.small_config()
        config["trials"] = 3
        # A limit that is open on few samples, so that trials ask for more.
        config["objective"]["subject_to"] = {"disagreement": 1}
        config["quality"].update(samples=10, final_samples=200, finalists="others")
        run = self.at("run")
        done = self.succeed("search", self.write("fresh.json", config), "--out", run)
        seen = [json.loads(trial["record"])["result"]["outcome"]["quality"]["samples"]
                for trial in e2e.trials(run).values()]
        self.assertEqual(max(seen), 100)
        found = e2e.results(run)
        self.assertTrue(found["finalists"])
        for row in found["finalists"] + found["rejected"]:
            self.assertEqual(json.loads(row["result"])["outcome"]["quality"]["samples"], 100)
        text = "judged on samples 101 to 200, which no trial saw"
        self.assertIn("timed together, 3 times, and " + text, done.stdout)
        self.assertRegex(done.stdout, r"with 95 % intervals: [\d.]+x \([\d.]+ to [\d.]+\), ")
        self.assertIn(text, e2e.read(os.path.join(run, "report.html")).decode())

    def test_are_judged_on_all_and_on_fresh_samples_where_nothing_else_is_said(self):
        config = e2e.small_config()
        config["trials"] = 3
        config["objective"]["subject_to"] = {"disagreement": 1}
        config["quality"].update(samples=10, final_samples=200)
        run = self.at("run")
        file = self.write("both.json", config)
        done = self.succeed("search", file, "--out", run)
        seen = [json.loads(trial["record"])["result"]["outcome"]["quality"]["samples"]
                for trial in e2e.trials(run).values()]
        self.assertEqual(max(seen), 100, "trials leave half of them")
        found = e2e.results(run)
        self.assertTrue(found["finalists"])
        for row in found["finalists"] + found["rejected"]:
            outcome = json.loads(row["result"])["outcome"]
            self.assertEqual(outcome["quality"]["samples"], 200)
            self.assertEqual(outcome["fresh"]["samples"], 100)
        text = "judged on all 200 samples, and separately on samples 101 to 200, which no trial saw"
        self.assertIn(text, done.stdout)
        self.assertRegex(done.stdout, "on the 100 samples that no trial saw: accuracy drop ")
        self.assertNotIn("warning", done.stdout)
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn(text, report)
        self.assertIn("; on samples that no trial saw: accuracy drop ", report)
        self.check_journal_alone(run)
        # A search that was begun otherwise goes on as it began.
        config["quality"]["finalists"] = "all"
        done = self.mscgym("search", self.write("all.json", config), "--out", run, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("may use 100 samples, but the config now says all samples: set "
                      "'quality.finalists' and 'quality.most_samples' as they were to continue, or choose another --out",
                      done.stderr)
        # Trials of one that leaves the same samples are taken as they are.
        config["quality"]["finalists"] = "others"
        done = self.succeed("search", self.write("others.json", config), "--out", self.at("more"),
                            "--from", run, "--trials", "1")
        self.assertIn("their results are reused", done.stderr)

    def test_differ_where_many_assignments_come_to_the_same(self):
        config = e2e.small_config()
        # Of what is all on one target, no price of a boundary changes anything.
        config.update(env="partition", agent="sweep", trials=8, finalists=4, target="reference",
                      partition={"targets": ["reference", "onednn"]})
        config["quality"].update(samples=20, final_samples=20)
        run = self.at("run")
        self.succeed("search", self.write("alike.json", config), "--out", run,
                     env=dict(os.environ, XDG_CACHE_HOME=self.at("xdg")))
        strategies = {n: json.loads(trial["record"])["strategy_hash"]
                      for n, trial in e2e.trials(run).items()}
        self.assertLess(len(set(strategies.values())), len(strategies) - 1)
        finalists = [strategies[row["trial"]] for row in e2e.results(run)["finalists"]]
        self.assertEqual(len(finalists), min(4, len(set(strategies.values()))))
        self.assertEqual(len(set(finalists)), len(finalists))

    def test_are_explained_by_what_the_winner_does_with_other_choices(self):
        config = e2e.small_config()
        config.update(trials=3, explain_s=60, time_budget_s=600)
        config["objective"]["subject_to"] = {"disagreement": 100, "latency": 1e-9}
        file, run = self.write("explain.json", config), self.at("none")
        self.assertEqual(self.mscgym("search", file, "--out", run).returncode, 3)
        self.assertEqual(e2e.results(run)["neighbours"], [])
        config["objective"]["subject_to"] = {"disagreement": 100}
        run = self.at("run")
        self.succeed("search", self.write("explain.json", config), "--out", run)
        found = e2e.results(run)
        decisions = e2e.records(run, b"setup")[0]["setup"]["decisions"]
        winner = e2e.assignments(run)[found["finalists"][found["best"]]["trial"]]
        told = set()
        for other in e2e.assignments(run).values():
            differs = [i for i, choice in enumerate(other) if choice != winner[i]]
            if len(differs) == 1:
                told.add(differs[0])
        untold = [d["name"] for i, d in enumerate(decisions) if i not in told]
        self.assertTrue(untold)
        self.assertEqual([row["decision"] for row in found["neighbours"]], untold)
        report = e2e.read(os.path.join(run, "report.html")).decode()
        for row in found["neighbours"]:
            beside = json.loads(row["winner"])["outcome"]
            other = json.loads(row["result"])["outcome"]
            self.assertEqual(beside["latency"]["reference_median_ns"],
                             other["latency"]["reference_median_ns"], "timed together")
            self.assertEqual(other["quality"]["samples"], 100)
            self.assertIn(f"<li>{row['choice']} instead would be ", report)
        self.assertNotIn("unknown: no trial differs in this decision alone", report)
        self.check_journal_alone(run)

    def test_go_on_where_an_older_search_judged_them_on_all(self):
        config = e2e.small_config()
        config["trials"] = 2
        config["quality"].update(samples=10, final_samples=200, finalists="all")
        run = self.at("run")
        self.succeed("search", self.write("all.json", config), "--out", run)
        del config["quality"]["finalists"]
        file = self.write("default.json", config)
        done = self.mscgym("search", file, "--out", run, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("may use all samples, but the config now says 100 samples: set "
                      "'quality.finalists' to \"all\" to continue, or choose another --out", done.stderr)
        done = self.succeed("search", file, "--out", self.at("more"), "--from", run)
        self.assertIn("are measured first, because the config differs", done.stderr)

    def test_say_where_their_samples_are_not_fresh(self):
        config = e2e.small_config()
        config["trials"] = 2
        config["quality"].update(samples=180, final_samples=200)
        run = self.at("few")
        done = self.succeed("search", self.write("few.json", config), "--out", run)
        text = ("finalists are judged on samples that trials saw: trials may use 180 of 200 samples, "
                "which leaves fewer than 30; lower 'quality.samples'")
        self.assertIn(text, done.stderr)
        self.assertIn("warning: " + text, done.stdout)
        self.assertIn(text, e2e.read(os.path.join(run, "logs", "search.log")).decode())
        found = e2e.results(run)
        self.assertIsNone(json.loads(found["finalists"][0]["result"])["outcome"]["fresh"])
        config["quality"].update(samples=50)
        config["calibration"]["data"] = {**config["quality"]["data"], "first": 150}
        done = self.succeed("search", self.write("same.json", config), "--out", self.at("same"))
        self.assertIn("that are used for calibration, so they may look better than they are",
                      done.stdout)
        self.assertIn("judged on all 200 samples, including those of trials", done.stdout)

    def test_need_fresh_samples_where_there_are_none(self):
        config = e2e.small_config()
        config["quality"].update(samples=200, final_samples=200, finalists="others")
        done = self.mscgym("search", self.write("none.json", config), "--out", self.at("run"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("there are only 200: lower 'quality.samples'", done.stderr)
        config["quality"].update(samples=100)
        config["calibration"]["data"] = {**config["quality"]["data"], "first": 50}
        config["calibration"]["samples"] = 64
        done = self.mscgym("search", self.write("same.json", config), "--out", self.at("same"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("that are used for calibration", done.stderr)


if __name__ == "__main__":
    e2e.main()
