#!/usr/bin/env python3
"""Writes the node tests of the installed onnx package, which its wheel has as Python code only, for `mscgym conformance`.

    scripts/peers python peers          names the Python that has the newest onnx
    PYTHON scripts/onnx_node_tests.py FOLDER

Each test becomes FOLDER/node/NAME with model.onnx and test_data_set_N/{input,output}_M.pb, as in ONNX's own repository.
"""
import pathlib
import sys

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def message(value, info):
    """The protobuf message of a value with the type that the model declares."""
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto)):
        return value
    kind = info.type.WhichOneof("value")
    write = {"sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional,
             "map_type": numpy_helper.from_dict}.get(kind, numpy_helper.from_array)
    return write(value, info.name)


def write(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for part, values, infos in (("input", inputs, case.model.graph.input),
                                    ("output", outputs, case.model.graph.output)):
            for place, value in enumerate(values):
                (data / f"{part}_{place}.pb").write_bytes(message(value, infos[place]).SerializeToString())


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1]) / "node"
    cases = collect_testcases(None)
    for case in cases:
        write(case, folder / case.name)
    print(f"{len(cases)} tests of onnx {onnx.__version__} in {folder}")


if __name__ == "__main__":
    main()
