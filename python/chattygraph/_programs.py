"""Programs by name, as functions whose signatures and texts come from the programs themselves."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from ._errors import InputError, UsageError, checked_text
from ._graph import Graph, GraphLike, _plain
from ._progress import Progress
from ._session import RUN_OPTIONS, Run, Session

__all__ = ["Program", "programs", "run"]

#: Names that Python's users look for, and the programs that they mean.
ALIASES = {
    "connected_components": "cc",
    "betweenness": "bc",
    "core_numbers": "kcore",
    "clustering": "lcc",
    "shortest_paths": "sssp",
}


class Program:
    """A vertex program that can run. Call it with a graph for its values; ``run`` gives statistics as well.

    Attributes:
        name: its name.
        summary: what it computes, in a line.
        parameters: name, help and default (as text) of each parameter.
        vertex_data: name, help, dtype and whether it is required, of each array that it takes.
        values: what it can compute; the first is the default.
        safety: which engines may run it.
        reduction: how messages are combined.
    """

    def __init__(self, registry: _core.Registry, description: dict[str, Any], *, host_only: bool = False) -> None:
        self._registry = registry
        self._host_only = host_only  # "auto" takes no GPUs then
        self.name: str = description["name"]
        self.summary: str = description["summary"]
        self.parameters: list[dict[str, Any]] = description["parameters"]
        self.vertex_data: list[dict[str, Any]] = description["vertex_data"]
        self.values: list[str] = description["values"]
        self.safety: str = description["safety"]
        self.reduction: str = description["reduction"]
        self._kinds = {p["name"]: "vertex" if p["is_vertex"] else "number" for p in self.parameters}
        self._kinds |= {d["name"]: "data" for d in self.vertex_data}
        self._dtypes = {d["name"]: np.dtype(d["dtype"]) for d in self.vertex_data}
        self.__name__ = self.name
        self.__signature__ = self._signature()
        self.__doc__ = self._text()

    def __call__(
        self,
        graph: GraphLike | Session,
        /,
        *,
        value: str | None = None,
        devices: str = "auto",
        partition: str = "edge-balanced",
        progress: Progress = False,
        **arguments: Any,
    ) -> np.ndarray:
        """The values of all vertices: see the text of the program's function."""
        run = self.run(graph, value=value, devices=devices, partition=partition, progress=progress, **arguments)
        return run.values

    def run(
        self,
        graph: GraphLike | Session,
        /,
        *,
        value: str | None = None,
        devices: str = "auto",
        partition: str = "edge-balanced",
        trace: bool = False,
        progress: Progress = False,
        **arguments: Any,
    ) -> Run:
        """As a call, but returns a Run: values, statistics and, if asked for, a trace."""
        if isinstance(graph, Session):
            if devices != "auto" or partition != "edge-balanced":
                raise UsageError("a session has its devices; give devices and partition where it is made")
            return graph._run(self, value, trace, progress, arguments)
        kept = Graph(graph)
        if devices == "auto" and self._host_only:
            devices = "host"
        while True:
            session = kept._kept_session(devices, partition)
            try:
                return session._run(self, value, trace, progress, arguments)
            except UsageError:
                if not session.closed or kept._sessions.get((devices, partition)) is session:
                    raise
                # another thread has released the graph meanwhile: the next session opens the devices again

    def _data(self, name: str, given: Any) -> np.ndarray:
        dtype = self._dtypes[name]
        array = _plain(given, name)
        if array.dtype.kind not in "iuf" or array.ndim != 1:
            raise InputError(f"{name}: it is a one-dimensional array of numbers, one for each vertex")
        if dtype.kind in "iu" and array.dtype.kind == "f":
            raise InputError(f"{name}: its numbers are {dtype}, not {array.dtype}")
        if dtype.kind in "iu" and array.size:
            limits = np.iinfo(dtype)
            if int(array.min()) < limits.min or int(array.max()) > limits.max:
                raise InputError(f"{name}: a number does not fit {dtype}")
        with np.errstate(over="ignore"):  # what is infinite then is the program's to refuse
            return np.require(array.astype(dtype, copy=False), requirements=["C", "A"])

    def _signature(self) -> inspect.Signature:
        keyword = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
        parameters = [inspect.Parameter("graph", inspect.Parameter.POSITIONAL_ONLY, annotation=GraphLike)]
        parameters += [keyword(p["name"], default=_default(p), annotation=_annotation(p)) for p in self.parameters]
        parameters += [keyword(d["name"], default=None, annotation=np.ndarray) for d in self.vertex_data]
        parameters += [
            keyword("value", default=None, annotation="str | None"),
            keyword("devices", default="auto", annotation=str),
            keyword("partition", default="edge-balanced", annotation=str),
            keyword("progress", default=False, annotation="Progress"),
            keyword("output", default=None, annotation="str | None"),
            inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation=Any),
        ]
        return inspect.Signature(parameters, return_annotation=np.ndarray)

    def _text(self) -> str:
        lines = [
            f"{self.summary[:1].upper()}{self.summary[1:]}.",
            "",
            "Args:",
            "    graph: a Graph, what Graph takes, or a Session.",
        ]
        for parameter in self.parameters:
            default = "the vertex of most out-edges" if parameter["name"] == "source" else parameter["default"]
            lines.append(f"    {parameter['name']}: {parameter['help']} (default: {default}).")
        for datum in self.vertex_data:
            need = "required" if datum["required"] else "optional"
            lines.append(f"    {datum['name']}: array of {datum['dtype']}, one for each vertex, {need}: {datum['help']}.")
        lines.append(f"    value: what to compute: {', '.join(self.values)} (default: {self.values[0]}).")
        lines.append('    devices: "auto", "host:4", "cuda:0,1" and the like.')
        lines.append("    partition: how vertices are divided among several devices.")
        lines.append("    progress: True for a bar, or a function that is called with a RoundProgress after each round.")
        lines.append('    output: "numpy", "cupy" or "torch": what the values are an array of (default: as the inputs).')
        lines.append(f"    options: of the run: {', '.join(RUN_OPTIONS)}.")
        lines += ["", "Returns:", "    An array with an entry for each vertex: of numpy, or of cupy or torch as the inputs."]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<chattygraph.Program {self.name}: {self.summary}>"


def _default(parameter: dict[str, Any]) -> Any:
    if parameter["name"] == "source":
        return None
    text = parameter["default"]
    try:
        return int(text)
    except ValueError:
        return float(text)


def _annotation(parameter: dict[str, Any]) -> Any:
    if parameter["is_vertex"]:
        return "int | str | None"
    return float  # whole numbers, too


@functools.cache
def programs() -> dict[str, Program]:
    """The prebuilt programs by name."""
    registry = _core.registry()
    return {description["name"]: Program(registry, description) for description in registry.programs()}


def find(program: str | Program | Callable[..., Any]) -> Program:
    """A program by its name, a second name, its function or itself."""
    if isinstance(program, Program):
        return program
    if isinstance(program, str):
        name = ALIASES.get(program, program)
        known = programs()
        if name in known:
            return known[name]
        full = known.get(_core.registry().full_name(checked_text("program", name)))
        if full is not None:
            return full
        import difflib

        near = difflib.get_close_matches(name, [*known, *ALIASES], n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise UsageError(f"there is no program '{program}'{hint}; there are {', '.join(known)}")
    found = getattr(program, "program", None)
    if isinstance(found, Program):
        return found
    raise UsageError(f"{program!r} is no program; give a name, or what chattygraph.program returns")


def function(program: Program, name: str | None = None) -> Callable[..., np.ndarray]:
    """The function that the package has for a program."""

    def call(graph: GraphLike | Session, /, **arguments: Any) -> np.ndarray:
        return program(graph, **arguments)

    call.__name__ = call.__qualname__ = name or program.name
    call.__module__ = "chattygraph"
    call.__doc__ = program.__doc__
    call.__signature__ = program.__signature__  # type: ignore[attr-defined]
    call.program = program  # type: ignore[attr-defined]
    return call


def run(program: str | Program, graph: GraphLike | Session, /, **arguments: Any) -> Run:
    """Runs a program by name and returns a Run: values, statistics and, with ``trace=True``, a trace.

    Args:
        program: as "bfs".
        graph: a Graph, what Graph takes, or a Session.
        arguments: as for Program.run.
    """
    return find(program).run(graph, **arguments)
