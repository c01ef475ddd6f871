"""Graph algorithms and vertex programs on CPU cores and GPUs."""

from typing import Any

import numpy

from ._compile import program as program
from ._errors import CapabilityError as CapabilityError
from ._errors import ChattyError as ChattyError
from ._errors import CompileError as CompileError
from ._errors import DeviceError as DeviceError
from ._errors import InputError as InputError
from ._errors import OutOfMemoryError as OutOfMemoryError
from ._errors import RunTimeoutError as RunTimeoutError
from ._errors import UsageError as UsageError
from ._graph import Graph as Graph
from ._programs import Program as Program
from ._programs import programs as programs
from ._programs import run as run
from ._progress import RoundProgress as RoundProgress
from ._session import Run as Run
from ._session import Session as Session
from ._session import Statistics as Statistics
from . import csgraph as csgraph
from ._graph import GraphLike
from ._progress import Progress

__version__: str
UNREACHED: int

def build() -> str: ...
def cuda_devices() -> int: ...
def set_log_level(level: str) -> None: ...
def set_progress(enabled: bool) -> None: ...
def bc(
    graph: GraphLike | Session,
    /,
    *,
    source: int | str | None = None,
    sources: float = 1,
    seed: float = 1,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def betweenness(
    graph: GraphLike | Session,
    /,
    *,
    source: int | str | None = None,
    sources: float = 1,
    seed: float = 1,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def bfs(
    graph: GraphLike | Session,
    /,
    *,
    source: int | str | None = None,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def cc(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def cdlp(
    graph: GraphLike | Session,
    /,
    *,
    rounds: float = 10,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def clustering(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def connected_components(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def core_numbers(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def kcore(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def label_propagation(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def lcc(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def pagerank(
    graph: GraphLike | Session,
    /,
    *,
    damping: float = 0.85,
    rounds: float = 0,
    tolerance: float = 0,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def pagerank_double(
    graph: GraphLike | Session,
    /,
    *,
    damping: float = 0.85,
    rounds: float = 0,
    tolerance: float = 0,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def pagerank_push(
    graph: GraphLike | Session,
    /,
    *,
    damping: float = 0.85,
    tolerance: float = 0.0001,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def personalised_pagerank(
    graph: GraphLike | Session,
    /,
    *,
    source: int | str | None = None,
    sources: float = 1,
    seed: float = 1,
    damping: float = 0.85,
    rounds: float = 100,
    tolerance: float = 1e-06,
    teleport: numpy.ndarray | None = None,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def scc(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def shortest_paths(
    graph: GraphLike | Session,
    /,
    *,
    source: int | str | None = None,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def sssp(
    graph: GraphLike | Session,
    /,
    *,
    source: int | str | None = None,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
def triangles(
    graph: GraphLike | Session,
    /,
    *,
    value: str | None = None,
    devices: str = 'auto',
    partition: str = 'edge-balanced',
    progress: Progress = False,
    output: str | None = None,
    **options: Any,
) -> numpy.ndarray: ...
