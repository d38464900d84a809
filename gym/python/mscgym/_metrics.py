"""Metrics of a search that are Python functions: described to it, and called for it."""

import dataclasses
import hashlib
import json
import os
import threading
import typing

from . import _core


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric of your own for `mscgym.search`.

    function(outputs, samples) returns one number for all samples, or a sequence with one for each.
    outputs: the candidate's outputs, a dict of NumPy arrays [count, ...] by name. samples: see
    Samples. A search with several workers calls it in several threads at a time.
    """

    function: typing.Callable
    better: str  # "higher" or "lower"
    timeout_s: float = 60  # for a call


@dataclasses.dataclass(frozen=True)
class Samples:
    """The samples that a metric is asked for."""

    inputs: dict  # of NumPy arrays [count, ...] by name, as the model took them
    labels: typing.Any  # class numbers [count], or None
    rows: slice  # their numbers among those of quality.data


def configured(config, metrics):
    """Return the text of a config with these metrics."""
    if not isinstance(metrics, dict) or not all(
            isinstance(metric, Metric) and callable(metric.function) for metric in metrics.values()):
        raise _core.UserError("metrics is a dict of mscgym.Metric by name")
    try:
        content = json.loads(config)
        known = content.setdefault("quality", {}).setdefault("metrics", {})
        for name, metric in metrics.items():
            known[name] = {"function": _identity(metric.function), "better": metric.better,
                           "timeout_s": metric.timeout_s}
        return json.dumps(content)
    except (ValueError, AttributeError, TypeError):
        return config  # the search says what is wrong with it


def call(function, folder, timeout_s):
    """Call a metric's function on the arrays in `folder`.

    Return ("", the text that a command would print), or the kind of a failure and why. A call that
    hangs is left behind in its thread: Python cannot end it.
    """
    answer = []
    thread = threading.Thread(target=lambda: answer.append(_call(function, folder)), daemon=True)
    thread.start()
    thread.join(timeout_s)
    if answer:
        return answer[0]
    if thread.is_alive():
        return "timeout", f"no answer within {round(1000 * timeout_s)} ms"
    return "crash", "the thread of the call ended"


def _call(function, folder):
    try:
        import numpy

        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)

        def arrays(key):
            return {each["name"]: numpy.load(os.path.join(folder, each["file"]))
                    for each in manifest[key]}

        labels = manifest["labels"]
        first = manifest["first"]
        samples = Samples(arrays("samples"),
                          numpy.load(os.path.join(folder, labels)) if labels else None,
                          slice(first, first + manifest["count"]))
        found = numpy.asarray(function(arrays("outputs"), samples), dtype=float)
    except BaseException as error:  # of a function that nobody here knows
        return "crash", f"raised {type(error).__name__}: {error}".replace("\n", " ")[:200]
    if found.ndim > 1 or found.size == 0:
        return "crash", f"returned an array {list(found.shape)} instead of a number or one a sample"
    if not numpy.isfinite(found).all():
        return "crash", "returned a number that is not finite"
    key = "values" if found.ndim else "value"
    return "", json.dumps({key: found.tolist()})


def _identity(function):
    """Return a hash of a function's code. What it refers to may change without it."""
    digest = hashlib.sha256()

    def add(code):
        digest.update(code.co_code + repr(code.co_names).encode())
        for constant in code.co_consts:
            if hasattr(constant, "co_code"):
                add(constant)
            else:
                digest.update(repr(constant).encode())

    code = getattr(function, "__code__", None)
    if code is not None:
        add(code)
    digest.update(str(getattr(function, "__qualname__", type(function).__qualname__)).encode())
    return digest.hexdigest()
