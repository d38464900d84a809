"""Vectors of envs, for learners that work on batches."""

from . import _core
from ._gym import AutoresetMode, GymVectorEnv, gymnasium, numpy
from .env import Env, _plain, _value, make

if gymnasium:
    from gymnasium.vector.utils import batch_space as _batch_space
else:
    from ._spaces import batch_space as _batch_space


class VectorEnv(GymVectorEnv):
    """Envs that are reset and stepped together, in sequence; `make_vec` creates one.

    An env whose episode has ended is reset at the next `step`, which ignores its action, returns
    the reward 0 and the observation of the reset (AutoresetMode.NEXT_STEP). The envs must not be
    stepped on their own. Not thread-safe.
    """

    metadata = {**Env.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}

    envs = ()
    _core = None

    def __init__(self, envs):
        """envs: made by mscgym.make, optionally wrapped by mscgym.wrappers, with equal spaces."""
        envs = tuple(envs)
        for env in envs:
            if not isinstance(env, Env):
                raise _core.UserError("a vector is of envs that mscgym.make made, not of "
                                      f"{type(env).__name__}: take SyncVectorEnv of Gymnasium")
        if len({id(env.unwrapped) for env in envs}) < len(envs):
            raise _core.UserError("an env is in the vector twice: make one for each place")
        self._core = _core.VectorEnv(tuple(env._open() for env in envs))
        self.envs, self.num_envs, first = envs, len(envs), envs[0]
        self.render_mode = first.render_mode
        self.single_action_space = first.action_space
        self.single_observation_space = first.observation_space
        self.action_space = _batch_space(first.action_space, self.num_envs)
        self.observation_space = _batch_space(first.observation_space, self.num_envs)

    def reset(self, *, seed=None, options=None):
        """Reset all envs and return observations and infos.

        seed: of the first env, incremented for each further env; or a list with one per env.
        """
        core = self._open()
        if seed is None or not hasattr(seed, "__len__"):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
            if seed is not None and seed >= 0:
                super().reset(seed=int(seed))
        else:
            seeds = [None if one is None else int(one) for one in seed]
        for env, one in zip(self.envs, seeds):
            env._restart_numbers(one)
        observations, infos = core.reset(seeds, options or {})
        return (self._batch(observations),
                _gather([env._with_mask(info) for env, info in zip(self.envs, infos)]))

    def step(self, actions):
        """Step all envs; return observations, rewards, terminations, truncations and infos by env.

        infos holds a value per env under each name, and under "_" + name which envs have it.
        """
        core = self._open()
        actions = [_plain(action) for action in _rows(actions)]
        if len(actions) != self.num_envs:
            raise _core.UserError(f"{self.num_envs} envs take as many actions, not {len(actions)}")
        taken = [env._legal(action) for env, action in zip(self.envs, actions)]
        observations, *results, infos = core.step(taken)
        infos = [env._with_mask(*one) for env, *one in zip(self.envs, infos, actions, taken)]
        return (self._batch(observations), *map(_array, results), _gather(infos))

    def render(self):
        """Return the rendered text of each env."""
        return tuple(env.render() for env in self.envs)

    def call(self, name, *args, **kwargs):
        """Call the method of that name on each env, or read the attribute; return the results."""
        found = [env.get_wrapper_attr(name) for env in self.envs]
        return tuple(one(*args, **kwargs) if callable(one) else one for one in found)

    def get_attr(self, name):
        """Return the attribute of each env."""
        return self.call(name)

    def set_attr(self, name, values):
        """Set the attribute of each env: to its own value from a list, or all to the same value."""
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise _core.UserError(f"{self.num_envs} envs take as many values, not {len(values)}")
        for env, value in zip(self.envs, values):
            env.set_wrapper_attr(name, value)

    def close_extras(self, **options):
        """Closes the envs."""
        self._core = None
        for env in self.envs:
            env.close()

    def _open(self):
        if self._core is None:
            raise _core.UserError("the vector of envs was closed")
        return self._core

    def _batch(self, observations):
        space = self.single_observation_space
        return _together(space, [_value(space, one) for one in observations])


def _array(values):
    return numpy.array(values) if gymnasium else values


def _together(space, values):
    """Combine elements of a space into an element of the batched space."""
    if isinstance(values[0], dict):
        return {name: _together(space[name], [value[name] for value in values])
                for name in values[0]}
    if isinstance(values[0], str):
        return tuple(values)
    return numpy.array(values, dtype=space.dtype) if gymnasium else values


def _rows(batch):
    """Return the actions of a batch as a list."""
    if not isinstance(batch, dict):
        return list(batch)
    parts = [_rows(part) for part in batch.values()]
    return [dict(zip(batch, row)) for row in zip(*parts)]


def _gather(infos):
    """Merge infos by name. An env without a value gets zeros, or None for text."""
    gathered = {}
    for name in {name: None for info in infos for name in info}:
        known = next(info[name] for info in infos if name in info)
        text = isinstance(known, str)
        blank = None if text else [0] * len(known) if isinstance(known, list) else known * 0
        values = [info.get(name, blank) for info in infos]
        gathered[name] = numpy.array(values, dtype=object) if gymnasium and text else (
            _array(values))
        gathered["_" + name] = _array([name in info for info in infos])
    return gathered


def make_vec(id, num_envs=1, config=None, **options):
    """Create a vector of envs of one id; other arguments are those of `make`.

    The model is loaded, calibrated and prepared once, and outcomes are shared.
    """
    if num_envs < 1:
        raise _core.UserError(f"a vector of envs has at least 1, not {num_envs}")
    first = make(id, config, **options)
    return VectorEnv([first, *(first._another() for _ in range(num_envs - 1))])


def make_registered(env_id, num_envs=1, **options):
    """Entry point for gymnasium.make_vec."""
    return make_vec(env_id, num_envs, **options)
