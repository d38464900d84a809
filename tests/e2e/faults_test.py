"""What the machine does to the program: devices that are full, signals, limits, damaged files."""

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import e2e

MODEL = e2e.small_config()["model"]


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msc_e2e_faults_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def mscgym(self, *arguments, **options):
        return subprocess.run([e2e.MSCGYM, *arguments], stdin=subprocess.DEVNULL, text=True,
                              timeout=e2e.DEADLINE_S, check=False,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options})

    def soon(self, holds):
        end = time.monotonic() + 30
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Output(Faults):
    """Nobody takes an output that did not arrive for one that did."""

    def rows(self):
        return (["--help"], ["--version"], ["search", "--help"], ["list", "targets"],
                ["list", "agents", "--json"], ["inspect", MODEL],
                ["bench", MODEL, "--targets", "reference", "--max-ms", "20", "--json"],
                ["compile", MODEL, "--target", "reference", "--out", self.at("artefact")],
                ["export", MODEL, "--out", self.at("model.onnx")])

    def test_to_a_full_device_is_a_failure(self):
        for arguments in self.rows():
            with self.subTest(" ".join(arguments[:2])), open("/dev/full", "w", encoding="utf-8") as full:
                self.assertEqual(self.mscgym(*arguments, stderr=None).returncode, 0)
                done = self.mscgym(*arguments, stdout=full)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertRegex(done.stderr.splitlines()[-1],
                                 r"\Amscgym: cannot write the output(: No space left on device)?\Z")

    def test_to_nobody_goes_into_no_file(self):
        whole, closed = self.at("whole"), self.at("closed")
        arguments = ["compile", MODEL, "--target", "reference", "--out"]
        self.assertEqual(self.mscgym(*arguments, whole).returncode, 0)
        done = self.mscgym(*arguments, closed, preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "mscgym: cannot write the output: Bad file descriptor")
        self.assertEqual(e2e.files_below(closed), e2e.files_below(whole))


class AddressSpace(Faults):
    """OpenBLAS tries for ever where it cannot have the memory that it starts with."""

    def setUp(self):
        super().setUp()
        loaded = subprocess.run(["ldd", e2e.MSCGYM], capture_output=True, text=True, check=False)
        if "libopenblas" not in loaded.stdout:
            self.skipTest("no OpenBLAS is loaded when the program starts")
        if "asan" in loaded.stdout or "tsan" in loaded.stdout:
            self.skipTest("sanitizers reserve more than any limit")

    def limited(self, kind, megabytes, *arguments, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.endswith("NUM_THREADS")}
        limit = megabytes << 20
        return self.mscgym(*arguments, preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
                           env={**environment, **variables})

    def test_that_is_too_small_is_an_error(self):
        told = 0
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            for megabytes in (50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 800, 1500, 4000):
                with self.subTest(f"{megabytes} MB"):
                    done = self.limited(kind, megabytes, "list", "targets")
                    self.assertIn(done.returncode, (0, 1, 127), done.stderr)
                    if done.returncode != 0:
                        self.assertNotEqual(done.stderr, "")
                    told += "needs with OpenBLAS on" in done.stderr
        self.assertGreater(told, 1)

    def test_is_asked_for_by_the_thread(self):
        done = self.limited(resource.RLIMIT_AS, 250, "--version", OMP_NUM_THREADS="1")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr,
                         "mscgym: the memory of this process is limited (ulimit -v or -d) to less than "
                         "the 512 MB that it needs with OpenBLAS on 1 thread: raise the limit\n")
        self.assertEqual(self.limited(resource.RLIMIT_AS, 600, "--version",
                                      OPENBLAS_NUM_THREADS="1").returncode, 0)


class Signals(Faults):
    """A compiler of generated code ends with the program, and so does the folder it works in."""

    def test_leave_no_compiler_and_no_folder(self):
        cache, pids = self.at("cache"), self.at("pids")
        compiler = self.at("slow")
        with open(compiler, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nsleep 300 & echo $! >> {pids}; wait\n")  # as g++, which has cc1plus
        os.chmod(compiler, 0o700)
        environment = {**os.environ, "MSCGYM_CXX": compiler, "MSCGYM_CACHE": cache}
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL):
            for command in (["compile", "--out", self.at("artefact"), "--target", "native"],
                            ["bench", "--targets", "native"]):
                with self.subTest(f"{command[0]} {number.name}"):
                    process = subprocess.Popen([e2e.MSCGYM, command[0], MODEL, *command[1:]],
                                               stdin=subprocess.DEVNULL, env=environment,
                                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                               start_new_session=True)
                    self.addCleanup(process.kill)
                    self.addCleanup(process.wait)
                    self.soon(lambda: os.path.exists(pids) and e2e.read(pids).endswith(b"\n"))
                    self.assertNotEqual(os.listdir(cache), [])
                    process.send_signal(number)
                    self.assertEqual(process.wait(e2e.DEADLINE_S), -number)
                    self.soon(lambda: not os.listdir(cache))
                    for sleeper in e2e.read(pids).split():
                        self.soon(lambda pid=int(sleeper): not os.path.exists(f"/proc/{pid}"))
                    os.remove(pids)


class Journals(e2e.SearchTest):
    """Of a search, whose journal is damaged, cut, emptied."""

    def damage(self, name, change):
        run = self.at(name)
        os.makedirs(run)
        with open(os.path.join(run, "trials.journal"), "wb") as file:
            file.write(change(self.journal))
        return run

    def warned(self, run, *arguments):
        """It says what it left out, in one line."""
        done = self.mscgym(*arguments)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, rf"\Amscgym: '{run}/trials.journal' is damaged, and \d+ records? "
                                      r"(is|are) left out: byte \d+, after \d+ records: [^\n]*\n\Z")
        return done

    def test_that_are_damaged_are_not_shown_as_whole(self):
        run = self.at("run")
        config = {**e2e.small_config(), "trials": 3, "finalists": 1}
        self.succeed("search", self.write("config.json", config), "--out", run)
        self.journal = e2e.read(os.path.join(run, "trials.journal"))
        line = e2e.trial_lines(run)[1] + b"\n"
        at = self.journal.index(line)

        flipped = self.damage("flipped", lambda whole: whole[:at + 40] + b"~" + whole[at + 41:])
        dumped = self.warned(flipped, "journal", "dump", flipped).stdout.splitlines()
        self.assertEqual(len(dumped), self.journal.count(b"\n") - 1)
        self.warned(flipped, "report", flipped)
        self.assertTrue(os.path.exists(os.path.join(flipped, "report.html")))
        self.assertIn(": 2 trials",
                      self.warned(flipped, "export-study", flipped, "--out", self.at("t.csv")).stdout)
        self.warned(flipped, "report", run, flipped, "--out", self.at("both.html"))
        self.assertTrue(os.path.exists(self.at("both.html")))

        last = self.damage("last", lambda whole: whole[:-9] + b"~" + whole[-8:])
        self.warned(last, "journal", "dump", last)
        missing = self.damage("missing", lambda whole: whole.replace(line, b""))
        self.warned(missing, "journal", "dump", missing)

        # As a search leaves it that is running, or was killed.
        torn = self.damage("torn", lambda whole: whole + line[:50])
        for arguments in (["journal", "dump", torn], ["report", torn],
                          ["export-study", torn, "--out", self.at("t.csv")]):
            self.assertEqual(self.succeed(*arguments).stderr, "")

        empty = self.damage("empty", lambda whole: b"")
        verified = self.mscgym("journal", "verify", empty)
        self.assertEqual((verified.returncode, verified.stdout),
                         (2, f"{empty}/trials.journal: empty: nothing was recorded, or all of it is gone\n"))
        for arguments in (["journal", "dump", empty], ["report", empty],
                          ["export-study", empty, "--out", self.at("t.csv")],
                          ["journal", "salvage", empty, "--out", self.at("salvaged")]):
            done = self.mscgym(*arguments)
            self.assertEqual((done.returncode, done.stderr),
                             (2, f"mscgym: '{empty}/trials.journal' holds no record\n"))

        self.leftovers(run)

    def leftovers(self, run):
        """What a search that was killed left is gone with the next start, and nothing else."""
        dead = os.path.join(run, "scratch", "mscgym-request-killed")
        os.makedirs(dead)
        blobs = [os.path.join(run, "blobs", name) for name in ("0" * 64, ".blob-killed")]
        for path in (*blobs, os.path.join(dead, "request.json"), os.path.join(run, "scratch", "notes")):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("x")
        self.succeed("search", self.at("config.json"), "--out", run, "--resume")
        self.assertEqual(os.listdir(os.path.join(run, "scratch")), ["notes"])
        self.assertEqual(os.listdir(os.path.join(run, "blobs")), [])


class Logs(e2e.SearchTest):
    def test_on_a_full_device_are_no_success(self):
        run = self.at("run")
        os.makedirs(os.path.join(run, "logs"))
        os.symlink("/dev/full", os.path.join(run, "logs", "search.log"))
        config = {**e2e.small_config(), "trials": 1, "finalists": 1}
        done = self.mscgym("search", self.write("config.json", config), "--out", run)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("mscgym: cannot write the log: ", done.stderr.splitlines()[-1])
        self.assertIn("No space left on device", done.stderr.splitlines()[-1])


if __name__ == "__main__":
    e2e.main()
