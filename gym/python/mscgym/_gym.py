"""Gymnasium's classes where it is installed, and what takes their place where it is not."""

import enum
import random

try:
    import gymnasium
    import gymnasium.vector
    import numpy
    from gymnasium import spaces
    from gymnasium.envs.registration import EnvSpec
except ImportError:
    gymnasium = numpy = EnvSpec = None
    from . import _spaces as spaces


class _Drawing:
    """Has random numbers for draws of the caller's: random.Random's."""

    spec = None
    render_mode = None
    _np_random = None
    _np_random_seed = None

    def reset(self, *, seed=None, options=None):
        """Restarts `np_random`, if there is a seed."""
        if seed is not None:
            self._restart(seed)

    def _restart(self, seed):
        self._np_random, self._np_random_seed = random.Random(int(seed)), seed

    @property
    def np_random(self):
        """For draws of the caller's; restarted by `reset` with a seed."""
        if self._np_random is None:
            self._restart(random.SystemRandom().randrange(2**63))
        return self._np_random

    @np_random.setter
    def np_random(self, value):
        self._np_random, self._np_random_seed = value, -1

    @property
    def np_random_seed(self):
        """The seed of `np_random`; -1 where that was set."""
        _ = self.np_random  # made up where there is none
        return self._np_random_seed

    @property
    def unwrapped(self):
        """The env inside of all wrappers."""
        return self


class PlainEnv(_Drawing):
    """What all envs have in Gymnasium."""

    metadata = {"render_modes": []}

    def close(self):
        """Nothing to let go of."""

    def has_wrapper_attr(self, name):
        """Whether it, or an env inside, has an attribute of that name."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name):
        """The attribute of that name, of it or of the first env inside that has one."""
        return getattr(self, name)

    def set_wrapper_attr(self, name, value, *, force=True):
        """Sets it where it is; where it is not, here if `force`. Says whether it was set."""
        if not force and not hasattr(self, name):
            return False
        setattr(self, name, value)
        return True

    def __str__(self):
        return f"<{type(self).__name__} instance>" if self.spec is None else (
            f"<{type(self).__name__}<{self.spec.id}>>")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        return False


class PlainVectorEnv(_Drawing):
    """What all vectors of envs have in Gymnasium."""

    metadata = {}
    closed = False

    def close(self, **options):
        """Lets go of what it holds, once."""
        if not self.closed:
            self.close_extras(**options)
        self.closed = True

    def __repr__(self):
        name = "" if self.spec is None else f"{self.spec.id}, "
        return f"{type(self).__name__}({name}num_envs={self.num_envs})"


class PlainAutoresetMode(enum.Enum):
    """When an env whose episode has ended is reset."""

    NEXT_STEP = "NextStep"


GymEnv = gymnasium.Env if gymnasium else PlainEnv
GymVectorEnv = gymnasium.vector.VectorEnv if gymnasium else PlainVectorEnv
# Gymnasium has it since 1.1.
AutoresetMode = getattr(gymnasium and gymnasium.vector, "AutoresetMode", PlainAutoresetMode)
