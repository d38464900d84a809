"""Searches whose measuring children are killed and stopped by others: it costs time and nothing else.

How many are is few here. MSC_KILLS and MSC_STOPS in the environment ask for more."""

import json
import os
import signal
import threading
import time
import unittest

import e2e

KILLS = int(os.environ.get("MSC_KILLS", "4"))
STOPS = int(os.environ.get("MSC_STOPS", "2"))


def parents():
    """Parent by process."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            stat = e2e.read(f"/proc/{name}/stat")
        except OSError:
            continue
        found[int(name)] = int(stat[stat.rindex(b")") + 2:].split()[1])
    return found


def measuring_children(process, command):
    """Those that `process`, or a rank that it started, has now."""
    of = parents()

    def is_below(pid):
        while pid in of:
            pid = of[pid]
            if pid == process.pid:
                return True
        return False

    def arguments(pid):
        try:
            return e2e.read(f"/proc/{pid}/cmdline").split(b"\0")
        except OSError:
            return []

    return [pid for pid in of if is_below(pid) and command in arguments(pid)[1:2]]


class Harm(threading.Thread):
    """Sends signals to children of a process, each to one that got none: two in three of those that come
    up, as what is interrupted again and again is given up."""

    def __init__(self, process, signals, command=b"measure-child"):
        super().__init__()
        self.process, self.signals, self.command = process, list(signals), command
        self.sent = []
        self.start()

    def run(self):
        seen = set()
        while self.signals and self.process.poll() is None:
            for pid in measuring_children(self.process, self.command):
                if pid in seen or not self.signals:
                    continue
                seen.add(pid)
                if len(seen) % 3 == 0:
                    continue
                time.sleep(0.03)  # it began to work
                try:
                    os.kill(pid, self.signals[0])
                except ProcessLookupError:
                    continue  # it was quicker
                self.sent.append(self.signals.pop(0))
            time.sleep(0.005)


class KilledChildren(e2e.SearchTest):
    def arguments(self, run, trials, *more):
        config = self.write("config.json", {**e2e.small_config(), "agent": "random"})
        return ("search", config, "--out", run, "--trials", str(trials), "--cache", self.at("cache"), *more)

    def check_sound(self, run, trials):
        """No trial failed, and nothing that failed is kept for later searches."""
        found = e2e.trials(run)
        self.assertEqual(sorted(found), list(range(trials)))
        self.assertEqual({number: trial["failure"] for number, trial in found.items() if "failure" in trial}, {})
        kept = 0
        for name, content in e2e.files_below(self.at("cache")).items():
            value = json.loads(json.loads(content)["value"])
            self.assertNotIn("failure", value, name)
            kept += 1
        self.assertGreater(kept, 0)
        self.assertEqual([finalist for finalist in e2e.results(run)["finalists"] if "failure" in finalist], [])

    def harm(self, trials, signals, *more, prefix=()):
        run = self.at("run")
        process = self.start(*self.arguments(run, trials, *more), prefix=prefix)
        harm = Harm(process, signals)
        begin = time.monotonic()
        _, errors = process.communicate(timeout=e2e.DEADLINE_S * 4)
        harm.join()
        print(f"{harm.sent.count(signal.SIGKILL)} killed, {harm.sent.count(signal.SIGSTOP)} stopped, "
              f"{harm.sent.count(signal.SIGTERM)} terminated, {time.monotonic() - begin:.0f} s")
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(harm.signals, [], "the search was over before all were sent")
        self.check_sound(run, trials)
        again = self.at("again")
        self.succeed(*self.arguments(again, trials))
        self.check_sound(again, trials)
        self.assertEqual(e2e.assignments(run), e2e.assignments(again))

    def test_killed_or_stopped_leave_no_failure(self):
        # The first is the baseline's.
        signals = [signal.SIGKILL] * KILLS + [signal.SIGSTOP] * STOPS + [signal.SIGTERM]
        self.harm(max(6, KILLS // 2), signals)

    def test_killed_on_a_farm_leave_no_failure(self):
        for name, (arguments, prefix) in e2e.parallel_runs().items():
            with self.subTest(name):
                self.setUp()
                self.harm(6, [signal.SIGKILL] * 4 + [signal.SIGSTOP], *arguments, prefix=prefix)

    def test_that_are_always_killed_are_measured_when_the_search_goes_on(self):
        run = self.at("run")
        arguments = self.arguments(run, 3)
        config = json.loads(e2e.read(arguments[1]))
        config.update(estimate_s=0, finalists=1)
        self.write("config.json", config)
        process = self.start(*arguments)
        harm = AlwaysKilled(process, lambda: len(e2e.trial_lines(run)) == 3)
        _, errors = process.communicate(timeout=e2e.DEADLINE_S)
        harm.join()
        self.assertEqual({trial["failure"]["kind"] for trial in e2e.trials(run).values()}, {"lost"}, errors)
        details = {trial["failure"]["detail"] for trial in e2e.trials(run).values()}
        self.assertEqual(details, {"given up after 6 tries; the last: killed from outside by SIGKILL"})
        before = e2e.assignments(run)
        self.succeed(*arguments, "--resume")
        last = {record["trial"]: record for record in e2e.records(run, b"trial")}
        self.assertEqual([number for number, trial in last.items() if "failure" in trial], [])
        self.assertEqual({number: trial["assignment"] for number, trial in last.items()}, before)
        self.succeed("journal", "verify", run)
        # How much memory children may use is no part of what the search is.
        self.write("config.json", {**config, "memory_mb": 6000})
        self.succeed(*arguments, "--resume")
        prepared = json.loads(e2e.read(os.path.join(run, "prepared", "evaluation.json")))
        self.assertEqual(prepared["settings"]["memory_mb"], 6000)


class AlwaysKilled(threading.Thread):
    """Kills whatever measures, until it is enough."""

    def __init__(self, process, enough):
        super().__init__()
        self.process, self.enough = process, enough
        self.start()

    def run(self):
        while self.process.poll() is None and not self.enough():
            for pid in measuring_children(self.process, b"measure-child"):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.005)


class StoppedChild(e2e.SearchTest):
    """Of `mscgym partition`, whose children time regions."""

    def test_killed_or_stopped_costs_no_region_its_time(self):
        model = e2e.small_config()["model"]
        process = self.start("partition", model, "--targets", "onednn,reference", "--cache", self.at("costs"),
                             "--out", self.at("out"))
        harm = Harm(process, [signal.SIGKILL] * 2 + [signal.SIGSTOP], b"measure-regions")
        _, errors = process.communicate(timeout=e2e.DEADLINE_S)
        harm.join()
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(harm.signals, [], "it was over before all were sent")
        for name, content in e2e.files_below(self.at("costs")).items():
            for kind in (b"lost", b"out_of_memory"):
                self.assertNotIn(b'\\"kind\\":\\"' + kind, content, name)


if __name__ == "__main__":
    e2e.main()
