"""`mscgym list targets`: what there is, and why something is not."""

import json
import os
import subprocess
import tempfile
import unittest

import e2e


def targets(library=None):
    """Name -> row, with ONNX Runtime's library taken from there."""
    environment = {key: value for key, value in os.environ.items() if key != "MSC_ORT_LIBRARY"}
    if library is not None:
        environment["MSC_ORT_LIBRARY"] = library
    done = subprocess.run([e2e.MSCGYM, "list", "targets", "--json"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=e2e.DEADLINE_S, check=True,
                          env=environment)
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


class ListTargets(unittest.TestCase):
    def setUp(self):
        self.usual = targets()
        if self.usual["onnxruntime"]["summary"].startswith("absent"):
            self.skipTest("onnxruntime: " + self.usual["onnxruntime"]["summary"])

    def absent(self, library, why):
        rows = targets(library)
        self.assertTrue(rows["onnxruntime"]["summary"].startswith("absent: "), rows["onnxruntime"])
        self.assertIn(why, rows["onnxruntime"]["summary"])
        self.assertEqual(rows["onnxruntime"]["details"], [])
        del rows["onnxruntime"]
        others = {name: row for name, row in self.usual.items() if name != "onnxruntime"}
        self.assertEqual(rows, others, "the other targets are as they were")

    def test_says_that_a_library_is_not_there(self):
        path = "/no/such/folder/libonnxruntime.so"
        self.absent(path, path + ": cannot open shared object file: No such file or directory")

    def test_says_that_a_file_is_no_library(self):
        with tempfile.NamedTemporaryFile("w", suffix=".so") as file:
            file.write("not a library")
            file.flush()
            self.absent(file.name, file.name)


if __name__ == "__main__":
    e2e.main()
