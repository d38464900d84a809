#!/usr/bin/env python3
"""`ask_costs` prints a table with a row for every agent. What the times should be is no test's business."""

import json
import subprocess
import sys
import unittest

ASK_COSTS = ""
MSCGYM = ""
TRIALS = 30
DECISIONS = 10


def output_of(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=240, check=True).stdout


class AskCosts(unittest.TestCase):
    def test_has_a_row_with_times_for_every_agent(self):
        agents = [row["name"] for row in json.loads(output_of(MSCGYM, "list", "agents", "--json"))["rows"]]
        self.assertIn("random", agents)
        lines = output_of(ASK_COSTS, str(TRIALS), str(DECISIONS)).splitlines()
        self.assertEqual(lines[0], f"{TRIALS} trials told, {DECISIONS} decisions of 3 choices")
        self.assertEqual(lines[4:6], ["| agent | one objective, a limit: mean | most | round "
                                      "| front of two: mean | most | round |",
                                      "|---|---|---|---|---|---|---|"])
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[6:]]
        self.assertEqual([row[0] for row in rows], agents)
        for row in rows:
            for first in (1, 4):
                with self.subTest(agent=row[0]):
                    mean, most, whole = map(float, row[first:first + 3])
                    self.assertGreater(mean, 0)
                    self.assertGreaterEqual(1.01 * most, mean)  # printed with three digits
                    self.assertGreaterEqual(1.01 * whole, most)
                    self.assertLess(whole, float("inf"))
            self.assertEqual(len(row), 7)


if __name__ == "__main__":
    ASK_COSTS, MSCGYM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
