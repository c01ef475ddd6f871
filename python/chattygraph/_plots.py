"""Tables and plots of a run: its rounds, and where the time of its devices went. Plots need matplotlib."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import UsageError

if TYPE_CHECKING:
    from ._session import Run

__all__ = ["plot_rounds", "plot_time", "round_table"]

#: Rows of a trace that show what a device's host thread does: each moment is in one span at most, apart from enclosing ones.
THREAD_ROWS = ("compute", "communication", "waiting")
#: Steps that a plot shows by name.
MOST_STEPS = 10


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError("plots need matplotlib, which is not installed: pip install matplotlib") from None
    return matplotlib.pyplot.subplots(layout="constrained")[1]


def _events(run: Run) -> list[dict[str, Any]]:
    if run.trace is None:
        raise UsageError("this run has no trace; give trace=True to the run")
    return run.trace.events()


def round_table(run: Run) -> dict[str, np.ndarray]:
    """See Run.round_table."""
    by_track: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in _events(run):
        if event["type"] == "span" and event["category"] == "round" and event["arguments"].keys() & {"round", "step"}:
            by_track[event["track"]].append(event)
    if not by_track:
        raise UsageError(f"the trace of this run has no rounds: its execution is '{run.statistics['execution']}'")
    # All devices have the same rounds; a resident kernel, which one device has alone, steps instead.
    columns: dict[str, list[Any]] = {name: [] for name in ("round", "direction", "active", "edges", "time_ms")}
    for same in zip(*by_track.values(), strict=False):
        arguments = same[0]["arguments"]
        columns["round"].append(len(columns["round"]))
        if "round" in arguments:
            columns["direction"].append("pull" if "(pull)" in same[0]["name"] else "push")
            columns["active"].append(arguments["active_vertices"])
            columns["edges"].append(arguments.get("active_edges", arguments.get("candidate_edges", np.nan)))
        else:
            columns["direction"].append("fused")
            columns["active"].append(arguments.get("items", 0))
            columns["edges"].append(np.nan)
        columns["time_ms"].append(max(event["duration_us"] for event in same) / 1000)
    types = {"round": np.int64, "direction": str, "active": np.int64, "edges": np.float64, "time_ms": np.float64}
    return {name: np.array(values, dtype=types[name]) for name, values in columns.items()}


def plot_rounds(run: Run, ax: Any = None) -> Any:
    """See Run.plot_rounds."""
    table = round_table(run)
    if ax is None:
        ax = _new_axes()
    rounds, active = table["round"], table["active"]
    ax.plot(rounds, active, color="0.7", linewidth=1, zorder=1)
    for direction in dict.fromkeys(table["direction"].tolist()):
        chosen = table["direction"] == direction
        ax.plot(rounds[chosen], active[chosen], "o", markersize=4, label=f"active ({direction})")
    if active.min() > 0 and active.max() > 50 * active.min():
        ax.set_yscale("log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("round")
    ax.set_ylabel("active vertices")
    ax.set_title(f"{run.program}, {run.statistics['time_ms']:.3g} ms")
    times = ax.twinx()
    times.plot(rounds, table["time_ms"], color="tab:red", linewidth=1, label="time")
    times.set_ylim(bottom=0)
    times.set_ylabel("time of the round [ms]")
    handles = [*ax.lines[1:], *times.lines]
    ax.legend(handles, [handle.get_label() for handle in handles], loc="best")
    return ax


def _categories(run: Run) -> dict[str, dict[str, float]]:
    """Milliseconds by device and category. Launches and the like are what the categories leave of the run's time."""
    table = {}
    for device in run.statistics["devices"]:
        parts = {name: device[f"{name}_ms"] for name in THREAD_ROWS}
        parts["other"] = max(0.0, run.statistics["time_ms"] - sum(parts.values()))
        table[device["device"]] = parts
    return table


def _steps(run: Run) -> dict[str, dict[str, float]]:
    """Milliseconds by device and step, without those of enclosed steps."""
    table: dict[str, dict[str, float]] = {}
    open_spans: list[tuple[int, str]] = []  # their ends in nanoseconds, and names
    track = ""
    for event in _events(run):
        if event["type"] != "span" or event["row"] not in THREAD_ROWS:
            continue
        if event["track"] != track:
            track, open_spans = event["track"], []
        steps = table.setdefault(track, defaultdict(float))
        name = re.sub(r" (to|from) \d+$", "", event["name"])
        # Whole nanoseconds, as the trace has them: sums of fractions of microseconds are not exact.
        start, duration = round(event["start_us"] * 1000), round(event["duration_us"] * 1000)
        while open_spans and start >= open_spans[-1][0]:
            open_spans.pop()
        if open_spans:
            steps[open_spans[-1][1]] -= duration / 1e6
        steps[name] += duration / 1e6
        open_spans.append((start + duration, name))
    return table


def plot_time(run: Run, ax: Any = None, by: str = "category") -> Any:
    """See Run.plot_time."""
    if by not in ("category", "step"):
        raise UsageError(f"by '{by}': it is category or step")
    table = _categories(run) if by == "category" else _steps(run)
    if ax is None:
        ax = _new_axes()
    sums: dict[str, float] = defaultdict(float)
    for parts in table.values():
        for name, ms in parts.items():
            sums[name] += ms
    names = list(sums)
    if by == "step":
        names = sorted(sums, key=lambda name: -sums[name])[:MOST_STEPS]
    devices = list(table)
    left = np.zeros(len(devices))
    for name in names:
        widths = np.array([table[device].get(name, 0.0) for device in devices])
        ax.barh(devices, widths, left=left, label=name)
        left += widths
    rest = np.array([sum(table[device].values()) for device in devices]) - left
    if len(names) < len(sums):
        ax.barh(devices, rest, left=left, label="other steps", color="0.8")
    ax.invert_yaxis()
    ax.set_xlabel("time [ms]")
    ax.set_title(f"{run.program}, {run.statistics['time_ms']:.3g} ms")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return ax
