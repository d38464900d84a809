"""Stands in for Gymnasium where that is not installed, for tests only.

Not Gymnasium: the signatures of Gymnasium 1.x, with its rules about types, of what mscgym uses.
Source: Gymnasium 1.x documentation, "Env" and "Spaces".
"""

from . import error, spaces
from .spaces import Space, generator

__version__ = "1.0.0+stand.in"
__all__ = ["Env", "Space", "error", "spaces"]


class Env:
    """What all envs inherit."""

    metadata = {"render_modes": []}
    render_mode = None
    spec = None
    action_space = None
    observation_space = None
    _np_random = None

    def step(self, action):
        raise NotImplementedError

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._np_random = generator(seed)

    def render(self):
        raise NotImplementedError

    def close(self):
        pass

    @property
    def unwrapped(self):
        return self

    @property
    def np_random(self):
        if self._np_random is None:
            self._np_random = generator(None)
        return self._np_random

    @np_random.setter
    def np_random(self, value):
        self._np_random = value

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
        return False
