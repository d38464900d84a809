"""Mistakes and full disks: a clear word, the right exit code, nothing half-written."""

import os
import random
import resource
import unittest

import e2e
import onnx_bytes


class BadInput(e2e.SearchTest):
    """Each mistake ends the program before it writes anything: there is no run directory then."""

    def refused(self, text, config, *arguments):
        run = self.at("run")
        done = self.mscgym("search", self.write("config.json", config), "--out", run, *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Amscgym: [^\n]+\n\Z")
        self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(run), "it left a run directory")

    def test_configs_that_cannot_be_meant(self):
        rows = (
            ("unknown key 'trails'", {"trails": 3}),
            ("'threads' must be an integer", {"threads": "two"}),
            ("'trials' must be between 1 and", {"trials": 0}),
            ("unknown target 'warp'", {"target": "warp"}),
            ("unknown agent 'oracle'", {"agent": "oracle"}),
            ("give 'strategy' or 'distill.weight_bits'", {"env": "distill"}),
            ("the objective names 'speed'", {"objective": {"minimize": ["speed"]}}),
            ("the objective names 'joules'", {"objective": {"subject_to": {"joules": 1}}}),
            ("'objective.minimize' must name a metric", {"objective": {"minimize": []}}),
        )
        for text, change in rows:
            with self.subTest(text):
                self.refused(text, {**e2e.small_config(), **change})

    def test_configs_of_the_original_that_cannot_be_followed(self):
        gym = {"agent": {"type": "grid_search"}}
        rows = (
            ("no gym", {"quantize": {"strategy_file": "s.json"}}),
            ("no tool of the MSC config has a gym", {"workspace": "w"}),
            ("unknown key 'quantize.gyms'", {"quantize": {"gyms": []}}),
            ("unknown key 'quantize.gym[0].agents'", {"quantize": {"gym": [{"agents": 1}]}}),
            ("must list at least one gym", {"quantize": {"gym": []}}),
            ("unknown agent 'oracle'", {"quantize": {"gym": {"agent": {"type": "oracle"}}}}),
            ("the distiller of the original MSC has no gym",
             {"distill": {"gym": [gym]}, "quantize": {"gym": [gym]}, "prune": {"gym": [gym]}}),
            ("must be 8 for activations", {"quantize": {"gym": [gym], "strategys": [
                {"methods": {"input": {"method_name": "gather_maxmin", "nbits": 4}}}]}}),
            ("must be 2 to 8", {"quantize": {"gym": [gym], "strategys": [
                {"methods": {"weights": {"method_name": "gather_maxmin", "nbits": 16}}}]}}),
            ("unknown target 'warp'", {"quantize": {"gym": [gym], "target": "warp"}}),
            ("must be quantize.default here",
             {"quantize": {"gym": [{"env": {"role_type": "prune.default"}}]}}),
            ("unknown method 'evaluate_by_luck'", {"quantize": {"gym": [{"agent": {"executors": {
                "evaluate": {"method": "evaluate_by_luck"}}}}]}}),
            ("must be an object", {"quantize": 3}),
            ("unknown key 'dataset.prepare.max_batches'", {"quantize": {"gym": [gym]}, "dataset": {
                "prepare": {"loader": "from_random", "max_batches": 5}}}),
            ("but is set in a tool for 'quantize'",
             {"quantize": {"tool_type": "pruner", "gym": [gym]}}),
            ("export the model as ONNX", {"quantize": {"gym": [gym]}, "dynamic": True}),
            ("is inconsistent", {"calibration": 3, "quantize": {"gym": [gym], "strategys": [
                {"methods": {"input": "calibrate_maxmin"}}]}}),
        )
        for text, change in rows:
            with self.subTest(text):
                config = {**e2e.small_config(), **change}
                for key in ("env", "agent", "target"):
                    del config[key]
                self.refused(text, config)
        with self.subTest("no model"):
            self.refused("put \"model\"", {"quantize": {"gym": ["default"]}})

    def test_a_config_that_is_no_json(self):
        self.refused("not valid JSON at line 1, column 11", '{"model": ')

    def test_a_config_that_would_overflow_the_stack(self):
        deep = "[" * 1000000 + "]" * 1000000
        self.refused("nested deeper", '{"quantize": {"gym": ["default"]}, "model": ' + deep + "}")

    def test_an_option_out_of_range(self):
        self.refused("'trials' must be between 1 and", e2e.small_config(), "--trials", "0")

    def test_models_that_are_none(self):
        with open(self.at("cut.onnx"), "wb") as file:
            file.write(e2e.read(e2e.small_config()["model"])[:100000])
        self.write("text.onnx", "hello\n")
        for name in ("absent.onnx", "cut.onnx", "text.onnx"):
            with self.subTest(name):
                self.refused(self.at(name), {**e2e.small_config(), "model": self.at(name)})

    def test_operators_over_values_of_too_low_a_rank(self):
        """The exception is thrown deep inside and passes through many functions."""
        for op, more in (("Conv", ["w"]), ("MaxPool", [])):
            with self.subTest(op):
                graph = onnx_bytes.field(2, "g") + onnx_bytes.field(11, onnx_bytes.value("x", 1, [1, 3]))
                graph += onnx_bytes.field(12, onnx_bytes.value("y", 1, [1, 3]))
                if more:
                    graph += onnx_bytes.weights("w", [3, 3], random.Random(1))
                window = onnx_bytes.ints("kernel_shape", [2, 2])
                graph += onnx_bytes.node(op, ["x", *more], "y", window)
                with open(self.at("flat.onnx"), "wb") as file:
                    file.write(onnx_bytes.model(graph))
                self.refused(op, {**e2e.small_config(), "model": self.at("flat.onnx")})

    def test_a_resume_of_nothing(self):
        self.refused("holds no search to resume", e2e.small_config(), "--resume")

    def test_a_run_directory_in_use_stays_as_it_is(self):
        run = self.at("run")
        config = {**e2e.small_config(), "trials": 1, "finalists": 1}
        self.succeed("search", self.write("config.json", config), "--out", run)
        before = e2e.files_below(run)
        rows = (("already holds a search; add --resume", []),
                ("it differs in seed", ["--resume", "--seed", "99"]))
        for text, arguments in rows:
            with self.subTest(text):
                done = self.mscgym("search", self.at("config.json"), "--out", run, *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr.splitlines()[-1])
                after = e2e.files_below(run)
                self.assertEqual([name for name in after if after[name] != before.get(name)], [])
                self.assertEqual(sorted(after), sorted(before))


class FullDisk(e2e.SearchTest):
    """A limit on the size of files stands for a disk that is full."""

    def limited(self, limit, *arguments):
        # Only the soft limit: measuring children set their own. Python ignores SIGXFSZ, and so
        # does what it starts unless told to restore signals.
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        return self.mscgym(
            *arguments, restore_signals=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard)))

    def check_refusal(self, done, run, text):
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], r"\Amscgym: cannot .*: File too large\Z")
        self.assertIn(text, done.stderr.splitlines()[-1])
        leftover = [name for name in e2e.files_below(run) if ".msc-" in name]
        self.assertEqual(leftover, [], "it left temporary files")

    def test_before_the_first_trial_costs_nothing_but_another_start(self):
        run = self.at("run")
        config = self.write("config.json", {**e2e.small_config(), "trials": 1, "finalists": 1})
        for limit, text in ((100, "config.json"), (300000, "TMPDIR may name another folder"),
                            (1000000, "graph.weights")):
            with self.subTest(limit):
                self.check_refusal(self.limited(limit, "search", config, "--out", run), run, text)
        self.succeed("search", config, "--out", run)

    def test_in_the_middle_keeps_every_finished_trial(self):
        run = self.at("run")
        config = self.write("config.json", {**e2e.small_config(), "trials": 3})
        self.succeed("search", config, "--out", run)
        before = e2e.trial_lines(run)
        # Room for the records that say that the search goes on, and with what, not for a trial.
        setup = e2e.lines_of(run, b"setup")
        self.assertEqual(len(setup), 1)
        limit = os.path.getsize(os.path.join(run, "trials.journal")) + len(setup[0]) + 200
        done = self.limited(limit, "search", config, "--out", run, "--resume", "--trials", "4")
        self.check_refusal(done, run, "")
        self.succeed("journal", "verify", run)
        self.assertEqual(e2e.trial_lines(run), before)
        self.succeed("search", config, "--out", run, "--resume", "--trials", "4")
        self.assertEqual(sorted(e2e.trials(run)), list(range(4)))
        # The first search's; and one of those with a trial more, which both asked for the same.
        self.assertEqual([record["setup"]["config"]["trials"]
                          for record in e2e.records(run, b"setup")], [3, 4])


if __name__ == "__main__":
    e2e.main()
