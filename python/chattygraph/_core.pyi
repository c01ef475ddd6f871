"""The library ChattyGraph, as package chattygraph uses it."""

from collections.abc import Callable, Mapping, Sequence
import os
from typing import Annotated, Any

import numpy
from numpy.typing import NDArray


class Graph:
    """A graph in host memory, as rows of neighbours. It does not change."""

    @staticmethod
    def from_csr(indptr: Annotated[NDArray, dict(device='cpu', writable=False)], indices: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None, *, symmetric: bool | None = None, copy: bool = False) -> Graph:
        """
        The graph whose row v is indices[indptr[v]:indptr[v + 1]]. Arrays of fitting types are not copied.
        """

    @staticmethod
    def from_edges(sources: Annotated[NDArray, dict(device='cpu', writable=False)], targets: Annotated[NDArray, dict(device='cpu', writable=False)], weights: Annotated[NDArray, dict(device='cpu', writable=False)] | None = None, *, vertices: int | None = None, symmetrise: bool = False, remove_loops: bool = False, merge_parallel: bool = False, symmetric: bool | None = None) -> Graph:
        """The graph with the edges sources[i] -> targets[i]."""

    @staticmethod
    def read(path: str, *, format: str | None = None, symmetrise: bool = False, directed: bool = False, keep_loops: bool = False, keep_parallel: bool = False, compact_ids: bool = False, threads: int = 0) -> Graph:
        """The graph in a file, as the command line reads it."""

    @property
    def vertices(self) -> int:
        """Number of vertices."""

    @property
    def edges(self) -> int:
        """Number of directed edges; one that goes both ways counts twice."""

    @property
    def symmetric(self) -> bool:
        """Whether every edge has its reverse, with the same weight."""

    @property
    def weight_type(self) -> str:
        """"none", "int32" or "float32"."""

    @property
    def first_id(self) -> int:
        """The file's id of vertex 0."""

    @property
    def name(self) -> str:
        """The file's name, if it has one."""

    @property
    def labels(self) -> list[str]:
        """The vertices' names, if the file has them."""

    @property
    def nbytes(self) -> int:
        """Bytes of host memory in use."""

    @property
    def indptr(self) -> numpy.ndarray:
        """Begin of each row, and the end of the last: uint64, read only."""

    @property
    def indices(self) -> numpy.ndarray:
        """The neighbours of all rows: uint32, read only."""

    @property
    def weights(self) -> numpy.ndarray | None:
        """The weights of all edges, read only; None if there are none."""

    @property
    def ids(self) -> numpy.ndarray | None:
        """
        The file's ids where they have gaps; None if vertex v has the id first_id + v.
        """

class Registry:
    """Programs by name."""

    def programs(self) -> list[dict[str, Any]]:
        """What each program says of itself, by name."""

    def full_name(self, name: str) -> str:
        """The name that a program is registered under, for a second name of it."""

def registry() -> Registry:
    """The prebuilt programs."""

def load(path: str) -> Registry:
    """The programs of a shared object that was compiled for this library."""

class Trace:
    """What happened during a run, and when."""

    def events(self) -> list[dict[str, Any]]:
        """
        All spans, counters and instants, by device and begin, with times in microseconds. Spans have arguments by name.
        """

    def save(self, path: str | os.PathLike) -> None:
        """Writes a file for https://ui.perfetto.dev; .gz and .zst compress it."""

class Run:
    """What a run has left, without its values."""

    @property
    def value(self) -> str:
        """The name of the values, as "level"."""

    @property
    def is_vertex(self) -> bool:
        """Whether values are vertices."""

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that were set or chosen; vertices count from 0."""

    @property
    def statistics(self) -> dict[str, Any]:
        """What was counted and timed."""

    @property
    def trace(self) -> Trace:
        """The trace, if it was asked for."""

    def verify(self, values: numpy.ndarray) -> tuple[bool, str]:
        """
        Whether these values are right, by the program's verifier, and what was checked or is wrong.
        """

    def total(self, values: numpy.ndarray) -> int | None:
        """The one number that the values add up to, if the program has one."""

class Session:
    """A graph on its devices, kept for many runs."""

    def __init__(self, graph: Graph, devices: str = 'auto', *, partition: str = 'edge-balanced', seed: int = 1, threads: int = 0, memory_limit: int = 0, host_memory_limit: int = 0) -> None: ...

    def run(self, registry: Registry, program: str, parameters: Mapping[str, str], *, value: str = '', options: Mapping[str, str], data: Mapping[str, numpy.ndarray], trace: bool = False, waits: bool = False, progress: Callable[[int, int, float | None, float], object] | None = None, interval: float = 0.0, gpu: int | None = None) -> tuple[Any, Run]:
        """
        Runs a program and returns its values: a NumPy array, or a DLPack capsule of memory of this GPU. Ctrl-C ends it after the current round. After each round, but at most once in `interval` seconds, calls progress(rounds, active, change, seconds).
        """

    def close(self) -> None:
        """Frees the devices."""

    @property
    def closed(self) -> bool:
        """Whether close() was called."""

    @property
    def devices(self) -> list[str]:
        """Labels of the devices."""

version: str = '0.1.0'

build: str = ...

def from_dlpack(capsule: object, name: str) -> numpy.ndarray:
    """A NumPy array with the entries of an array in a GPU's memory."""

def from_address(address: int, shape: Sequence[int], strides: Sequence[int], dtype: str, width: int, stream: int, name: str) -> numpy.ndarray:
    """
    A NumPy array with the entries of an array at an address in a GPU's memory; strides in bytes.
    """

def gpu_of(address: int) -> int | None:
    """The GPU in whose memory an address is; None if it is in none."""

def cuda_devices() -> int:
    """Number of GPUs that this process can use."""

def set_log_level(level: str) -> None:
    """
    Sets the level of the log on stderr: trace, debug, info, warning, error, critical or off.
    """

def set_progress(enabled: bool) -> None:
    """Whether long work shows its progress, where stderr is a terminal."""
