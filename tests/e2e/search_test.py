"""One search from the config to the report, and what can be done with its results."""

import json
import os
import shutil
import subprocess
import unittest

import e2e

TRIALS = 6


class Search(e2e.SearchTest):
    def search(self, run, *arguments, prefix=()):
        return self.succeed("search", self.config, "--out", run, *arguments, prefix=prefix)

    def setUp(self):
        super().setUp()
        self.config = self.write("config.json", e2e.small_config())

    def test_leaves_everything_that_a_replay_and_a_report_need(self):
        run = self.at("run")
        self.search(run)
        for name in ("config.json", "env.json", "trials.journal", "best/strategy.json",
                     "best/model.onnx", "best/artefact/manifest.json", "pareto.json",
                     "sensitivity.csv", "report.html", "results.json"):
            with self.subTest(file=name):
                self.assertGreater(os.path.getsize(os.path.join(run, name)), 0)
        self.assertEqual(sorted(e2e.trials(run)), list(range(TRIALS)))
        self.succeed("journal", "verify", run)
        self.check_replay(run)
        self.check_report(run)

    def check_replay(self, run):
        """Model and strategy alone give the artefact again, and it computes the same."""
        best = os.path.join(run, "best")
        model = e2e.small_config()["model"]
        self.succeed("compile", model, "--strategy", os.path.join(best, "strategy.json"), "--out",
                     self.at("replayed"))
        first = e2e.files_below(os.path.join(best, "artefact"))
        second = e2e.files_below(self.at("replayed"))
        self.assertEqual(sorted(first), sorted(second))
        for name, content in first.items():
            self.assertTrue(content == second[name], f"{name} differs")
        self.succeed("run", os.path.join(best, "artefact"), "--seed", "5", "--out", self.at("a"))
        self.succeed("run", self.at("replayed"), "--seed", "5", "--out", self.at("b"))
        outputs = e2e.files_below(self.at("a"))
        self.assertEqual(list(outputs), ["output_0.npy"])
        self.assertTrue(outputs == e2e.files_below(self.at("b")), "the outputs differ")

    def check_report(self, run):
        report = os.path.join(run, "report.html")
        os.remove(report)
        self.succeed("report", run)
        self.assertGreater(os.path.getsize(report), 0)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if not chromium:
            self.skipTest("chromium is not installed: all passed but opening the report")
        shown = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--user-data-dir=" + self.at("profile"),
             "--dump-dom", "file://" + report],
            capture_output=True, text=True, timeout=e2e.DEADLINE_S, check=True).stdout
        self.assertIn('data-ready="yes"', shown)
        self.assertNotIn("data-error", shown)
        self.assertRegex(shown, rf"\b{TRIALS} trials\b")

    def test_decides_the_same_with_one_worker_two_and_ranks(self):
        # One cache would let the second search measure nothing: each has its own.
        runs = {"serial": [], "workers": ["--workers", "2"]}
        prefixes = {}
        mpirun = shutil.which("mpirun")
        if mpirun:
            prefixes["ranks"] = [mpirun, "-n", "3", "--oversubscribe"]
            if os.geteuid() == 0:
                prefixes["ranks"].append("--allow-run-as-root")
            runs["ranks"] = []
        for name, arguments in runs.items():
            self.search(self.at(name), *arguments, prefix=prefixes.get(name, ()))
        expected = e2e.assignments(self.at("serial"))
        self.assertEqual(sorted(expected), list(range(TRIALS)))
        for name in runs:
            self.assertEqual(e2e.assignments(self.at(name)), expected, name)
        if not mpirun:
            self.skipTest("mpirun is not installed: compared without ranks")

    def test_says_so_where_nothing_keeps_the_constraints(self):
        config = e2e.small_config()
        config["trials"] = 3
        config["objective"]["subject_to"] = {"latency": 0.0001}
        run = self.at("run")
        done = self.mscgym("search", self.write("strict.json", config), "--out", run)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("nothing keeps the constraints: latency <= 0.0001", done.stdout)
        self.assertTrue(json.loads(e2e.read(os.path.join(run, "pareto.json"))))
        self.assertFalse(os.path.exists(os.path.join(run, "best")))


if __name__ == "__main__":
    e2e.main()
