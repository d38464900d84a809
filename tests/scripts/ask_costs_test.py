#!/usr/bin/env python3
"""`ask_costs` prints a table with a row for every agent. What the times should be is no test's business."""

import json
import re
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
        agents = [row["name"] for row in json.loads(output_of(MSCGYM, "list", "agents", "--json"))]
        self.assertIn("random", agents)
        lines = output_of(ASK_COSTS, str(TRIALS), str(DECISIONS)).splitlines()
        self.assertEqual(lines[0], f"{TRIALS} trials told, {DECISIONS} decisions of 3 choices")
        self.assertEqual(lines[2:4], ["| agent | one objective, ms | two objectives, ms |",
                                      "|---|---|---|"])
        rows = [re.fullmatch(r"\| (\S+) \| (\S+) \| (\S+) \|", line) for line in lines[4:]]
        self.assertNotIn(None, rows, lines)
        self.assertEqual([row[1] for row in rows], agents)
        for row in rows:
            for time in row.group(2, 3):
                with self.subTest(agent=row[1]):
                    self.assertGreater(float(time), 0)
                    self.assertLess(float(time), float("inf"))


if __name__ == "__main__":
    ASK_COSTS, MSCGYM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
