"""Spaces with the names, arguments and behaviour of Gymnasium's, for where that is not installed.

Values are plain Python: numbers, lists, text, dicts.
"""

import math
import random
import string


class Space:
    shape = None

    def __init__(self, seed=None):
        self._random = random.Random(seed)

    def seed(self, seed=None):
        """Restarts what `sample` draws from."""
        self._random.seed(seed)

    def __contains__(self, value):
        return self.contains(value)

    def __eq__(self, other):
        mine, others = ({**vars(space), "_random": None} for space in (self, other))
        return type(self) is type(other) and mine == others

    def __repr__(self):
        shown = {name: value for name, value in vars(self).items() if name != "_random"}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"


def _is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


class Discrete(Space):
    """start, start + 1, ..., start + n - 1."""

    shape = ()

    def __init__(self, n, seed=None, start=0):
        super().__init__(seed)
        self.n, self.start = n, start

    def sample(self, mask=None):
        """Uniform over all, or over those whose flag in `mask` is set."""
        allowed = [i for i in range(self.n) if mask is None or mask[i]]
        return self.start + (self._random.choice(allowed) if allowed else 0)

    def contains(self, value):
        return _is_integer(value) and 0 <= value - self.start < self.n


class MultiDiscrete(Space):
    """One integer in [0, nvec[i]) a position."""

    def __init__(self, nvec, *, seed=None):
        super().__init__(seed)
        self.nvec = list(nvec)
        self.shape = (len(self.nvec),)

    def sample(self):
        return [self._random.randrange(n) for n in self.nvec]

    def contains(self, value):
        return (isinstance(value, (list, tuple)) and len(value) == len(self.nvec)
                and all(_is_integer(x) and 0 <= x < n for x, n in zip(value, self.nvec)))


class MultiBinary(MultiDiscrete):
    """n zeros and ones."""

    def __init__(self, n, seed=None):
        super().__init__([2] * n, seed=seed)
        self.n = n


class Box(Space):
    """Reals between two bounds a position, row by row."""

    def __init__(self, low, high, shape, *, seed=None):
        super().__init__(seed)
        self.low, self.high, self.shape = list(low), list(high), tuple(shape)

    def _draw(self, low, high):
        if math.isfinite(low) and math.isfinite(high):
            return self._random.uniform(low, high)
        if math.isfinite(low):
            return low + self._random.expovariate(1)
        if math.isfinite(high):
            return high - self._random.expovariate(1)
        return self._random.gauss(0, 1)

    def sample(self):
        return [self._draw(low, high) for low, high in zip(self.low, self.high)]

    def contains(self, value):
        return (isinstance(value, (list, tuple)) and len(value) == len(self.low)
                and all(low <= x <= high for x, low, high in zip(value, self.low, self.high)))


class Text(Space):
    """min_length to max_length characters."""

    shape = ()

    def __init__(self, max_length, *, min_length=1,
                 charset=string.ascii_letters + string.digits, seed=None):
        super().__init__(seed)
        self.max_length, self.min_length, self.charset = max_length, min_length, charset

    def sample(self):
        length = self._random.randint(self.min_length, self.max_length)
        return "".join(self._random.choice(self.charset) for _ in range(length))

    def contains(self, value):
        return (isinstance(value, str) and self.min_length <= len(value) <= self.max_length
                and all(c in self.charset for c in value))


class Dict(Space):
    """Named parts."""

    def __init__(self, spaces, seed=None):
        super().__init__(seed)
        self.spaces = dict(spaces)

    def __getitem__(self, name):
        return self.spaces[name]

    def seed(self, seed=None):
        super().seed(seed)
        for space in self.spaces.values():
            space.seed(seed)

    def sample(self):
        return {name: space.sample() for name, space in self.spaces.items()}

    def contains(self, value):
        return (isinstance(value, dict) and value.keys() == self.spaces.keys()
                and all(value[name] in space for name, space in self.spaces.items()))
