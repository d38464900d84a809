"""Searches over channels, and over channels and precisions together, of a small part of the work."""

import json
import os
import re
import unittest

import e2e

TRIALS = 4


class Compress(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        config = e2e.small_config()
        config["prune"] = {"positions": 4}
        config["agent"] = "random"
        config["trials"] = TRIALS
        self.config = self.write("config.json", config)
        self.model = config["model"]

    def search(self, env, run, *arguments, prefix=()):
        return self.succeed("search", self.config, "--env", env, "--out", run, *arguments,
                            prefix=prefix)

    def test_pruned_candidates_are_refitted_and_replayed(self):
        # The smallest wins, so that the winner is pruned whatever the machine measures.
        config = json.loads(e2e.read(self.config))
        config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {"distill_loss": 5}}
        self.config = self.write("small.json", config)
        run = self.at("run")
        self.search("prune", run)
        strategy = self.check_best(run)
        self.assertTrue(strategy["prune"]["groups"])
        self.assertEqual(strategy["quantize"]["layers"], {})
        self.assertEqual(len(strategy["fit"]["weights"]), 64)
        self.assertEqual(json.loads(e2e.read(os.path.join(run, "config.json")))["env"], "Prune-v0")
        found = e2e.trials(run)
        self.assertEqual([found[n]["source"] for n in range(3)],
                         ["anchor:1", "anchor:0.75", "anchor:0.5"])
        some = found[1]["metrics"]
        self.assertLess(some["weight_bytes"], found[0]["metrics"]["weight_bytes"])
        # The same channels gone without a fit cost several times as much.
        config["prune"]["reconstruct"] = False
        config["trials"] = 2
        self.succeed("search", self.write("bare.json", config), "--env", "prune", "--out",
                     self.at("bare"))
        bare = e2e.trials(self.at("bare"))[1]
        self.assertEqual(bare["assignment"], found[1]["assignment"])
        self.assertLess(3 * some["distill_loss"], bare["metrics"]["distill_loss"])
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("channels kept", report)
        self.assertIn("id='decisions'", report)
        self.succeed("report", run)
        csv = self.at("trials.csv")
        self.succeed("export-study", run, "--out", csv)
        self.assertIn("/stage1/stage1.0/stage1.0.0/Conv", e2e.read(csv).decode().split("\n")[0])
        # Weights of trials do not stay.
        self.assertEqual(os.listdir(os.path.join(run, "scratch")), [])

    def test_a_fit_keeps_as_much_of_its_samples_as_there_is(self):
        config = json.loads(e2e.read(self.config))
        del config["prune"]["positions"]  # as many as layers need
        config["calibration"]["samples"] = 256
        config["trials"] = 2
        config["finalists"] = 1
        self.config = self.write("many.json", config)
        self.search("prune", self.at("run"))
        found = e2e.trials(self.at("run"))
        self.assertEqual([found[n].get("failure") for n in range(2)], [None, None])

    def test_decides_bits_ranges_and_rounding(self):
        config = json.loads(e2e.read(self.config))
        config["calibration"]["samples"] = 16
        config["quantize"] = {"bits": [8, 4], "ranges": ["minmax", "mse"], "range_of": "layer",
                              "rounding": ["gptq"]}
        # Only where weights have 4 bits is the loss above 0.
        config["objective"] = {"minimize": ["weight_bytes", "distill_loss"],
                               "subject_to": {"distill_loss": 5}}
        config["trials"] = 3
        self.config = self.write("offer.json", config)
        run = self.at("run")
        self.search("quantize", run)
        found = e2e.trials(run)
        self.assertEqual([found[n]["source"] for n in range(3)],
                         ["anchor:f32", "anchor:int8", "anchor:w4a8"])
        self.assertNotEqual(found[1]["metrics"]["distill_loss"],
                            found[2]["metrics"]["distill_loss"])
        strategy = self.check_best(run)
        self.assertEqual(strategy["quantize"]["rounding"], "gptq")
        self.assertEqual(set(strategy["quantize"]["ranges"].values()), {"minmax"})
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("range by minmax, rounded by gptq", report)
        out = self.succeed("compile", self.model, "--strategy",
                           os.path.join(run, "best", "strategy.json"), "--out", self.at("again"))
        self.assertIn("ranges by minmax", out.stdout)
        self.assertIn("rounded by gptq", out.stdout)
        self.succeed("report", run)

    def test_decides_the_same_with_workers_ranks_and_after_an_interruption(self):
        # Every trial is fitted: few samples do to see that all decide alike.
        config = json.loads(e2e.read(self.config))
        config["calibration"]["samples"] = 16
        self.config = self.write("few.json", config)
        serial = self.at("serial")
        self.search("compress", serial)
        expected = e2e.assignments(serial)
        self.assertEqual(sorted(expected), list(range(TRIALS)))
        losses = {n: t["metrics"]["distill_loss"] for n, t in e2e.trials(serial).items()}
        strategy = self.check_best(serial)
        self.assertTrue(strategy["quantize"]["layers"])
        for name, (arguments, prefix) in e2e.parallel_runs().items():
            self.search("compress", self.at(name), *arguments, prefix=prefix)
            self.assertEqual(e2e.assignments(self.at(name)), expected, name)
            # Fitted to the same bits, wherever that was.
            self.assertEqual({n: t["metrics"]["distill_loss"]
                              for n, t in e2e.trials(self.at(name)).items()}, losses, name)
        part = self.at("part")
        self.search("compress", part, "--trials", "3")
        self.search("compress", part, "--resume", "--trials", str(TRIALS))
        self.assertEqual(e2e.assignments(part), expected)
        self.check_best(part)
        self.check_refusals(part)

    def check_refusals(self, run):
        rows = (
            ("holds a search of Compress-v0, not of Prune-v0",
             ["--env", "prune", "--out", run, "--resume"]),
            ("unknown env 'shrink'; known: quantize, prune", ["--env", "shrink", "--out", run]),
            ("already holds a search", ["--env", "compress", "--out", run]),
        )
        for text, arguments in rows:
            with self.subTest(text):
                done = self.mscgym("search", self.config, *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)

    def test_dry_run_measures_one_trial_and_leaves_nothing(self):
        config = json.loads(e2e.read(self.config))
        config["objective"]["subject_to"] = {"weight_bytes": 10, "accuracy_drop": 0.3, "latency": 1e-9,
                                             "latency_ms": 1e9}
        config["stop"] = {"goal": {"latency_ms": 1e-9, "peak_bytes": 1}}
        config["quantize"] = {"bits": [8]}  # of all targets and CPUs
        strict = self.write("strict.json", config)
        before = sorted(os.listdir(self.folder))
        done = self.succeed("search", strict, "--env", "compress", "--dry-run",
                            env={**os.environ, "TMPDIR": self.folder}, cwd=self.folder)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        for text in ("Compress-v0, ", " decisions, ", "baselines, tried first: f32, int8, 0.75 int8",
                     "weight_bytes <= 10: CANNOT be met, no assignment is below ",
                     "accuracy_drop <= 0.3: no bound known; only measuring can tell",
                     "ends at peak_bytes <= 1: no bound known; only measuring can tell",
                     "one trial, the baseline '0.75 int8': ", "4 trials, 1 at a time: about 00:"):
            self.assertIn(text, done.stdout)
        # Times of layers with 8 bits or half of the channels, and losses of decisions alone. Where noise brings
        # the sum of times below the bound, it is left out (gym/study/describe.cc).
        expected = re.search(r"expected from the effect of each decision alone: (.*)\n", done.stdout)[1]
        self.assertRegex(expected, r"^(latency down to 0\.\d+, )?distill_loss down to \d|^latency down to 0\.\d+$")
        time = re.search(r"latency down to (\S+?)(,|$)", expected)
        bound = re.search(r"subject to latency <= .* no assignment is below (\S+)\n", done.stdout)
        if time and bound:
            self.assertGreaterEqual(float(time[1]), float(bound[1]))
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = file.read()
        if "amx_tile" in flags or "avx2" not in flags:
            return  # it multiplies faster than was measured, or slower than can be told
        for text in ("subject to latency <= 1e-09: CANNOT be met, no assignment is below ",
                     "subject to latency_ms <= 1e+09: not ruled out, no assignment is below ",
                     "ends at latency_ms <= 1e-09: CANNOT be met, no assignment is below "):
            self.assertIn(text, done.stdout)


if __name__ == "__main__":
    e2e.main()
