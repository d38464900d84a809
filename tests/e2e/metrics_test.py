"""Metrics of a user's own: the examples of docs/metrics.md in searches whose results agree with NumPy on
saved outputs, and metrics that misbehave, of which nothing is lost but a trial."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None

import e2e
from onnx_bytes import field, model, node, value, weights

EXAMPLES = os.path.join(e2e.ROOT, "docs", "examples")
SAMPLES = 120


def two_layers(out, end=None, hidden=16):
    """x [n, 10, 12] -> y [n, 10, out], whose last node may be `end`."""
    source = random.Random(5)
    last = "logits" if end else "y"
    nodes = (node("MatMul", ["x", "v"], "h", name="above") + node("Relu", ["h"], "r") +
             node("MatMul", ["r", "w"], last, name="below"))
    if end:
        nodes += node(end, ["logits"], "y")
    return model(nodes + field(2, "two_layers") + weights("v", [12, hidden], source) +
                 weights("w", [hidden, out], source) + field(11, value("x", 1, ["n", 10, 12])) +
                 field(12, value("y", 1, ["n", 10, out])))


@unittest.skipIf(numpy is None, "this python3 has no NumPy")
class MetricsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msc_e2e_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.samples = numpy.random.default_rng(1).normal(size=(SAMPLES, 10, 12)).astype("float32")
        numpy.save(self.at("x.npy"), self.samples)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        with open(self.at(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.at(name)

    def config(self, network, metrics, **objective):
        self.network = self.write("model.onnx", network)
        return {"model": "model.onnx", "env": "quantize", "agent": "grid", "target": e2e.small_config()["target"],
                "trials": 4, "finalists": 1, "estimate_s": 0, "explain_s": 0,
                "calibration": {"data": {"images": "x.npy"}, "samples": 32},
                "quality": {"data": {"images": "x.npy"}, "samples": 40, "finalists": "all",
                            "metrics": metrics, "guard": e2e.ANY_RESULT},
                "objective": {"minimize": ["weight_bytes"], **objective},
                "latency": {"max_ms": 40, "max_rounds": 5, "min_rounds": 3, "max_warmup_ms": 10}}

    def search(self, config, *arguments, code=0, run="run"):
        path = self.write("config.json", json.dumps(config))
        done = subprocess.run([e2e.MSCGYM, "search", path, "--out", self.at(run), *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=e2e.DEADLINE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def outputs(self, *arguments, samples=None):
        """The outputs that `mscgym run` saves."""
        these = self.samples if samples is None else samples
        numpy.save(self.at("some.npy"), these)
        subprocess.run([e2e.MSCGYM, "run", self.network, *arguments, "--input",
                        self.at("some.npy"), "--batch", str(len(these)), "--out",
                        self.at("saved")], check=True,
                       capture_output=True, timeout=e2e.DEADLINE_S)
        return numpy.load(self.at("saved", "output_0.npy"))

    def best(self, run="run"):
        """The strategy's file, the metric and the results of the best."""
        found = e2e.results(self.at(run))
        outcome = json.loads(found["finalists"][found["best"]]["result"])["outcome"]
        return self.at(run, "best", "strategy.json"), outcome["quality"]["metrics"][0], found

    def check_agreement(self, metric, done, run="run"):
        """The result's metric is that of saved outputs, computed apart."""
        strategy, found, _ = self.best(run)
        before = metric(self.outputs())
        after = metric(self.outputs("--strategy", strategy))
        self.assertAlmostEqual(found["reference"], before, places=3)
        self.assertAlmostEqual(found["value"], after, places=3)
        self.assertAlmostEqual(abs(found["loss"]["value"]), abs(after - before), places=3)
        self.assertIn("of the uncompressed model: %.6g, " % found["reference"], done.stderr)
        return found

    # The examples of docs/metrics.md.

    def test_recall_of_embeddings(self):
        identities = numpy.random.default_rng(2).integers(0, 9, SAMPLES)
        self.write("identities.txt", "\n".join(map(str, identities)))
        config = self.config(two_layers(8), {"recall": {
            "command": [sys.executable, os.path.join(EXAMPLES, "metric_recall.py"),
                        "identities.txt"], "better": "higher"}}, subject_to={"recall": 20})
        done = self.search(config)

        def recall(outputs):
            hits = 0
            for i in range(SAMPLES):
                a = outputs[i].ravel()
                angles = [a @ b.ravel() / numpy.linalg.norm(b) if j != i else -numpy.inf
                          for j, b in enumerate(outputs)]
                hits += identities[int(numpy.argmax(angles))] == identities[i]
            return 100 * hits / SAMPLES

        found = self.check_agreement(recall, done)
        self.assertFalse(found["whole"])
        self.assertIn("recall", done.stdout)
        with open(self.at("run", "report.html"), encoding="utf-8") as file:
            self.assertIn("recall", file.read())
        with open(self.at("run", "pareto.json"), encoding="utf-8") as file:
            self.assertIn('"recall"', file.read())

    def test_word_error_of_ctc(self):
        characters = " abcdef"
        config = self.config(two_layers(8, "Softmax"), {"wer": {
            "command": [sys.executable, os.path.join(EXAMPLES, "metric_word_error.py"),
                        "texts.txt", self.write("characters.txt", characters + "\n")], "better": "lower"}},
            subject_to={"wer": 30})

        def words(outputs):
            texts = []
            for classes in outputs.argmax(axis=2):
                text, last = "", 0
                for c in classes:
                    if c not in (0, last):
                        text += characters[c - 1]
                    last = c
                texts.append(text.split())
            return texts

        # What the uncompressed model reads, with a word replaced in some lines.
        truth = [["zz"] + line[1:] if i % 5 == 0 and line else line
                 for i, line in enumerate(words(self.outputs()))]
        self.write("texts.txt", "\n".join(" ".join(line) for line in truth))

        def distance(a, b):
            if not a or not b:
                return len(a) + len(b)
            return min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1,
                       distance(a[1:], b[1:]) + (a[0] != b[0]))

        def wer(outputs):
            wrong = sum(distance(a, b) for a, b in zip(truth, words(outputs)))
            return 100 * wrong / sum(map(len, truth))

        found = self.check_agreement(wer, self.search(config))
        self.assertTrue(found["whole"])
        self.assertGreater(found["reference"], 0)
        # One number for all samples has no interval, so its trials are judged on all of them.
        for trial in e2e.trials(self.at("run")).values():
            result = json.loads(trial["record"])["result"]
            if "outcome" in result:
                self.assertEqual(result["outcome"]["quality"]["samples"], SAMPLES)

    def test_average_precision_of_boxes(self):
        config = self.config(two_layers(5), {"mAP": {
            "command": [sys.executable, os.path.join(EXAMPLES, "metric_average_precision.py"),
                        "boxes.json"], "better": "higher"}}, subject_to={"mAP": 50})
        # Some of the boxes of the uncompressed model, moved a little.
        source = numpy.random.default_rng(3)
        truth = []
        for rows in self.outputs().astype(float):
            some = rows[source.random(10) < 0.4, :4]
            truth.append((some + source.normal(0, 0.05, some.shape)).tolist())
        self.write("boxes.json", json.dumps(truth))

        def iou(a, b):
            inter = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
            union = ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inter)
            return inter / max(union, 1e-12)

        def precision(outputs):
            found, total = [], sum(map(len, truth))
            for rows, boxes in zip(outputs.astype(float), truth):
                left = list(boxes)
                for row in rows[numpy.argsort(-rows[:, 4], kind="stable")]:
                    near = max(left, key=lambda box, row=row: iou(row, box), default=None)
                    hit = near is not None and iou(row, near) >= 0.5
                    if hit:
                        left.remove(near)
                    found.append((row[4], hit))
            found.sort(key=lambda pair: -pair[0])
            curve, hits = [], 0
            for i, (_, hit) in enumerate(found, 1):
                hits += hit
                curve.append((hit, hits / i))
            area = sum(max(p for _, p in curve[i:]) for i, (hit, _) in enumerate(curve) if hit)
            return 100 * area / max(total, 1)

        self.check_agreement(precision, self.search(config))

    # Metrics that misbehave.

    def script(self, text):
        return {"m": {"command": [sys.executable, self.write("metric.py", text)],
                      "better": "lower", "timeout_s": 20}}

    def test_a_metric_that_fails_without_compression_ends_the_search_at_once(self):
        cases = {
            "raise ValueError('no truth')": "metric 'm': exited with 1: ValueError: no truth, of the "
                                            "uncompressed model",
            "print('{\"value\": NaN}')": "metric 'm': gave '{\"value\": NaN} ' instead of",
            "print('loading'); print('{\"value\": 1}')": "metric 'm': gave 'loading",
            "print('[' + '1, ' * 10_000_000 + '1]')": "metric 'm': sent a result that is too long",
            "print('{\"values\": [1, 2]}')": "metric 'm': gave 2 values for 120 samples",
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": "metric 'm': died of SIGSEGV",
        }
        for i, (text, message) in enumerate(cases.items()):
            done = self.search(self.config(two_layers(4), self.script(text)), code=2, run=str(i))
            self.assertIn(message, done.stderr)
            self.assertEqual(e2e.trial_lines(self.at(str(i))), [])
        config = self.config(two_layers(4), self.script("import time; time.sleep(100)"))
        config["quality"]["metrics"]["m"]["timeout_s"] = 1
        self.assertIn("metric 'm': no answer within 1000 ms, of the uncompressed model",
                      self.search(config, code=2, run="hang").stderr)
        config["quality"]["metrics"]["m"]["command"] = ["no-such-program"]
        self.assertIn("there is no program 'no-such-program' in PATH",
                      self.search(config, code=2, run="absent").stderr)
        del config["quality"]["metrics"]["m"]["better"]
        self.assertIn("must be one of higher, lower", self.search(config, code=2, run="unsaid").stderr)
        self.assertFalse(os.path.exists(self.at("unsaid")))

    # Fails for every candidate whose outputs are not those of the uncompressed model.
    PICKY = """
import json, numpy, os, time
if not os.path.exists({kept!r}):
    numpy.save({kept!r}, numpy.load("outputs/y.npy"))
manifest = json.load(open("manifest.json"))
rows = slice(manifest["first"], manifest["first"] + manifest["count"])
if not numpy.array_equal(numpy.load({kept!r})[rows], numpy.load("outputs/y.npy")):
    {harm}
print(json.dumps({{"values": [1.5] * manifest["count"]}}))
"""

    def test_a_metric_that_fails_on_a_candidate_costs_that_trial(self):
        harms = {"time.sleep(100)": ("timeout", "metric 'm': no answer within 3000 ms"),
                 "os.abort()": ("crash", "metric 'm': died of SIGABRT"),
                 "print('{\"value\": Infinity}')": ("crash", "metric 'm': gave"),
                 "raise RuntimeError('odd boxes')":
                     ("crash", "metric 'm': exited with 1: RuntimeError: odd boxes")}
        for i, (harm, (kind, detail)) in enumerate(harms.items()):
            metrics = self.script(self.PICKY.format(kept=self.at(f"kept{i}.npy"), harm=harm))
            metrics["m"]["timeout_s"] = 3
            self.search(self.config(two_layers(4), metrics, subject_to={"m": 0.5}), run=str(i))
            results = [json.loads(trial["record"])["result"]
                       for trial in e2e.trials(self.at(str(i))).values()]
            failures = [result["failure"] for result in results if "failure" in result]
            self.assertTrue(failures)
            for failure in failures:
                self.assertEqual(failure["kind"], kind)
                self.assertTrue(failure["detail"].startswith(detail), failure["detail"])
            # The uncompressed model keeps the limit, so there is an answer.
            self.assertIsNotNone(e2e.results(self.at(str(i)))["best"])
            left = os.listdir(self.at(str(i), "scratch"))
            self.assertEqual([name for name in left if name.startswith("mscgym-")], [])

    def test_a_random_metric_is_reported_and_widens_the_interval(self):
        done = self.search(self.config(two_layers(4), self.script(
            "import random; print('{\"value\": %r}' % random.uniform(10, 11))")))
        self.assertIn("metric 'm' is random: two calls on the same outputs differ by", done.stderr)
        self.assertGreater(self.best()[1]["loss"]["error"], 0)

    def test_a_changed_script_is_another_metric(self):
        config = self.config(two_layers(4), self.script("print('{\"value\": 1}')"))
        self.search(config)
        self.script("print('{\"value\": 2}')")
        done = self.search(config, "--resume", code=2)
        self.assertIn("'quality.metrics' or a file that a metric names has changed", done.stderr)

    def test_a_shared_object_is_a_metric(self):
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            self.skipTest("there is no C compiler")
        source = self.write("metric.c", """
#include <cost/measure/metric_abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int MscMetric(const MscMetricCall* call, double* values) {
  const MscMetricArray* y = &call->outputs[0];
  if (strcmp(y->name, "y") != 0 || strcmp(y->type, "f32") != 0 || y->rank != 3) return MSC_METRIC_FAILED;
  printf("noise on stdout\\n");
  if (call->argument_count > 0 && strcmp(call->arguments[0], "crash") == 0) abort();
  const float* numbers = y->values;
  const int64_t each = y->dims[1] * y->dims[2];
  for (int64_t i = 0; i < call->count; ++i) {
    values[i] = 0;
    for (int64_t j = 0; j < each; ++j) values[i] += numbers[i * each + j];
  }
  return MSC_METRIC_EACH;
}
""")
        subprocess.run([compiler, "-std=c99", "-Wall", "-Werror", "-shared", "-fPIC", "-I", e2e.ROOT, source,
                        "-o", self.at("metric.so")], check=True)
        config = self.config(two_layers(4), {"m": {"library": ["metric.so"], "better": "higher"}})
        done = self.search(config)
        self.check_agreement(lambda outputs: float(outputs.astype(float).sum() / SAMPLES), done)
        config["quality"]["metrics"]["m"]["library"].append("crash")
        self.assertIn("metric 'm': died of SIGABRT", self.search(config, code=2, run="crash").stderr)

    def test_quantize_measures_a_metric_before_and_after(self):
        network = self.write("model.onnx", two_layers(4))
        self.network = network
        script = self.write("sum.py", "import json, numpy\ny = numpy.load('outputs/y.npy')\n"
                                      "print(json.dumps({'values': y.sum(axis=(1, 2)).tolist()}))\n")
        done = subprocess.run(
            [e2e.MSCGYM, "quantize", network, "--calibration", self.at("x.npy"), "--test",
             self.at("x.npy"), "--metric", f"sum=higher:{sys.executable} {script}", "--json",
             "--save-plan", self.at("plan.json"), *e2e.ANY_MODEL], capture_output=True, text=True,
            timeout=e2e.DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)["quality"]
        for key, arguments in (("reference", []), ("value", ["--strategy", self.at("plan.json")])):
            wanted = self.outputs(*arguments).astype(float).sum() / SAMPLES
            self.assertAlmostEqual(found["metrics"]["sum"][key], wanted, places=3)
        self.assertIn("sum", found["losses"])


if __name__ == "__main__":
    e2e.main()
