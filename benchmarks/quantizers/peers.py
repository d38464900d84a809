"""Quantizes with ONNX Runtime or NNCF, and runs models: what benchmarks/quantizers/compare needs `scripts/peers` for.

    peers.py prepare FOLDER NAME            NAME/f32.onnx, the model as both peers get it
    peers.py ort|nncf FOLDER NAME           NAME/ort.onnx or nncf.onnx, each with its library's defaults
    peers.py run FOLDER NAME VARIANT        NAME/VARIANT/output_I.npy of NAME/VARIANT.onnx, node by node
    peers.py kernels FOLDER NAME VARIANT    NAME/VARIANT_kernels/output_I.npy, by the integer kernels of this CPU
    peers.py yolo SOURCE TARGET             a YOLOX that has boxes as outputs, of one that has raw numbers

The model is raised to operator set 13 where ONNX's converter can do it, since NNCF quantizes weights by channel only
from there on. Outputs of every model are computed by ONNX Runtime in the same way: its CPU provider, one thread, graph
optimizations off, so that each node does what ONNX says. With optimizations, integer kernels take over, which saturate
sums of two products in 16 bits on CPUs without VNNI: the same file then has other outputs on another CPU.
"""
import json
import pathlib
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, version_converter

sys.dont_write_bytecode = True
import networks  # noqa: E402

OPSET = 13


def session(file, optimized=False):
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def feeds_of(folder, name, part, ranks):
    """Inputs of each sample by name, and how many there are; one without an axis of samples gets them as they are."""
    arrays = np.load(networks.samples_file(folder, name, part), mmap_mode="r")
    if not isinstance(arrays, np.lib.npyio.NpzFile):
        arrays = {next(iter(ranks)): arrays}
    else:
        arrays = {key: arrays[key] for key in arrays.files}
    count = max(map(len, arrays.values()))

    def one(key, i):
        array = arrays[key][i:i + 1] if len(arrays[key]) == count else arrays[key]
        return np.ascontiguousarray(array[0] if array.ndim > ranks[key] else array)

    return ({key: one(key, i) for key in ranks} for i in range(count)), count


def samples(folder, name, part, model):
    """Feeds of `model`, one sample each, and how many there are."""
    return feeds_of(folder, name, part, {entry.name: len(entry.shape) for entry in model.get_inputs()})


def outputs(file, folder, name, optimized):
    """Every output over all samples of test, [N, ...] each."""
    model = session(file, optimized)
    feeds, count = samples(folder, name, "test", model)
    joined = None
    for i, feed in enumerate(feeds):
        found = model.run(None, feed)
        joined = joined or [np.empty((count, *array.shape[1:]), array.dtype) for array in found]
        for array, one in zip(joined, found):
            array[i] = one[0]
    return joined


def raised(model):
    """The model with operator set 13 or later, or None where ONNX's converter can't."""
    if next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")) >= OPSET:
        return model
    try:
        model = version_converter.convert_version(model, OPSET)
        onnx.checker.check_model(model)
        return model
    except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
        print(f"stays in its operator set: {str(error).strip().splitlines()[0][:120]}")
        return None


def prepare(folder, name):
    source, target = networks.model_file(folder, name), folder / name / "f32.onnx"
    model = raised(onnx.load(source))
    feed = next(samples(folder, name, "calibration", session(source))[0])
    if model is not None:
        onnx.save(model, target)
        pairs = zip(session(source).run(None, feed), session(target).run(None, feed))
        if all(np.abs(a - b).max() <= 1e-4 * max(1, np.abs(a).max()) for a, b in pairs):
            return
        print("stays in its operator set: outputs of the converted model differ")
    onnx.save(onnx.load(source), target)


def ort(folder, name):
    from onnxruntime.quantization import CalibrationDataReader, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.feeds, _ = samples(folder, name, "calibration", session(folder / name / "f32.onnx"))

        def get_next(self):
            return next(self.feeds, None)

    prepared, target = folder / name / "ort_prepared.onnx", folder / name / "ort.onnx"
    try:
        quant_pre_process(str(folder / name / "f32.onnx"), str(prepared))
    except Exception as error:  # whatever its symbolic shapes stumble over; the docs say to skip them then
        print(f"without symbolic shapes: {error}")
        quant_pre_process(str(folder / name / "f32.onnx"), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(target), Reader())


def nncf(folder, name):
    import nncf as library

    model = onnx.load(folder / name / "f32.onnx")
    feeds, count = samples(folder, name, "calibration", session(folder / name / "f32.onnx"))
    quantized = library.quantize(model, library.Dataset(list(feeds)), subset_size=min(count, 300))
    onnx.save(quantized, folder / name / "nncf.onnx")


def kernels(folder, name, variant):
    run(folder, name, variant, optimized=True)


def run(folder, name, variant, optimized=False):
    file = folder / name / f"{variant}.onnx"
    began = time.monotonic()
    # No kernel of f32 changes more than the order of sums.
    found = outputs(file, folder, name, optimized or variant == "f32")
    seconds = time.monotonic() - began
    target = folder / name / (variant + "_kernels" if optimized else variant)
    target.mkdir(exist_ok=True)
    for i, array in enumerate(found):
        np.save(target / f"output_{i}.npy", array)
    print(json.dumps({"ms": round(1000 * seconds / len(found[0]), 2), "bytes": file.stat().st_size}))


def yolo(source, target):
    """Appends what turns raw numbers of YOLOX into boxes, as exporters of YOLO do: centre and size in pixels.

    The output stays [1, 3549, 6]; strides of the 52x52, 26x26 and 13x13 cells are 8, 16, 32.
    """
    model = onnx.load(source)
    cells = [(x, y, stride) for stride in (8, 16, 32) for y in range(416 // stride) for x in range(416 // stride)]
    cells = np.asarray(cells, np.float32)
    constants = {"cell": cells[None, :, :2], "stride": cells[None, :, 2:]}
    graph, raw = model.graph, model.graph.output[0].name
    for node in graph.node:
        node.output[:] = ["raw" if value == raw else value for value in node.output]
    for key, array in constants.items():
        graph.initializer.append(numpy_helper.from_array(array, "decode_" + key))
    for i, part in enumerate(("xy", "wh", "scores")):
        ends = [numpy_helper.from_array(np.array([2 * i + add], np.int64), f"decode_{part}_{add}") for add in (0, 2)]
        graph.initializer.extend([*ends, numpy_helper.from_array(np.array([2], np.int64), f"decode_{part}_axis")])
        graph.node.append(helper.make_node("Slice", ["raw", *(end.name for end in ends), f"decode_{part}_axis"], [part]))
    graph.node.extend([
        helper.make_node("Add", ["xy", "decode_cell"], ["moved"]),
        helper.make_node("Mul", ["moved", "decode_stride"], ["centre"]),
        helper.make_node("Exp", ["wh"], ["grown"]),
        helper.make_node("Mul", ["grown", "decode_stride"], ["size"]),
        helper.make_node("Concat", ["centre", "size", "scores"], [raw], axis=2)])
    graph.output[0].CopyFrom(helper.make_tensor_value_info(raw, TensorProto.FLOAT, [1, 3549, 6]))
    model.ir_version = max(model.ir_version, 7)
    onnx.checker.check_model(model)
    onnx.save(model, target)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    if sys.argv[1] == "yolo":
        yolo(sys.argv[2], sys.argv[3])
    else:
        steps = {"prepare": prepare, "ort": ort, "nncf": nncf, "run": run, "kernels": kernels}
        steps[sys.argv[1]](pathlib.Path(sys.argv[2]), *sys.argv[3:])
