"""Stands in for Gymnasium where that is not installed, for tests only.

Not Gymnasium: the signatures of Gymnasium 1.x, with its rules about types, of what mscgym uses.
Source: Gymnasium 1.x documentation, "Env" and "Spaces".
"""

from . import error, spaces
from .spaces import Space, generator

__version__ = "1.0.0+stand.in"
__all__ = ["Env", "Space", "error", "make", "make_vec", "register", "registry", "spaces"]


class Env:
    """What all envs inherit."""

    metadata = {"render_modes": []}
    render_mode = None
    spec = None
    action_space = None
    observation_space = None
    _np_random = None
    _np_random_seed = None

    def step(self, action):
        raise NotImplementedError

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self._np_random, self._np_random_seed = generator(seed), seed

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
            self._np_random, self._np_random_seed = generator(None), 0
        return self._np_random

    @np_random.setter
    def np_random(self, value):
        self._np_random, self._np_random_seed = value, -1

    @property
    def np_random_seed(self):
        return self._np_random_seed

    def has_wrapper_attr(self, name):
        return hasattr(self, name)

    def get_wrapper_attr(self, name):
        return getattr(self, name)

    def set_wrapper_attr(self, name, value, *, force=True):
        if force or hasattr(self, name):
            setattr(self, name, value)
            return True
        return False

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()
        return False


from .envs.registration import make, make_vec, register, registry  # noqa: E402 (they need Env)
