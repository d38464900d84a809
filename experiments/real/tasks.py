"""The tasks of experiments/real: networks that do something, what it is measured by, and how much of it may be lost.

A task is a network of benchmarks/quantizers, or one of EXTRA, with three parts of samples:

    calibration    for ranges of activations and refits; no labels
    search         what trials and every other choice may see
    heldout        the verdict, and nothing else

A metric is a number that truth.py of benchmarks/quantizers (NumPy and SciPy alone) gives for saved outputs. The search
itself limits losses of its own (docs/quality.md) or a metric by metric.py; neither has a part in the verdict.
"""
import dataclasses
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
QUANTIZERS = HERE.parents[1] / "benchmarks" / "quantizers"
sys.path.insert(0, str(QUANTIZERS))
import networks  # noqa: E402

SPLITS = ("calibration", "search", "heldout")
LIMITS = ("strict", "middle", "loose")
SEED = 41

# Networks that benchmarks/quantizers does not compare; their files are in packages of its fetch.py. `chunks` are
# [N, chunks] probabilities: above 0.5 or not, against f32.
EXTRA = {
    "magika": networks.Network("file types (Magika)", "classes", 0, 0),
    "silero": networks.Network("speech detection (Silero VAD)", "chunks", 0, 0, shape="input=96x576", archive=True),
}
networks.NETWORKS.update({name: network for name, network in EXTRA.items() if name not in networks.NETWORKS})


@dataclasses.dataclass(frozen=True)
class Task:
    metric: str  # a key of METRICS
    limits: tuple  # strict, middle, loose: how much of `metric` must be there, or how much of it may be
    counts: tuple  # samples of calibration, search, heldout
    losses: tuple  # what the search limits: losses of docs/quality.md, or names of metric.py
    batch: int = 1  # samples a call, for outputs; 1 where the file or the strategy is for one
    labels: bool = False  # the search gets class numbers
    package: tuple = ()  # of fetch.py, and the file in it, where that is the model
    bound: str = ""  # shape for `mscgym bench --peer`, where the output's batch has another name than the input's


@dataclasses.dataclass(frozen=True)
class Metric:
    title: str
    unit: str
    best: float  # that of f32
    higher: bool  # is better


METRICS = {
    "accuracy drop": Metric("accuracy drop", "points", 0, False),
    "lines as f32": Metric("lines read as in f32", "%", 100, True),
    "F1": Metric("F1 with the boxes of f32", "", 1, True),
    "cosine": Metric("cosine to f32", "", 1, True),
    "cosine and rank": Metric("the smaller of cosine and rank correlation of pairs to f32", "", 1, True),
    "same class": Metric("same class as f32", "%", 100, True),
    "angle error": Metric("error of the angles, relative to their standard deviation", "%", 0, False),
}

# Percent of samples that must be as in f32.
SAME, FILES = (99.5, 99.0, 97.0), (99.9, 99.5, 99.0)
FASHION = Task("accuracy drop", (0.1, 0.3, 1.0), (512, 10000, 10000), ("accuracy_drop",), batch=500, labels=True)

# Cheapest first.
TASKS = {
    "fashion_resnet": FASHION,
    "fashion_mobile": FASHION,
    "fashion_vgg": FASHION,
    "magika": Task("same class", FILES, (256, 2000, 2000), ("disagreement",), batch=50,
                   bound="bytes=1x2048", package=("file types", "magika/models/standard_v3_3/model.onnx")),
    "fr_feature": Task("cosine", (0.995, 0.99, 0.97), (100, 300, 300), ("cosine_distance",)),
    "fr_pose": Task("angle error", (0.5, 1.0, 2.0), (100, 300, 300), ("angle_error",)),
    "ppocr_rec": Task("lines as f32", SAME, (100, 300, 400), ("disagreement",)),
    "efficientnet": Task("same class", SAME, (100, 500, 500), ("disagreement",), batch=25),
    "encoder": Task("cosine and rank", (0.995, 0.99, 0.98), (200, 200, 300), ("cosine_distance", "rank_loss"),
                    batch=25),
    "fr_expression": Task("same class", SAME, (100, 300, 400), ("disagreement",)),
    "ppocr_det": Task("F1", (0.99, 0.98, 0.95), (40, 64, 40), ("text_loss",)),
    "silero": Task("same class", SAME, (60, 100, 200), ("disagreement:speech_probs",),
                   package=("speech detection", "silero_vad/data/silero_vad_16k_sequence.onnx")),
}
# Losses that metric.py computes.
OWN_LOSSES = ("angle_error", "rank_loss", "text_loss")


def metric_of(name):
    return METRICS[TASKS[name].metric]


def limit_of(name, limit):
    return TASKS[name].limits[LIMITS.index(limit)]


def keeps(name, value, limit):
    """Whether a task's metric is within a limit: at least as good, up to the rounding of sums."""
    distance = value - limit_of(name, limit)
    return (distance if metric_of(name).higher else -distance) >= -1e-9


def most_lost(name, limit):
    """The largest loss that a search may accept: how far a limit is from f32, in the unit of the metric."""
    return round(abs(limit_of(name, limit) - metric_of(name).best), 9)


def value_of(name, task):
    """A task's metric, from what truth.py gives."""
    metric = TASKS[name].metric
    if metric == "accuracy drop":
        return 100 * (task["reference accuracy"] - task["accuracy"])
    if metric == "cosine and rank":
        return min(task["cosine"], task["Spearman"])
    if metric == "angle error":
        return 100 * task["relative"]
    return task[metric] * (100 if METRICS[metric].unit == "%" else 1)
