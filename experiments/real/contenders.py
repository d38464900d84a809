"""The contenders of experiments/real: how each is made, judged on held-out samples and timed.

A contender is made on calibration and search samples alone. Its result has

    value     the task's metric on held-out samples, by measure.py
    ratio     time of a call over that of our f32 on the default target: [median, low, high], a 95 % interval
    failed    instead of both: why there is none

Ours are timed by `mscgym bench` in turns with our f32. ONNX Runtime's f32 is timed by the same program (--peer), and
other libraries in turns with ONNX Runtime's f32 in one process; their ratio to our f32 is the product, with both
intervals.
"""
import dataclasses
import functools
import json
import math
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import tasks
import networks

HERE, ROOT = tasks.HERE, networks.ROOT
# Those of int8 weights with which native is fastest: docs/quantization.md, "CPUs without VNNI". It uses no AVX-VNNI.
WEIGHT_BITS = 8 if "avx512_vnni" in pathlib.Path("/proc/cpuinfo").read_text() else 7
# mscgym: done, but a limit is missed, or the result is suspicious or slower.
MISSED = 3
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
BENCH_MS = "3000"


class Failed(Exception):
    """A contender can't be made or measured; says why."""


def ended(*command, accepted=(0,), timeout=None):
    """The process. It stays in the group of this one, so that Ctrl-C ends both."""
    words = [str(word) for word in command]
    program = f"{pathlib.Path(words[0]).name} {pathlib.Path(words[1]).name}"
    try:
        process = subprocess.run(words, cwd=ROOT, env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{program}: not done in {timeout:.0f} s") from error
    except FileNotFoundError as error:
        raise Failed(f"{words[0]} is absent") from error
    if process.returncode not in accepted:
        lines = (process.stderr.strip() or process.stdout.strip()).splitlines()
        raise Failed(f"{program}: {(lines or [f'it ended with {process.returncode}'])[-1]}")
    return process


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a run has for all its contenders."""
    folder: pathlib.Path  # of data, models and results
    mscgym: str
    python: str  # of `scripts/peers python peers`
    minutes: float  # of a search

    def measure(self, step, name, *words, timeout=None):
        return json.loads(ended(self.python, HERE / "measure.py", step, self.folder, name, *words,
                                timeout=timeout).stdout.splitlines()[-1])

    def samples(self, name, part):
        return networks.samples_file(self.folder, name, part)

    def model(self, name):
        """The file and the options that all of mscgym's programs need for it."""
        shape = networks.NETWORKS[name].shape
        return [networks.model_file(self.folder, name), *(["--shape", shape] if shape else [])]


@dataclasses.dataclass(frozen=True)
class Job:
    """One contender of one task: `work` is an empty folder."""
    setting: Setting
    name: str
    limit: str
    seed: int
    work: pathlib.Path


# Time


def row_ratio(row):
    return [row["ratio"], row["ratio_low"], row["ratio_high"]]


def inverse(ratio):
    return [1 / ratio[0], 1 / ratio[2], 1 / ratio[1]]


def product(one, other):
    """Of two independent ratios: distances add up as squares, on a logarithmic scale."""
    middle = one[0] * other[0]
    low, high = (math.hypot(math.log(one[i] / one[0]), math.log(other[i] / other[0])) for i in (1, 2))
    return [middle, middle * math.exp(-low), middle * math.exp(high)]


def bench(job, *words):
    """Rows of `mscgym bench`, on held-out samples."""
    inputs = sum((["--input", file] for file in sorted((job.setting.folder / job.name).glob("timed_*.npy"))), [])
    said = ended(job.setting.mscgym, "bench", *job.setting.model(job.name), *inputs, "--threads", "1", "--max-ms",
                 BENCH_MS, "--json", *words).stdout
    return json.loads(said)["rows"]


def timed_ours(job, target, *words):
    """Ratio to f32 on the default target, of the row that `words` add on `target`."""
    rows = bench(job, "--targets", "auto" if target in ("auto", default_target(job)) else f"auto,{target}", *words)
    wanted = default_target(job) if target == "auto" else target
    found = next((row for row in rows[1:] if row["target"] == wanted and row["variant"] != "f32"), None)
    if found is None or "ratio" not in found:
        raise Failed(f"not timed on {wanted}: {(found or {}).get('absent', 'no such row')}")
    return {"ratio": row_ratio(found), "noisy": found["noisy"], "ms": found["median_ms"], "target": wanted}


@functools.cache
def target_of(setting, name):
    """What the target auto is for a model."""
    said = ended(setting.mscgym, "bench", *setting.model(name), "--precision", "f32", "--max-ms", "10", "--json").stdout
    return json.loads(said)["rows"][0]["target"]


def default_target(job):
    return target_of(job.setting, job.name)


def onnxruntime_f32(job):
    """Ratio of ONNX Runtime's f32 to our f32; kept, since all other libraries are timed against it."""
    bound = tasks.TASKS[job.name].bound
    rows = bench(job, "--precision", "f32", "--peer", *(["--shape", bound] if bound else []))
    if "ratio" not in rows[0] or rows[0]["target"] != "(onnxruntime)":
        raise Failed("ONNX Runtime was not timed: " + rows[0].get("absent", "scripts/setup fetches it"))
    return {"ratio": inverse(row_ratio(rows[1])), "noisy": rows[1]["noisy"], "ms": rows[0]["median_ms"]}


def timed_library(job, file):
    found = job.setting.measure("time", job.name, file)
    return {"ratio": product(onnxruntime_f32(job)["ratio"], found["ratio"]), "to_onnxruntime": found["ratio"]}


# Ours


def artefact(job, *words):
    """Compiles, and gives the verdict on what the artefact computes."""
    batch = ["--batch", tasks.TASKS[job.name].batch] if tasks.TASKS[job.name].batch > 1 else []
    out = job.work / "artefact"
    ended(job.setting.mscgym, "compile", *job.setting.model(job.name), "--threads", "1", *batch, *words, "--out", out)
    found = job.setting.measure("ours", job.name, job.setting.mscgym, out)
    shutil.rmtree(out)
    return found


def of_strategy(job, strategy):
    """Verdict and time of a strategy file."""
    target = json.loads(strategy.read_text())["target"]
    return {**artefact(job, "--strategy", strategy),
            **timed_ours(job, target, "--precision", "f32", "--strategy", strategy)}


def f32(job):
    return {**artefact(job), "ratio": [1.0, 1.0, 1.0], "noisy": False, "target": default_target(job)}


def bf16(job):
    if "avx512_bf16" not in pathlib.Path("/proc/cpuinfo").read_text():
        raise Failed("this CPU has no bf16 instructions")
    target = default_target(job)
    return {**artefact(job, "--target", f"{target}:precision=bf16"),
            **timed_ours(job, target, "--precision", "f32,bf16")}


def tool(job, command, *words):
    """A strategy by `mscgym quantize` or `prune`, with calibration samples alone."""
    out = job.work / f"{command}.json"
    ended(job.setting.mscgym, command, *job.setting.model(job.name), "--calibration",
          job.setting.samples(job.name, "calibration"), "--no-speed", *words, "--save-plan", out, accepted=(0, MISSED))
    return out


def int8(job):
    return of_strategy(job, quantized(job))


def quantized(job, *words):
    return tool(job, "quantize", "--bits", WEIGHT_BITS, *words)


def pruned(density, is_int8):
    def make(job):
        strategy = tool(job, "prune", "--density", density, "--score", "obs", "--align", 8, "--reconstruct")
        return of_strategy(job, quantized(job, "--strategy", strategy) if is_int8 else strategy)
    return make


def own_metrics(job):
    """Command of each loss that metric.py computes, by name."""
    references = sorted((job.setting.folder / job.name / "f32_search").glob("output_*.npy"))
    return {loss: [job.setting.python, str(HERE / "metric.py"), loss, *map(str, references)]
            for loss in tasks.TASKS[job.name].losses if loss in tasks.OWN_LOSSES}


def found_by_search(job, out, process):
    """The result of a run directory; one without a strategy within the limits is what it says."""
    strategy = out / "best" / "strategy.json"
    if not strategy.exists():
        raise Failed("nothing keeps the limit on the samples of the search")
    found = {**of_strategy(job, strategy), "suspicious": process.returncode == MISSED}
    kept = job.setting.folder / "found" / f"{job.name}-{job.limit}-{out.name}-{job.seed}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for path in [*(out / "best").glob("strategy.*"), out / "report.html", out / "results.json", out / "config.json"]:
        if path.exists():
            shutil.copy(path, kept)
    return found


def bisection(job):
    """int8 with the most sensitive layers in f32, as few as the limit allows: the agent that bisects their number."""
    task, setting = tasks.TASKS[job.name], job.setting
    model, *shape = setting.model(job.name)
    labels = {"labels": str(setting.folder / job.name / "search_labels.npy")} if task.labels else {}
    config = {
        "model": str(model), "shapes": shape[1:], "env": "quantize", "agent": "bisection", "seed": job.seed,
        "time_budget_s": 60 * setting.minutes, "trials": 1000,
        "objective": {"minimize": ["latency", "distill_loss"],
                      "subject_to": {loss: tasks.most_lost(job.name, job.limit) for loss in task.losses}},
        # As optimize and quantize do.
        "calibration": {"data": {"images": str(setting.samples(job.name, "calibration"))},
                        "options": {"method": "mse"}},
        "quantize": {"rounding": ["gptq"], "bits": [WEIGHT_BITS]},
        "quality": {"data": {"images": str(setting.samples(job.name, "search")), **labels},
                    "metrics": {loss: {"command": command, "better": "lower"}
                                for loss, command in own_metrics(job).items()}},
    }
    file, out = job.work / "config.json", job.work / "bisection"
    file.write_text(json.dumps(config, indent=1))
    process = ended(setting.mscgym, "search", file, "--out", out, accepted=(0, MISSED))
    return found_by_search(job, out, process)


def optimize(job):
    """The search, as a user gets it without a config."""
    task, setting, out = tasks.TASKS[job.name], job.setting, job.work / "optimize"
    words = [setting.mscgym, "optimize", *setting.model(job.name), "--samples", setting.samples(job.name, "search"),
             "--calibration", setting.samples(job.name, "calibration"), "--time", f"{60 * setting.minutes:.0f}s",
             "--seed", job.seed, "--out", out]
    for loss, command in own_metrics(job).items():
        words += ["--metric", f"{loss}=lower:{' '.join(command)}"]
    for loss in task.losses:
        words += ["--limit", f"{loss}={tasks.most_lost(job.name, job.limit)}"]
    if task.labels:
        words += ["--labels", setting.folder / job.name / "search_labels.npy"]
    return found_by_search(job, out, ended(*words, accepted=(0, MISSED)))


# Other libraries


def ort_f32(job):
    file = job.setting.folder / job.name / "f32.onnx"
    return {**job.setting.measure("onnx", job.name, file), **onnxruntime_f32(job)}


def ort_int8(job):
    job.setting.measure("ort", job.name)
    file = job.setting.folder / job.name / "ort.onnx"
    return {**job.setting.measure("onnx", job.name, file), **timed_library(job, file)}


def openvino_f32(job):
    file = job.setting.folder / job.name / "f32.onnx"
    return {**job.setting.measure("openvino", job.name, file), **timed_library(job, f"openvino:{file}")}


def nncf(job):
    """At most thrice the time of a search: it has no limit of its own."""
    file = job.work / "nncf.xml"
    job.setting.measure("nncf", job.name, job.limit, file, timeout=180 * job.setting.minutes)
    return {**job.setting.measure("openvino", job.name, file), **timed_library(job, f"openvino:{file}")}


@dataclasses.dataclass(frozen=True)
class Contender:
    name: str
    title: str
    scope: str  # any: the same for all limits; limit: one for each; seed: one for each limit and seed
    role: str  # baseline, peer, other or search
    make: Callable


CONTENDERS = [
    Contender("f32", "f32", "any", "baseline", f32),
    Contender("bf16", "bf16", "any", "baseline", bf16),
    Contender("int8", "int8", "any", "baseline", int8),
    Contender("density75", "density 0.75", "any", "baseline", pruned(0.75, False)),
    Contender("density50", "density 0.5", "any", "baseline", pruned(0.5, False)),
    Contender("density75_int8", "density 0.75, int8", "any", "baseline", pruned(0.75, True)),
    Contender("density50_int8", "density 0.5, int8", "any", "baseline", pruned(0.5, True)),
    Contender("ort_f32", "ONNX Runtime f32", "any", "peer", ort_f32),
    Contender("ort_int8", "ONNX Runtime int8", "any", "peer", ort_int8),
    Contender("openvino_f32", "OpenVINO f32", "any", "other", openvino_f32),
    Contender("bisection", "int8 with k layers f32", "limit", "baseline", bisection),
    Contender("nncf", "NNCF with accuracy control", "limit", "other", nncf),
    Contender("optimize", "search", "seed", "search", optimize),
]
BY_NAME = {contender.name: contender for contender in CONTENDERS}
