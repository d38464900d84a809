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

    def test_killed_leaves_its_best_trial(self):
        arguments, run = self.cached(env="compress"), self.at("run")
        process = self.start(*arguments(run))
        self.wait_for_trials(process, run, 4)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        strategy = os.path.join(run, "best", "strategy.json")
        self.succeed("run", e2e.small_config()["model"], "--strategy", strategy)

    def interrupt(self, process, run, number=signal.SIGINT):
        os.killpg(process.pid, number)  # to all, as Ctrl-C does
        shown, errors = process.communicate(timeout=e2e.DEADLINE_S)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("interrupted; continue with --resume", shown)
        self.succeed("journal", "verify", run)

    def wait_for(self, process, phase):
        """The first progress of each phase is shown at once."""
        for line in process.stderr:
            if line.startswith(f"[{phase}]"):
                return
        self.fail(f"it ended without the phase {phase}")

    def check_same_as_whole(self, arguments, run):
        """What was measured is in their cache, so that one that is not interrupted decides by the same numbers."""
        whole = self.at("whole")
        self.succeed(*arguments(whole))
        self.assertEqual(sorted(e2e.trials(run)), list(range(TRIALS)))
        self.assertEqual([trial["metrics"] for _, trial in sorted(e2e.trials(run).items())],
                         [trial["metrics"] for _, trial in sorted(e2e.trials(whole).items())])
        self.assertEqual(e2e.assignments(run), e2e.assignments(whole))
        tables = [e2e.records(folder, b"setup")[-1]["setup"]["estimates"] for folder in (run, whole)]
        self.assertEqual(tables[0], tables[1])
        return tables[0]

    def cached(self, **changes):
        """The arguments of a search by `auto`, which goes by estimates and results."""
        config = self.write("cached.json", {**e2e.small_config(), "agent": "auto", "finalists": 1, **changes})
        return lambda run: ("search", config, "--out", run, "--trials", str(TRIALS), "--cache", self.at("cache"))

    def test_interrupted_among_the_estimates_makes_them_anew(self):
        arguments, run = self.cached(), self.at("run")
        process = self.start(*arguments(run))
        self.wait_for(process, "sensitivity")
        self.interrupt(process, run)
        self.assertEqual(e2e.trial_lines(run), [])
        self.assertFalse(os.path.exists(os.path.join(run, "estimates.json")))
        self.succeed(*arguments(run), "--resume")
        table = self.check_same_as_whole(arguments, run)
        self.assertGreater(table["planned"], 1)
        self.assertEqual(table["tried"], table["planned"])

    def test_interrupted_while_the_winner_is_explained_keeps_it(self):
        arguments, run = self.cached(explain_s=60, estimate_s=1), self.at("run")
        process = self.start(*arguments(run))
        self.wait_for(process, "explain")
        self.interrupt(process, run)
        before, found = e2e.trial_lines(run), e2e.results(run)
        self.assertEqual(len(before), TRIALS)
        self.assertIsNotNone(found["best"])
        self.check_best(run)
        self.check_journal_alone(run)
        self.succeed(*arguments(run), "--resume")
        self.assertEqual(e2e.trial_lines(run), before)
        self.assertGreater(len(e2e.results(run)["neighbours"]), len(found["neighbours"]))
        self.check_same_as_whole(arguments, run)

    def test_whose_terminal_goes_saves_too(self):
        run = self.at("run")
        process = self.start(*self.arguments(run))
        self.wait_for_trials(process, run, 1)
        self.interrupt(process, run, signal.SIGHUP)
        self.assertTrue(os.path.exists(os.path.join(run, "report.html")))

    def test_interrupted_saves_and_goes_on(self):
        run = self.at("run")
        process = self.start(*self.arguments(run))
        self.wait_for_trials(process, run, 2)
        self.interrupt(process, run)
        before = e2e.trial_lines(run)
        self.assertLess(len(before), TRIALS)
        self.assertTrue(os.path.exists(os.path.join(run, "report.html")))
        self.resume(run)
        self.assertEqual(e2e.trial_lines(run)[:len(before)], before)
        self.assertEqual(sorted(e2e.trials(run)), list(range(TRIALS)))
        self.assertFalse([t for t in e2e.trials(run).values() if t.get("failure")],
                         "the interrupt made a trial fail")


if __name__ == "__main__":
    e2e.main()
