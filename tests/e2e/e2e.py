"""What the end-to-end tests share: a small search, and a look into what it leaves behind."""

import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "scripts"))
import run_files  # noqa: E402

CONFIG = os.path.join(ROOT, "experiments", "quantize_fashion", "config.json")
MSCGYM = ""
DEADLINE_S = 240
# Nothing is suspicious or slow: for tests of other things than what a result is like.
ANY_RESULT = {"relative_error": 0, "disagreement": 100}
ANY_QUALITY = ("--guard-error", "0", "--guard-disagreement", "100")
ANY_MODEL = (*ANY_QUALITY, "--no-speed")


def has_vnni():
    """Whether this CPU runs 8-bit layers on every target."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return "avx512_vnni" in file.read()


def small_config():
    """The shipped experiment with few samples and short measurements."""
    with open(CONFIG, encoding="utf-8") as file:
        config = json.load(file)
    config["model"] = os.path.normpath(os.path.join(os.path.dirname(CONFIG), config["model"]))
    config["target"] = "onednn" if has_vnni() else "native"  # what "auto" stands for
    config["trials"] = 6
    config["finalists"] = 2
    config["explain_s"] = 0
    config["calibration"]["samples"] = 64
    config["quality"].update(samples=100, final_samples=200, guard=ANY_RESULT)
    config["latency"] = {"max_ms": 100, "max_rounds": 11, "min_rounds": 3, "max_warmup_ms": 50}
    return config


def read(path):
    with open(path, "rb") as file:
        return file.read()


def peers_python(name):
    """The python of an environment of scripts/locks; None where it was not made."""
    found = subprocess.run([os.path.join(ROOT, "scripts", "peers"), "python", name], capture_output=True,
                           text=True, check=False)
    return found.stdout.strip() if found.returncode == 0 else None


def results(run):
    return run_files.read(run, "results.json")


def loss(quality, name):
    """A loss of the output that lost most, of a result or of what a tool prints."""
    if "losses" in quality:
        return quality["losses"][name]["value"]
    if name == "accuracy_drop":
        return 100 * (quality["reference_accuracy"] - quality["accuracy"])
    return max(output["losses"][name]["value"] for output in quality["outputs"])


def pareto(run):
    return run_files.read(run, "pareto.json")["trials"]


def npy(descr, code, shape, values):
    """The bytes of a .npy file; `code` as of the module struct."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
            struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    """Dims and values of a .npy file of f32, int32 or int64."""
    data = read(path)
    size = struct.unpack("<H", data[8:10])[0]
    header = data[10:10 + size].decode()
    dims = [int(d) for d in re.search(r"\(([^)]*)\)", header)[1].split(",") if d.strip()]
    code = {"<f4": "f", "<i4": "i", "<i8": "q"}[re.search(r"'descr': *'([^']*)'", header)[1]]
    return dims, struct.unpack(f"<{math.prod(dims)}{code}", data[10 + size:])


def files_below(folder):
    """Relative path -> bytes."""
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            found[os.path.relpath(path, folder)] = read(path)
    return found


def lines_of(run, kind):
    """The journal's lines of a kind, as bytes, in file order; also of a live journal."""
    path = os.path.join(run, "trials.journal")
    if not os.path.exists(path):
        return []
    lines = read(path).split(b"\n")[:-1]
    return [line for line in lines if b'"type":"%s"' % kind in line]


def trial_lines(run):
    """Those of finished trials."""
    return lines_of(run, b"trial")


def records(run, kind):
    return [json.loads(line.split(b" ", 3)[3]) for line in lines_of(run, kind)]


def trials(run):
    """The finished trials, by number."""
    found = records(run, b"trial")
    numbers = [record["trial"] for record in found]
    assert len(numbers) == len(set(numbers)), "a trial is in the journal twice"
    return {record["trial"]: record for record in found}


def assignments(run):
    return {number: trial["assignment"] for number, trial in trials(run).items()}


def parallel_runs():
    """Runs with several that measure: name -> arguments, prefix. With ranks where mpirun is."""
    runs = {"workers": (["--workers", "2"], ())}
    mpirun = shutil.which("mpirun")
    if mpirun:
        prefix = [mpirun, "-n", "3", "--oversubscribe"]
        if os.geteuid() == 0:
            prefix.append("--allow-run-as-root")
        runs["ranks"] = ([], prefix)
    return runs


class ProgramTest(unittest.TestCase):
    """A temporary folder a test, and the program with the exit code that it must have."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="msc_e2e_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def at(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        with open(self.at(name), "wb") as file:
            file.write(content)
        return self.at(name)

    def run_any(self, *arguments):
        return subprocess.run([MSCGYM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

    def mscgym(self, code, *arguments):
        done = self.run_any(*arguments)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done


class SearchTest(unittest.TestCase):
    """A temporary folder a test, and ways to run the program in it."""

    def setUp(self):
        data = small_config()["quality"]["data"]
        for path in (data["images"], data["labels"]):
            if not os.path.exists(path):
                self.skipTest("the package dataset-fashion-mnist is not installed")
        self.folder = tempfile.mkdtemp(prefix="msc_e2e_")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content)
        with open(self.at(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.at(name)

    def mscgym(self, *arguments, prefix=(), **options):
        return subprocess.run([*prefix, MSCGYM, *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE_S, check=False,
                              **options)

    def succeed(self, *arguments, **options):
        done = self.mscgym(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def check_journal_alone(self, run):
        """A folder with the journal and nothing else gives the same page."""
        alone = self.at("alone_of_" + os.path.basename(run))
        os.makedirs(alone)
        shutil.copy(os.path.join(run, "trials.journal"), alone)
        self.succeed("report", alone)
        self.succeed("export-study", alone, "--out", os.path.join(alone, "trials.csv"))

        def page(folder):
            text = read(os.path.join(folder, "report.html")).decode()
            self.assertIn(folder, text)  # in the commands
            # Where it lies and when it was made are all that differs.
            return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", text.replace(folder, "RUN"))

        self.assertEqual(page(alone), page(run))

    def check_best(self, run):
        """strategy.json and the weights beside it give the artefact again, bit by bit: in replayed().
        The ONNX file, too."""
        best = os.path.join(run, "best")
        model = small_config()["model"]
        strategy = json.loads(read(os.path.join(best, "strategy.json")))
        self.succeed("compile", model, "--strategy", os.path.join(best, "strategy.json"),
                     "--out", self.replayed(run))
        first = files_below(os.path.join(best, "artefact"))
        second = files_below(self.replayed(run))
        self.assertEqual(sorted(first), sorted(second))
        for name, content in first.items():
            self.assertTrue(content == second[name], f"{name} differs")
        self.succeed("export", model, "--strategy", os.path.join(best, "strategy.json"),
                     "--out", self.at("replayed.onnx"))
        self.assertEqual(read(os.path.join(best, "model.onnx")),
                         read(self.at("replayed.onnx")))
        return strategy

    def replayed(self, run):
        return self.at("replayed of " + os.path.basename(run))

    def start(self, *arguments, prefix=()):
        """In a process group of its own, as a shell would."""
        process = subprocess.Popen([*prefix, MSCGYM, *arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()

    def wait_for_trials(self, process, run, count):
        end = time.monotonic() + DEADLINE_S
        while len(trial_lines(run)) < count:
            self.assertIsNone(process.poll(), "it ended before it could be interrupted")
            self.assertLess(time.monotonic(), end, "no trial finished in time")
            time.sleep(0.01)


class ShippedModelTest(SearchTest):
    """The arguments that say what the shipped model is calibrated and compared on."""

    def setUp(self):
        super().setUp()
        config = small_config()
        self.model = config["model"]
        self.form = ["--mean", "0.286", "--std", "0.353"]
        self.calibration = ["--calibration", config["calibration"]["data"]["images"],
                            "--samples", "128", *self.form]
        self.test = ["--test", config["quality"]["data"]["images"],
                     "--labels", config["quality"]["data"]["labels"], "--test-samples", "1000"]


def main():
    """SCRIPT PATH_OF_MSCGYM [unittest arguments]"""
    global MSCGYM
    MSCGYM = os.path.abspath(sys.argv.pop(1))
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    # ctest counts a script of which nothing ran as skipped.
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)
