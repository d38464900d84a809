"""benchmarks/partition: --render, and going on where it was."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "partition"
PAGE = "top\n<!-- partition: begin -->old<!-- partition: end -->\nbottom\n"


def plan(name, predicted, measured, ratio, regions=1, also=(), best=False):
    return {"name": name, "also": list(also), "regions": regions, "predicted_micros": predicted,
            "measured_micros": measured, "ratio": ratio, "ratio_low": ratio * 0.8 if ratio else None,
            "ratio_high": ratio * 1.25 if ratio else None, "note": "", "best": best}


def answer(key, plans, single, mixed, mix, **more):
    return {"key": key, "plans": plans, "single": single, "mixed": mixed, "mix": mix, "gap": 0.0,
            "candidates": 200, "distinct": 100, "measured": 100, "asked_lazily": 0.25,
            "lazy_dearer": 0.004, "asked_by_roof": 0.8, "roof_dearer": 1e-9, "cold_seconds": 61.2, "warm_seconds": 3.4,
            "where": {"solve": 0.02}, "machine": "CPU", "date": "2026-01-02", "threads": 1,
            "versions": {"onednn": "2"}, "command": "mscgym partition x", **more}


class Render(unittest.TestCase):

    def run_script(self, results, *arguments, page=PAGE):
        with tempfile.TemporaryDirectory() as folder:
            lines = pathlib.Path(folder, "results.jsonl")
            out = pathlib.Path(folder, "page.md")
            lines.write_text("".join(json.dumps(line) + "\n" for line in results))
            out.write_text(page)
            done = subprocess.run([sys.executable, SCRIPT, "--results", lines, "--out", out,
                                   *arguments], capture_output=True, text=True, check=False)
            return done, out.read_text(), lines.read_text()

    def test_gains_and_what_the_original_would_take(self):
        won = answer("four|f32|resnet18", [
            plan("onednn", 900, 1000, 1.0),
            plan("native", 1100, 1200, 1.2),
            plan("greedy", 880, 950, 0.95, regions=4, also=["collage"]),
            plan("plan 1", 800, 840, 0.8, regions=3, best=True)], 0, 3, {"onednn": 1, "native": 2})
        lost = answer("four|f32|encoder", [
            plan("onednn", 900, 1000, 1.0, best=True),
            plan("plan 1", 800, 1000, 1.0, regions=3, also=["paper"])], 0, 1, {"onednn": 1},
            measured=20)
        done, page, _ = self.run_script([won, lost], "--render")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(page.startswith("top\n<!--") and page.endswith("-->\nbottom\n"))
        self.assertNotIn("-->old", page)
        self.assertIn("| resnet18 | 1.00 onednn | 0.84 | 1.25 [1.00, 1.56] | 2 native, 1 onednn | "
                      "1.10 / 1.19 | - | 0.0 % | 0.020 | +6 % | 200 | 100 | 25 % | 0.4 % | 80 % | 61 | 3.4 |", page)
        self.assertIn("| encoder | 1.00 onednn | 1.00 | 1.00 [0.80, 1.25] | the single target | - | "
                      "1.00 / 1.00 | 0.0 % | 0.020 | +25 % | 200 | 100 | 25 % | 0.4 % | 80 % | 61 (20 %) | 3.4 |", page)
        self.assertIn("**1.118** over 2 models, 1.118 over the 2 that gain most; least 1.000", page)

    def test_what_was_skipped_and_why(self):
        _, page, _ = self.run_script([{"key": "five|int8|encoder", "skipped": "no drive"}],
                                     "--render")
        self.assertIn("- encoder, int8, 5 targets: no drive", page)

    def test_a_model_that_is_absent_is_a_line_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = pathlib.Path(folder, "mscgym")
            rows = [{"name": name, "summary": "here"} for name in ("onednn", "native", "blas")]
            fake.write_text(f"#!/bin/sh\necho '{json.dumps(rows)}'\n")
            fake.chmod(0o755)
            known = answer("four|f32|resnet18", [plan("onednn", 9, 10, 1.0, best=True)], 0, None,
                           {"onednn": 1})
            done, page, lines = self.run_script([known], "--mscgym", fake, "--models",
                                                "resnet18,encoder", "--precision", "f32",
                                                "--tables", "four")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("resnet18", done.stdout, "it was there")
        kept = {line["key"]: line for line in map(json.loads, lines.splitlines())}
        self.assertEqual(kept["four|f32|encoder"]["skipped"], "this build has no xnnpack")
        self.assertIn("| resnet18 | 0.01 onednn | - | - | the single target |", page)

    def test_a_page_without_marks_stays_as_it_is(self):
        done, page, _ = self.run_script([], "--render", page="no marks\n")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(page, "no marks\n")


if __name__ == "__main__":
    unittest.main()
