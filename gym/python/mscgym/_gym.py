"""Base classes of envs: Gymnasium's if it is installed, otherwise substitutes."""

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
    """Provides a random.Random for the caller's draws."""

    spec = None
    render_mode = None
    _np_random = None
    _np_random_seed = None

    def reset(self, *, seed=None, options=None):
        """Restart `np_random` if a seed is given."""
        if seed is not None:
            self._restart(seed)

    def _restart(self, seed):
        self._np_random, self._np_random_seed = random.Random(int(seed)), seed

    @property
    def np_random(self):
        """Generator for the caller's draws; restarted by `reset` with a seed."""
        if self._np_random is None:
            self._restart(random.SystemRandom().randrange(2**63))
        return self._np_random

    @np_random.setter
    def np_random(self, value):
        self._np_random, self._np_random_seed = value, -1

    @property
    def np_random_seed(self):
        """The seed of `np_random`; -1 if the generator was set by the caller."""
        _ = self.np_random  # makes the generator, and with it the seed
        return self._np_random_seed

    @property
    def unwrapped(self):
        """The env inside of all wrappers."""
        return self


class PlainEnv(_Drawing):
    """The part of gymnasium.Env that all envs share."""

    metadata = {"render_modes": []}

    def close(self):
        """Do nothing: there is nothing to release."""

    def has_wrapper_attr(self, name):
        """Return whether this env, or an env inside, has an attribute of that name."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name):
        """Return the attribute of this env, or of the first env inside that has it."""
        return getattr(self, name)

    def set_wrapper_attr(self, name, value, *, force=True):
        """Set the attribute on the env that has it; if none has it, set it here if `force`.

        Returns whether it was set.
        """
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
    """The part of gymnasium.vector.VectorEnv that all vectors of envs share."""

    metadata = {}
    closed = False

    def close(self, **options):
        """Release the resources once."""
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
# Gymnasium has AutoresetMode since 1.1.
AutoresetMode = getattr(gymnasium and gymnasium.vector, "AutoresetMode", PlainAutoresetMode)
