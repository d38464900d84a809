"""Search how to compress a trained network for this machine, from Python: docs/python.md."""

from . import wrappers
from ._core import InternalError, MachineError, UserError, agents, envs
from ._core import version as __version__
from .env import Env, Evaluation, make
from .study import Study, Trial

__all__ = ["Env", "Evaluation", "InternalError", "MachineError", "Study", "Trial", "UserError",
           "__version__", "agents", "envs", "make", "wrappers"]
