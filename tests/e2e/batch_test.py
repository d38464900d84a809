"""--batch computes so many samples a call, or is refused where the model takes others."""

import os
import random
import unittest

import e2e
import onnx_bytes
from onnx_bytes import field, node, value, weights


def model(batch):
    source = random.Random(1)
    graph = (node("MatMul", ["x", "w"], "h") + node("Relu", ["h"], "y") + field(2, "small") +
             weights("w", [8, 4], source) + field(11, value("x", 1, [batch, 8])) +
             field(12, value("y", 1, [batch, 4])))
    return onnx_bytes.model(graph)


class Batch(e2e.SearchTest):
    def saved(self, batch):
        path = self.at(f"batch_{batch}.onnx")
        with open(path, "wb") as file:
            file.write(model(batch))
        return path

    def refused(self, text, *arguments):
        done = self.mscgym(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertTrue(done.stderr.endswith(f"mscgym: {text}\n"), done.stderr)

    def test_an_open_batch_has_the_size_asked_for(self):
        path = self.saved("n")
        for batch, dims in ((None, "1,4"), ("3", "3,4")):
            with self.subTest(batch):
                asked = ["--batch", batch] if batch else []
                self.assertIn(f"f32[{dims}]", self.succeed("run", path, *asked).stdout)
                self.succeed("compile", path, *asked, "--out", self.at("made"))
                self.assertIn(f"f32[{dims}]", self.succeed("run", self.at("made")).stdout)

    def test_a_fixed_batch_is_not_another(self):
        path = self.saved(2)
        data = self.at("data.npy")
        with open(data, "wb") as file:
            file.write(e2e.npy("<f4", "f", [2, 8], [0.5] * 16))
        commands = (["run", path], ["compile", path, "--out", self.at("none")], ["bench", path],
                    ["partition", path, "--targets", "reference", "--cache", self.at("costs")],
                    ["track", path, "--random", "1"],
                    ["distill", path, "--data", data, "--format", "npy", "--weight-bits", "4"])
        for command in commands:
            with self.subTest(command[0]):
                self.refused("--batch 4 does not fit input 'x', which is f32[2,8]; leave out --batch, give the size in --shape, or "
                             "export the model with an open first dimension",
                             *command, "--batch", "4")
        self.assertFalse(os.path.exists(self.at("none")))
        for asked in ([], ["--batch", "2"]):
            self.assertIn("f32[2,4]", self.succeed("run", path, *asked).stdout)

    def test_a_shape_fixes_the_batch(self):
        path = self.saved("n")
        self.refused("--batch 4 does not fit input 'x', which is f32[2,8]; leave out --batch, give the size in --shape, or "
                     "export the model with an open first dimension",
                     "run", path, "--shape", "2x8", "--batch", "4")
        self.assertIn("f32[2,4]", self.succeed("run", path, "--shape", "2x8", "--batch", "2").stdout)

    def test_an_artefact_has_the_sizes_it_was_compiled_with(self):
        made = self.at("made")
        self.succeed("compile", self.saved("n"), "--batch", "3", "--out", made)
        for option, given in (("--batch", "4"), ("--shape", "4x8"), ("--target", "native"),
                              ("--strategy", "s.json"), ("--threads", "2")):
            with self.subTest(option):
                self.refused(f"{option} is for models, and '{made}' is an artefact: give it to mscgym "
                             "compile", "run", made, option, given)


if __name__ == "__main__":
    e2e.main()
