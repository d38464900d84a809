#!/usr/bin/env python3
"""Writes compiler/import/onnx/operator_changes.inc: in which operator sets after 17 each operator of ONNX changed.

    $(scripts/peers python peers) scripts/operator_sets.py           writes the file
    $(scripts/peers python peers) scripts/operator_sets.py --check   fails if the file is another one

The importer reads operators as set 17 and the lifts for later sets define them (compiler/import/onnx/operator_sets.h), and has to
know of each newer model whether one of its operators has changed.
"""
import pathlib
import sys

import onnx
from onnx import defs

FILE = pathlib.Path(__file__).resolve().parents[1] / "compiler/import/onnx/operator_changes.inc"
BASE = 17  # the set that graphs have


def table():
    changes = sorted({(schema.name, schema.since_version) for schema in defs.get_all_schemas_with_history()
                      if schema.domain == "" and schema.since_version > BASE})
    lines = [f"// Written by scripts/operator_sets.py from onnx {onnx.__version__}: operators of ai.onnx, and the sets after {BASE}",
             "// that added or changed them.",
             f"constexpr std::int64_t kListedOpset = {defs.onnx_opset_version()};",
             f"constexpr std::array<OperatorChange, {len(changes)}> kChanges = {{{{"]
    lines += [f'    {{"{name}", {since}}},' for name, since in changes]
    return "\n".join([*lines, "}};", ""])


def main():
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.read_text() == table() else f"{FILE.name} is not what {pathlib.Path(__file__).name} writes")
    if sys.argv[1:]:
        sys.exit(__doc__.strip())
    FILE.write_text(table())


if __name__ == "__main__":
    main()
