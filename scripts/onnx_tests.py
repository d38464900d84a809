#!/usr/bin/env python3
"""Writes the backend tests of the installed onnx package as files, for `mscgym conformance`.

    scripts/peers python peers          names the Python that has the newest onnx
    PYTHON scripts/onnx_tests.py FOLDER

The wheel has the tests of single operators, of small graphs and of light networks as Python code; those that PyTorch
wrote are files of it. Each becomes FOLDER/GROUP/NAME with model.onnx and test_data_set_N/{input,output}_M.pb, as in
ONNX's own repository. FOLDER/operators.json says which operator each test of the group node is about.
"""
import json
import pathlib
import shutil
import sys
import warnings

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.model import collect_testcases as collect_graphs
from onnx.backend.test.case.node import collect_testcases as collect_nodes
from onnx.backend.test.loader import DATA_DIR
from onnx.backend.test.runner import Runner

DATA = pathlib.Path(DATA_DIR)
FROM_PYTORCH = ["pytorch-converted", "pytorch-operator"]


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


def write_network(case, folder):
    """A light network: the wheel has its outputs for the inputs that ONNX's runner makes."""
    source = DATA / "light" / pathlib.Path(case.url).name
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder / "model.onnx")
    graph = onnx.load(source).graph
    weights = {weight.name for weight in graph.initializer}
    for place, info in enumerate(info for info in graph.input if info.name not in weights):
        value = Runner.generate_dummy_data(info, name=case.model_name)
        (data / f"input_{place}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    for place in range(len(graph.output)):
        shutil.copy(source.with_name(f"{source.stem}_output_{place}.pb"), data / f"output_{place}.pb")


def operators_of(cases):
    """Which operator a test is about, by its name: the one of its model, or of the test whose function it writes out."""
    operators = {}
    for case in cases:
        domain_and_type = {(node.domain + "." if node.domain else "") + node.op_type for node in case.model.graph.node}
        whole = case.name.split("_expanded")[0]
        operators[case.name] = operators.get(whole) or "+".join(sorted(domain_and_type))
    return operators


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    # Numbers that overflow in a cast are what some tests are about.
    warnings.simplefilter("ignore", RuntimeWarning)
    folder = pathlib.Path(sys.argv[1])
    nodes = collect_nodes(None)
    graphs = collect_graphs()
    for case in nodes:
        write(case, folder / "node" / case.name)
    for case in graphs:
        if case.model is None:
            write_network(case, folder / "real" / case.name)
        else:
            write(case, folder / "simple" / case.name)
    written = len(nodes) + len(graphs)
    for group in FROM_PYTORCH:
        shutil.copytree(DATA / group, folder / group, dirs_exist_ok=True)
        written += sum(1 for _ in (folder / group).glob("*/model.onnx"))
    (folder / "operators.json").write_text(json.dumps(operators_of(nodes), indent=1) + "\n")
    print(f"{written} tests of onnx {onnx.__version__} in {folder}")


if __name__ == "__main__":
    main()
