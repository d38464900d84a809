"""Whole searches: what `mscgym search` does."""

import dataclasses
import os

from . import _core, _metrics
from .env import Decision, _find_program, _read_config
from .study import Trial, _trials


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """A finished search. Everything is also in its run directory, with report.html."""

    folder: str  # the run directory
    best: str  # the folder of the best configuration: strategy.json, model.onnx, ...; "" if none
    feasible: bool  # whether the best keeps all limits
    summary: str  # the closing table of `mscgym search`
    trials: list  # of Trial, by number
    best_trial: Trial  # the best feasible one before finalists were measured again, or None
    pareto: list  # the Pareto set of the feasible trials
    suspicions: list  # of str: what makes the best suspicious although it keeps the limits


def search(config, out="run", *, metrics=None, resume=False, workers=1, cache=None, program=None):
    """Search for the best configuration of a model, and write it to the run directory `out`.

    config: a config of `mscgym search`, as a dict (paths relative to the working directory) or as
    the path of a file. metrics: metrics of your own, a dict of Metric by name; give them again to
    resume. resume: continue the search in `out`. workers: number of candidates
    measured in parallel. cache: a folder of outcomes that searches share. program: path of mscgym.

    Progress goes to sys.stderr. Ctrl-C ends the search and keeps what it has, which `resume`
    continues.
    """
    text, base = _read_config(config)
    functions = {}
    if metrics:
        text = _metrics.configured(text, metrics)
        functions = {name: metric.function for name, metric in metrics.items()}
    found = _core.search(text, base, os.fspath(program) if program else _find_program(),
                         os.fspath(out), os.fspath(cache or ""), workers, resume, functions)
    decisions = [Decision(*decision) for decision in found["decisions"]]
    trials, best, pareto = _trials(decisions, found["study"])
    return SearchResult(os.fspath(out), found["best"], found["feasible"], found["summary"], trials,
                        None if best is None else trials[best], [trials[i] for i in pareto],
                        found["suspicions"])
