"""benchmarks/learned: --render, and what it refuses."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "learned"
PAGE = "top\n<!-- learned: begin -->old<!-- learned: end -->\nbottom\n"


def line(model, **more):
    error = {"target": "t", "correlation": 0.97, "typical": 0.2, "trusted": True}
    return {"model": model, "machine": "CPU", "versions": {"native": "5"}, "threads": 1,
            "date": "2026-01-02", "command": "mscgym partition x", "distinct": 400, "all": 400,
            "learned": 100, "lazily": 120, "seconds": [40.2, 10.1],
            "errors": [error, {**error, "correlation": 0.9}, {**error, "trusted": False}],
            "here": {"correlation": 0.96, "typical": 0.11}, "below": [3, 90], "missing": [1, 7], "dearer": 0.0123,
            "answers": [[1.5, "native"], [1.6, "4 regions"]], "ratio": [1.05, 1.01, 1.09], **more}


class Render(unittest.TestCase):

    def run_script(self, *arguments, lines=(), page=PAGE):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.jsonl")
            out = pathlib.Path(folder, "page.md")
            results.write_text("".join(json.dumps(line) + "\n" for line in lines))
            out.write_text(page)
            done = subprocess.run([sys.executable, SCRIPT, "--results", results, "--out", out,
                                   *arguments], capture_output=True, text=True, check=False)
            return done, out.read_text()

    def test_what_was_saved_and_what_answers_are_worth(self):
        done, page = self.run_script("--render", lines=[line("a"), line("b", ratio=None)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(page.startswith("top\n<!--") and page.endswith("-->\nbottom\n"))
        self.assertIn("| a | 400 | 100 (25 %) | 30 % | 40 | 10 | 2 of 3 | 0.90 to 0.97 | 20 % to 20 % "
                      "| 0.96 | 11 % | 3 of 90 | 1 of 7 | +1.2 % | 1.50 native | 1.60 4 regions | "
                      "1.050 [1.010, 1.090] |", page)
        self.assertIn("| the same plan |", page)
        self.assertIn("Of 800 costs **200 were measured, 75 % were not**; 20 s instead of 80", page)
        self.assertIn("slower beyond the interval: a; faster: none", page)

    def test_a_model_of_which_no_target_is_trusted(self):
        untrusted = {"target": "t", "correlation": 0.3, "typical": 0.9, "trusted": False}
        nothing = {"correlation": 0, "typical": 0}
        done, page = self.run_script("--render", lines=[
            line("a", errors=[untrusted], here=nothing, below=[0, 0], learned=400)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| 0 of 1 | - | - |", page)

    def test_refuses_too_few_models_and_pages_without_marks(self):
        done, page = self.run_script("--models", "fashion_resnet", "--mscgym", "/bin/true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("1 models are too few: 4 at least", done.stderr)
        self.assertEqual(page, PAGE)
        done, page = self.run_script("--render", page="no marks\n")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(page, "no marks\n")


if __name__ == "__main__":
    unittest.main()
