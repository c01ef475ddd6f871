"""Sessions and runs: a graph on its devices, and what a program has computed there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _gpu
from ._errors import UsageError, check_flag, checked_text, shown
from ._graph import Graph, GraphLike
from ._progress import Progress, watch

if TYPE_CHECKING:
    from ._programs import Program

__all__ = ["Run", "Session", "Statistics"]

#: Options of a run, as the command line has them, with dashes as underscores.
RUN_OPTIONS = (
    "direction", "execution", "comm", "links", "tiles", "records", "delta", "slots", "max_rounds", "timeout", "explain",
)  # fmt: skip


class Statistics(dict):
    """What a run has counted and timed: a dictionary whose entries are also attributes.

    ``rounds``, ``time_ms``, ``edges_touched``, ``ended``, ``converged``, ``execution``, ``devices`` and others have the
    meaning of ``chatty run --json``.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a run has no statistic {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class Run:
    """A program's answer on one graph.

    Attributes:
        program: name of the program.
        values: one number for each vertex, in the order of the graph's vertices. An array of the caller's own: of numpy, or
            of cupy or torch where the graph's arrays are theirs, in the memory of the same GPU.
    """

    __slots__ = ("_core", "program", "values", "_statistics")

    def __init__(self, core: _core.Run, program: str, values: np.ndarray) -> None:
        self._core = core
        self.program = program
        self.values = values
        self._statistics: Statistics | None = None

    @property
    def value(self) -> str:
        """What the values are, as "level" or "distance"."""
        return self._core.value

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that were set or chosen, as text. Vertices count from 0."""
        return self._core.parameters

    @property
    def statistics(self) -> Statistics:
        """What was counted and timed."""
        if self._statistics is None:
            self._statistics = Statistics(self._core.statistics)
        return self._statistics

    @property
    def trace(self) -> _core.Trace | None:
        """What happened when, for runs with ``trace=True``: ``events()``, and ``save(path)`` for https://ui.perfetto.dev."""
        return self._core.trace

    @property
    def total(self) -> int | None:
        """The one number that the values add up to, as the number of triangles; None for programs without one."""
        return self._core.total(self._host_values())

    def round_table(self) -> dict[str, np.ndarray]:
        """The rounds of a run with ``trace=True``, as columns: pandas.DataFrame takes them.

        ``round`` counts from 0; ``direction`` is push, pull, or fused for a step of a resident kernel; ``active`` vertices;
        ``edges`` that the round had before it: out-edges of active vertices, or in-edges of the candidates of a pull;
        ``time_ms``: of the device that took the longest.
        """
        from ._plots import round_table

        return round_table(self)

    def plot_rounds(self, ax: Any = None) -> Any:
        """Draws active vertices and time of each round, of a run with ``trace=True``. Needs matplotlib.

        Args:
            ax: the Axes to draw on; None: those of a new figure.

        Returns:
            The Axes of the vertices. That of the times shares its x axis.
        """
        from ._plots import plot_rounds

        return plot_rounds(self, ax)

    def plot_time(self, ax: Any = None, by: str = "category") -> Any:
        """Draws where the time of each device went, as a bar with parts. Needs matplotlib.

        Args:
            ax: the Axes to draw on; None: those of a new figure.
            by: "category": computing, communication, waiting for other devices, and the rest of the run's time. "step": the
                steps of the engine, of a run with ``trace=True``; a step that encloses others counts without them.

        Returns:
            The Axes.
        """
        from ._plots import plot_time

        return plot_time(self, ax, by)

    def verify(self) -> tuple[bool, str]:
        """Whether ``values`` are right, by the program's own verifier, and what was checked or what is wrong."""
        return self._core.verify(self._host_values())

    def _host_values(self) -> np.ndarray:
        """``values`` in host memory. Throws UsageError for what is no array of this machine's numbers."""
        values = _gpu.to_host(self.values, "values")
        if not isinstance(values, np.ndarray) or not values.dtype.isnative:
            raise UsageError("values were replaced by what is no array of numbers in this machine's byte order")
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = _gpu.to_host(self.values, "values")
        if copy is False and (values is not self.values or (dtype is not None and np.dtype(dtype) != values.dtype)):
            raise ValueError("values of another type, or in a GPU's memory, need a copy")
        array = values if dtype is None else values.astype(dtype, copy=False)
        return array.copy() if copy and values is self.values else array

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        s = self.statistics
        return (
            f"<chattygraph.Run {self.program}: {len(self.values)} values '{self.value}', {s['rounds']} rounds, "
            f"{s['time_ms']:.3f} ms, {s['ended']}>"
        )


def parameter_text(name: str, value: Any) -> str:
    """A number as the library reads it."""
    if isinstance(value, str):
        return checked_text(name, value)
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if np.ma.is_masked(value):
        raise UsageError(f"parameter {name}: its entry is masked")
    try:
        return str(value.__index__())
    except (AttributeError, TypeError):
        pass
    except ValueError:  # Python writes no integer of more than 4300 digits
        raise UsageError(f"parameter {name}: {shown(value)} is out of range") from None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"parameter {name}: {shown(value)} is not a number") from None
    return str(int(number)) if math.isfinite(number) and number == int(number) and abs(number) < 2**53 else repr(number)


def _option_text(name: str, value: Any) -> str:
    if name == "delta" and isinstance(value, float) and math.isinf(value):
        return "off"
    return parameter_text(name, value)


def _whole(name: str, value: Any, bits: int) -> int:
    """A whole number from 0 that has no more bits."""
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise UsageError(f"{name} {shown(value)}: it is a whole number") from None
    if not 0 <= number < 2**bits:
        raise UsageError(f"{name} {shown(number)}: it is a whole number from 0 to {2**bits - 1}")
    return number


class Session:
    """A graph on its devices, for any number of runs.

    It keeps the divided graph and the state of the last programs, so that a further run only runs. Use it as a context
    manager, or call ``close``. One thread at a time may use a session.

    Args:
        graph: what Graph takes.
        devices: "auto": all GPUs, or else the host; "host:4"; "cuda:0,1"; as ``chatty run --devices`` takes it.
        partition: how vertices are divided among devices.
        seed: of partitions "random" and "metis".
        threads: CPU threads; 0: one per core.
        memory_limit: bytes that each device may hold; 0: its free memory.
        host_memory_limit: bytes that the host may hold; 0: the available memory.
    """

    __slots__ = ("_core", "_graph", "_waits", "__weakref__")

    def __init__(
        self,
        graph: GraphLike,
        devices: str = "auto",
        *,
        partition: str = "edge-balanced",
        seed: int = 1,
        threads: int = 0,
        memory_limit: int = 0,
        host_memory_limit: int = 0,
        _waits: bool = False,
    ) -> None:
        if not isinstance(devices, str):
            raise UsageError(f"devices {devices!r}: it is a text such as 'host:4' or 'cuda:0,1'")
        if not isinstance(partition, str):
            raise UsageError(f"partition {partition!r}: it is a text such as 'edge-balanced'")
        checked_text("devices", devices)
        checked_text("partition", partition)
        seed, memory_limit = _whole("seed", seed, 64), _whole("memory_limit", memory_limit, 64)
        threads, host_memory_limit = _whole("threads", threads, 31), _whole("host_memory_limit", host_memory_limit, 64)
        self._graph: Graph = graph if _waits else Graph(graph)
        self._waits = _waits
        self._core = _core.Session(
            self._graph._handle,
            devices,
            partition=partition,
            seed=seed,
            threads=threads,
            memory_limit=memory_limit,
            host_memory_limit=host_memory_limit,
        )

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @property
    def devices(self) -> list[str]:
        """The devices, as "host:0" or "cuda:1"."""
        return self._core.devices

    @property
    def closed(self) -> bool:
        """Whether the devices were freed."""
        return self._core.closed

    def run(
        self,
        program: str | Program,
        *,
        value: str | None = None,
        trace: bool = False,
        progress: Progress = False,
        **arguments: Any,
    ) -> Run:
        """Runs a program and returns its answer with statistics.

        Args:
            program: a name, as "bfs", or what ``chattygraph.program`` has compiled.
            value: what to compute, for programs with several values, as "parent" of bfs.
            trace: whether to record a trace.
            progress: True: a bar by tqdm where that is installed, or else a line on stderr. A function: it is called with a
                RoundProgress after each round (of rounds that GPUs make in one kernel, after the last), and the run waits for
                it. Its exceptions end the run and are raised here.
                Progress does not change the engine: "async" on several devices, which auto takes for graphs of many levels,
                has no rounds and reports none.
            arguments: the program's parameters and vertex data (arrays), and the options of a run: direction, execution,
                comm, links, tiles, records, delta, slots, max_rounds, timeout in seconds, explain. None: the default.
                ``output``: "numpy", "cupy" or "torch", what the values are to be an array of; None: as the inputs.
        """
        from ._programs import find

        return self._run(find(program), value, trace, progress, arguments)

    def _run(
        self, program: Program, value: str | None, trace: bool, progress: Progress, arguments: Mapping[str, Any]
    ) -> Run:
        if value is not None and not isinstance(value, str):
            raise UsageError(f"value {value!r}: program '{program.name}' has {', '.join(program.values)}")
        checked_text("value", value or "")
        check_flag(trace, "trace")
        parameters: dict[str, str] = {}
        options: dict[str, str] = {}
        data: dict[str, np.ndarray] = {}
        output: str | None = None
        location = self._graph._location
        for name, given in arguments.items():
            if given is None:
                continue
            if name in program._kinds:
                kind = program._kinds[name]
                if kind == "data":
                    data[name] = program._data(name, given)
                    location = location if location != _gpu.HOST else _gpu.location_of(given)
                elif kind == "vertex":
                    parameters[name] = self._vertex(name, given)
                else:
                    parameters[name] = parameter_text(name, given)
            elif name == "output":
                output = given
            elif name in RUN_OPTIONS:
                options[name] = _option_text(name, given)
            else:
                parameters[name] = parameter_text(name, given)  # the library knows names that are alike
        if output is not None or location != _gpu.HOST:
            location = _gpu.installed_location(_gpu.where(output, location, self.devices))
        with watch(progress, program, parameters | options) as watcher:
            values, core = self._core.run(
                program._registry,
                program.name,
                parameters,
                value=value or "",
                options=options,
                data=data,
                trace=bool(trace),
                waits=self._waits,
                progress=watcher.report,
                interval=watcher.interval,
                gpu=location.gpu,
            )
            run = Run(core, program.name, _gpu.as_library(values, location))
            watcher.end(run)
        return run

    def _vertex(self, name: str, given: Any) -> str:
        nodes = self._graph.nodes
        if nodes is None:
            return parameter_text(name, given)
        if isinstance(given, str) and (given == "max-degree" or given == "random" or given.startswith("random:")):
            if given not in nodes:
                return given
        return str(self._graph.index(given))

    def close(self) -> None:
        """Frees devices and memory. Later runs raise UsageError."""
        self._core.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<chattygraph.Session on {', '.join(self.devices)}{', closed' if self.closed else ''}>"
