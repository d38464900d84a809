"""Models with operators of the domain com.microsoft, one by one and as ONNX Runtime's optimizer and quantizer write
them: mscgym computes what ONNX Runtime does."""

import glob
import json
import os
import subprocess
import unittest

import e2e

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "microsoft_models.py")
# Of the largest value of an output. Measured: 7e-7.
FLOATS = 5e-6
# Of integers. Measured: 0; ONNX Runtime's kernels for other CPUs may round otherwise.
STEPS = 1


class Microsoft(e2e.ProgramTest):
    def setUp(self):
        super().setUp()
        self.python = e2e.peers_python("peers")
        if self.python is None:
            self.skipTest("scripts/setup --peers has made no environment 'peers'")

    def models(self, command):
        done = subprocess.run([self.python, MODELS, command, self.folder], capture_output=True, text=True, check=False,
                              timeout=e2e.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check(self, command, *options):
        """Returns the operators of com.microsoft by model."""
        operators = self.models(command)
        for name in operators:
            folder = self.at(name)
            inputs = sorted(glob.glob(os.path.join(folder, "input_*.npy")))
            with self.subTest(name):
                self.mscgym(0, "run", os.path.join(folder, "model.onnx"), *options, "--out",
                            os.path.join(folder, "out"), *(word for path in inputs for word in ("--input", path)))
        found = self.models("compare")
        self.assertEqual(sorted(found), sorted(operators))
        for name, outputs in found.items():
            for number, (kind, apart) in enumerate(outputs):
                with self.subTest(name, output=number):
                    self.assertLessEqual(apart, FLOATS if kind == "floats" else STEPS)
        return operators

    def test_computes_what_each_operator_does(self):
        self.assertGreater(len(self.check("write", "--target", "reference")), 100)

    def test_reads_what_the_optimizer_and_the_quantizer_write(self):
        integers = {"QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool",
                    "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid"}
        expected = {"cnn": {"FusedConv", "FusedGemm", "QuickGelu"},
                    "transformer": {"BiasGelu", "FusedMatMul", "SkipLayerNormalization"},
                    "quantized": integers,
                    "quantized_and_optimized": integers,
                    "dynamic": {"DynamicQuantizeMatMul", "MatMulIntegerToFloat"}}
        # Another ONNX Runtime may write other operators: then these models test less than they should.
        for name, operators in self.check("write-optimized").items():
            self.assertLessEqual(expected[name], set(operators), name)

    def test_refuses_blocks_of_channels_by_name(self):
        if "ReorderOutput" not in self.models("write-blocked")["blocked"]:
            self.skipTest("ONNX Runtime has no blocks of channels for this CPU")
        done = self.mscgym(2, "run", self.at("blocked/model.onnx"))
        self.assertRegex(done.stderr, "operator '[A-Za-z]+' of domain 'com.microsoft.nchwc'")


if __name__ == "__main__":
    e2e.main()
