#!/usr/bin/env python3
"""`benchmarks/agents/made_up` prints a row for each kind of tables and agent, the same ones each time."""

import pathlib
import subprocess
import sys
import unittest

MADE_UP = pathlib.Path(__file__).resolve().parents[2] / "benchmarks/agents/made_up"
KINDS = ["densities", "densities, quiet", "densities, skewed", "precisions", "precisions, skewed", "sums"]
# Those of Debian's python3, which the program names.
WANTED = "import matplotlib, numpy, optuna"
BIN = ""


def rows_of(agents, *options):
    text = subprocess.run([MADE_UP, "--agents", agents, "--tables", "2", "--seeds", "1", "--bin", BIN, *options],
                          capture_output=True, text=True, timeout=100, check=True).stdout
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[4:]]


class MadeUp(unittest.TestCase):
    def test_has_a_row_for_each_kind_and_agent(self):
        rows = rows_of("random,nsga2")
        self.assertEqual([row[:2] for row in rows], [[kind, agent] for kind in KINDS for agent in ("random", "nsga2")])
        for row in rows:
            with self.subTest(row=row[:2]):
                near, missing = map(float, row[2:])
                self.assertGreaterEqual(near, 1)
                self.assertLessEqual(near, 729 // 5 + 1)
                self.assertGreaterEqual(missing, 0)
                self.assertLess(missing, 100)
        self.assertEqual(rows_of("random,nsga2"), rows)

    def test_tells_agents_what_is_known(self):
        results = [rows_of("gp", "--tables", "1", "--known", known) for known in ("nothing", "work", "estimates")]
        self.assertEqual([len(rows) for rows in results], [len(KINDS)] * 3)
        self.assertNotEqual(results[0], results[1])
        self.assertNotEqual(results[1], results[2])
        # Whoever knows nothing does not care either.
        self.assertEqual(rows_of("random"), rows_of("random", "--known", "estimates"))


if __name__ == "__main__":
    BIN = sys.argv[1]
    if subprocess.run(["/usr/bin/python3", "-c", WANTED], capture_output=True, check=False).returncode != 0:
        print("skipped: /usr/bin/python3 lacks python3-matplotlib, python3-numpy or python3-optuna")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
