"""Studies: agents that propose trials and receive their results."""

import dataclasses
import json

from . import _core
from .env import Decision, Env, Evaluation, _choices, _indices


@dataclasses.dataclass(frozen=True)
class Trial:
    """An assignment to try. `evaluation` is None until the result is known."""

    number: int
    source: str  # "anchor:NAME", "known", or the agent
    choices: dict  # by decision
    evaluation: Evaluation = None
    repeated: bool = False  # the evaluation was copied from an equal trial
    feasible: bool = False  # succeeded and satisfies all limits


class Study:
    """A study whose trials the caller evaluates: `ask` for a trial, `tell` its result.

    problem: an Env, {decision: [choices]}, or a list of Decisions (whose choices may have numeric
    values). agent, seed, minimize, subject_to: as in a search's config. They default to the env's
    config; without one, the agent is "auto" and the first metric is minimized. Trials and their
    order are those of `mscgym search`.

    known: trials with results that are valid here, such as those of an earlier study, each as
    (choices, metrics or Evaluation) or as a Trial. They become the first trials, of the source
    "known". The agent receives their results, and their assignments are not proposed again.
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
        """Return the next trial, or None if the agent has no proposals left.

        Several trials may be open at once. UserError, listing the open trials, if the agent needs
        their results before it proposes another.
        """
        asked = self._core.ask()
        if asked is None:
            return None
        number, source, indices = asked
        return Trial(number, source, _choices(self.decisions, indices))

    def tell(self, trial, result=None, *, failure=None):
        """Record the result of a trial: an Evaluation, its metrics, or a reason of failure."""
        number = trial.number if isinstance(trial, Trial) else trial
        self._core.tell(number, *_outcome(result, failure), _record(result))

    @property
    def waiting(self):
        """Numbers of the open trials."""
        return self._core.waiting()

    @property
    def trials(self):
        """All trials that have a result, by number."""
        return self._read()[0]

    @property
    def best(self):
        """The best feasible trial, or None."""
        trials, best, _ = self._read()
        return None if best is None else trials[best]

    @property
    def pareto(self):
        """The Pareto set of the feasible trials; of all successful trials if none is feasible."""
        trials, _, pareto = self._read()
        return [trials[i] for i in pareto]

    def _read(self):
        return _trials(self.decisions, self._core.result())


def _trials(decisions, study):
    """Return the trials, the index of the best or None, and those of the Pareto set."""
    trials = [Trial(trial["number"], trial["source"], _choices(decisions, trial["assignment"]),
                    Evaluation._of(trial["evaluation"]), trial["repeated"], trial["feasible"])
              for trial in study["trials"]]
    return trials, study["best"], study["pareto"]


def _decisions(problem):
    """Return Decisions with names and choices converted to str."""
    pairs = problem.items() if hasattr(problem, "items") else problem
    made = [one if isinstance(one, Decision) else Decision(*one) for one in pairs]
    return [dataclasses.replace(one, name=str(one.name), choices=map(str, one.choices))
            for one in made]


def _outcome(result, failure=None):
    """Return metrics and failure in the form of the core."""
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
