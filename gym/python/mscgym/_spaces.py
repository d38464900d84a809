"""Substitutes for Gymnasium's spaces, with the same names, arguments and behaviour.

Values are plain Python: numbers, text, dicts, and nested lists instead of arrays. `contains` also
accepts NumPy numbers and arrays.
"""

import collections.abc
import math
import operator
import random
import string


def nest(flat, shape):
    """Return nested lists of that shape, row by row; the single value itself for ()."""
    values = list(flat)
    for size in reversed(shape[1:]):
        values = [values[i:i + size] for i in range(0, len(values), size)]
    return values if shape else values[0]


def shape_of(value):
    """Return the shape of an array or of nested lists, by their first elements; () for a number."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    if not isinstance(value, (list, tuple)):
        return ()
    return (len(value), *(shape_of(value[0]) if len(value) else ()))


def flatten(value, shape):
    """Return the numbers of nested lists or an array, row by row; None if the shape differs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not shape:
        return None if isinstance(value, (list, tuple)) else [value]
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        return None
    flat = []
    for part in value:
        part = flatten(part, shape[1:])
        if part is None:
            return None
        flat += part
    return flat


def _integer(value):
    """Return the value as an int; None if it is no integer. Booleans are no integers here."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _choose(draws, mask, start=0):
    """Draw an index whose flag is set, plus `start`; `start` if none is set, as in Gymnasium."""
    allowed = [i for i, flag in enumerate(mask) if flag]
    return start + (draws.choice(allowed) if allowed else 0)


class Space:
    """The set of valid observations or actions."""

    def __init__(self, shape=None, dtype=None, seed=None):
        self.shape = None if shape is None else tuple(shape)
        self.dtype = dtype  # as NumPy names it
        self._np_random = None
        if seed is not None:
            self.seed(seed)

    @property
    def np_random(self):
        """The generator of `sample`, a random.Random."""
        if self._np_random is None:
            self.seed()
        return self._np_random

    def seed(self, seed=None):
        """Restart the generator of `sample`; return the seed, which is random if not given."""
        if seed is None:
            seed = random.SystemRandom().randrange(2**63)
        elif _integer(seed) is None or seed < 0:
            raise ValueError(f"a seed is an integer of at least 0, not {seed!r}")
        self._np_random = random.Random(int(seed))
        return seed

    def sample(self, mask=None):
        """Draw an element."""
        raise NotImplementedError

    def contains(self, x):
        """Return whether `x` is an element."""
        raise NotImplementedError

    def _arguments(self):
        """Return the arguments that distinguish spaces of this class, as text."""
        raise NotImplementedError

    def __contains__(self, x):
        return self.contains(x)

    def __eq__(self, other):
        return type(self) is type(other) and self._arguments() == other._arguments()

    def __hash__(self):
        return hash((type(self), self._arguments()))

    def __repr__(self):
        return f"{type(self).__name__}({self._arguments()})"


class Discrete(Space):
    """The integers start, start + 1, ..., start + n - 1."""

    def __init__(self, n, seed=None, start=0):
        super().__init__((), "int64", seed)
        self.n, self.start = int(n), int(start)

    def sample(self, mask=None):
        """Draw uniformly from all elements, or from those whose flag in `mask` is set."""
        if mask is None:
            return self.start + self.np_random.randrange(self.n)
        if len(mask) != self.n:
            raise ValueError(f"a mask of {self} has {self.n} flags, not {len(mask)}")
        return _choose(self.np_random, mask, self.start)

    def contains(self, x):
        x = _integer(x)
        return x is not None and 0 <= x - self.start < self.n

    def _arguments(self):
        return f"{self.n}, start={self.start}" if self.start else f"{self.n}"


class MultiDiscrete(Space):
    """An integer in [0, nvec[i]) per position. nvec: nested lists."""

    def __init__(self, nvec, dtype="int64", seed=None):
        super().__init__(shape_of(nvec), dtype, seed)
        self._sizes = [int(n) for n in flatten(nvec, self.shape)]
        self.nvec = nest(self._sizes, self.shape)

    def sample(self, mask=None):
        """Draw an element. `mask`: flags for each position, nested like the positions."""
        if mask is None:
            drawn = [self.np_random.randrange(n) for n in self._sizes]
        else:
            for _ in self.shape[1:]:
                mask = [part for row in mask for part in row]
            drawn = [_choose(self.np_random, flags) for flags in mask]
        return nest(drawn, self.shape)

    def contains(self, x):
        flat = flatten(x, self.shape)
        return flat is not None and all(
            _integer(value) is not None and 0 <= value < n for value, n in zip(flat, self._sizes))

    def _arguments(self):
        return f"{self.nvec}"


class MultiBinary(Space):
    """Zeros and ones: n of them, or an array of shape n."""

    def __init__(self, n, seed=None):
        shape = (n,) if _integer(n) is not None else n
        super().__init__(shape, "int8", seed)
        self.n = n if shape is not n else self.shape

    def sample(self, mask=None):
        """Draw an element. `mask`: 0 or 1 fixes a position, 2 leaves it random."""
        wanted = [2] * math.prod(self.shape) if mask is None else flatten(mask, self.shape)
        return nest([self.np_random.randrange(2) if flag == 2 else int(flag) for flag in wanted],
                    self.shape)

    def contains(self, x):
        flat = flatten(x, self.shape)
        return flat is not None and all(_integer(value) in (0, 1) for value in flat)

    def _arguments(self):
        return f"{self.n}"


class Box(Space):
    """A real between two bounds per position. Bounds: one number for all, or nested lists."""

    def __init__(self, low, high, shape=None, dtype="float32", seed=None):
        if shape is None:
            shape = shape_of(low) or shape_of(high)
        super().__init__(shape, dtype, seed)
        self._low, self._high = self._bound(low), self._bound(high)
        self.low, self.high = nest(self._low, self.shape), nest(self._high, self.shape)

    def _bound(self, bound):
        if not shape_of(bound):
            return [float(bound)] * math.prod(self.shape)
        flat = flatten(bound, self.shape)
        if flat is None:
            raise ValueError(f"a bound has the shape {self.shape}, or is a number; not {bound!r}")
        return [float(value) for value in flat]

    def _draw(self, low, high):
        draws = self.np_random
        if math.isfinite(low) and math.isfinite(high):
            return draws.uniform(low, high)
        if math.isfinite(low):
            return low + draws.expovariate(1)
        if math.isfinite(high):
            return high - draws.expovariate(1)
        return draws.gauss(0, 1)

    def sample(self, mask=None):
        if mask is not None:
            raise ValueError("a Box takes no mask")
        return nest([self._draw(low, high) for low, high in zip(self._low, self._high)],
                    self.shape)

    def contains(self, x):
        flat = flatten(x, self.shape)
        return flat is not None and all(
            isinstance(value, (int, float)) and low <= value <= high
            for value, low, high in zip(flat, self._low, self._high))

    def _arguments(self):
        return f"{self.low}, {self.high}, {self.shape}, {self.dtype!r}"


class Text(Space):
    """Text of min_length to max_length characters."""

    def __init__(self, max_length, *, min_length=1,
                 charset=string.ascii_letters + string.digits, seed=None):
        super().__init__((), "str", seed)
        self.max_length, self.min_length = max_length, min_length
        self.charset = "".join(sorted(set(charset)))

    def sample(self, mask=None):
        """Draw a text. `mask`: a length and a flag per character of the charset; None is free."""
        length, flags = mask or (None, None)
        letters = [c for c, flag in zip(self.charset, flags or [1] * len(self.charset)) if flag]
        if length is None:
            length = self.np_random.randint(self.min_length, self.max_length) if letters else 0
        return "".join(self.np_random.choice(letters) for _ in range(length))

    def contains(self, x):
        return (isinstance(x, str) and self.min_length <= len(x) <= self.max_length
                and set(x) <= set(self.charset))

    def _arguments(self):
        return f"{self.max_length}, min_length={self.min_length}, charset={self.charset!r}"


class Dict(Space, collections.abc.Mapping):
    """Named parts: those of a plain mapping sorted by name, others in the order given."""

    def __init__(self, spaces=None, seed=None, *, sort_keys=True, **spaces_kwargs):
        parts = dict(spaces or {})
        if (sort_keys and isinstance(spaces, collections.abc.Mapping)
                and not isinstance(spaces, collections.OrderedDict)):
            parts = dict(sorted(parts.items()))
        twice = parts.keys() & spaces_kwargs.keys()
        if twice:
            raise ValueError(f"there are two parts {', '.join(sorted(twice))}")
        self.sort_keys = sort_keys
        self.spaces = {**parts, **spaces_kwargs}
        super().__init__(None, None, seed)

    def __getitem__(self, name):
        return self.spaces[name]

    def __iter__(self):
        return iter(self.spaces)

    def __len__(self):
        return len(self.spaces)

    def seed(self, seed=None):
        """Seed each part: with seeds drawn from `seed`, or with its own from a dict."""
        if not isinstance(seed, dict):
            super().seed(seed)
            seed = {name: self._np_random.randrange(2**31 - 1) for name in self.spaces}
        if seed.keys() != self.spaces.keys():
            raise ValueError(f"there are seeds for {', '.join(seed)}, and the parts "
                             f"{', '.join(self.spaces)}")
        return {name: space.seed(seed[name]) for name, space in self.spaces.items()}

    def sample(self, mask=None):
        """Draw an element. `mask`: a mask or None per part, by name."""
        if mask is None:
            mask = dict.fromkeys(self.spaces)
        if mask.keys() != self.spaces.keys():
            raise ValueError(f"there are masks for {', '.join(mask)}, and the parts "
                             f"{', '.join(self.spaces)}")
        return {name: space.sample(mask[name]) for name, space in self.spaces.items()}

    def contains(self, x):
        return (isinstance(x, dict) and x.keys() == self.spaces.keys()
                and all(x[name] in space for name, space in self.spaces.items()))

    def _arguments(self):
        return repr(self.spaces)


def batch_space(space, count):
    """Return the space of `count` elements of a space together.

    Equals gymnasium.vector.utils.batch_space, except that MultiBinary stays MultiBinary.
    """
    if isinstance(space, Dict):
        return Dict({name: batch_space(part, count) for name, part in space.items()})
    if isinstance(space, Discrete) and space.start == 0:
        return MultiDiscrete([space.n] * count)
    if isinstance(space, MultiDiscrete):
        return MultiDiscrete([space.nvec] * count, space.dtype)
    if isinstance(space, MultiBinary):
        return MultiBinary((count, *space.shape))
    if isinstance(space, Box):
        return Box([space.low] * count, [space.high] * count, dtype=space.dtype)
    raise ValueError(f"several of {space} are no space here; install Gymnasium")
