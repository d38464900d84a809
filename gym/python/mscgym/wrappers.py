"""Envs changed from the outside.

Each takes an env and gives another that plays on it and passes on what it does not change; several
may lie around each other. They see episodes: `evaluate` and studies go by the env inside.
"""

import dataclasses

from . import _core
from .env import Env, _value


@dataclasses.dataclass(frozen=True)
class Episode:
    """What was done in an episode and what it earned: enough to do it again."""

    seed: int  # of the reset, or None
    options: dict
    steps: list  # (action, reward) each
    terminated: bool
    truncated: bool


class Wrapped(Env):
    """An env seen through a wrapper. Closing it closes the one inside."""

    def __init__(self, env, wrapper):
        super().__init__(env._open().wrapped(wrapper), env.render_mode, env.illegal, env.spec)
        self.env = env

    @property
    def unwrapped(self):
        """The env inside of all wrappers."""
        return self.env.unwrapped

    def close(self):
        """Closes the env inside, too."""
        super().close()
        self.env.close()

    # A seed restarts the random numbers of the env inside, and there are no others.

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
        """Whether it, or an env inside, has an attribute of that name."""
        return hasattr(self, name) or self.env.has_wrapper_attr(name)

    def get_wrapper_attr(self, name):
        """The attribute of that name, of it or of the first env inside that has one."""
        return getattr(self, name) if hasattr(self, name) else self.env.get_wrapper_attr(name)

    def set_wrapper_attr(self, name, value, *, force=True):
        """Sets it where it is; where it is not, here if `force`. Says whether it was set."""
        if not hasattr(self, name) and self.env.has_wrapper_attr(name):
            return self.env.set_wrapper_attr(name, value)
        return super().set_wrapper_attr(name, value, force=force)


def cache(env, most=100000):
    """Answers the last step of an episode that was played before with what came of it then.

    So every assignment is measured once. Kept are the first `most` episodes.
    """
    return Wrapped(env, _core.cache(most))


def time_limit(env, limit):
    """Truncates an episode at step `limit`."""
    return Wrapped(env, _core.time_limit(limit))


def reward_noise(env, deviation):
    """Adds a normal draw of that deviation to every reward, as if it had been measured badly.

    Draws follow from the seed of `reset`.
    """
    return Wrapped(env, _core.reward_noise(deviation))


def transform_reward(env, transform):
    """Replaces each reward by `transform` of it, a finite number."""
    return Wrapped(env, _core.transform_reward(lambda reward: float(transform(reward))))


def record(env, sink):
    """Hands every Episode to `sink` once: when it ends, or at the next reset if it was left before.

    `sink` may not use the env, which is in the middle of a step.
    """
    space = env.action_space

    def hand_over(episode):
        steps = [(_value(space, action), reward) for action, reward in episode.pop("steps")]
        sink(Episode(steps=steps, **episode))

    return Wrapped(env, _core.record(hand_over))


def replay(env, episode):
    """Does an episode again and returns what came of it.

    An equal one, where the env is deterministic and the reset was seeded.
    """
    env.reset(seed=episode.seed, options=episode.options)
    steps, terminated, truncated = [], False, False
    for action, _ in episode.steps:
        _, reward, terminated, truncated, _ = env.step(action)
        steps.append((action, reward))
    return Episode(episode.seed, episode.options, steps, terminated, truncated)
