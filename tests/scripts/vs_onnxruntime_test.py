"""benchmarks/vs_onnxruntime --render: results in, tables between the marks of a page out."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "vs_onnxruntime"


def row(target, ratio, ms, **more):
    return {"target": target, "variant": "f32", "median_ms": ms, "ratio": ratio, "noisy": False,
            "ratio_low": ratio * 0.8, "ratio_high": ratio * 1.25, "roof_share": 0.5, **more}


def answer(*rows):
    peak = {"per_second": 1e11, "instruction": "abacus"}
    return {"rows": list(rows), "cpu": "CPU", "date": "2026-01-02", "threads": 1,
            "command": "mscgym bench x", "versions": {"onednn": "2", "(onnxruntime)": "1.30"},
            "roof": {"f32": peak, "bf16": peak, "int8": peak, "copy_bytes_per_second": 1e10}}


class Render(unittest.TestCase):

    def render(self, results, page="top\n<!-- vs_onnxruntime: begin -->old"
                                   "<!-- vs_onnxruntime: end -->\nbottom\n"):
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: pathlib.Path(folder, name) for name in ("results.json", "page.md")}
            paths["results.json"].write_text(json.dumps(results))
            paths["page.md"].write_text(page)
            done = subprocess.run([sys.executable, SCRIPT, "--render", "--results",
                                   paths["results.json"], "--out", paths["page.md"]],
                                  capture_output=True, text=True, check=False)
            return done, paths["page.md"].read_text()

    def test_the_fastest_target_of_each_model_and_their_mean(self):
        peer = row("(onnxruntime)", 1.0, 8.0)
        done, page = self.render({
            "resnet18|f32|1": answer(peer, row("onednn", 0.5, 4.0), row("native", 0.8, 6.4)),
            "encoder|f32|1": answer(peer, row("onednn", 1.0, 8.0), row("native", 0.125, 1.0)),
        })
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(page.startswith("top\n<!--") and page.endswith("-->\nbottom\n"))
        self.assertNotIn("old", page)
        self.assertIn("| resnet18 | 8.00 | 4.00 | onednn | 2.00 [1.60, 2.50] | 50 % | native 6.40 |",
                      page)
        self.assertIn("| encoder | 8.00 | 1.00 | native | 8.00 [6.40, 10.00] |", page)
        self.assertIn("best: **4.00** over 2 models; native alone 3.16 over 2, onednn alone 1.41",
                      page)

    def test_a_row_that_contradicts_itself_is_left_out(self):
        def slow_first(ratio):
            return answer(row("(onnxruntime)", ratio, 8.0), row("onednn", 0.5 * ratio, 4.0))

        _, page = self.render({
            "resnet18|f32|2": {**slow_first(0.35), "attempts": 3},
            "encoder|f32|2": answer(row("(onnxruntime)", 1.0, 8.0), row("onednn", 0.5, 6.0)),
            "vit_b_16|f32|2": slow_first(0.95),
        })
        self.assertIn("- resnet18, f32, 2 threads: disturbed each of 3 times it was measured: (onnxruntime) took 0.35 of its own "
                      "time", page)
        self.assertIn("- encoder, f32, 2 threads: disturbed each of 1 times it was measured: onednn: the medians' ratio is 0.75, "
                      "the ratios' median 0.50", page)
        self.assertIn("over 1 models", page)

    def test_what_was_skipped_and_why(self):
        _, page = self.render({
            "resnet18|int8|2": {"skipped": "third_party/models/resnet18.onnx is absent"},
            "encoder|int8|2": answer(row("(onnxruntime)", 1.0, 8.0), row("onednn", 0.5, 4.0),
                                     {"target": "warp", "variant": "int8", "absent": "no drive"}),
            "vit_b_16|int8|2": answer({"target": "(onnxruntime)", "absent": "it refused"},
                                      row("onednn", 1.0, 4.0)),
        })
        self.assertIn("- resnet18, int8, 2 threads: third_party/models/resnet18.onnx is absent", page)
        self.assertIn("- encoder, int8, 2 threads, warp: no drive", page)
        self.assertIn("- vit_b_16, int8, 2 threads: it refused", page)
        self.assertIn("**2.00** over 1 models", page)

    def test_nothing_measured(self):
        _, page = self.render({})
        self.assertIn("Nothing was measured yet.", page)

    def test_a_page_without_marks_stays_as_it_is(self):
        done, page = self.render({}, "no marks\n")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(page, "no marks\n")


class Measure(unittest.TestCase):
    """With a program in place of mscgym, which gives one prepared answer a call."""

    PROGRAM = """#!/usr/bin/env python3
import pathlib, sys
answers = sorted(pathlib.Path(sys.argv[0]).parent.glob("answer_*"))
print(answers[0].read_text())
if len(answers) > 1:
    answers[0].unlink()
"""

    def measure(self, *answers):
        """The results after one run, of which the last answer is given as often as it is asked for."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "mscgym"
            program.write_text(self.PROGRAM)
            program.chmod(0o755)
            for i, each in enumerate(answers):
                (folder / f"answer_{i}").write_text(json.dumps(each))
            page = folder / "page.md"
            page.write_text("<!-- vs_onnxruntime: begin --><!-- vs_onnxruntime: end -->")
            done = subprocess.run([sys.executable, SCRIPT, "--mscgym", program, "--models", "fashion_resnet", "--threads", "1",
                                   "--precision", "f32", "--targets", "onednn", "--results", folder / "results.json", "--out", page],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads((folder / "results.json").read_text())["fashion_resnet|f32|1"], page.read_text()

    @staticmethod
    def with_first_at(ratio):
        return answer(row("(onnxruntime)", ratio, 8.0), row("onednn", 0.5 * ratio, 4.0))

    def test_a_disturbed_row_is_measured_again(self):
        kept, page = self.measure(self.with_first_at(0.35), self.with_first_at(1.0))
        self.assertEqual(kept["attempts"], 2)
        self.assertEqual(kept["rows"][0]["ratio"], 1.0)
        self.assertIn("| fashion_resnet | 8.00 | 4.00 | onednn | 2.00 [1.60, 2.50] |", page)

    def test_what_stays_disturbed_is_kept_at_its_best_and_said(self):
        kept, page = self.measure(self.with_first_at(0.35), self.with_first_at(0.8), self.with_first_at(0.5))
        self.assertEqual(kept["attempts"], 3)
        self.assertEqual(kept["rows"][0]["ratio"], 0.8)
        self.assertIn("disturbed each of 3 times", page)


if __name__ == "__main__":
    unittest.main()
