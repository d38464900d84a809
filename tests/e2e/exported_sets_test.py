"""mscgym export: every operator at every set is a model to the onnx package and to ONNX Runtime, and computes the same."""

import json
import os
import subprocess
import sys

import e2e

WRITER = os.environ.get("MSC_EXPORTED_SETS", "")
READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exported_sets.py")
OLDEST = 7
LEAST_RAN = 100  # of about 300 graphs; measured: 125 at set 7, 255 at set 27


class EveryOperatorAtEverySet(e2e.ProgramTest):
    def test_is_a_model_that_runs(self):
        python = e2e.peers_python("peers")
        if python is None:
            self.skipTest("scripts/setup --peers has made no environment 'peers'")
        if not WRITER:
            self.skipTest("MSC_EXPORTED_SETS does not name the program exported_sets")
        subprocess.run([WRITER, self.folder], check=True, timeout=e2e.DEADLINE_S)
        done = subprocess.run([python, READER, self.folder], capture_output=True, text=True, check=False, timeout=e2e.DEADLINE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found["problems"], [])
        counts = found["counts"]
        sets = sorted(map(int, counts))
        self.assertEqual(sets, list(range(OLDEST, sets[-1] + 1)))
        for opset in sets:
            print(f"set {opset}: {counts[str(opset)]}", file=sys.stderr)
            self.assertGreater(counts[str(opset)]["ran"], LEAST_RAN, opset)


if __name__ == "__main__":
    e2e.main()
