"""What the program says to a command line with mistakes, to people and to programs."""

import json

import e2e


class CommandLine(e2e.SearchTest):
    def test_typos_are_guessed(self):
        for words, hint in ((("serch", "config.json"), "unknown subcommand 'serch'; did you mean 'search'?"),
                            (("xyzzy",), "unknown subcommand 'xyzzy'; known: "),
                            (("inspect", "model.onnx", "--shpe", "1"), "did you mean '--shape'?"),
                            (("track", e2e.small_config()["model"], "--targets", "onednnn", "--random", "1"),
                             "unknown target 'onednnn'; did you mean 'onednn'?")):
            with self.subTest(words=words):
                done = self.mscgym(*words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(hint, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_typos_in_what_a_search_names_are_guessed(self):
        config = self.write("config.json", {**e2e.small_config(), "target": "nativ"})
        for words, hint in (((), "unknown target 'nativ'; did you mean 'native'?"),
                            (("--env", "quantise"), "unknown env 'quantise'; did you mean 'quantize'?"),
                            (("--agent", "bisecton"), "unknown agent 'bisecton'; did you mean 'bisection'?"),
                            (("--trails", "3"), "did you mean '--trials'?")):
            with self.subTest(words=words):
                done = self.mscgym("search", config, "--out", self.at("run"), *words)
                self.assertEqual(done.returncode, 2)
                self.assertIn(hint, done.stderr)

    def test_targets_are_guessed_by_every_subcommand(self):
        model = e2e.small_config()["model"]
        data = e2e.small_config()["calibration"]["data"]["images"]
        for words in (("bench", model, "--targets"), ("compile", model, "--target"), ("run", model, "--target"),
                      ("prune", model, "--density", "0.5", "--target"), ("partition", model, "--targets"),
                      ("quantize", model, "--calibration", data, "--samples", "8", "--target"),
                      ("conformance", self.folder, "--target")):
            with self.subTest(words=words):
                done = self.mscgym(*words, "onednnn")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("unknown target 'onednnn'; did you mean 'onednn'?", done.stderr + done.stdout)

    def test_errors_are_json_where_json_is_asked_for(self):
        for words in (("inspect", "no_such.onnx", "--json"), ("inspct", "--json"), ("inspect", "--json"),
                      ("list", "agent", "--json"), ("list", "agents", "--jsn", "--json")):
            with self.subTest(words=words):
                done = self.mscgym(*words)
                told = json.loads(done.stdout)
                self.assertEqual(told["format"], "msc-error-1")
                self.assertEqual(told["exit_code"], done.returncode)
                self.assertEqual(done.returncode, 2)
                self.assertIn(told["error"], done.stderr)

    def test_json_names_its_form(self):
        model = e2e.small_config()["model"]
        for words, form in ((("inspect", model), "msc-inspect-1"), (("list", "agents"), "msc-list-1"),
                            (("list", "config"), "msc-list-1"),
                            (("track", model, "--targets", "reference", "--random", "1"), "msc-track-1")):
            with self.subTest(words=words):
                told = json.loads(self.succeed(*words, "--json").stdout)
                self.assertEqual(told["format"], form)

    def test_list_says_what_it_lists(self):
        told = self.succeed("list").stdout
        for what in ("envs", "agents", "targets", "ops", "config", "msc-config"):
            self.assertIn(f"mscgym list {what}", told)
        for what, row in (("envs", "Quantize-v0"), ("agents", "bisection"), ("targets", "reference"),
                          ("ops", "Conv"), ("config", "trials"), ("msc-config", "run_type")):
            listed = json.loads(self.succeed("list", what, "--json").stdout)
            self.assertEqual((listed["format"], listed["what"]), ("msc-list-1", what))
            self.assertIn(row, [row.get("name", row.get("key")) for row in listed["rows"]])
        lists = json.loads(self.succeed("list", "--json").stdout)["rows"]
        self.assertIn("agents", [row["name"] for row in lists])
        done = self.mscgym("list", "agnts")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown list 'agnts'; did you mean 'agents'?", done.stderr)

    def test_json_is_refused_where_it_is_wrong(self):
        done = self.mscgym("search", self.write("config.json", '{\n  "model": "é.onnx" "trials": 3\n}'), "--out",
                           self.at("run"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not valid JSON at line 2, column 28", done.stderr)


if __name__ == "__main__":
    e2e.main()
