"""Results that changed much are marked, whatever the layout of the output: the commands say which output it
is and end with 3. Losses agree with those computed here from the outputs of both models."""

import json
import math
import os
import random
import re
import struct

import e2e
from onnx_bytes import field, ints, model, node, value, weights

SUSPICIOUS = 3
SAMPLES = 40


def network(layers, tail, dims, out, shapes):
    """`layers` make h of x, `tail` makes y of h; `shapes` are those of the weights."""
    source = random.Random(3)
    constants = b"".join(weights(name, shape, source) for name, shape in shapes.items())
    return model(layers + tail + field(2, "net") + constants + field(11, value("x", 1, dims)) +
                 field(12, value("y", 1, out)))


def dense(out):
    """Two layers of [..., 16]."""
    return (node("MatMul", ["x", "v"], "a", name="first") + node("Relu", ["a"], "r") +
            node("MatMul", ["r", "w"], "h", name="second")), {"v": [16, 32], "w": [32, out]}


def rename():
    return node("Identity", ["h"], "y")


def read_npy(path):
    """Dims and values of a file of f32."""
    data = e2e.read(path)
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    dims = [int(d) for d in re.search(r"\(([^)]*)\)", header)[1].split(",") if d.strip()]
    return dims, struct.unpack(f"<{math.prod(dims)}f", data[10 + size:])


def largest(row):
    return max(range(len(row)), key=row.__getitem__)


def rows(numbers, size):
    return [numbers[i:i + size] for i in range(0, len(numbers), size)]


def decoded(sample, classes):
    """What a greedy CTC decoder reads; class 0 is blank."""
    path = [largest(row) for row in rows(sample, classes)]
    return [c for i, c in enumerate(path) if c != 0 and (i == 0 or path[i - 1] != c)]


def share(changed):
    changed = list(changed)
    return 100 * sum(changed) / len(changed)


class Suspicious(e2e.ProgramTest):
    def compare(self, net, dims, *options):
        """The losses of 2-bit weights that the program prints, and the outputs of both models as one list a
        sample."""
        source = random.Random(4)
        count = SAMPLES * math.prod(dims)
        samples = self.write("x.npy", e2e.npy("<f4", "f", [SAMPLES, *dims],
                                              [source.gauss(0, 1) for _ in range(count)]))
        plain = self.write("net.onnx", net)
        narrow = self.at("narrow.onnx")
        done = self.mscgym(SUSPICIOUS, "quantize", plain, "--target", "reference", "--bits", "2", "--format", "npy",
                           "--calibration", samples, "--test", samples, "--json", "--out", narrow, *options)
        self.assertRegex(done.stderr, "suspicious: output 'y' ")
        quality = json.loads(done.stdout)["quality"]
        outputs = []
        for path in (plain, narrow):
            self.mscgym(0, "run", path, "--input", samples, "--batch", str(SAMPLES), "--target", "reference",
                        "--out", self.at("outputs"))
            numbers = read_npy(self.at("outputs/output_0.npy"))[1]
            outputs.append(rows(numbers, len(numbers) // SAMPLES))
        return {name: loss["value"] for name, loss in quality["losses"].items()}, *outputs

    def test_classes_of_two_bit_weights(self):
        layers, shapes = dense(10)
        losses, p, q = self.compare(network(layers, rename(), ["n", 16], ["n", 10], shapes), [16],
                                    "--output", "y=logits")
        truth = share(largest(a) != largest(b) for a, b in zip(p, q))
        self.assertGreater(truth, 2)
        self.assertAlmostEqual(losses["disagreement"], truth, 3)

    def test_lines_of_text(self):
        layers, shapes = dense(12)
        tail = node("Softmax", ["h"], "y")
        losses, p, q = self.compare(network(layers, tail, ["n", 9, 16], ["n", 9, 12], shapes), [9, 16],
                                    "--output", "y=ctc:axis=2")
        truth = share(decoded(a, 12) != decoded(b, 12) for a, b in zip(p, q))
        self.assertGreater(truth, 50)
        self.assertAlmostEqual(losses["disagreement"], truth, 3)

    def test_embeddings(self):
        layers, shapes = dense(64)
        tail = (node("ReduceL2", ["h"], "norm", ints("axes", [1])) + node("Div", ["h", "norm"], "y"))
        losses, p, q = self.compare(network(layers, tail, ["n", 16], ["n", 64], shapes), [16])
        cosines = [sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
                   for a, b in zip(p, q)]
        self.assertAlmostEqual(losses["cosine_distance"], 1 - sum(cosines) / SAMPLES, 5)
        self.assertGreater(losses["relative_error"], 0.1)

    def test_one_logit(self):
        layers, shapes = dense(1)
        losses, p, q = self.compare(network(layers, rename(), ["n", 16], ["n", 1], shapes), [16],
                                    "--output", "y=logit")
        truth = share((a[0] > 0) != (b[0] > 0) for a, b in zip(p, q))
        self.assertAlmostEqual(losses["disagreement"], truth, 3)
        self.assertGreater(losses["distill_loss"], 0)

    def test_map_of_classes(self):
        layers = (node("Conv", ["x", "v"], "a", name="first") + node("Relu", ["a"], "r") +
                  node("Conv", ["r", "w"], "h", name="second"))
        shapes = {"v": [16, 3, 3, 3], "w": [5, 16, 1, 1]}
        losses, p, q = self.compare(network(layers, rename(), ["n", 3, 8, 9], ["n", 5, 6, 7], shapes), [3, 8, 9],
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
