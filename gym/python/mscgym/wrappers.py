"""Wrappers of envs.

Each function takes an env and returns one that wraps it; wrappers can be nested. They change
episodes only: `evaluate` and studies use the env inside.
"""

import dataclasses

from . import _core
from .env import Env, _value


@dataclasses.dataclass(frozen=True)
class Episode:
    """Actions and rewards of an episode; `replay` can repeat it."""

    seed: int  # of the reset, or None
    options: dict
    steps: list  # (action, reward) each
    terminated: bool
    truncated: bool


class Wrapped(Env):
    """A wrapped env."""

    def __init__(self, env, wrapper):
        super().__init__(env._open().wrapped(wrapper), env.render_mode, env.illegal, env.spec)
        self.env = env

    @property
    def unwrapped(self):
        """The env inside of all wrappers."""
        return self.env.unwrapped

    def close(self):
        """Close this env and the one inside."""
        super().close()
        self.env.close()

    # The only random numbers are those of the env inside; `reset` restarts them there.

    @property
    def _np_random(self):
        return self.env._np_random

    @_np_random.setter
    def _np_random(self, value):
        self.env._np_random = value

    @property
    def _np_random_seed(self):
        return self.env._np_random_seed

    @_np_random_seed.setter
    def _np_random_seed(self, value):
        self.env._np_random_seed = value

    def has_wrapper_attr(self, name):
        """Return whether this env, or an env inside, has an attribute of that name."""
        return hasattr(self, name) or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name):
        """Return the attribute of this env, or of the first env inside that has it."""
        return getattr(self, name) if hasattr(self, name) else self.env.get_wrapper_attr(name)

    def set_wrapper_attr(self, name, value, *, force=True):
        """Set the attribute on the env that has it; if none has it, set it here if `force`.

        Returns whether it was set.
        """
        if not hasattr(self, name) and self.env.has_wrapper_attr(name):
            return self.env.set_wrapper_attr(name, value)
        return super().set_wrapper_attr(name, value, force=force)


def cache(env, most=100000):
    """Repeat the recorded last step for an episode whose actions were played before.

    Every assignment is therefore measured once. Stores the first `most` episodes.
    """
    return Wrapped(env, _core.cache(most))


def time_limit(env, limit):
    """Truncate an episode at step `limit`."""
    return Wrapped(env, _core.time_limit(limit))


def reward_noise(env, deviation):
    """Add normally distributed noise of that standard deviation to every reward.

    The seed of `reset` determines the draws.
    """
    return Wrapped(env, _core.reward_noise(deviation))


def transform_reward(env, transform):
    """Replace each reward by `transform(reward)`, which must be finite."""
    return Wrapped(env, _core.transform_reward(lambda reward: float(transform(reward))))


def record(env, sink):
    """Pass every Episode to `sink` once: when it ends, or at the next reset if it was abandoned.

    `sink` must not use the env, which is in the middle of a step.
    """
    space = env.action_space

    def hand_over(episode):
        steps = [(_value(space, action), reward) for action, reward in episode.pop("steps")]
        sink(Episode(steps=steps, **episode))

    return Wrapped(env, _core.record(hand_over))


def replay(env, episode):
    """Repeat the actions of an episode and return the new Episode.

    The result is equal if the env is deterministic and the reset was seeded.
    """
    env.reset(seed=episode.seed, options=episode.options)
    steps, terminated, truncated = [], False, False
    for action, _ in episode.steps:
        _, reward, terminated, truncated, _ = env.step(action)
        steps.append((action, reward))
    return Episode(episode.seed, episode.options, steps, terminated, truncated)
