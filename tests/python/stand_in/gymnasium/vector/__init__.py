"""Several envs as one, reset at the next step. Source: Gymnasium 1.x documentation, "Vector"."""

import enum

import numpy

from gymnasium import spaces
from gymnasium.spaces import generator
from .utils import batch_space


class AutoresetMode(enum.Enum):
    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


class VectorEnv:
    """What all vectors inherit."""

    metadata = {}
    spec = None
    render_mode = None
    closed = False
    _np_random = None
    _np_random_seed = None

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._np_random, self._np_random_seed = generator(seed), seed

    @property
    def np_random(self):
        if self._np_random is None:
            self._np_random = generator(None)
        return self._np_random

    @property
    def unwrapped(self):
        return self

    def close(self, **kwargs):
        if not self.closed:
            self.close_extras(**kwargs)
            self.closed = True

    def close_extras(self, **kwargs):
        pass

    def __repr__(self):
        name = f"{self.spec.id}, " if self.spec else ""
        return f"{type(self).__name__}({name}num_envs={self.num_envs})"

    def __del__(self):
        self.close()


def batch(space, values):
    if isinstance(space, spaces.Dict):
        return {name: batch(part, [value[name] for value in values])
                for name, part in space.items()}
    return numpy.array(values, dtype=space.dtype)


class SyncVectorEnv(VectorEnv):
    """Steps one env after another; one whose episode has ended is reset instead."""

    def __init__(self, env_fns):
        self.envs = [make() for make in env_fns]
        self.num_envs = len(self.envs)
        self.single_action_space = self.envs[0].action_space
        self.single_observation_space = self.envs[0].observation_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.ended = [False] * self.num_envs

    def reset(self, *, seed=None, options=None):
        made = [env.reset(seed=None if seed is None else seed + i, options=options)
                for i, env in enumerate(self.envs)]
        self.ended = [False] * self.num_envs
        return batch(self.single_observation_space, [one[0] for one in made]), self.infos(made)

    def step(self, actions):
        made = []
        for i, env in enumerate(self.envs):
            if self.ended[i]:
                observation, info = env.reset()
                made.append((observation, 0.0, False, False, info))
            else:
                made.append(env.step(actions[i]))
            self.ended[i] = made[-1][2] or made[-1][3]
        observations, rewards, terminations, truncations, _ = zip(*made)
        return (batch(self.single_observation_space, observations), numpy.array(rewards),
                numpy.array(terminations), numpy.array(truncations), self.infos(made))

    def infos(self, made):
        """By name, a row for each env, and under "_" and the name who has one."""
        rows = {}
        for i, one in enumerate(made):
            for name, value in one[-1].items():
                value = numpy.asarray(value)
                zeros = numpy.zeros((self.num_envs, *value.shape), value.dtype)
                rows.setdefault(name, zeros)[i] = value
                rows.setdefault("_" + name, numpy.zeros(self.num_envs, bool))[i] = True
        return rows

    def call(self, name, *args):
        return tuple(env.get_wrapper_attr(name)(*args) for env in self.envs)

    def close_extras(self):
        for env in self.envs:
            env.close()
