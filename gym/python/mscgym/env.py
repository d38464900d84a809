"""Envs with Gymnasium's interface."""

import dataclasses
import difflib
import json
import os
import shutil
import warnings

from . import _core
from ._gym import EnvSpec, GymEnv, gymnasium, numpy
from ._gym import spaces as _spaces

_PRINTABLE = "".join(chr(code) for code in range(32, 127))


def _space(description):
    """Return the space that a description of the core stands for."""
    given = dict(description)
    kind = given.pop("kind")
    if kind == "Dict":
        return _spaces.Dict({name: _space(part) for name, part in given["spaces"].items()})
    if kind == "Text":
        return _spaces.Text(given["max_length"], min_length=0, charset=_PRINTABLE)
    if kind == "Box":
        reshape = numpy.reshape if gymnasium else _spaces.nest
        low, high = (reshape(given[side], given["shape"]) for side in ("low", "high"))
        return _spaces.Box(low, high, given["shape"], dtype="float64")
    return getattr(_spaces, kind)(**given)


def _value(space, value):
    """Convert a value of the core to an element of the space."""
    if isinstance(value, dict):
        return {name: _value(space[name], part) for name, part in value.items()}
    if isinstance(value, list):
        if gymnasium:
            return numpy.asarray(value, dtype=space.dtype).reshape(space.shape)
        return _spaces.nest(value, space.shape)
    return value


def _plain(value):
    """Convert an action to the form of the core."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if hasattr(value, "ravel"):  # a NumPy value; NumPy may be installed without Gymnasium
        return value.ravel().tolist() if value.ndim else value.item()
    if isinstance(value, (list, tuple)):
        return _flat(value)
    return value


def _flat(value):
    """Return the numbers of nested lists as one list."""
    return [number for part in value
            for number in (_flat(part) if isinstance(part, (list, tuple)) else [part])]


@dataclasses.dataclass(frozen=True)
class Decision:
    """A decision and its choices. Unpacks as `name, choices = decision`."""

    name: str
    choices: tuple  # of text
    quantity: str = ""  # what `values` are, such as "bits"; "" if choices are only names
    values: tuple = ()  # a number per choice

    def __post_init__(self):
        for field in ("choices", "values"):
            object.__setattr__(self, field, tuple(getattr(self, field)))

    def __iter__(self):
        return iter((self.name, self.choices))


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Result of an assignment: metrics, for all of which smaller is better, or a failure."""

    metrics: dict
    failure: tuple = None  # (kind, detail), or None
    record: dict = None  # all that was measured

    @property
    def ok(self):
        return self.failure is None

    @classmethod
    def _of(cls, values):
        record = json.loads(values["record"]) if values["record"] else None
        return cls(values["metrics"], values["failure"], record)


def _find_program():
    """Return the measuring program's path: from MSCGYM, this build or installation, or PATH."""
    here = os.path.dirname(os.path.realpath(_core.__file__))
    places = [os.environ.get("MSCGYM", ""), os.path.join(here, "../../bin/mscgym"),
              os.path.join(here, "../../../../bin/mscgym"), shutil.which("mscgym") or ""]
    for place in places:
        if place and os.access(place, os.X_OK):
            return os.path.realpath(place)
    raise _core.UserError("the program mscgym, which measures candidates, was not found; name it "
                          "by program= or by the variable MSCGYM")


class Env(GymEnv):
    """A compression problem as a Markov decision process; `make` creates one.

    Step i takes decision i; the last step evaluates the whole assignment and returns the reward.
    Not thread-safe.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, core, render_mode=None, illegal="refuse", spec=None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise _core.UserError(f"render_mode is 'ansi' or None, not {render_mode!r}")
        if illegal not in ("refuse", "nearest"):
            raise _core.UserError(f"illegal is 'refuse' or 'nearest', not {illegal!r}")
        self._core = core
        self.render_mode = render_mode
        self.illegal = illegal
        self.spec = spec
        self.action_space = _space(core.action_space)
        self.observation_space = _space(core.observation_space)
        self.facts = core.facts
        self.decisions = [Decision(*parts) for parts in core.decisions]
        config = core.config
        self.config = json.loads(config) if config else None

    # Gymnasium's interface.

    def reset(self, *, seed=None, options=None):
        """Start an episode and return its first observation and info."""
        self._restart_numbers(seed)
        observation, info = self._open().reset(seed, options or {})
        return _value(self.observation_space, observation), self._with_mask(info)

    def step(self, action):
        """Take an action and return observation, reward, terminated, truncated, info."""
        action = _plain(action)
        taken = self._legal(action)
        observation, reward, terminated, truncated, info = self._open().step(taken)
        return (_value(self.observation_space, observation), reward, terminated, truncated,
                self._with_mask(info, action, taken))

    def render(self):
        """Return the decisions so far, one per line; None unless render_mode is "ansi"."""
        return self._open().render() if self.render_mode == "ansi" else None

    @property
    def unwrapped(self):
        """The env inside of all wrappers."""
        return self

    def close(self):
        """Close the env and delete its temporary folders."""
        self._core = None

    def action_mask(self):
        """Return a flag per action that says whether it is legal now; None if all are."""
        mask = self._open().action_mask()
        if not mask:
            return None
        return numpy.asarray(mask, dtype=numpy.int8) if gymnasium else [int(flag) for flag in mask]

    # The same problem as a list of decisions.

    @property
    def metrics(self):
        """Names of the metrics of an evaluation."""
        return self._open().metrics

    @property
    def anchors(self):
        """Baselines by name, each with its choices by decision."""
        return {name: self._choices(indices) for name, indices in self._open().anchors}

    def evaluate(self, choices):
        """Evaluate an assignment, {decision: choice}, or a list of them in parallel."""
        many = isinstance(choices, (list, tuple))
        indices = [self._indices(one) for one in (choices if many else [choices])]
        results = [Evaluation._of(values) for values in self._open().evaluate(indices)]
        return results if many else results[0]

    def strategy(self, choices):
        """Return the strategy of an assignment, in the form of `mscgym compile --strategy`."""
        return json.loads(self._open().strategy(self._indices(choices)))

    def describe(self, minimize=(), subject_to=None, *, goal=None, trial=True):
        """Return the output of `mscgym search --dry-run` for the problem.

        Lists decisions, baselines and the objective, says whether bounds rule out the limits or
        the goal ({metric: value}) that would end a search early, and how long a trial takes.
        Arguments default to the config. The first call runs a trial to time it, which also gives
        a lower bound on latency; trial=False skips it.
        """
        config = self.config or {}
        objective = config.get("objective", {})
        minimize = minimize or objective.get("minimize") or self.metrics[:1]
        limits = objective.get("subject_to", {}) if subject_to is None else subject_to
        ends = config.get("stop", {}).get("goal", {}) if goal is None else goal
        minimize = [minimize] if isinstance(minimize, str) else list(minimize)
        return self._open().describe(minimize, dict(limits), dict(ends), trial)

    def _open(self):
        if self._core is None:
            raise _core.UserError("the env was closed")
        return self._core

    def _another(self):
        """Return another env on the same model; only for envs that `make` created."""
        return Env(self._open().another(), self.render_mode, self.illegal, self.spec)

    def _restart_numbers(self, seed):
        """Restart `np_random` if a seed is given."""
        if seed is not None and seed < 0:
            raise _core.UserError(f"a seed is at least 0, not {seed}")
        super().reset(seed=seed)

    def _legal(self, action):
        """Return the action, or the nearest legal one for a masked one if `illegal` says so."""
        if self.illegal == "refuse" or action not in self.action_space:
            return action
        return nearest(action, self._open().action_mask())

    def _with_mask(self, info, action=None, taken=None):
        """Return info with the action taken instead, if any, and the next action mask."""
        if taken != action:
            info["action_taken"] = taken
        mask = self.action_mask()
        return info if mask is None else {**info, "action_mask": mask}

    def _indices(self, choices):
        return _indices(self.decisions, choices)

    def _choices(self, indices):
        return _choices(self.decisions, indices)


def _indices(decisions, choices):
    """Return the indices of choices given by name."""
    unknown = set(choices) - {name for name, _ in decisions}
    if unknown:
        raise _core.UserError(f"no decisions are called {', '.join(sorted(map(str, unknown)))}; "
                              f"there are {', '.join(name for name, _ in decisions)}")
    indices = []
    for name, known in decisions:
        if name not in choices:
            raise _core.UserError(f"there is no choice for '{name}'")
        if choices[name] not in known:
            raise _core.UserError(f"'{name}' has the choices {', '.join(known)}, "
                                  f"not {choices[name]!r}")
        indices.append(known.index(choices[name]))
    return indices


def _choices(decisions, indices):
    return {name: known[index] for (name, known), index in zip(decisions, indices)}


def nearest(action, mask):
    """Return the action if the mask allows it, else the nearest legal one (ties: the lower)."""
    if not mask or mask[action]:
        return action
    return min((i for i, legal in enumerate(mask) if legal), key=lambda i: (abs(i - action), i))


def envs():
    """Return the envs: id -> one-line summary."""
    return {id: summary for id, (summary, _) in _core.specs().items()}


def agents():
    """Return the agents for `Study`: name -> one-line summary."""
    return _core.agents()


def _read_config(config):
    """Return the text of a config, and the folder that its paths are relative to."""
    if isinstance(config, (str, os.PathLike)):
        path = os.fspath(config)
        try:
            with open(path, encoding="utf-8") as file:
                return file.read(), os.path.dirname(path)
        except OSError as error:
            raise _core.UserError(f"cannot read '{path}': {error.strerror}") from error
    if not isinstance(config, dict):
        raise _core.UserError("a config is a dict, or the path of a JSON file, not "
                              f"{type(config).__name__}")
    try:
        return json.dumps(config), ""
    except TypeError as error:
        raise _core.UserError(f"the config must be what JSON can hold: {error}") from error


def _check_id(id, config):
    known = envs()
    if id not in known:
        close = difflib.get_close_matches(str(id), known, n=1, cutoff=0.75)
        meant = f", did you mean '{close[0]}'" if close else ""
        raise _core.UserError(f"there is no env '{id}'{meant}; there are {', '.join(known)}")
    toy = id.startswith("Toy/")
    if toy and config is not None:
        raise _core.UserError(f"{id} is a toy and takes no config: leave it out")
    if not toy and config is None:
        raise _core.UserError(f"{id} needs a model: give it a config={{'model': 'model.onnx', "
                              "...} as `mscgym search` takes it, or the path of one")


def make(id, config=None, *, folder=None, cache=None, workers=1, program=None, render_mode=None,
         illegal="refuse"):
    """Create the env of an id; `mscgym.envs()` lists the ids.

    config: a config of `mscgym search`, as a dict (paths relative to the working directory) or as
    the path of a file; toy envs take none. folder: for the files of a search, such as scales; by
    default a temporary one. cache: a folder of outcomes that searches share. workers: number of
    candidates measured in parallel. program: path of mscgym. render_mode: "ansi" enables `render`.

    illegal: handling of an action that the mask rules out. "refuse" raises UserError. "nearest",
    for learners without masks, takes the nearest legal action and reports it in
    info["action_taken"].
    """
    given = {"config": config, "folder": folder, "cache": cache, "workers": workers,
             "program": program, "illegal": illegal}
    _check_id(id, config)
    if config is None:
        core = _core.Env(id, None, "", "", "", "", 1)
    else:
        text, base = _read_config(config)
        core = _core.Env(id, text, base, os.fspath(program) if program else _find_program(),
                         os.fspath(folder or ""), os.fspath(cache or ""), workers)
        for note in core.notes:
            warnings.warn(note, stacklevel=2)
    return Env(core, render_mode, illegal, _spec(id, render_mode=render_mode, **given))


# For gymnasium.make.


def gymnasium_id(id):
    """Return the id of an env in Gymnasium, which allows a single slash."""
    return "mscgym/" + id.replace("/", "-")


def make_registered(env_id, **options):
    """Entry point for gymnasium.make."""
    return make(env_id, **options)


make_registered.metadata = Env.metadata  # gymnasium.make reads the render modes here


def _spec(id, **options):
    """Return the spec by which gymnasium.make re-creates an env; None without Gymnasium."""
    if EnvSpec is None:
        return None
    _, nondeterministic = _core.specs()[id]
    given = {name: value for name, value in options.items() if value is not None}
    return EnvSpec(gymnasium_id(id), entry_point="mscgym.env:make_registered",
                   vector_entry_point="mscgym.vector:make_registered",
                   nondeterministic=nondeterministic, kwargs={"env_id": id, **given})


def register():
    """Register all envs with gymnasium.make and make_vec; importing this package does so.

    The ids are "mscgym/Quantize-v0", "mscgym/Toy-OneMax-v0", ..., with illegal="nearest", since the
    tools of Gymnasium know no masks. UserError if Gymnasium is not installed.
    """
    if gymnasium is None:
        raise _core.UserError("Gymnasium is not installed: pip install gymnasium")
    for id in envs():
        spec = _spec(id, illegal="nearest")
        if spec.id not in gymnasium.registry:
            gymnasium.register(spec.id, entry_point=spec.entry_point,
                               vector_entry_point=spec.vector_entry_point, kwargs=spec.kwargs,
                               nondeterministic=spec.nondeterministic)
