"""A model with two inputs, one of them token ids, through the tools and a search."""

import json
import os
import random
import unittest
import zipfile

import e2e
import onnx_bytes
from onnx_bytes import field, ints, node, value, weights

SAMPLES = 64


def model():
    source = random.Random(1)
    axes = ints("axes", [1])
    flat = field(1, "keepdims") + field(3, 0) + field(20, 2)
    graph = (node("Gather", ["table", "ids"], "e") + node("ReduceMean", ["e"], "m", axes, flat) +
             node("Add", ["m", "x"], "s") + node("MatMul", ["s", "w"], "h") +
             node("Relu", ["h"], "r") + node("MatMul", ["r", "v"], "y") + field(2, "two") +
             weights("table", [50, 8], source) + weights("w", [8, 16], source) +
             weights("v", [16, 4], source) + field(11, value("ids", 7, ["n", 3])) +
             field(11, value("x", 1, ["n", 8])) + field(12, value("y", 1, ["n", 4])))
    return onnx_bytes.model(graph)


class TwoInputs(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        source = random.Random(2)
        self.model = self.at("two.onnx")
        with open(self.model, "wb") as file:
            file.write(model())
        ids = [source.randrange(50) for _ in range(3 * SAMPLES)]
        x = [source.gauss(0, 1) for _ in range(8 * SAMPLES)]
        labels = [source.randrange(4) for _ in range(SAMPLES)]
        self.data = self.at("two.npz")
        with zipfile.ZipFile(self.data, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("ids.npy", e2e.npy("<i8", "q", [SAMPLES, 3], ids))
            archive.writestr("x.npy", e2e.npy("<f4", "f", [SAMPLES, 8], x))
            archive.writestr("labels.npy", e2e.npy("<i4", "i", [SAMPLES], labels))
        self.samples = ["--format", "npz", "--calibration", self.data, "--samples", str(SAMPLES),
                        "--test", self.data]

    def test_is_quantized_and_pruned(self):
        made = json.loads(self.succeed("quantize", self.model, "--keep-f32", "none", "--no-speed", *self.samples, "--labels",
                                       self.data + ":labels", "--json").stdout)
        self.assertEqual([layer["precision"] for layer in made["layers"]], ["int8", "int8"])
        self.assertLess(e2e.loss(made["quality"], "distill_loss"), 0.05)
        self.succeed("prune", self.model, *self.samples, "--density", "0.5", "--score", "energy", *e2e.ANY_MODEL,
                     "--reconstruct")
        with zipfile.ZipFile(self.data, "w") as archive:
            archive.writestr("ids.npy", e2e.npy("<i8", "q", [2, 3], [0] * 6))
        refused = self.mscgym("quantize", self.model, *self.samples)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("has no array 'x', which the model's input of that name needs; it holds ids",
                      refused.stderr)

    def test_is_searched(self):
        data = {"format": "npz", "images": self.data}
        config = e2e.small_config()
        config.update(model=self.model, env="compress", agent="random", trials=2, finalists=1)
        config["calibration"].update(data=data, samples=SAMPLES)
        config["quality"].update(data={**data, "labels": self.data + ":labels"}, samples=SAMPLES,
                                 final_samples=SAMPLES)
        config["objective"] = {"minimize": ["weight_bytes"], "subject_to": {}}
        config["prune"] = {"align": 1}
        run = self.at("run")
        self.succeed("search", self.write("config.json", config), "--out", run)
        for trial in e2e.trials(run).values():
            self.assertNotIn("failure", trial)
        self.assertTrue(os.path.exists(os.path.join(run, "best", "model.onnx")))


if __name__ == "__main__":
    e2e.main()
