"""Outputs, verdicts and times of what was made for a task: what `run` needs NumPy, ONNX Runtime and OpenVINO for.

    measure.py prepare FOLDER NAME               NAME/f32.onnx, and outputs of f32 to compare with
    measure.py ours FOLDER NAME MSCGYM ARTEFACT  verdict on held-out samples, from outputs that `mscgym run` saved
    measure.py onnx FOLDER NAME FILE             the same of ONNX Runtime's outputs
    measure.py openvino FOLDER NAME FILE         the same of OpenVINO's
    measure.py ort FOLDER NAME                   NAME/ort.onnx, by ONNX Runtime's static quantizer
    measure.py nncf FOLDER NAME LIMIT FILE       FILE, by NNCF with accuracy control on the samples of the search
    measure.py time FOLDER NAME [openvino:]FILE  time of FILE over that of NAME/f32.onnx in ONNX Runtime, in turns

Every verdict is by truth.py of benchmarks/quantizers, against f32 in ONNX Runtime. Libraries run with all their
optimizations on one thread, one sample a call, as they would be deployed. Prints JSON.
"""
import json
import pathlib
import sys
import time

import numpy as np
import onnxruntime

sys.dont_write_bytecode = True
import tasks  # noqa: E402
import engine  # noqa: E402
import networks  # noqa: E402
import peers  # noqa: E402
import truth  # noqa: E402

ROUNDS, EPOCH_S, MOST_S, RESAMPLES = 61, 0.005, 20.0, 1000
# NNCF validates often: on the first of the search's samples.
MOST_VALIDATED = 2000


def known_of(folder, name, part):
    return json.loads((folder / name / f"{part}.json").read_text())


def reference(folder, name, part):
    """Outputs of f32 on a part."""
    files = sorted((folder / name / f"f32_{part}").glob("output_*.npy"))
    return [np.load(file, mmap_mode="r") for file in files]


def scored(name, wanted, got, known):
    """The metrics of truth.py, and the one of the task, of outputs."""
    if not all(np.isfinite(array).all() for array in got):
        raise ValueError("an output is not finite")
    kind = networks.NETWORKS[name].kind
    if kind == "chunks":
        same = float(np.mean((wanted[0] > 0.5) == (got[0] > 0.5)))
        return {"same class": same, "value": tasks.value_of(name, {"same class": same})}
    task, _ = truth.SCORE[kind](wanted, got, known)
    if "classes" in known:
        task["reference accuracy"] = float(np.mean(wanted[0].argmax(1) == known["classes"]))
    return {**task, "value": tasks.value_of(name, task)}


def verdict(folder, name, got, part="heldout"):
    found = scored(name, reference(folder, name, part), got, known_of(folder, name, part))
    return {"value": found.pop("value"), "metrics": found, "samples": len(got[0])}


# What a model computes, one sample a call


class InOnnxRuntime:
    def __init__(self, file):
        self.session = peers.session(file, optimized=True)
        self.ranks = {entry.name: len(entry.shape) for entry in self.session.get_inputs()}

    def run(self, feed):
        return self.session.run(None, feed)


class InOpenVino:
    def __init__(self, model):
        import openvino

        core = openvino.Core()
        if not isinstance(model, openvino.CompiledModel):
            model = core.read_model(str(model)) if isinstance(model, (str, pathlib.Path)) else model
            model = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1,
                                                      "PERFORMANCE_HINT": "LATENCY"})
        self.model = model
        self.ranks = {entry.get_any_name(): len(entry.get_partial_shape()) for entry in model.inputs}

    def run(self, feed):
        found = self.model(feed)
        return [found[i] for i in range(len(found))]


def outputs(folder, name, model, part, most=None):
    found = []
    for i, feed in enumerate(peers.feeds_of(folder, name, part, model.ranks)[0]):
        if i == most:
            break
        found.append([np.array(array) for array in model.run(feed)])
    whole = networks.NETWORKS[name].kind == "chunks"  # no output has an axis of samples
    return [np.stack(parts) if whole else np.concatenate(parts) for parts in zip(*found)]


# Steps


def prepare(folder, name):
    peers.prepare(folder, name)
    needed = ["heldout"] + (["search"] if set(tasks.TASKS[name].losses) & set(tasks.OWN_LOSSES) else [])
    for part in needed:
        target = folder / name / f"f32_{part}"
        target.mkdir(exist_ok=True)
        for i, array in enumerate(outputs(folder, name, InOnnxRuntime(folder / name / "f32.onnx"), part)):
            np.save(target / f"output_{i}.npy", array)
    for i, array in enumerate(engine.arrays_of(folder, name, "heldout")):
        whole = networks.NETWORKS[name].kind == "chunks"
        np.save(folder / name / f"timed_{i}.npy", array[0] if whole and i == 0 else array[:1])
    (folder / name / "prepared").touch()
    return {}


def ours(folder, name, mscgym, artefact):
    arrays, batch = engine.arrays_of(folder, name, "heldout"), tasks.TASKS[name].batch
    count, chunks = arrays[0].shape[:2]
    if networks.NETWORKS[name].kind == "chunks":  # its first axis is time: a call takes the chunks of one sample
        arrays[0], batch = arrays[0].reshape(count * chunks, -1), chunks
    found = engine.joined(lambda _count: [mscgym, "run", artefact], arrays, batch)
    if networks.NETWORKS[name].kind == "chunks":
        found = [found[0].reshape(count, chunks)]
    return verdict(folder, name, found)


def onnx(folder, name, file):
    return verdict(folder, name, outputs(folder, name, InOnnxRuntime(file), "heldout"))


def openvino(folder, name, file):
    return verdict(folder, name, outputs(folder, name, InOpenVino(file), "heldout"))


def ort(folder, name):
    peers.ort(folder, name)
    return {}


def nncf(folder, name, limit, file):
    import nncf as library
    import openvino as runtime

    model = runtime.Core().read_model(str(folder / name / "f32.onnx"))
    ranks = {entry.get_any_name(): len(entry.get_partial_shape()) for entry in model.inputs}
    parts = {part: list(peers.feeds_of(folder, name, part, ranks)[0]) for part in ("calibration", "search")}
    first = parts["calibration"][0]
    if model.is_dynamic():
        model.reshape({key: [-1, *array.shape[1:]] for key, array in first.items()})
    source = InOnnxRuntime(folder / name / "f32.onnx")
    wanted = outputs(folder, name, source, "search", MOST_VALIDATED)
    known = {key: values[:MOST_VALIDATED] for key, values in known_of(folder, name, "search").items()}
    sign = 1 if tasks.metric_of(name).higher else -1

    def validate(compiled, _items):
        got = outputs(folder, name, InOpenVino(compiled), "search", MOST_VALIDATED)
        return sign * scored(name, wanted, got, known)["value"], None

    made = library.quantize_with_accuracy_control(
        model, calibration_dataset=library.Dataset(parts["calibration"]),
        validation_dataset=library.Dataset(parts["search"]), validation_fn=validate,
        max_drop=tasks.most_lost(name, limit), drop_type=library.DropType.ABSOLUTE,
        subset_size=min(300, len(parts["calibration"])))
    runtime.save_model(made, file, compress_to_fp16=False)
    return {}


# Times


def calls_of(model, feed):
    """Calls that take EPOCH_S together, after a few to warm up."""
    for _ in range(3):
        model.run(feed)
    began = time.perf_counter()
    model.run(feed)
    return max(1, round(EPOCH_S / max(time.perf_counter() - began, 1e-7)))


def seconds(model, feed, calls):
    began = time.perf_counter()
    for _ in range(calls):
        model.run(feed)
    return (time.perf_counter() - began) / calls


def interval(ratios):
    """[median, low, high]: 95 % of the medians of resampled rounds."""
    rng = np.random.default_rng(0)
    medians = np.median(rng.choice(ratios, (RESAMPLES, len(ratios))), axis=1)
    return [float(np.median(ratios)), *map(float, np.quantile(medians, [0.025, 0.975]))]


def timed(folder, name, file):
    base = InOnnxRuntime(folder / name / "f32.onnx")
    library, _, path = file.rpartition(":")
    other = InOpenVino(path) if library == "openvino" else InOnnxRuntime(path)
    pairs = [(model, next(peers.feeds_of(folder, name, "heldout", model.ranks)[0])) for model in (base, other)]
    calls = [calls_of(*pair) for pair in pairs]
    ratios, began = [], time.monotonic()
    while len(ratios) < ROUNDS and (len(ratios) < 11 or time.monotonic() - began < MOST_S):
        order = (0, 1) if len(ratios) % 2 else (1, 0)
        took = {i: seconds(*pairs[i], calls[i]) for i in order}
        ratios.append(took[1] / took[0])
    return {"ratio": interval(ratios), "rounds": len(ratios)}


STEPS = {"prepare": prepare, "ours": ours, "onnx": onnx, "openvino": openvino, "ort": ort, "nncf": nncf, "time": timed}

if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in STEPS:
        sys.exit(__doc__)
    try:
        answer = STEPS[sys.argv[1]](pathlib.Path(sys.argv[2]), *sys.argv[3:])
    except Exception as error:  # of any of the libraries: `run` records what it says
        lines = str(getattr(error, "stderr", "") or error).strip().splitlines()
        sys.exit(f"{type(error).__name__}: {lines[-1] if lines else ''}")
    print(json.dumps(answer))
