"""mscgym conformance: what passed, failed and was skipped, with reasons; and --shape."""

import json
import os
import pathlib
import struct
import sys
import unittest

import e2e

CONFORMANCE = pathlib.Path(e2e.ROOT) / "benchmarks" / "conformance"
sys.path.insert(0, str(CONFORMANCE))
import reasons  # noqa: E402

MODEL = os.path.join(e2e.ROOT, "experiments", "models", "fashion_resnet.onnx")
LIST = CONFORMANCE / "onnx_1.12.txt"
DATA = "/usr/share/libonnx-testdata/data"


class Conformance(e2e.SearchTest):

    @unittest.skipUnless(os.path.isdir(DATA), "libonnx-testdata is not installed")
    def test_counts_by_group_with_reasons(self):
        done = self.mscgym("conformance", os.path.join(DATA, "simple"), "--json")
        answer = json.loads(done.stdout)
        verdicts = [test["verdict"] for test in answer["tests"]]
        for verdict in ("passed", "failed", "skipped"):
            self.assertEqual(answer[verdict], verdicts.count(verdict))
        self.assertEqual(done.returncode, 1 if answer["failed"] else 0)
        by_name = {test["name"]: test for test in answer["tests"]}
        self.assertEqual(by_name["test_single_relu_model"]["verdict"], "passed")
        self.assertEqual(by_name["test_gradient_of_add"]["verdict"], "skipped")
        self.assertIn("is not supported", by_name["test_gradient_of_add"]["reason"])

    @unittest.skipUnless(os.path.isdir(DATA), "libonnx-testdata is not installed")
    def test_the_list_has_exactly_the_tests_that_do_not_pass(self):
        done = self.mscgym("conformance", DATA, "--json")
        tests = json.loads(done.stdout)["tests"]
        self.assertEqual(sorted(test["name"] for test in tests if test["verdict"] != "passed"),
                         sorted(reasons.read(LIST)))

    @unittest.skipUnless(os.path.isdir(DATA), "libonnx-testdata is not installed")
    def test_a_target_runs_one_test(self):
        test = os.path.join(DATA, "node", "test_add")
        done = self.mscgym("conformance", test, "--target", "reference")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 passed, 0 failed, 0 skipped", done.stdout)

    def test_other_outputs_fail(self):
        test = self.at("group/test_wrong")
        os.makedirs(os.path.join(test, "test_data_set_0"))
        with open(os.path.join(test, "model.onnx"), "wb") as file:
            file.write(e2e.read(MODEL))
        done = self.mscgym("conformance", self.at("group"), "--verbose")
        self.assertIn("test_wrong skipped: ", done.stdout)
        # A TensorProto of one f32: dims 1, data_type 1, raw_data.
        for name in ("input_0.pb", "output_0.pb"):
            with open(os.path.join(test, "test_data_set_0", name), "wb") as file:
                file.write(b"\x08\x01\x10\x01\x4a\x04" + struct.pack("<f", 1.0))
        done = self.mscgym("conformance", self.at("group"), "--verbose")
        self.assertEqual(done.returncode, 1)
        self.assertIn("test_wrong failed: input ", done.stdout)

    def test_a_folder_without_tests_is_refused(self):
        done = self.mscgym("conformance", os.path.dirname(self.at("x")))
        self.assertEqual(done.returncode, 2)
        self.assertIn("holds no test folder", done.stderr)

    def test_shape_closes_open_dimensions(self):
        done = self.mscgym("inspect", MODEL, "--shape", "3x1x28x28", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[3,1,28,28]", json.loads(done.stdout)["inputs"][0]["type"])
        done = self.mscgym("inspect", MODEL, "--shape", "3x2x28x28")
        self.assertEqual(done.returncode, 2)
        self.assertIn("does not fit the model's", done.stderr)


if __name__ == "__main__":
    e2e.main()
