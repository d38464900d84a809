"""scripts/peers on locks of a small package that the test makes, without a network."""

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@functools.cache
def script():
    """scripts/peers as a module."""
    path = os.path.join(ROOT, "scripts", "peers")
    loader = importlib.machinery.SourceFileLoader("peers", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers", loader))
    loader.exec_module(module)
    return module


class Peers(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = made.name
        self.places = self.at("cache")
        self.script = self.at("scripts", "peers")
        self.wheels = self.at("wheels")
        os.makedirs(self.at("scripts", "locks"))
        os.makedirs(self.wheels)
        shutil.copy(os.path.join(ROOT, "scripts", "peers"), self.script)

    def at(self, *parts):
        return os.path.join(self.root, *parts)

    def wheel(self, version):
        """A package `small` of that version; returns its line in a lock."""
        path = os.path.join(self.wheels, f"small-{version}-py3-none-any.whl")
        info = f"small-{version}.dist-info"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("small.py", f"VERSION = '{version}'\n")
            file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: small\nVersion: {version}\n")
            file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            file.writestr(f"{info}/RECORD", f"small.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
        with open(path, "rb") as file:
            return f"small=={version} --hash=sha256:{hashlib.sha256(file.read()).hexdigest()}\n"

    def write(self, name, text):
        with open(self.at("scripts", "locks", name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.at("scripts", "locks", name), encoding="utf-8") as file:
            return file.read()

    def start(self, *arguments):
        return subprocess.Popen(
            [sys.executable, self.script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "MSC_PEERS_DIR": self.places, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": self.wheels})

    def peers(self, *arguments):
        process = self.start(*arguments)
        out, errors = process.communicate(timeout=100)
        return process.returncode, out, errors

    def version(self):
        """What the environment that is found has."""
        code, python, errors = self.peers("python", "tools")
        self.assertEqual((code, errors), (0, ""))
        return subprocess.run([python.strip(), "-c", "import small; print(small.VERSION)"], capture_output=True,
                              text=True, check=True).stdout.strip()

    def lock(self, version):
        """As 'scripts/peers lock' writes it."""
        kind = script().kind_of_base()
        self.write("tools.lock", f"{script().first_line(kind)}\n{self.wheel(version)}")

    def test_locks_what_is_asked_for(self):
        line = self.wheel("1.0")
        self.wheel("2.0")
        self.write("tools.in", "small<2\n")
        self.assertEqual(self.peers("lock", "tools"), (0, "", ""))
        head, *lines = self.read("tools.lock").splitlines(keepends=True)
        self.assertRegex(head, r"^# For cpython-\d+ \S+\. Written by 'scripts/peers lock'\.$")
        self.assertEqual(lines, [line])

    def test_makes_what_a_lock_says_once_and_beside_that_of_another_lock(self):
        self.lock("1.0")
        code, out, errors = self.peers("python", "tools")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(errors, "^peers: the environment 'tools' is not there; 'scripts/setup --peers' makes it "
                                 f"in {self.places}/tools-[0-9a-f]{{16}}\n$")
        # Two at once: one makes it, the other waits for that.
        both = [self.start("make") for _ in range(2)]
        said = sorted(process.communicate(timeout=100) for process in both)
        self.assertEqual([process.returncode for process in both], [0, 0])
        self.assertEqual(said[0], ("", ""))
        self.assertRegex(said[1][0], f"^peers: 'tools' is in {self.places}/tools-[0-9a-f]{{16}}\n$")
        self.assertEqual(self.version(), "1.0")
        first = self.read("tools.lock")
        self.lock("2.0")
        self.assertEqual(self.peers("python", "tools")[0], 1, "another lock is another environment")
        self.assertEqual(self.peers("make", "tools")[0], 0)
        self.assertEqual(self.version(), "2.0")
        self.write("tools.lock", first)
        self.assertEqual(self.version(), "1.0")

    def test_makes_environments_of_another_folder_apart_from_those_of_scripts(self):
        self.lock("1.0")
        os.makedirs(self.at("mine"))
        os.replace(self.at("scripts", "locks", "tools.lock"), self.at("mine", "tools.lock"))
        self.assertEqual(self.peers("make"), (0, "", ""))
        code, out, errors = self.peers("--locks", self.at("mine"), "python", "tools")
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"'scripts/peers --locks {self.at('mine')} make tools' makes it", errors)
        self.assertEqual(self.peers("--locks", self.at("mine"), "make")[0], 0)
        code, python, errors = self.peers("--locks", self.at("mine"), "python", "tools")
        self.assertEqual((code, errors), (0, ""))
        self.assertTrue(os.access(python.strip(), os.X_OK))

    def test_takes_a_half_made_environment_for_none(self):
        self.lock("1.0")
        self.assertEqual(self.peers("make")[0], 0)
        python = self.peers("python", "tools")[1].strip()
        folder = os.path.dirname(os.path.dirname(python))
        os.remove(os.path.join(folder, "complete"))
        stale = os.path.join(folder, "bin", "stale")
        open(stale, "w", encoding="utf-8").close()
        self.assertEqual(self.peers("python", "tools")[0], 1)
        self.assertEqual(self.peers("make")[0], 0)
        self.assertFalse(os.path.exists(stale))
        self.assertEqual(self.version(), "1.0")

    def test_refuses_what_is_not_as_locked(self):
        self.lock("1.0")
        good = self.read("tools.lock")
        for changed, text in ((good.replace("sha256:", "sha256:0000")[:-5] + "\n", "DO NOT MATCH THE HASHES"),
                              (good.replace("1.0", "3.0"), "No matching distribution found for small==3.0"),
                              (good.replace("For ", "For another than "), "is of another python3 than")):
            with self.subTest(text):
                self.write("tools.lock", changed)
                code, out, errors = self.peers("make")
                self.assertEqual((code, out), (1, ""))
                self.assertTrue(errors.startswith("peers: "), errors)
                self.assertIn(text, errors)
                self.assertNotIn("Traceback", errors)
                self.assertEqual(self.peers("python", "tools")[0], 1)
        self.assertEqual([name for name in os.listdir(self.places) if not name.endswith(".lock")], [])

    def test_names_what_there_is(self):
        self.write("tools.lock", "")
        self.write("more.lock", "")
        self.assertEqual(self.peers("python", "tols"),
                         (1, "", "peers: there is no environment 'tols'; known: more, tools\n"))

    def test_says_where_a_folder_cannot_be_made(self):
        self.lock("1.0")
        open(self.places, "w", encoding="utf-8").close()
        code, out, errors = self.peers("make")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(errors, r"^peers: \[Errno \d+\] [^\n]*\n$")

    def test_the_environment_peers_imports_what_it_was_made_for(self):
        try:
            python = script().python_of("peers")
        except script().Absent as error:
            self.skipTest(str(error))
        with open(os.path.join(ROOT, "scripts", "locks", "peers.in"), encoding="utf-8") as file:
            asked = dict(line.strip().split("==") for line in file if not line.startswith("#"))
        code = ("import importlib, importlib.metadata, sys\n"
                "for name in sys.argv[1:]:\n"
                "    importlib.import_module(name)\n"
                "    print(name, importlib.metadata.version(name), sep='==')")
        done = subprocess.run([python, "-W", "ignore", "-c", code, *asked], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = [line.split("==") for line in done.stdout.splitlines() if "==" in line]
        self.assertEqual(dict(printed), asked)

    def test_locks_of_the_repository_name_no_index(self):
        folder = os.path.join(ROOT, "scripts", "locks")
        locks = [name for name in os.listdir(folder) if name.endswith(".lock")]
        self.assertIn("peers.lock", locks)
        for name in locks:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                head, *lines = file.read().splitlines()
            self.assertTrue(head.startswith("# For cpython-"), name)
            with open(os.path.join(folder, name.replace(".lock", ".in")), encoding="utf-8") as file:
                asked = {line.strip() for line in file if not line.startswith("#")}
            self.assertEqual(asked - {line.split()[0] for line in lines}, set(), "lock it again")
            for line in lines:
                self.assertRegex(line, r"^[a-z0-9._-]+==[^ ]+ --hash=sha256:[0-9a-f]{64}$")


if __name__ == "__main__":
    unittest.main()
