"""One search from the config to the report, and what can be done with its results."""

import json
import os
import shutil
import subprocess
import time

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
        self.check_journal_alone(run)
        self.check_report(run)

    def test_its_children_use_the_compiler_and_the_cache_of_the_user(self):
        log, compiler = self.at("log"), self.at("compiler")
        with open(compiler, "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\ntr '\\0' ' ' </proc/$PPID/cmdline >>{log}\nexec g++ \"$@\"\n")
        os.chmod(compiler, 0o755)
        config = self.write("native.json", {**e2e.small_config(), "target": "native", "trials": 2})
        self.succeed("search", config, "--out", self.at("run"),
                     env=dict(os.environ, MSCGYM_CXX=compiler, MSCGYM_CACHE=self.at("kernels")))
        self.assertIn("measure-child", e2e.read(log).decode())
        self.assertTrue(any(name.endswith(".so") for name in os.listdir(self.at("kernels"))))

    def check_replay(self, run):
        """Model and strategy alone give the artefact again, and it computes the same."""
        self.check_best(run)
        self.succeed("run", os.path.join(run, "best", "artefact"), "--seed", "5", "--out",
                     self.at("a"))
        self.succeed("run", self.replayed(run), "--seed", "5", "--out", self.at("b"))
        outputs = e2e.files_below(self.at("a"))
        self.assertEqual(list(outputs), ["output_0.npy"])
        self.assertTrue(outputs == e2e.files_below(self.at("b")), "the outputs differ")

    def check_report(self, run):
        report = os.path.join(run, "report.html")
        os.remove(report)
        self.succeed("report", run)
        self.assertGreater(os.path.getsize(report), 0)
        both = self.at("both.html")
        self.succeed("report", run, run, "--out", both)
        self.assertEqual(e2e.read(both).decode().count("<path class='line'"), 4)
        alone = self.mscgym("report", run, "--out", both)
        self.assertEqual(alone.returncode, 2)
        self.assertIn("--out is for a comparison", alone.stderr)
        pairs = e2e.results(run)["pairs"]
        best = json.loads(e2e.read(os.path.join(run, "best", "strategy.json")))
        if "int8" not in best["quantize"]["layers"].values():
            self.assertEqual(pairs, "")
        self.assertEqual("8-bit sums" in e2e.read(report).decode(), bool(pairs))
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

    def test_the_target_auto_is_chosen_once(self):
        run = self.at("run")
        target = e2e.small_config()["target"]
        config = self.write("auto.json", {**e2e.small_config(), "target": "auto", "trials": 2, "finalists": 1})
        done = self.succeed("search", config, "--out", run)
        self.assertIn(f"target: {target} (auto)", done.stderr + done.stdout)
        self.succeed("search", config, "--out", run, "--resume", "--trials", "3")
        self.assertEqual(json.loads(e2e.read(os.path.join(run, "config.json")))["target"], target)
        self.assertEqual(json.loads(e2e.read(os.path.join(run, "best", "strategy.json")))["target"], target)
        self.assertEqual(sorted(e2e.trials(run)), [0, 1, 2])
        # A run keeps the target that its config names.
        self.succeed("search", self.config, "--out", self.at("other"), "--trials", "1")
        self.succeed("search", config, "--out", self.at("other"), "--resume", "--trials", "2")

    def test_decides_the_same_with_one_worker_two_and_ranks(self):
        # One cache would let the second search measure nothing: each has its own.
        runs = {"serial": ([], ()), **e2e.parallel_runs()}
        for name, (arguments, prefix) in runs.items():
            self.search(self.at(name), *arguments, prefix=prefix)
        expected = e2e.assignments(self.at("serial"))
        self.assertEqual(sorted(expected), list(range(TRIALS)))
        for name in runs:
            self.assertEqual(e2e.assignments(self.at(name)), expected, name)
            self.check_tasks(self.at(name), {1} if name == "serial" else {1, 2})
        if "ranks" not in runs:
            self.skipTest("mpirun is not installed: compared without ranks")

    def test_decides_the_same_by_results_whoever_measures(self):
        """`auto` goes by estimates and results: who finds both in one cache decides the same."""
        config = {**e2e.small_config(), "agent": "auto", "trials": 12, "finalists": 1,
                  "estimate_s": 1}
        path = self.write("auto.json", config)
        runs = {"serial": ([], ()), **e2e.parallel_runs()}
        for name, (arguments, prefix) in runs.items():
            self.succeed("search", path, "--out", self.at(name), "--cache", self.at("cache"),
                         *arguments, prefix=prefix)
        first = e2e.trials(self.at("serial"))
        table = e2e.records(self.at("serial"), b"setup")[-1]["setup"]["estimates"]
        self.assertGreater(table["planned"], 1)
        self.assertTrue(table["costs"]["latency"]["effects"])
        for name in runs:
            with self.subTest(run=name):
                self.assertEqual(
                    e2e.records(self.at(name), b"setup")[-1]["setup"]["estimates"], table)
                self.assertEqual(
                    json.loads(e2e.read(os.path.join(self.at(name), "estimates.json"))), table)
                self.assertEqual(e2e.assignments(self.at(name)), e2e.assignments(self.at("serial")))
                found = e2e.trials(self.at(name))
                self.assertEqual([found[n]["metrics"] for n in sorted(found)],
                                 [first[n]["metrics"] for n in sorted(first)])
        # A journal whose estimates.json is gone is gone on with by the table that it holds itself.
        os.remove(os.path.join(self.at("serial"), "estimates.json"))
        shutil.rmtree(self.at("cache"))
        self.succeed("search", path, "--out", self.at("serial"), "--resume", "--trials", "13")
        self.assertEqual(len(e2e.trials(self.at("serial"))), 13)
        # A search that begins with another's trials begins with its table, too.
        self.succeed("search", path, "--out", self.at("later"), "--from", self.at("workers"),
                     "--trials", "1")
        self.assertEqual(e2e.records(self.at("later"), b"setup")[-1]["setup"]["estimates"], table)
        if "ranks" not in runs:
            self.skipTest("mpirun is not installed: compared without ranks")

    def check_tasks(self, run, workers):
        """Who measured each trial when is in the journal, and in the report."""
        tasks = e2e.records(run, b"task")
        self.assertEqual({task["worker"] for task in tasks}, workers)
        measured = {json.loads(trial["record"])["strategy_hash"]
                    for trial in e2e.trials(run).values()}
        self.assertLessEqual(measured, {task["strategy"] for task in tasks})
        ends = dict.fromkeys(workers, 0.0)
        for task in sorted(tasks, key=lambda task: task["from"]):
            self.assertLessEqual(ends[task["worker"]], task["from"] + 1e-6, "two at a time")
            self.assertLess(task["from"], task["to"])
            ends[task["worker"]] = task["to"]
        report = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertEqual(report.count("' data-tip='worker "), len(tasks))

    def test_drops_what_a_rough_measurement_ranks_low(self):
        config = {**e2e.small_config(), "race": True, "trials": 24, "finalists": 1,
                  "agent": "random", "estimate_s": 0,
                  # Bytes rank alike in the rough, so that noise never ends the race here.
                  "objective": {"minimize": ["weight_bytes"]}}
        run = self.at("race")
        done = self.succeed("search", self.write("race.json", config), "--out", run)
        found = e2e.trials(run)
        dropped = [trial for trial in found.values() if trial.get("dropped")]
        self.assertTrue(dropped)
        self.assertLess(len(dropped), len(found) - 9, "ten are measured fully whatever they are")
        self.assertIn(f"{len(dropped)} dropped after a rough measurement", done.stdout + done.stderr)
        best = min(trial["metrics"]["weight_bytes"] for trial in found.values()
                   if not trial.get("dropped"))
        self.assertLessEqual(best, min(t["metrics"]["weight_bytes"] for t in dropped))
        self.check_journal_alone(run)
        self.check_optuna(run, found, best)

    def check_optuna(self, run, found, best):
        """Debian's Optuna and that of `peers` load what export-study writes, and find the same in it."""
        study = self.at("study.log")
        self.succeed("export-study", run, "--to", "optuna", "--out", study)
        pythons = [python for python in ("/usr/bin/python3", e2e.peers_python("peers"))
                   if python and subprocess.run([python, "-c", "import optuna"], capture_output=True,
                                                check=False).returncode == 0]
        for python in pythons:
            with self.subTest(python=python):
                self.check_loaded(python, study, found, best)
        if len(pythons) < 2:
            self.skipTest("without python3-optuna or the environment 'peers' of scripts/setup --peers: all "
                          f"passed, and {len(pythons)} of two versions of Optuna loaded the export")

    def check_loaded(self, python, study, found, best):
        program = """if True:
            import json, sys, warnings
            warnings.simplefilter("ignore")
            import optuna
            try:
                from optuna.storages.journal import JournalFileBackend
            except ImportError:
                from optuna.storages import JournalFileStorage as JournalFileBackend
            storage = optuna.storages.JournalStorage(JournalFileBackend(sys.argv[1]))
            study = optuna.load_study(study_name=None, storage=storage)
            print(json.dumps({"best": study.best_value, "trials": [
                [t.number, t.state.name, t.duration.total_seconds(), t.datetime_start.timestamp()]
                for t in study.trials]}))"""
        done = subprocess.run([python, "-c", program, study], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        loaded = json.loads(done.stdout)
        self.assertEqual(loaded["best"], best)
        self.assertEqual([(number, state) for number, state, _, _ in loaded["trials"]],
                         [(number, "FAIL" if found[number].get("failure") else
                           "PRUNED" if found[number].get("dropped") else "COMPLETE")
                          for number in sorted(found)])
        for number, _, seconds, start in loaded["trials"]:
            trial = found[number]
            self.assertAlmostEqual(seconds, trial["seconds"], places=4)
            self.assertAlmostEqual(start + seconds, trial["finished"], places=4)
            self.assertLess(abs(trial["finished"] - time.time()), 3600)

    def test_says_so_where_nothing_keeps_the_constraints(self):
        config = e2e.small_config()
        config["trials"] = 3
        config["objective"]["subject_to"] = {"latency": 0.0001}
        run = self.at("run")
        done = self.mscgym("search", self.write("strict.json", config), "--out", run)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no candidate keeps the constraints: latency <= 0.0001", done.stdout)
        self.assertRegex(done.stdout, r"nearest: trial \d+, .*/nearest/strategy.json")
        self.assertTrue(e2e.pareto(run))
        self.assertFalse(os.path.exists(os.path.join(run, "best")))
        self.check_journal_alone(run)
        self.assertTrue(os.path.exists(os.path.join(run, "nearest", "strategy.json")))

    def test_says_why_energy_cannot_be_an_objective_here(self):
        zones = "/sys/class/powercap"
        if os.path.isdir(zones) and any(n.startswith("intel-rapl:") for n in os.listdir(zones)):
            self.skipTest("this machine has counters of energy")
        config = e2e.small_config()
        config["objective"]["minimize"] = ["energy", "distill_loss"]
        done = self.mscgym("search", self.write("energy.json", config), "--out", self.at("run"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("the config asks for 'energy': energy cannot be read: the kernel shows no package "
                      "under /sys/class/powercap, as on most virtual machines", done.stderr)
        self.assertFalse(os.path.exists(self.at("run")))

    def test_begins_with_the_trials_of_another_run(self):
        first = self.at("first")
        self.search(first)
        second = self.at("second")
        done = self.search(second, "--from", first, "--agent", "tpe", "--trials", "3")
        self.assertIn(f"{TRIALS} of {TRIALS} trials fit this search; their results are reused",
                      done.stderr)
        before = e2e.trials(first)
        after = e2e.trials(second)
        self.assertEqual(len(after), TRIALS + 3)
        taken = {str(trial["assignment"]): trial for trial in after.values() if trial["repeated"]}
        for trial in before.values():
            copy = taken[str(trial["assignment"])]
            self.assertEqual((copy["metrics"], copy["record"]), (trial["metrics"], trial["record"]))
        self.assertEqual(len([t for t in after.values() if t["source"].startswith("from:")]),
                         len([t for t in before.values()
                              if not t["source"].startswith("anchor:")]))
        # It goes on as it began, also when the other run is gone.
        shutil.rmtree(first)
        self.search(second, "--agent", "tpe", "--trials", "4", "--resume")
        self.assertEqual(len(e2e.trials(second)), TRIALS + 4)
        # Not if outputs are to be compared as something else.
        config = e2e.small_config()
        config["quality"]["outputs"] = {"logits": {"kind": "embedding"}}
        done = self.mscgym("search", self.write("embedding.json", config), "--out", second,
                           "--agent", "tpe", "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("compared output 'logits' as something else", done.stderr)
        # Nor if what they are is no longer stated.
        stated = self.at("stated")
        config = e2e.small_config()
        config.update(trials=1, finalists=1)
        config["quality"]["outputs"] = {"logits": {"kind": "logits", "axis": 1}}
        self.succeed("search", self.write("stated.json", config), "--out", stated)
        del config["quality"]["outputs"]
        done = self.mscgym("search", self.write("silent.json", config), "--out", stated, "--resume", "--trials", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("compared output 'logits' as something else", done.stderr)
        # Elsewhere, or measured otherwise: the best are tried first.
        config = e2e.small_config()
        config.update(trials=4, finalists=1)
        config["quality"]["samples"] = 50
        third = self.at("third")
        done = self.succeed("search", self.write("other.json", config), "--from", second, "--out",
                            third)
        self.assertIn("2 of them are measured first, because the config differs", done.stderr)
        sources = [trial["source"] for _, trial in sorted(e2e.trials(third).items())]
        self.assertEqual(len(sources), 4)
        self.assertTrue(any(source.startswith("from:") for source in sources), sources)

    def test_refuses_to_compare_with_a_target_that_it_never_heard_of(self):
        config = e2e.small_config()
        config["compare"] = ["onnxrumtime"]
        done = self.mscgym("search", self.write("typo.json", config), "--out", self.at("run"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("onnxrumtime", done.stderr)
        self.assertFalse(os.path.exists(self.at("run")))


if __name__ == "__main__":
    e2e.main()
