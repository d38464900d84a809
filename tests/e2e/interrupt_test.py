"""Searches that are killed or interrupted, and resumed."""

import os
import signal
import unittest

import e2e

TRIALS = 7


class Interrupted(e2e.SearchTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("config.json", e2e.small_config())

    def arguments(self, run):
        return ("search", self.config, "--out", run, "--trials", str(TRIALS))

    def resume(self, run):
        return self.succeed(*self.arguments(run), "--resume")

    def test_killed_and_resumed_is_the_search_that_was_not_killed(self):
        run = self.at("run")
        process = self.start(*self.arguments(run))
        self.wait_for_trials(process, run, 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        before = e2e.trial_lines(run)
        self.assertLess(len(before), TRIALS)
        self.assertIn("the search was not finished", self.succeed("report", run).stdout)
        with open(os.path.join(run, "report.html"), encoding="utf-8") as page:
            self.assertIn("The search was not finished.", page.read())
        self.resume(run)
        # Nothing that was finished is measured again or touched.
        self.assertEqual(e2e.trial_lines(run)[:len(before)], before)
        self.succeed("journal", "verify", run)
        self.succeed(*self.arguments(self.at("whole")))
        self.assertEqual(sorted(e2e.trials(run)), list(range(TRIALS)))
        self.assertEqual(e2e.assignments(run), e2e.assignments(self.at("whole")))

    def test_interrupted_saves_and_goes_on(self):
        run = self.at("run")
        process = self.start(*self.arguments(run))
        self.wait_for_trials(process, run, 2)
        os.killpg(process.pid, signal.SIGINT)  # to all, as Ctrl-C does
        shown, errors = process.communicate(timeout=e2e.DEADLINE_S)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("interrupted; --resume goes on", shown)
        before = e2e.trial_lines(run)
        self.assertLess(len(before), TRIALS)
        self.assertTrue(os.path.exists(os.path.join(run, "report.html")))
        self.succeed("journal", "verify", run)
        self.resume(run)
        self.assertEqual(e2e.trial_lines(run)[:len(before)], before)
        self.assertEqual(sorted(e2e.trials(run)), list(range(TRIALS)))
        self.assertFalse([t for t in e2e.trials(run).values() if t.get("failure")],
                         "the interrupt made a trial fail")


if __name__ == "__main__":
    e2e.main()
