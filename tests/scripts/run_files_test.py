"""scripts/run_files.py: files of a run directory, of this format, of none and of a newer one."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.append(str(ROOT / "scripts"))
import run_files  # noqa: E402


class RunFiles(unittest.TestCase):

    def read(self, name, document):
        with tempfile.TemporaryDirectory() as folder:
            self.path = pathlib.Path(folder, name)
            self.path.write_text(json.dumps(document))
            return run_files.read(folder, name)

    def test_are_read_as_they_are_written(self):
        pareto = {"format": "msc-pareto-1", "trials": [{"trial": 3}]}
        self.assertEqual(self.read("pareto.json", pareto), pareto)

    def test_of_before_they_named_a_format_are_read(self):
        self.assertEqual(self.read("pareto.json", [{"trial": 3}])["trials"], [{"trial": 3}])
        self.assertEqual(self.read("results.json", {"best": 1})["best"], 1)
        self.assertEqual(self.read("env.json", {"cpu": "a CPU"})["cpu"], "a CPU")

    def test_of_another_format_are_refused(self):
        for name, newer in (("results.json", "msc-results-9"), ("pareto.json", "msc-pareto-9"), ("env.json", "msc-env-9")):
            with self.subTest(name), self.assertRaises(run_files.UnknownFormat) as refusal:
                self.read(name, {"format": newer, "trials": {}})
            self.assertEqual(str(refusal.exception),
                             f"{self.path} is of the format '{newer}', known here is '{newer[:-1]}1': take the scripts of the mscgym "
                             "that wrote it; what `mscgym report` and `mscgym export-study` show they take from trials.journal alone")


if __name__ == "__main__":
    unittest.main()
