"""Results that changed much are marked, whatever the layout of the output: the commands say which output it
is and end with 3. Losses agree with those computed here from the outputs of both models."""

import math
import os

import e2e
from compared import (ComparedTest, SAMPLES, convolutions, decoded, dense, largest, network, rename, share)
from onnx_bytes import ints, node

SUSPICIOUS = 3


class Suspicious(ComparedTest):
    def marked(self, net, dims, *options):
        """The losses of 2-bit weights, which must be suspicious, and the outputs of both models."""
        found = self.compare(net, dims, *options)
        self.assertEqual(found.code, SUSPICIOUS, found.said)
        self.assertRegex(found.said, "suspicious: output 'y' ")
        return found.losses, found.before, found.after

    def test_classes_of_two_bit_weights(self):
        layers, shapes = dense(10)
        losses, p, q = self.marked(network(layers, rename(), ["n", 16], {"y": ["n", 10]}, shapes), [16],
                                   "--output", "y=logits")
        truth = share(largest(a) != largest(b) for a, b in zip(p, q))
        self.assertGreater(truth, 2)
        self.assertAlmostEqual(losses["disagreement"], truth, 3)

    def test_lines_of_text(self):
        layers, shapes = dense(12)
        tail = node("Softmax", ["h"], "y")
        losses, p, q = self.marked(network(layers, tail, ["n", 9, 16], {"y": ["n", 9, 12]}, shapes), [9, 16],
                                   "--output", "y=ctc:axis=2")
        truth = share(decoded(a, 12) != decoded(b, 12) for a, b in zip(p, q))
        self.assertGreater(truth, 50)
        self.assertAlmostEqual(losses["disagreement"], truth, 3)

    def test_embeddings(self):
        layers, shapes = dense(64)
        tail = (node("ReduceL2", ["h"], "norm", ints("axes", [1])) + node("Div", ["h", "norm"], "y"))
        losses, p, q = self.marked(network(layers, tail, ["n", 16], {"y": ["n", 64]}, shapes), [16])
        cosines = [sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
                   for a, b in zip(p, q)]
        self.assertAlmostEqual(losses["cosine_distance"], 1 - sum(cosines) / SAMPLES, 5)
        self.assertGreater(losses["relative_error"], 0.1)

    def test_one_logit(self):
        layers, shapes = dense(1)
        losses, p, q = self.marked(network(layers, rename(), ["n", 16], {"y": ["n", 1]}, shapes), [16],
                                   "--output", "y=logit")
        truth = share((a[0] > 0) != (b[0] > 0) for a, b in zip(p, q))
        self.assertAlmostEqual(losses["disagreement"], truth, 3)
        self.assertGreater(losses["distill_loss"], 0)

    def test_map_of_classes(self):
        layers, shapes = convolutions(3, 5)
        losses, p, q = self.marked(network(layers, rename(), ["n", 3, 6, 7], {"y": ["n", 5, 6, 7]}, shapes), [3, 6, 7],
                                   "--output", "y=logits:axis=1")
        classes = [[[largest(sample[i::42]) for i in range(42)] for sample in side] for side in (p, q)]
        truth = share(a != b for one, other in zip(*classes) for a, b in zip(one, other))
        self.assertAlmostEqual(losses["disagreement"], truth, 3)
        self.assertGreater(losses["iou_loss"], truth)


class SuspiciousSearch(e2e.SearchTest):
    def test_a_result_that_keeps_its_limit_is_marked(self):
        config = e2e.small_config()
        config["trials"] = 3
        config["target"] = "native"
        config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {"distill_loss": 10}}
        config["quality"]["guard"] = {"relative_error": 1e-6}
        run = self.at("run")
        done = self.mscgym("search", self.write("config.json", config), "--out", run, "--cache", self.at("cache"))
        self.assertEqual(done.returncode, SUSPICIOUS, done.stderr)
        self.assertIn("suspicious: output '", done.stdout + done.stderr)
        page = e2e.read(os.path.join(run, "report.html")).decode()
        self.assertIn("suspicious", page)
        self.assertTrue(os.path.exists(os.path.join(run, "best", "strategy.json")))


if __name__ == "__main__":
    e2e.main()
