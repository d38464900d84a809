"""Searches of channels and precisions with what else a config may offer: targets and schedules."""

import json
import os
import unittest

import e2e

TRIALS = 8


class Joint(e2e.SearchTest):
    def offer(self, **compress):
        """A search of few samples whose best is the smallest, whatever the machine measures."""
        config = e2e.small_config()
        config.update(env="compress", agent="random", trials=TRIALS, finalists=1, compress=compress,
                      prune={"positions": 4}, schedule={"choices": 3})
        config["calibration"]["samples"] = 32
        config["quality"].update(samples=40, final_samples=80)
        config["objective"] = {"minimize": ["weight_bytes", "distill_loss"],
                               "subject_to": {"distill_loss": 5}}
        return self.write("config.json", config)

    def test_decides_targets_and_schedules_beside_channels_and_precisions(self):
        config = self.offer(targets=["native", "onednn"], pieces=2, schedules=2)
        done = self.succeed("search", config, "--dry-run")
        self.assertIn("2 of onednn, native: ", done.stdout)
        self.assertIn("f32, f32 on native, int8 on native\n", done.stdout)
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

    def test_refuses_offers_that_make_no_sense(self):
        for text, compress in (
                ("unknown target 'nobody'", {"targets": ["nobody"]}),
                ("compress.pieces", {"pieces": -1})):
            with self.subTest(text):
                done = self.mscgym("search", self.offer(**compress), "--out", self.at("bad"))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    e2e.main()
