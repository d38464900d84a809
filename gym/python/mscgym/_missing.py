"""Explains why the compiled module of this package cannot be imported, and how to fix it."""

import glob
import importlib.machinery
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def explain(error):
    """Return the text of the ImportError; `error` is what `import _core` raised."""
    try:
        from . import _built  # written by CMake beside this file
    except ImportError:
        return (f"{_FOLDER} is the source of mscgym, without the module that is compiled from it. In the source "
                "tree, 'scripts/build release mscgym_python' makes a package with it in build/release/python")
    modules = glob.glob(os.path.join(glob.escape(_FOLDER), "_core.*"))
    fitting = {os.path.join(_FOLDER, "_core" + end) for end in importlib.machinery.EXTENSION_SUFFIXES}
    if fitting & set(modules):
        return f"the compiled module of mscgym does not load: {error}"
    if modules:
        return (f"the compiled module of mscgym is for Python {_built.VERSION} ({_built.PYTHON}), and this is Python "
                f"{sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}). Run the former, or build it for "
                f"this one: {_build(f'-DPython3_EXECUTABLE={sys.executable}')}")
    if _built.LACKING:
        return (f"mscgym in {_FOLDER} has no compiled module, which needs {' and '.join(_built.LACKING)}. "
                f"'scripts/setup' installs what can be installed; then build it: {_build('-DMSC_WITH_PYTHON=ON')}")
    return f"mscgym in {_FOLDER} has no compiled module yet. Build it: {_build()}"


def _build(*options):
    """Return the commands that build the module, and install it if this is an installation."""
    folder = os.path.dirname(os.path.dirname(_FOLDER))
    tree = os.path.exists(os.path.join(folder, "CMakeCache.txt"))
    folder = folder if tree else "BUILD_FOLDER"
    commands = [f"cmake {' '.join(options)} {folder}"] if options else []
    commands.append(f"cmake --build {folder} --target mscgym_python" if tree else
                    f"cmake --install {folder}")
    return " && ".join(commands)
