"""`import mscgym` where the compiled module is absent, or is not for this python3: it says what to do."""

import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "gym", "python", "mscgym")
THIS = "{}.{}".format(*sys.version_info)


def built(lacking=(), version=THIS):
    """_built.py as gym/python/CMakeLists.txt writes it."""
    return f'PYTHON = "/opt/python{version}"\nVERSION = "{version}"\nLACKING = {list(lacking)!r}\n'


class Import(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.build = os.path.join(made.name, "build", "release")
        self.package = os.path.join(self.build, "python", "mscgym")
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))

    def write(self, name, text, folder=None):
        with open(os.path.join(folder or self.package, name), "w", encoding="utf-8") as file:
            file.write(text)

    def tree(self):
        """Makes it one that cmake was asked to build."""
        self.write("CMakeCache.txt", "", self.build)

    def said(self, path=None, before=None, **variables):
        """What the ImportError says; `before` is called in the process that imports."""
        code = "try:\n  import mscgym\nexcept ImportError as error:\n  print(error)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              preexec_fn=before,
                              env={**os.environ, **variables, "PYTHONDONTWRITEBYTECODE": "1",
                                   "PYTHONPATH": path or os.path.dirname(self.package)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.removesuffix("\n")

    def test_where_openblas_could_not_start_says_what_it_needs(self):
        """It would try for ever."""
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            said = self.said(before=lambda limit=(200 << 20, 200 << 20), kind=kind: resource.setrlimit(kind, limit),
                             OPENBLAS_NUM_THREADS="1")
            self.assertEqual(said, "mscgym needs 320 MB more than this process has mapped, for OpenBLAS on 1 thread, "
                             "and its memory is limited (ulimit -v or -d) to less: raise the limit")

    def test_of_the_source_tree_names_the_build(self):
        self.assertEqual(
            self.said(path=os.path.dirname(PACKAGE)),
            f"{PACKAGE} is the source of mscgym, without the module that is compiled from it. In the source tree, "
            "'scripts/build release mscgym_python' makes a package with it in build/release/python")

    def test_of_a_tree_names_the_target_that_was_not_built(self):
        self.write("_built.py", built())
        self.tree()
        self.assertEqual(
            self.said(), f"mscgym in {self.package} has no compiled module yet. Build it: "
            f"cmake --build {self.build} --target mscgym_python")

    def test_of_an_install_names_the_install(self):
        self.write("_built.py", built())
        self.assertEqual(
            self.said(), f"mscgym in {self.package} has no compiled module yet. Build it: "
            "cmake --install BUILD_FOLDER")

    def test_names_what_was_not_found_when_it_was_configured(self):
        self.write("_built.py", built(["pybind11 (Debian's pybind11-dev)"]))
        said = (f"mscgym in {self.package} has no compiled module, which needs pybind11 (Debian's pybind11-dev). "
                "'scripts/setup' installs what can be installed; then build it: cmake -DMSC_WITH_PYTHON=ON ")
        self.assertEqual(self.said(), said + "BUILD_FOLDER && cmake --install BUILD_FOLDER")
        self.tree()
        self.assertEqual(
            self.said(), f"{said}{self.build} && cmake --build {self.build} --target mscgym_python")

    def test_names_the_python_that_it_was_built_for(self):
        self.write("_built.py", built(version="3.9"))
        self.write("_core.cpython-39-x86_64-linux-gnu.so", "not a library")
        self.tree()
        self.assertEqual(
            self.said(), "the compiled module of mscgym is for Python 3.9 (/opt/python3.9), and this is Python "
            f"{THIS} ({sys.executable}). Run the former, or build it for this one: cmake "
            f"-DPython3_EXECUTABLE={sys.executable} {self.build} && cmake --build {self.build} --target mscgym_python")

    def test_says_why_a_module_for_this_python_does_not_load(self):
        self.write("_built.py", built())
        path = os.path.join(self.package, "_core" + sysconfig.get_config_var("EXT_SUFFIX"))
        self.write(path, "not a library")
        self.assertEqual(
            self.said(), f"the compiled module of mscgym does not load: {path}: file too short")


if __name__ == "__main__":
    unittest.main()
