"""Agents, asked for trials and told their results."""

import dataclasses
import json

from . import _core
from .env import Decision, Env, Evaluation, _choices, _indices


@dataclasses.dataclass(frozen=True)
class Trial:
    """One attempt. Without an evaluation until it was told."""

    number: int
    source: str  # "anchor:NAME", "known", or the agent
    choices: dict  # by decision
    evaluation: Evaluation = None
    repeated: bool = False  # the assignment was tried before: its evaluation was copied
    feasible: bool = False  # it succeeded and keeps all limits


class Study:
    """Asks an agent what to try and tells it what came of that.

    problem: an Env, {decision: [choices]}, or a list of Decisions, whose choices may count
    something. agent, seed, minimize, subject_to: as in a search's config, from which they come
    where the env has one; without, the agent is "auto" and the first metric is made small. Trials
    and their order are those of `mscgym search`.

    known: trials whose results hold here, such as those of an earlier study: (choices, metrics or
    Evaluation), or a Trial each. They are the first trials, of the source "known": the agent hears
    of them, and what they tried is not asked for again.
    """

    def __init__(self, problem, agent=None, seed=None, minimize=None, subject_to=None, known=()):
        config = (problem.config or {}) if isinstance(problem, Env) else {}
        objective = config.get("objective", {})
        if minimize is None:
            minimize = objective.get("minimize")
        if minimize is None:
            if not isinstance(problem, Env):
                raise _core.UserError("name what is to be made small: minimize=['loss']")
            minimize = problem.metrics[:1]
        if subject_to is None:
            subject_to = objective.get("subject_to", {})
        if seed is None:
            seed = config.get("seed", 0)
        if isinstance(minimize, str):
            minimize = [minimize]
        self.minimize, self.subject_to = list(minimize), dict(subject_to)
        wanted = _core.Wanted(agent or config.get("agent", "auto"), seed, self.minimize,
                              self.subject_to)
        if isinstance(problem, Env):
            self.decisions = problem.decisions
        else:
            self.decisions = _decisions(problem)
        for trial in known:
            if isinstance(trial, Trial):
                trial = (trial.choices, trial.evaluation)
            choices, result = trial
            indices = _indices(self.decisions, {str(k): str(c) for k, c in choices.items()})
            wanted.know(indices, *_outcome(result), _record(result))
        self._core = _core.Study(
            problem._open() if isinstance(problem, Env)
            else [dataclasses.astuple(decision) for decision in self.decisions], wanted)

    def ask(self):
        """The next trial; None where the agent has nothing left.

        Several may be asked for before they are told, as far as the agent does not wait for
        results: UserError says which trials are to be told first.
        """
        asked = self._core.ask()
        if asked is None:
            return None
        number, source, indices = asked
        return Trial(number, source, _choices(self.decisions, indices))

    def tell(self, trial, result=None, *, failure=None):
        """What came of a trial: an Evaluation, or its metrics, or why it has none."""
        number = trial.number if isinstance(trial, Trial) else trial
        self._core.tell(number, *_outcome(result, failure), _record(result))

    @property
    def waiting(self):
        """Numbers of the trials that were asked for and not told."""
        return self._core.waiting()

    @property
    def trials(self):
        """All that have a result, by number."""
        return self._read()[0]

    @property
    def best(self):
        """The best feasible trial, or None."""
        trials, best, _ = self._read()
        return None if best is None else trials[best]

    @property
    def pareto(self):
        """Feasible trials that no other beats in everything that is made small; of all trials
        where none is feasible."""
        trials, _, pareto = self._read()
        return [trials[i] for i in pareto]

    def _read(self):
        result = self._core.result()
        trials = [Trial(trial["number"], trial["source"],
                        _choices(self.decisions, trial["assignment"]),
                        Evaluation._of(trial["evaluation"]), trial["repeated"], trial["feasible"])
                  for trial in result["trials"]]
        return trials, result["best"], result["pareto"]


def _decisions(problem):
    """Decisions of texts, whatever names and choices are."""
    pairs = problem.items() if hasattr(problem, "items") else problem
    made = [one if isinstance(one, Decision) else Decision(*one) for one in pairs]
    return [dataclasses.replace(one, name=str(one.name), choices=map(str, one.choices))
            for one in made]


def _outcome(result, failure=None):
    """Metrics and failure as the core takes them."""
    if isinstance(result, Evaluation):
        result, failure = result.metrics, result.failure
    if failure is not None:
        return {}, failure if isinstance(failure, tuple) else ("crash", str(failure))
    if result is None:
        raise _core.UserError("a trial has metrics or a failure")
    return dict(result), None


def _record(result):
    record = result.record if isinstance(result, Evaluation) else None
    return json.dumps(record) if record else ""
