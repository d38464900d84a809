"""Runs a tree of ONNX's backend tests in ONNX Runtime; prints one JSON line a test. For benchmarks/conformance/compare.

    ort.py TREE [--rtol 1e-3] [--atol 1e-7] [--seconds 60]

Each test runs in a process of its own, so a crash or an endless loop is the result of one test. Values go in and come
out as bytes, since ONNX Runtime's Python arrays lack bfloat16 and everything of 8 bits and less that NumPy lacks.
"""
import argparse
import ctypes
import json
import locale
import os
import pathlib
import select
import signal
import sys
import tempfile
import warnings

# ONNX Runtime 1.31 refuses operator sets 27 and 28 as unreleased otherwise, and would fail tests for that alone.
os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

# ONNX's runner allows an output in bfloat16 two units in the last place.
BFLOAT16_RTOL = 2.0**-6
# Element types of which onnxruntime makes and gives NumPy arrays itself.
PLAIN = {TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16, TensorProto.INT32,
         TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL, TensorProto.FLOAT16, TensorProto.DOUBLE,
         TensorProto.UINT32, TensorProto.UINT64}


class Wrong(Exception):
    """The outputs are others than the test's; says how."""


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-7)
    parser.add_argument("--seconds", type=float, default=60, help="how long one test may take")
    return parser.parse_args()


def read(path, info):
    """A value as TensorProto or list of arrays, or None for an empty optional."""
    kind = info.WhichOneof("value")
    content = path.read_bytes()
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind == "optional_type":
        optional = onnx.OptionalProto.FromString(content)
        if optional.elem_type == onnx.OptionalProto.UNDEFINED:
            return None
        return (optional.tensor_value if optional.elem_type == onnx.OptionalProto.TENSOR
                else numpy_helper.to_optional(optional))
    return onnx.TensorProto.FromString(content)


def bytes_of(tensor):
    """Elements of a TensorProto as ONNX stores them in raw_data: little endian, several in a byte below 8 bits."""
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    return numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data


def fed(value):
    """A value as onnxruntime's Python takes it."""
    if not isinstance(value, onnx.TensorProto):
        return value
    if value.data_type in PLAIN:
        return numpy_helper.to_array(value)
    made = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(value.dims), value.data_type, "cpu")
    raw = bytes_of(value)
    if len(raw) != made.tensor_size_in_bytes():
        raise ValueError(f"ONNX Runtime stores {len(raw)} bytes in {made.tensor_size_in_bytes()}")
    ctypes.memmove(made.data_ptr(), raw, len(raw))
    return made


def given(value):
    """The array in an OrtValue, of ml_dtypes where NumPy lacks its type, as onnx reads it; None in an empty optional."""
    if not value.has_value():
        return None
    if value.element_type() in PLAIN:
        return value.numpy()
    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    tensor = TensorProto(data_type=value.element_type(), dims=value.shape(), raw_data=raw)
    return numpy_helper.to_array(tensor)


def compare(got, want, options):
    """Raises Wrong unless `got` is `want`, by the rules of ONNX's own runner (onnx/backend/test/runner)."""
    if isinstance(want, onnx.TensorProto):
        want = numpy_helper.to_array(want)
    if want is None or got is None:
        if want is not got:
            raise Wrong(f"{type(got).__name__} instead of {type(want).__name__}")
        return
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            raise Wrong("another list")
        for one, other in zip(got, want):
            compare(one, other, options)
        return
    got = np.asarray(got)
    if got.shape != want.shape:
        raise Wrong(f"shape {got.shape} instead of {want.shape}")
    if want.dtype.kind in "OSUT":
        if not np.array_equal(got.astype(object), want.astype(object)):
            raise Wrong("other strings")
        return
    if got.dtype != want.dtype:
        raise Wrong(f"{got.dtype} instead of {want.dtype}")
    rtol, atol = options.rtol, options.atol
    if want.dtype.name == "bfloat16":
        rtol = max(rtol, BFLOAT16_RTOL)
    if want.dtype.kind == "c":
        same = np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    elif want.dtype.kind in "biu" or want.dtype.name in ("int2", "int4", "uint2", "uint4"):
        same = got.astype(object) == want.astype(object)
    else:
        same = np.isclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)
    if not np.all(same):
        raise Wrong(f"{np.size(same) - np.count_nonzero(same)} of {np.size(same)} elements are others")


def run(folder, options):
    """Raises if the test does not pass."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 4
    model = onnx.load(folder / "model.onnx")
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), settings, providers=["CPUExecutionProvider"])
    # An initializer that is an input, too, has no file.
    weights = {weight.name for weight in model.graph.initializer}
    sets = sorted(folder.glob("test_data_set_*"))
    if not sets:
        raise ValueError("the test has no data")
    for data in sets:
        inputs = [info for info in model.graph.input if info.name not in weights]
        feeds = {info.name: fed(read(data / f"input_{i}.pb", info.type)) for i, info in enumerate(inputs)}
        plain = not any(isinstance(value, onnxruntime.OrtValue) for value in feeds.values())
        wants = [read(data / f"output_{i}.pb", info.type) for i, info in enumerate(model.graph.output)]
        names = [info.name for info in model.graph.output]
        if plain and all(not isinstance(want, onnx.TensorProto) or want.data_type in PLAIN for want in wants):
            outputs = session.run(names, feeds)
        else:
            made = {name: value if isinstance(value, onnxruntime.OrtValue)
                    else onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in feeds.items()}
            outputs = [given(value) for value in session.run_with_ort_values(names, made)]
        for place, (got, want) in enumerate(zip(outputs, wants)):
            try:
                compare(got, want, options)
            except Wrong as wrong:
                raise Wrong(f"output {place}: {wrong}") from None


def verdict_of(folder, options):
    """The verdict and its reason, of a child process that runs the test."""
    ear, mouth = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run(folder, options)
            said = ""
        except BaseException as error:  # the child ends here, whatever it was
            said = f"{type(error).__name__}: {error}" or "error"
        os.write(mouth, said.encode()[:4000])
        os._exit(0)
    os.close(mouth)
    with os.fdopen(ear) as pipe:
        if not select.select([pipe], [], [], options.seconds)[0]:
            os.kill(child, signal.SIGKILL)
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        if os.WTERMSIG(status) == signal.SIGKILL:
            return "failed", f"stopped after {options.seconds:g} s"
        return "failed", f"the process died of {signal.Signals(os.WTERMSIG(status)).name}"
    return ("passed" if said == "" else "failed"), said.replace("\n", " ")


def with_locale(folder):
    """Gives StringNormalizer the locale en_US.UTF-8 where the machine lacks it: its case rules are those of C.UTF-8."""
    try:
        locale.setlocale(locale.LC_CTYPE, "en_US.UTF-8")
    except locale.Error:
        (pathlib.Path(folder) / "en_US.UTF-8").symlink_to("/usr/lib/locale/C.utf8")
        os.environ["LOCPATH"] = folder


def main():
    options = parse()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        with_locale(folder)
        run_all(options)


def run_all(options):
    for model in sorted(options.tree.glob("*/*/model.onnx")):
        folder = model.parent
        verdict, reason = verdict_of(folder, options)
        print(json.dumps({"group": folder.parent.name, "name": folder.name, "verdict": verdict, "reason": reason}),
              flush=True)


if __name__ == "__main__":
    main()
