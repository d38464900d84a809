"""Agents, asked for trials and told their results."""

import dataclasses

from . import _core
from .env import Env, Evaluation, _choices


@dataclasses.dataclass(frozen=True)
class Trial:
    """One attempt. Without an evaluation until it was told."""

    number: int
    source: str  # "anchor:NAME", or the agent
    choices: dict  # by decision
    evaluation: Evaluation = None
    repeated: bool = False  # the assignment was tried before: its evaluation was copied
    feasible: bool = False  # it succeeded and keeps all limits


class Study:
    """Asks an agent what to try and tells it what came of that.

    problem: an Env, or {decision: [choices]}. agent, seed, minimize, subject_to: as in a search's
    config, from which they come where the env has one; without, the agent is "auto" and the first
    metric is made small. Trials and their order are those of `mscgym search`.
    """

    def __init__(self, problem, agent=None, seed=None, minimize=None, subject_to=None):
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
            self._core = _core.Study(problem._open(), wanted)
        else:
            self.decisions = [(str(name), [str(c) for c in known])
                              for name, known in problem.items()]
            self._core = _core.Study(self.decisions, wanted)

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
        if isinstance(result, Evaluation):
            result, failure = result.metrics, result.failure
        if failure is not None:
            kind, detail = failure if isinstance(failure, tuple) else ("crash", str(failure))
            self._core.tell(number, {}, (kind, detail))
        elif result is None:
            raise _core.UserError("a trial has metrics or a failure")
        else:
            self._core.tell(number, dict(result), None)

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
        """Trials that no other beats in everything that is made small, feasible or not."""
        trials, _, pareto = self._read()
        return [trials[i] for i in pareto]

    def _read(self):
        result = self._core.result()
        trials = [Trial(trial["number"], trial["source"],
                        _choices(self.decisions, trial["assignment"]),
                        Evaluation._of(trial["evaluation"]), trial["repeated"], trial["feasible"])
                  for trial in result["trials"]]
        return trials, result["best"], result["pareto"]
