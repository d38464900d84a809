"""What tests of the outputs of compressed models share: small networks, their outputs before and after 2-bit
weights, and the losses that the program prints."""

import json
import math
import os
import random
import struct

import e2e
from onnx_bytes import field, ints, model, node, value, weights

SAMPLES = 40


def network(layers, tail, dims, outputs, shapes, more=b""):
    """`layers` make h of x, `tail` makes the outputs, name -> dims or (type, dims); `shapes` are those of the
    weights, `more` are further constants."""
    source = random.Random(3)
    constants = b"".join(weights(name, shape, source) for name, shape in shapes.items())
    made = b""
    for name, form in outputs.items():
        dtype, out = form if isinstance(form, tuple) else (1, form)
        made += field(12, value(name, dtype, out))
    return model(layers + tail + field(2, "net") + constants + more +
                 field(11, value("x", 1, dims)) + made)


def whole(name, numbers):
    """A constant of 64-bit integers, such as a shape or axes."""
    return field(5, field(1, len(numbers)) + field(2, 7) + field(8, name) +
                 field(9, struct.pack(f"<{len(numbers)}q", *numbers)))


def scalar(name, number):
    """A constant of one float."""
    return field(5, field(2, 1) + field(8, name) + field(9, struct.pack("<f", number)))


def attribute(name, number):
    """A whole number as an attribute."""
    return field(1, name) + field(3, number & (2**64 - 1)) + field(20, 2)


def dense(out):
    """Two layers of [..., 16]."""
    return (node("MatMul", ["x", "v"], "a", name="first") + node("Relu", ["a"], "r") +
            node("MatMul", ["r", "w"], "h", name="second")), {"v": [16, 32], "w": [32, out]}


def convolutions(channels, out):
    """Two layers of [n, channels, height, width]; the first has a kernel of 3 x 3 and keeps the size."""
    return (node("Conv", ["x", "v"], "a", ints("pads", [1, 1, 1, 1]), name="first") + node("Relu", ["a"], "r") +
            node("Conv", ["r", "w"], "h", name="second")), {"v": [16, channels, 3, 3], "w": [out, 16, 1, 1]}


def rename():
    return node("Identity", ["h"], "y")


def largest(row):
    return max(range(len(row)), key=row.__getitem__)


def rows(numbers, size):
    return [numbers[i:i + size] for i in range(0, len(numbers), size)]


def decoded(sample, classes, blank=0):
    """What a greedy CTC decoder reads."""
    path = [largest(row) for row in rows(sample, classes)]
    return [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]


def share(changed):
    """In percent."""
    changed = list(changed)
    return 100 * sum(changed) / len(changed)


class Comparison:
    """What the program says of a compressed model, and the outputs of both models: one list a sample."""

    def __init__(self, said, quality, code, before, after):
        self.said = said
        self.quality = quality
        self.losses = {name: loss["value"] for name, loss in quality["losses"].items()}
        self.code = code
        self.before = before
        self.after = after

    def loss(self, name, output):
        """Of one output."""
        return self.losses.get(f"{name}:{output}", self.losses.get(name))


class ComparedTest(e2e.ProgramTest):
    def samples(self, dims):
        source = random.Random(4)
        return [source.gauss(0, 1) for _ in range(SAMPLES * math.prod(dims))]

    def compare(self, net, dims, *options, numbers=None, outputs=1, whole_calls=False):
        """Compares a model with the one of 2-bit weights. With `whole_calls` the model takes one sample a call."""
        numbers = self.samples(dims) if numbers is None else numbers
        samples = self.write("x.npy", e2e.npy("<f4", "f", [SAMPLES, *dims], numbers))
        plain = self.write("net.onnx", net)
        narrow = self.at("narrow.onnx")
        done = self.run_any("quantize", plain, "--target", "reference", "--bits", "2", "--format", "npy",
                            "--calibration", samples, "--test", samples, "--json", "--out", narrow,
                            "--keep-f32", "none", "--no-speed", *options)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        sides = []
        for path in (plain, narrow):
            found = [[] for _ in range(outputs)]
            for batch in rows(numbers, math.prod(dims)) if whole_calls else [numbers]:
                shape = dims if whole_calls else [SAMPLES, *dims]
                given = self.write("given.npy", e2e.npy("<f4", "f", shape, batch))
                self.mscgym(0, "run", path, "--input", given, "--target", "reference", "--out", self.at("outputs"),
                            *([] if whole_calls else ["--batch", str(SAMPLES)]))
                for i, made in enumerate(found):
                    values = e2e.read_npy(self.at(os.path.join("outputs", f"output_{i}.npy")))[1]
                    made += [values] if whole_calls else rows(values, len(values) // SAMPLES)
            sides.append(found)
        before, after = (side[0] if outputs == 1 else side for side in sides)
        return Comparison(done.stderr, json.loads(done.stdout)["quality"], done.returncode, before, after)
