#!/usr/bin/env python3
"""Checks who includes whom, and that every source is built.

Usage: check_layers.py [ROOT]    (default: the repository this script lies in)

Prints one line a violation and exits with 1 if there is any.
"""

import fnmatch
import pathlib
import re
import sys

# Folder -> what its files may include besides the folder itself. The entry of a file is the longest
# pattern that matches its folder; a folder without an entry is an error. `*` matches any text.
RULES = {
    "compiler/base": "",
    "compiler/ir": "compiler/base",
    "compiler/ops": "compiler/ir compiler/base",
    "compiler/strategy": "compiler/base",
    "compiler/kernel": "compiler/ir compiler/base",
    "compiler/runtime": "compiler/ir compiler/base",
    "compiler/import/onnx": "compiler/ops compiler/ir compiler/base",
    "compiler/codegen/onnx": "compiler/ops compiler/ir compiler/base",
    "compiler/codegen/cpp": "compiler/kernel compiler/runtime compiler/ir compiler/base",
    "compiler/passes": "compiler/ops compiler/ir compiler/base",
    "compiler/partition":
        "compiler/targets compiler/passes compiler/ops compiler/ir compiler/base",
    "compiler/partition/*":
        "compiler/partition compiler/targets compiler/passes compiler/ops compiler/ir"
        " compiler/base",
    "compiler/partition/generate":
        "compiler/partition compiler/partition/rules compiler/targets compiler/passes compiler/ops"
        " compiler/ir compiler/base",
    "compiler/compress/distill":
        "compiler/passes compiler/ops compiler/ir compiler/base compiler/strategy",
    # A shared object of its own: data and inline functions of other headers alone.
    "compiler/compress/distill/torch": "compiler/compress/distill",
    "compiler/compress/prune":
        "compiler/passes compiler/ops compiler/ir compiler/base compiler/strategy",
    "compiler/compress/quantize":
        "compiler/compress/prune compiler/passes compiler/ops compiler/ir compiler/base"
        " compiler/strategy",
    "compiler/compress/rules": "compiler/ops compiler/ir compiler/base",
    # register.cc names every target; a target knows the interface and, but for blas, no other target.
    "compiler/targets":
        "compiler/targets/* compiler/passes compiler/runtime compiler/kernel compiler/strategy"
        " compiler/ops compiler/ir compiler/base",
    "compiler/targets/*":
        "compiler/targets compiler/passes compiler/runtime compiler/ops compiler/ir compiler/base",
    "compiler/targets/onnxruntime":
        "compiler/codegen/onnx compiler/codegen/cpp compiler/targets compiler/passes"
        " compiler/runtime compiler/ops compiler/ir compiler/base",
    "compiler/targets/xnnpack":
        "compiler/codegen/cpp compiler/targets compiler/passes compiler/runtime compiler/ops"
        " compiler/ir compiler/base",
    "compiler/targets/native":
        "compiler/targets compiler/kernel compiler/codegen/cpp compiler/passes compiler/runtime"
        " compiler/strategy compiler/ops compiler/ir compiler/base",
    # Its calls stand in kernels with the epilogues that native writes.
    "compiler/targets/blas":
        "compiler/targets/native compiler/targets compiler/kernel compiler/codegen/cpp"
        " compiler/runtime compiler/ops compiler/ir compiler/base",
    "compiler/pipeline": "compiler/*",
    "cost/analytic": "compiler/runtime compiler/ops compiler/ir compiler/base",
    "cost/model": "compiler/base compiler/ir compiler/ops compiler/strategy",
    "cost/samples": "cost/model compiler/base compiler/ir",
    "cost/quality": "cost/model compiler/*",
    "cost/track": "cost/model cost/samples compiler/*",
    "cost/measure": "cost/model cost/quality cost/samples compiler/*",
    "cost/cache": "cost/model compiler/base compiler/ir compiler/ops compiler/strategy",
    "cost/learned": "compiler/passes compiler/ops compiler/ir compiler/base",
    "cost/partition": "cost/analytic cost/model cost/measure cost/cache cost/learned compiler/*",
    "cost/farm": "cost/farm/* cost/model cost/measure cost/cache compiler/base",
    "cost/farm/transport": "cost/farm compiler/base",
    "cost/farm/transport/*": "cost/farm cost/farm/transport compiler/base",
    "gym/core": "compiler/base",
    "gym/wrappers": "gym/core compiler/base",
    "gym/study": "gym/core compiler/base",
    "gym/report": "gym/core gym/study compiler/base",
    "gym/console": "compiler/base",
    # Prints nothing, knows no exit code: what it needs of a program it is given (host.h).
    # tasks/list.h names every task, whose sections are parts of the config.
    "gym/search":
        "gym/search/tasks gym/core gym/study envs envs/* agents cost/* compiler/*",
    "gym/search/report": "gym/search gym/report gym/core gym/study envs/* cost/* compiler/*",
    "gym/search/tasks":
        "gym/search gym/search/report gym/report gym/study gym/core envs/* cost/model compiler/*",
    "gym/msc_config": "gym/search gym/core gym/study envs/* compiler/*",
    "gym/app": "*",
    "gym/python":
        "gym/search gym/search/report gym/msc_config gym/console gym/core gym/study gym/wrappers"
        " envs agents compiler/base",
    "envs": "envs/* gym/core cost/analytic cost/model compiler/*",
    # The joint one is made of the others.
    "envs/compress": "envs/* envs gym/core cost/analytic cost/model compiler/*",
    "envs/*": "envs envs/common gym/core cost/analytic cost/model compiler/*",
    "agents": "agents/* gym/core compiler/base",
    "agents/*": "agents agents/common gym/core compiler/base",
    # The portfolio is made of the others.
    "agents/auto": "agents/* gym/core compiler/base",
    "tests": "*",
    "tests/*": "*",
    "benchmarks": "*",
    "benchmarks/*": "*",
}

# Include as written -> the only installed headers that may have it. Free in .cc files and in private
# headers, which no CMakeLists.txt names.
HEAVY = {
    "nlohmann/json.hpp": [],
    "onnx/*": [],
    "google/protobuf/*": [],
    # Not installed: what the .cc files of that folder share.
    "dnnl*": ["compiler/targets/onednn/desc.h"],
    "oneapi/*": [],
    "onnxruntime_c_api.h": [],
    "xnnpack.h": [],
    "libxsmm*": [],
    "ATen/*": [],
    "c10/*": [],
    "mpi.h": [],
    "armadillo": [],
    "Eigen/*": [],
    "unsupported/Eigen/*": [],
    "spdlog/*": [],
}

# Include as written -> the only folders that may have it.
CONFINED = {
    "mpi.h": ["cost/farm/transport/mpi", "tests/*"],
    "ATen/*": ["compiler/compress/distill/torch"],
    "c10/*": ["compiler/compress/distill/torch"],
    "pybind11/*": ["gym/python"],
}

TOPS = ("compiler", "cost", "gym", "envs", "agents", "tests", "benchmarks")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def rule_of(folder):
    """The entry of RULES for a folder, or None."""
    found = [pattern for pattern in RULES if fnmatch.fnmatchcase(folder, pattern)]
    return max(found, key=len) if found else None


def folder_of(path):
    return path.rpartition("/")[0]


def owner_of_detail(folder):
    """The folder whose private part `folder` lies in, or None."""
    parts = folder.split("/")
    return "/".join(parts[:parts.index("detail")]) if "detail" in parts else None


def within(folder, parent):
    return folder == parent or folder.startswith(parent + "/")


def check_project_include(path, included):
    """What is wrong with including a file of ours, or None."""
    source, target = folder_of(path), folder_of(included)
    private_to = owner_of_detail(target)
    if private_to is not None:
        if not within(source, private_to):
            return f"{included} is private to {private_to}"
        target = private_to
    source = owner_of_detail(source) or source
    if source == target:
        return None
    rule = rule_of(source)
    if rule is None:
        return None  # reported once for the file
    if matches(target, RULES[rule].split()):
        return None
    allowed = RULES[rule] or "nothing else"
    return f"{source} may not include {included} (allowed: {allowed})"


def check_includes(root, path, installed):
    if rule_of(owner_of_detail(folder_of(path)) or folder_of(path)) is None:
        yield f"{path}: its folder has no entry in the table of scripts/check_layers.py"
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    for kind, included in INCLUDE.findall(text):
        if included.startswith(tuple(top + "/" for top in TOPS)):
            problem = check_project_include(path, included)
            if problem:
                yield f"{path}: {problem}"
        elif kind == '"' and (root / folder_of(path) / included).exists():
            yield f'{path}: include "{included}" by its path from the source root'
        in_product = not path.startswith(("tests/", "benchmarks/"))
        for pattern, headers in HEAVY.items():
            if (installed and in_product and fnmatch.fnmatchcase(included, pattern)
                    and path not in headers):
                yield f"{path}: installed headers may not include {included}"
        for pattern, folders in CONFINED.items():
            if fnmatch.fnmatchcase(included, pattern) and not matches(folder_of(path), folders):
                yield f"{path}: {included} belongs in {folders[0]}"


def check_partner(root, path):
    """a.cc includes a.h before anything else, so that a.h is known to stand alone."""
    header = path[:-len(".cc")] + ".h"
    if not (root / header).exists():
        return None
    first = INCLUDE.search((root / path).read_text(encoding="utf-8", errors="replace"))
    if first and first.group(2) == header:
        return None
    return f'{path}: includes "{header}" first'


def words_of(cmake_lists):
    text = re.sub(r"#.*", "", cmake_lists.read_text(encoding="utf-8"))
    return set(re.split(r'[\s()"]+', text.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")))


def is_listed(root, path, cache):
    """Whether a CMakeLists.txt on the way up names the file, relative to itself."""
    file = root / path
    for folder in file.parents:
        lists = folder / "CMakeLists.txt"
        if lists.exists():
            if lists not in cache:
                cache[lists] = words_of(lists)
            if file.relative_to(folder).as_posix() in cache[lists]:
                return True
        if folder == root:
            return False
    return False


def violations(root):
    files = [file for top in TOPS for file in sorted((root / top).rglob("*"))
             if file.suffix in (".h", ".cc")]
    included = set()
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        included.update(name for _, name in INCLUDE.findall(text))
    cache = {}
    for file in files:
        path = file.relative_to(root).as_posix()
        listed = is_listed(root, path, cache)
        yield from check_includes(root, path, listed and file.suffix == ".h")
        problem = check_partner(root, path) if file.suffix == ".cc" else None
        if problem:
            yield problem
        # A private header is built if some file includes it.
        if not listed and (file.suffix == ".cc" or path not in included):
            yield f"{path}: no CMakeLists.txt names it"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    found = list(violations(root.resolve()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
