"""benchmarks/compression: --render, and going on where it was."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "compression"
PAGE = "top\n<!-- compression: begin -->old<!-- compression: end -->\nbottom\n"


def record(key, **more):
    return {"key": key, "date": "2026-01-02", "machine": "CPU", "threads": 1, "seconds": 1.0,
            "command": "mscgym " + key, **more}


def quality(accuracy, reference=0.9):
    return {"accuracy": accuracy, "reference_accuracy": reference}


class Compression(unittest.TestCase):

    def run_script(self, results, *arguments, page=PAGE, answer=None):
        """With a program that always prints `answer`; what it was asked is in the folder's "asked"."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            lines, out, fake = folder / "results.jsonl", folder / "page.md", folder / "mscgym"
            lines.write_text("".join(json.dumps(line) + "\n" for line in results))
            out.write_text(page)
            ending = f"echo '{json.dumps(answer)}'" if answer else "echo 'no such file' >&2; exit 2"
            fake.write_text(f"#!/bin/sh\necho \"$@\" >> {folder}/asked\n{ending}\n")
            fake.chmod(0o755)
            done = subprocess.run([sys.executable, SCRIPT, "--results", lines, "--out", out, "--mscgym",
                                   fake, "--folder", folder, *arguments],
                                  capture_output=True, text=True, check=False)
            asked = folder / "asked"
            kept = {line["key"]: line for line in map(json.loads, lines.read_text().splitlines())}
            return done, out.read_text(), kept, asked.read_text() if asked.exists() else ""

    def test_what_is_asked_beside_what_was_found(self):
        done, page, _, _ = self.run_script([
            record("int8|resnet|percentile", quality=quality(0.898)),
            record("int8|mobile|percentile", quality=quality(0.8949)),
            record("w4a8|vgg|tensor", quality=quality(0.8)), record("w4a8|vgg|fitted", quality=quality(0.85)),
            record("agree|fr_feature|", quality={"samples": 50, "cosine": 0.99, "agreement": 0.9}),
            record("speed|vgg|onednn", latency={"ratio": 0.5, "ratio_low": 0.4, "ratio_high": 0.625,
                                                "noisy": True}),
            record("speed|mobile|onednn", latency={"ratio": 0.8, "ratio_low": 0.8, "ratio_high": 0.8,
                                                   "noisy": False}),
            *[record(f"qat|vgg|{seed}", before=quality(0.85), after=quality(0.85 + int(seed) / 100))
              for seed in "123"],
            record("memory|vgg|50", peak_mib=100.0), record("memory|vgg|5000", peak_mib=111.0),
            record("masked|vgg|", differs=3e-7),
            record("ocr|ppocr|", lines=500, right={"f32": 0.9, "int8": 0.894}),
            {"key": "distill|vgg|half", "skipped": "no plan"}], "--render")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(page.startswith("top\n<!--") and page.endswith("-->\nbottom\n"))
        self.assertNotIn("-->old", page)
        self.assertIn("| accuracy in f32 | 90.00 % | - | 90.00 % |", page)
        self.assertIn("0.5 on mobile | 0.20 | - | 0.51 **missed** |", page)
        self.assertIn("min-max by layer loses | - | 5.00 of 10.00 (80.00 % > 85.00 %) | - |", page)
        self.assertIn("MobileFaceNet in int8 on 50 faces: cosine of its outputs with those in f32 0.9900", page)
        self.assertIn("`onednn` | - | 2.00 [1.60, 2.50] (noisy) | 1.25 [1.25, 1.25] **missed** |", page)
        self.assertIn("| - | +2.00 (85.00 % > 86.00 %, 87.00 %, 88.00 %) | - |", page)
        self.assertIn("| - | 1.11 (100 and 111 MiB) **missed** | - |", page)
        self.assertIn("1e-5 at most | - | 3e-07 | - |", page)
        self.assertIn("reads 90.00 % of 500 rendered lines right in f32 and 89.40 % in int8", page)
        self.assertIn("at most 1.0 points: 0.60.", page)
        self.assertIn("- distill vgg half: no plan", page)

    def test_only_what_is_not_there_is_run(self):
        known = record("int8|resnet|mse", quality=quality(0.9))
        done, page, kept, asked = self.run_script(
            [known], "--parts", "int8", "--nets", "resnet,vgg", answer={"quality": quality(0.899), "layers": []})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(asked.count("\n"), 1, asked)
        self.assertIn("quantize experiments/models/fashion_resnet.onnx --calibration", asked)
        self.assertEqual(kept["int8|resnet|mse"], known)
        self.assertEqual(kept["int8|resnet|percentile"]["quality"], quality(0.899))
        self.assertGreater(kept["int8|resnet|percentile"]["peak_mib"], 0)
        self.assertNotIn("layers", kept["int8|resnet|percentile"])
        self.assertIn("is absent: --parts train", kept["int8|vgg|mse"]["skipped"])
        self.assertIn("| 0.10 | - | - |", page)

    def test_what_goes_wrong_is_said(self):
        done, page, kept, _ = self.run_script([], "--parts", "prune,speed", "--nets", "resnet")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(kept["prune|resnet|half"]["skipped"], "mscgym prune: no such file")
        self.assertIn("resnet_half.json is absent: --parts prune", kept["speed|resnet|onednn"]["skipped"])
        self.assertIn("Nothing was measured yet.", page)
        done, page, _, _ = self.run_script([], "--render", page="no marks\n")
        self.assertEqual((done.returncode, page), (2, "no marks\n"))
        self.assertEqual(self.run_script([], "--parts", "speeed")[0].returncode, 2)


if __name__ == "__main__":
    unittest.main()
