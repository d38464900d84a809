"""The spaces of Gymnasium 1.x that mscgym has: same arguments, same values of the same types."""

import collections.abc
import string

import numpy

from .error import Error


def generator(seed):
    if seed is not None and not (isinstance(seed, int) and seed >= 0):
        raise Error(f"a seed is an int >= 0, not {seed!r}")
    return numpy.random.default_rng(seed)


def _is_integer(value):
    return numpy.issubdtype(type(value), numpy.integer)


class Space:
    def __init__(self, shape=None, dtype=None, seed=None):
        self._shape = None if shape is None else tuple(shape)
        self.dtype = None if dtype is None else numpy.dtype(dtype)
        self._np_random = None
        if seed is not None:
            self.seed(seed)

    @property
    def shape(self):
        return self._shape

    @property
    def np_random(self):
        if self._np_random is None:
            self.seed()
        return self._np_random

    def seed(self, seed=None):
        self._np_random = generator(seed)
        return seed

    def sample(self, mask=None, probability=None):
        raise NotImplementedError

    def contains(self, x):
        raise NotImplementedError

    def __contains__(self, x):
        return self.contains(x)


class Discrete(Space):
    """Samples are NumPy's integers; a Python int is contained too."""

    def __init__(self, n, seed=None, start=0, dtype=numpy.int64):
        assert _is_integer(n) and n > 0, n
        assert _is_integer(start), start
        super().__init__((), dtype, seed)
        self.n, self.start = self.dtype.type(n), self.dtype.type(start)

    def sample(self, mask=None, probability=None):
        assert probability is None, "the stand-in has no probabilities"
        if mask is None:
            return self.start + self.np_random.integers(self.n, dtype=self.dtype.type)
        assert isinstance(mask, numpy.ndarray), type(mask)
        assert mask.dtype == numpy.int8, mask.dtype
        assert mask.shape == (self.n,), mask.shape
        assert numpy.isin(mask, (0, 1)).all(), mask
        allowed = numpy.flatnonzero(mask)
        if not allowed.size:
            return self.start
        return self.start + self.dtype.type(self.np_random.choice(allowed))

    def contains(self, x):
        if isinstance(x, (numpy.generic, numpy.ndarray)):
            if not numpy.issubdtype(x.dtype, numpy.integer) or x.shape != ():
                return False
        elif not isinstance(x, int):
            return False
        return bool(self.start <= x < self.start + self.n)


class MultiDiscrete(Space):
    def __init__(self, nvec, dtype=numpy.int64, seed=None, start=None):
        self.nvec = numpy.array(nvec, dtype=dtype)
        self.start = numpy.zeros_like(self.nvec) if start is None else numpy.array(start, dtype)
        assert self.start.shape == self.nvec.shape
        assert (self.nvec > 0).all(), nvec
        super().__init__(self.nvec.shape, dtype, seed)

    def sample(self, mask=None, probability=None):
        assert mask is None and probability is None, "the stand-in has no masks of several parts"
        return self.start + self.np_random.integers(self.nvec, dtype=self.dtype.type)

    def contains(self, x):
        x = numpy.array(x) if isinstance(x, collections.abc.Sequence) else x
        return bool(isinstance(x, numpy.ndarray) and x.shape == self.shape
                    and numpy.can_cast(x.dtype, self.dtype)
                    and (self.start <= x).all() and (x - self.start < self.nvec).all())


class MultiBinary(Space):
    def __init__(self, n, seed=None):
        self.n = int(n) if isinstance(n, (int, numpy.integer)) else tuple(int(i) for i in n)
        shape = self.n if isinstance(self.n, tuple) else (self.n,)
        assert all(i > 0 for i in shape), n
        super().__init__(shape, numpy.int8, seed)

    def sample(self, mask=None, probability=None):
        assert mask is None and probability is None, "the stand-in has no masks of several parts"
        return self.np_random.integers(0, 2, size=self.n, dtype=self.dtype.type)

    def contains(self, x):
        x = numpy.array(x) if isinstance(x, collections.abc.Sequence) else x
        return bool(isinstance(x, numpy.ndarray) and x.shape == self.shape
                    and numpy.isin(x, (0, 1)).all())


class Box(Space):
    """Stricter than Gymnasium's, which warns of a value that is no array and goes on."""

    def __init__(self, low, high, shape=None, dtype=numpy.float32, seed=None):
        if shape is None:
            assert isinstance(low, numpy.ndarray) or isinstance(high, numpy.ndarray), (low, high)
            shape = numpy.broadcast(low, high).shape
        assert all(_is_integer(size) for size in shape), shape
        super().__init__(shape, dtype, seed)
        for bound in (low, high):
            assert not isinstance(bound, numpy.ndarray) or bound.shape == self.shape, bound.shape
        self.low = numpy.full(self.shape, low, self.dtype)
        self.high = numpy.full(self.shape, high, self.dtype)
        self.bounded_below = numpy.isfinite(self.low)
        self.bounded_above = numpy.isfinite(self.high)

    def sample(self, mask=None, probability=None):
        assert mask is None and probability is None, "a Box has no masks"
        below, above = self.bounded_below, self.bounded_above
        drawn = self.np_random.normal(size=self.shape)
        away = self.np_random.exponential(size=self.shape)
        drawn[below & ~above] = (self.low + away)[below & ~above]
        drawn[above & ~below] = (self.high - away)[above & ~below]
        both = below & above
        drawn[both] = self.np_random.uniform(self.low[both], self.high[both])
        return drawn.astype(self.dtype)

    def contains(self, x):
        return bool(isinstance(x, numpy.ndarray) and numpy.can_cast(x.dtype, self.dtype)
                    and x.shape == self.shape and (x >= self.low).all() and (x <= self.high).all())


class Text(Space):
    def __init__(self, max_length, *, min_length=1, charset=string.ascii_letters + string.digits,
                 seed=None):
        assert _is_integer(min_length) and _is_integer(max_length)
        assert 0 <= min_length <= max_length, (min_length, max_length)
        super().__init__(dtype=str, seed=seed)
        self.min_length, self.max_length = int(min_length), int(max_length)
        self.characters = "".join(sorted(charset))

    def sample(self, mask=None, probability=None):
        assert mask is None and probability is None, "the stand-in has no masks of characters"
        length = self.np_random.integers(self.min_length, self.max_length + 1)
        return "".join(self.np_random.choice(list(self.characters), size=length))

    def contains(self, x):
        return (isinstance(x, str) and self.min_length <= len(x) <= self.max_length
                and all(character in self.characters for character in x))


class Dict(Space, collections.abc.Mapping):
    """Parts by name, sorted."""

    def __init__(self, spaces=None, seed=None, *, sort_keys=True, **spaces_kwargs):
        parts = list(spaces.items() if isinstance(spaces, collections.abc.Mapping) else spaces or ())
        if sort_keys and isinstance(spaces, collections.abc.Mapping) and not isinstance(spaces, collections.OrderedDict):
            parts.sort(key=lambda part: part[0])
        self.spaces = dict(parts)
        for name, space in spaces_kwargs.items():
            if name in self.spaces:
                raise ValueError(name)
            self.spaces[name] = space
        assert all(isinstance(space, Space) for space in self.spaces.values()), spaces
        super().__init__(None, None, seed)

    def seed(self, seed=None):
        super().seed(seed)
        for space in self.spaces.values():
            space.seed(None if seed is None else int(self.np_random.integers(2**31 - 1)))
        return seed

    def sample(self, mask=None, probability=None):
        assert probability is None, "the stand-in has no probabilities"
        return {name: space.sample(mask and mask[name]) for name, space in self.spaces.items()}

    def contains(self, x):
        return (isinstance(x, dict) and x.keys() == self.spaces.keys()
                and all(x[name] in space for name, space in self.spaces.items()))

    def __getitem__(self, name):
        return self.spaces[name]

    def __iter__(self):
        return iter(self.spaces)

    def __len__(self):
        return len(self.spaces)
