"""Graph algorithms and vertex programs on CPU cores and GPUs.

>>> import chattygraph as cg
>>> levels = cg.bfs(matrix, source=0)           # matrix: scipy.sparse, or whatever Graph takes
>>> graph = cg.Graph(matrix)                    # kept for several runs
>>> ranks = cg.pagerank(graph, damping=0.9)
>>> with cg.Session(graph, "host:4") as session:
...     run = session.run("sssp", source=7, trace=True)
...     run.values, run.statistics.rounds

There is a function for each program: ``programs()`` lists them.
"""

from __future__ import annotations

from typing import Any

from . import _libraries  # noqa: F401

# isort: split
from . import _core
from ._compile import program
from ._errors import (
    CapabilityError,
    ChattyError,
    CompileError,
    DeviceError,
    InputError,
    OutOfMemoryError,
    RunTimeoutError,
    UsageError,
)
from ._graph import Graph
from ._programs import ALIASES as _ALIASES
from ._programs import Program, programs, run
from ._programs import function as _function
from ._progress import RoundProgress
from ._session import Run, Session, Statistics

__version__: str = _core.version

#: In arrays of levels or parents: a vertex that was not reached, or has no parent.
UNREACHED = 2**32 - 1

for _name, _program in programs().items():
    globals()[_name] = _function(_program)
for _name, _full in _ALIASES.items():
    if _full in programs():
        globals()[_name] = _function(programs()[_full], _name)

__all__ = [
    "CapabilityError",
    "ChattyError",
    "CompileError",
    "DeviceError",
    "Graph",
    "InputError",
    "OutOfMemoryError",
    "Program",
    "RoundProgress",
    "Run",
    "RunTimeoutError",
    "Session",
    "Statistics",
    "UNREACHED",
    "UsageError",
    "program",
    "programs",
    "run",
    *programs(),
    *(name for name, full in _ALIASES.items() if full in programs()),
]


def build() -> str:
    """Version, commit and compiler of the library, in a line."""
    return _core.build


def cuda_devices() -> int:
    """Number of GPUs that this process can use; 0 in a build without CUDA."""
    return _core.cuda_devices()


def set_log_level(level: str) -> None:
    """Sets the level of the log on stderr: trace, debug, info, warning, error, critical or off."""
    _core.set_log_level(level)


def set_progress(enabled: bool) -> None:
    """Whether long work shows its progress, where stderr is a terminal."""
    _core.set_progress(enabled)


def __getattr__(name: str) -> Any:
    if name == "csgraph":  # loaded when it is asked for
        import importlib

        return importlib.import_module(".csgraph", __name__)
    raise AttributeError(f"module 'chattygraph' has no attribute {name!r}")
