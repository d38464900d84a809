"""Envs by id. Source: Gymnasium 1.x documentation, "Make and register"."""

import copy
import dataclasses
import importlib
import re

from gymnasium import error

ID = re.compile(r"([\w:-]+/)?[\w:.-]+-v\d+")
registry = {}


@dataclasses.dataclass
class EnvSpec:
    id: str
    entry_point: str = None
    vector_entry_point: str = None
    reward_threshold: float = None
    nondeterministic: bool = False
    max_episode_steps: int = None
    kwargs: dict = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        if not ID.fullmatch(self.id):
            raise error.Error(f"malformed id {self.id}")

    def make(self, **kwargs):
        return make(self, **kwargs)


def register(id, entry_point=None, **options):
    if id in registry:
        raise error.Error(f"{id} is registered twice")  # Gymnasium warns
    registry[id] = EnvSpec(id, entry_point, **options)


def prepared(id, kwargs):
    spec = copy.deepcopy(id if isinstance(id, EnvSpec) else registry[id])
    spec.kwargs.update(kwargs)
    return spec


def load(entry_point):
    module, name = entry_point.split(":")
    return getattr(importlib.import_module(module), name)


def make_vec(id, num_envs=1, **kwargs):
    """Of envs that have an entry point for vectors."""
    spec = prepared(id, kwargs)
    envs = load(spec.vector_entry_point)(num_envs=num_envs, **spec.kwargs)
    assert "autoreset_mode" in envs.metadata
    envs.unwrapped.spec = spec
    return envs


def make(id, **kwargs):
    """Without the wrappers that Gymnasium adds."""
    spec = prepared(id, kwargs)
    creator = load(spec.entry_point)
    mode = spec.kwargs.get("render_mode")
    if mode is not None and mode not in creator.metadata["render_modes"]:
        raise error.Error(f"no render mode {mode}")
    env = creator(**spec.kwargs)
    env.unwrapped.spec = spec
    return env
