"""Searches of channels and precisions with what else a config may offer."""

import os
import unittest

import e2e

TRIALS = 8


class Joint(e2e.SearchTest):
    def offer(self, samples=32, **compress):
        """A search of few samples whose best is the smallest, whatever the machine measures."""
        config = e2e.small_config()
        config.update(env="compress", agent="random", trials=TRIALS, finalists=1, compress=compress,
                      prune={"positions": 4}, schedule={"choices": 3})
        config["calibration"]["samples"] = samples
        config["quality"].update(samples=40, final_samples=80)
        config["target"] = "onednn"  # `native` beside it takes what it does not take on this CPU
        config["objective"] = {"minimize": ["weight_bytes", "distill_loss"],
                               "subject_to": {"distill_loss": 5}}
        return self.write("config.json", config)

    def test_decides_targets_and_schedules_beside_channels_and_precisions(self):
        config = self.offer(targets=["native", "onednn"], pieces=2, schedules=2)
        done = self.succeed("search", config, "--dry-run")
        self.assertIn("2 of onednn, native: ", done.stdout)
        self.assertIn("0.5 int8, f32 on native, int8 on native\n", done.stdout)
        run = self.at("run")
        self.succeed("search", config, "--out", run, "--trials", str(TRIALS - 1))
        # On from what the run keeps: the same decisions, or it would be refused.
        self.succeed("search", config, "--out", run, "--resume")
        decisions = e2e.records(run, b"setup")[0]["setup"]["decisions"]
        names = [decision["name"] for decision in decisions]
        targets = [i for i, name in enumerate(names) if name.endswith(" target")]
        wishes = [i for i, name in enumerate(names) if name.endswith(" schedule")]
        self.assertEqual((len(targets), len(wishes)), (2, 2))
        self.assertEqual(names[targets[0] + 1], names[targets[0]].replace(" target", " channels"))
        for wish in wishes:
            self.assertEqual(decisions[wish]["choices"][0], "default")
            self.assertEqual(len(decisions[wish]["choices"]), 3)
        found = e2e.trials(run)
        self.assertEqual(sorted(found), list(range(TRIALS)))
        self.assertEqual([trial for trial in found.values() if "failure" in trial], [])
        by_source = {trial["source"]: trial["assignment"] for trial in found.values()}
        self.assertEqual([by_source["anchor:f32 on native"][i] for i in targets], [1, 1])
        # Random ones mix targets, and wish for schedules.
        chosen = [trial["assignment"] for trial in found.values()]
        self.assertTrue(any(a[targets[0]] != a[targets[1]] for a in chosen))
        self.assertTrue(any(a[wish] for a in chosen for wish in wishes))
        self.check_best(run)
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertRegex(report, r"(f32|bf16|int8) on (native|onednn)")
        self.check_journal_alone(run)
        self.succeed("journal", "verify", run)

    def test_decides_whether_candidates_are_trained(self):
        config = self.offer(samples=512, distill={"epochs": [3], "rate": [0.0001, 0.0003],
                                                  "batch": 16})
        run = self.at("run")
        done = self.mscgym("search", config, "--dry-run")
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of epochs 0, epochs 3: distill epochs\n", done.stdout)
        self.assertIn("one trial, the baseline '0.5 int8, epochs 3': ", done.stdout)
        self.succeed("search", config, "--out", run, "--trials", "5")
        found = {trial["source"]: trial["metrics"] for trial in e2e.trials(run).values()}
        bare, trained = found["anchor:0.5 int8"], found["anchor:0.5 int8, epochs 3"]
        self.assertLess(trained["distill_loss"], bare["distill_loss"])
        # As small, and nearer: the best.
        strategy = self.check_best(run)
        self.assertEqual(strategy["fit"]["train"]["epochs"], 3)
        results = e2e.results(run)
        best = results["finalists"][results["best"]]
        self.assertEqual(best["strategy"]["fit"]["weights"], strategy["fit"]["weights"])
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn(f"trial {best['trial']}, trained for 3 epochs at rate 0.000", report)
        self.assertIn("<td class='name'>training epochs</td>", report)

    def test_trains_only_the_best_if_asked_to(self):
        config = self.offer(samples=256, distill={"epochs": [1], "rate": [0.0001], "batch": 16}, train_share=0.9)
        run = self.at("run")
        done = self.mscgym("search", config, "--out", run, "--trials", "6")
        if "needs libtorch" in done.stderr:
            self.skipTest("this build has no libtorch")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [decision["name"] for decision in e2e.records(run, b"setup")[0]["setup"]["decisions"]]
        at = names.index("distill epochs")
        before = e2e.trials(run)
        self.assertEqual([trial for trial in before.values() if "failure" in trial], [])
        for trial in before.values():
            if trial["source"].startswith("anchor:"):
                self.assertEqual(trial["assignment"][at], 0)
        self.assertTrue(any(trial["assignment"][at] for trial in before.values()))
        # On from what the run keeps: the same trials, or it would be refused.
        self.succeed("search", config, "--out", run, "--resume", "--trials", "8")
        after = e2e.trials(run)
        self.assertEqual([after[n]["assignment"] for n in sorted(before)], [before[n]["assignment"] for n in sorted(before)])
        self.assertEqual(sorted(after), list(range(8)))
        self.assertFalse(os.path.exists(os.path.join(run, "fits")))
        self.check_best(run)

    def test_refuses_offers_that_make_no_sense(self):
        for text, compress in (
                ("unknown target 'nobody'", {"targets": ["nobody"]}),
                ("compress.distill.rate[0]", {"distill": {"rate": [-1]}}),
                ("compress.pieces", {"pieces": -1})):
            with self.subTest(text):
                done = self.mscgym("search", self.offer(**compress), "--out", self.at("bad"))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    e2e.main()
