"""Spaces of several elements."""

import numpy

from gymnasium import spaces


def batch_space(space, count):
    """What `count` elements of the space are together."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: batch_space(part, count) for name, part in space.items()})
    if isinstance(space, spaces.Discrete):
        return spaces.MultiDiscrete([space.n] * count)
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(numpy.stack([space.nvec] * count))
    assert isinstance(space, spaces.Box), space
    low, high = (numpy.stack([bound] * count) for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=space.dtype)
