"""benchmarks/quantizers: the table of `compare`, what it says of what it can't do, and metrics of known outputs."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "quantizers"
PAGE = "top\n<!-- quantizers: begin -->old<!-- quantizers: end -->\nbottom\n"
sys.dont_write_bytecode = True
sys.path.insert(0, str(FOLDER))
try:
    import numpy as np
    import truth
except ImportError as error:
    truth, why = None, str(error)


def row(key, task, losses=None, **more):
    return {"key": key, "date": "2026-01-02", "samples": 300, "task": task, "losses": losses or {}, **more}


class Compare(unittest.TestCase):

    def run_script(self, results, *arguments, page=PAGE):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            lines, out = folder / "results.jsonl", folder / "page.md"
            lines.write_text("".join(json.dumps(line) + "\n" for line in results))
            out.write_text(page)
            done = subprocess.run([sys.executable, FOLDER / "compare", "--results", lines, "--out", out, "--folder",
                                   folder, "--mscgym", folder / "mscgym", "--python", "/bin/false", *arguments],
                                  capture_output=True, text=True, check=False)
            kept = {line["key"]: line for line in map(json.loads, lines.read_text().splitlines())}
            return done, out.read_text(), kept

    def test_the_best_is_bold_and_losses_are_compared(self):
        printed = {"losses": {"disagreement": {"value": 1.0}, "edit_distance": {"value": 0.2}}}
        apart = {"losses": {"disagreement": 1.001, "edit_distance": 0.3}}
        done, page, _ = self.run_script([
            row("ppocr_rec|f32", {"lines as f32": 1.0, "lines right": 0.91}),
            row("ppocr_rec|ours", {"lines as f32": 0.99, "lines right": 0.9}, {"disagreement": 1.1, "edit_distance": 0.2},
                printed=printed, engine=apart, suspicious=True, command="mscgym quantize rec.onnx"),
            row("ppocr_rec|ort", {"lines as f32": 0.5, "lines right": 0.4}, kernels={"task": {"lines as f32": 0.1}}),
            row("fr_pose|f32", {"degrees off": 0.0}), row("fr_pose|ort", {"degrees off": 0.2}),
            row("fr_pose|nncf", {"degrees off": 0.1}),
            {"key": "unet|prepare", "skipped": "no torch"}], "--steps", "table")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(page.startswith("top\n<!--") and page.endswith("-->\nbottom\n"))
        self.assertNotIn("-->old", page)
        self.assertIn("| PP-OCRv4 rec | lines as f32 | 300 | lines right 0.9100 | **0.9900** (lines right 0.9000) | "
                      "0.5000 (lines right 0.4000, this CPU 0.1000) | - |", page)
        self.assertIn("degrees off | 300 |  | - | 0.2000 | **0.1000** |", page)
        self.assertIn("| PP-OCRv4 rec | disagreement | 1 | 1.001 | 1.1 | yes |", page)
        self.assertIn("| PP-OCRv4 rec | edit_distance | 0.2 | 0.3 | 0.2 | **no** |", page)
        self.assertIn("| PP-OCRv4 rec | suspicious | yes | no | no | **no** |", page)
        self.assertIn("- unet, prepare: no torch", page)
        self.assertIn("\nmscgym quantize rec.onnx\n", page)

    def test_what_can_not_be_done_is_said(self):
        done, page, kept = self.run_script([], "--nets", "fashion_resnet", "--steps", "ort,ours,engine,table")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({key: line["skipped"] for key, line in kept.items()},
                         {"fashion_resnet|ort": "it is not prepared", "fashion_resnet|ours": "it is not prepared",
                          "fashion_resnet|engine": "ours has written no strategy"})
        self.assertIn("Nothing was measured yet.", page)
        done, page, _ = self.run_script([], "--steps", "table", page="no marks\n")
        self.assertEqual((done.returncode, page), (1, "no marks\n"))
        self.assertEqual(self.run_script([], "--nets", "resnet")[0].returncode, 2)


@unittest.skipIf(truth is None, "NumPy or SciPy is absent")
class Truth(unittest.TestCase):

    def test_lines_are_decoded_and_compared(self):
        def scores(places):
            return np.eye(40, dtype=np.float32)[np.array(places)]

        wanted, got = scores([[0, 5, 5, 0, 5, 7], [3, 3, 0, 0, 0, 0]]), scores([[5, 5, 5, 5, 0, 7], [3, 0, 0, 0, 0, 0]])
        self.assertEqual(truth.decoded(wanted), [[5, 5, 7], [3]])
        self.assertEqual(truth.decoded(got), [[5, 7], [3]])
        self.assertEqual(truth.distance([5, 5, 7], [5, 7]), 1)
        self.assertEqual(truth.distance("kitten", "sitting"), 3)

    def test_boxes_are_matched_once(self):
        wanted = np.array([[0, 0, 10, 10], [20, 20, 30, 30]], float)
        self.assertEqual(truth.f1(wanted, wanted), 1)
        self.assertEqual(truth.f1(wanted, np.array([[0, 0, 10, 10], [0, 0, 10, 9]], float)), 0.5)
        self.assertEqual(truth.f1(wanted[:0], wanted[:0]), 1)
        self.assertEqual(truth.f1(wanted, wanted[:0]), 0)
        self.assertAlmostEqual(truth.overlaps(wanted[:1], np.array([[5, 0, 15, 10]], float))[0, 0], 1 / 3)
        kept = truth.suppressed(np.array([[0, 0, 10, 10], [1, 0, 11, 10], [20, 0, 30, 10.0]]), np.array([0.5, 0.9, 0.2]))
        self.assertEqual(kept.tolist(), [[1, 0, 11, 10]])

    def test_text_is_found_where_the_map_is_sure(self):
        page = np.zeros((60, 80), np.float32)
        page[10:20, 10:50], page[40:50, 10:50], page[30:32, 70:72] = 0.9, 0.4, 0.9
        grow = 1.5 * 10 * 40 / (2 * (10 + 40))
        self.assertEqual(truth.text_boxes(page).tolist(), [[10 - grow, 10 - grow, 50 + grow, 20 + grow]])

    def test_maps_vectors_and_angles(self):
        a, b = np.array([[0, 0, 1, 2]]), np.array([[0, 1, 1, 3]])
        self.assertAlmostEqual(truth.iou(a, b), (1 / 2 + 1 / 2 + 0 + 0) / 4)
        self.assertAlmostEqual(truth.relative_error(np.array([1.0, 3.0]), np.array([2.0, 3.0])), 0.5 ** 0.5)
        plane = np.array([[1, 0.1], [1, 0.2], [0.1, 1]])
        turned = truth.score_sentences([plane], [plane[:, ::-1]], {})[0]
        self.assertEqual((turned["same nearest"], round(turned["Spearman"], 6)), (1, 1))
        self.assertLess(turned["cosine"], 0.4)
        bins = np.full((1, 66), -50, np.float32)
        bins[0, 33] = 50
        self.assertAlmostEqual(truth.angles([bins] * 3)[0, 2], 0)


if __name__ == "__main__":
    unittest.main()
