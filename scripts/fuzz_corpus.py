#!/usr/bin/env python3
"""Writes the models in tests/fuzz/corpus/onnx and onnx_external whose parts only ONNX files have.

    $(scripts/peers python peers) scripts/fuzz_corpus.py

conv.onnx and branch.onnx were found by the fuzzer and are not written anew.
"""
import pathlib

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fuzz" / "corpus"

TEXTS = {
    "loop": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, int64 trips, bool go) => (float[2] y, float[n,2] rows) {
          y, rows = Loop (trips, go, x) <body = body (int64 i, bool on, float[2] s) => (bool more, float[2] t, float[2] row) {
            more = Identity(on)
            t = Add(s, x)
            row = Mul(t, s)
          }>
        }""",
    "scan": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] start, float[3,2] x) => (float[2] y, float[3,2] rows) {
          y, rows = Scan <num_scan_inputs = 1, body = body (float[2] s, float[2] row) => (float[2] t, float[2] out) {
            t = Add(s, row)
            out = Relu(t)
          }> (start, x)
        }""",
    "sequence": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[6] x, int64 at) => (float[n] y) {
          parts = SplitToSequence <axis = 0> (x)
          longer = SequenceInsert(parts, x, at)
          one = SequenceAt(longer, at)
          count = SequenceLength(longer)
          all = ConcatFromSequence <axis = 0> (longer)
          y = Concat <axis = 0> (one, all)
        }""",
    "function": """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        g (float[2] x) => (float[2] y) {
          a = own.twice <alpha = 0.5> (x)
          y = own.twice(a)
        }
        <domain: "own", opset_import: ["" : 17, "own" : 1]>
        once (x) => (y) { y = Relu(x) }
        <domain: "own", opset_import: ["" : 17, "own" : 1]>
        twice <alpha : float = 0.1> (x) => (y) {
          a = own.once(x)
          y = LeakyRelu <alpha : float = @alpha> (a)
        }""",
}


def strings():
    table = helper.make_tensor("table", TensorProto.STRING, [3], [b"a", b"", "\u00e4".encode()])
    nodes = [helper.make_node("Gather", ["table", "at"], ["y"])]
    return [table], nodes, [("at", TensorProto.INT64, [2])], [("y", TensorProto.STRING, [2])]


def sparse():
    values = numpy_helper.from_array(np.array([1, -2, 3], np.float32), "w")
    indices = numpy_helper.from_array(np.array([0, 5, 7], np.int64), "w_at")
    weight = helper.make_sparse_tensor(values, indices, [4, 2])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return weight, nodes, [("x", TensorProto.FLOAT, [1, 4])], [("y", TensorProto.FLOAT, [1, 2])]


def value(name, dtype, dims):
    return helper.make_tensor_value_info(name, dtype, dims)


def model(initializers, nodes, inputs, outputs, **more):
    graph = helper.make_graph(nodes, "g", [value(*one) for one in inputs], [value(*one) for one in outputs], initializers,
                              **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def external(name, dims, **place):
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in {"location": "weights.bin", **place}.items():
        tensor.external_data.add(key=key, value=str(text))
    return tensor


def external_models():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])]
    inputs, outputs = [("x", TensorProto.FLOAT, [1, 128])], [("y", TensorProto.FLOAT, [1, 256])]
    bias = external("b", [256], offset=131072 + 4, length=1024)
    yield "view", model([external("w", [128, 256], offset=0, length=131072), bias], nodes, inputs, outputs)
    yield "read", model([external("w", [128, 256], offset=12, length=131072), bias], nodes, inputs, outputs)
    whole = [helper.make_node("Identity", ["w"], ["y"])]
    yield "whole", model([external("w", [256, 256])], whole, [], [("y", TensorProto.FLOAT, [256, 256])])
    checked = external("w", [4], offset=64, length=16, checksum="0" * 40)
    yield "checksum", model([checked], whole, [], [("y", TensorProto.FLOAT, [4])])


def main():
    for name, text in TEXTS.items():
        onnx.save(onnx.parser.parse_model(text), CORPUS / "onnx" / f"{name}.onnx")
    onnx.save(model(*strings()), CORPUS / "onnx" / "strings.onnx")
    weight, nodes, inputs, outputs = sparse()
    onnx.save(model([], nodes, inputs, outputs, sparse_initializer=[weight]), CORPUS / "onnx" / "sparse.onnx")
    folder = CORPUS / "onnx_external"
    folder.mkdir(exist_ok=True)
    for name, one in external_models():
        (folder / f"{name}.onnx").write_bytes(one.SerializeToString())


if __name__ == "__main__":
    main()
