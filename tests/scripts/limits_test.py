#!/usr/bin/env python3
"""`benchmarks/agents/limits` prints a row for each kind of tables and agent, the same ones each time."""

import pathlib
import subprocess
import sys
import unittest

LIMITS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/agents/limits"
BIN = ""


def rows_of(agents):
    text = subprocess.run([LIMITS, "--agents", agents, "--tables", "1", "--bin", BIN], capture_output=True, text=True,
                          timeout=100, check=True).stdout
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


class Limits(unittest.TestCase):
    def test_has_a_row_for_each_kind_and_agent(self):
        rows = rows_of("random,ilp")
        self.assertEqual([row[:2] for row in rows], [[kind, agent] for kind in ("bits", "mixed") for agent in ("random", "ilp")])
        for row in rows:
            with self.subTest(row=row[:2]):
                *times, kept = map(float, row[2:])
                # The best time so far only falls, and none is below the optimum.
                self.assertEqual(times, sorted(times, reverse=True))
                self.assertGreaterEqual(times[-1], 1)
                self.assertGreater(kept, 0)
                self.assertLess(kept, 1)
        # The baselines are known, and random trials do not know the estimates.
        for random, ilp in zip(rows[::2], rows[1::2]):
            self.assertLess(float(ilp[-2]), float(random[-2]))
        self.assertEqual(rows_of("random,ilp"), rows)


if __name__ == "__main__":
    BIN = sys.argv[1]
    if subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True, check=False).returncode != 0:
        print("skipped: /usr/bin/python3 lacks python3-numpy")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
