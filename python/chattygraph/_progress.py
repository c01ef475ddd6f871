"""Progress of runs: a bar, a line on stderr, or a function of the caller's, called after each round."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import UsageError

if TYPE_CHECKING:
    from ._programs import Program
    from ._session import Run

__all__ = ["Progress", "RoundProgress", "watch"]

#: Seconds between two redraws of a bar or a line.
REDRAW = 0.1


class RoundProgress(NamedTuple):
    """A run's progress after a round: what a function given as ``progress`` is called with.

    Attributes:
        rounds: rounds so far. Rounds that a device goes through by itself (a fused run) are one report; a last round without
            work is none.
        active: vertices that the last round changed.
        change: of programs that measure it, as PageRank: the change of the last round per vertex. Otherwise None.
        seconds: time since the call, with preparation.
    """

    rounds: int
    active: int
    change: float | None
    seconds: float


Progress = bool | Callable[[RoundProgress], object] | None
"""What ``progress`` takes: True for a bar, False or None for nothing, or a function."""


class _Watcher:
    """What a run reports to: nothing. A context manager around the run."""

    report: Callable[[int, int, float | None, float], object] | None = None
    interval = 0.0

    def end(self, run: Run) -> None:
        """The run has returned."""

    def __enter__(self) -> _Watcher:
        return self

    def __exit__(self, *exception: object) -> None:
        """The run has returned or raised."""


_NOTHING = _Watcher()


class _Function(_Watcher):
    def __init__(self, function: Callable[[RoundProgress], object]) -> None:
        self.report = lambda *report: function(RoundProgress(*report))


class _Bar(_Watcher):
    """A bar of tqdm's, in a terminal or a notebook."""

    interval = REDRAW

    def __init__(self, tqdm: Any, label: str, total: int | None) -> None:
        self._bar = tqdm(desc=label, total=total, unit=" rounds", miniters=1, mininterval=0, file=sys.stderr)
        self.report = self._report

    def _report(self, rounds: int, active: int, change: float | None, seconds: float) -> None:
        self._bar.set_postfix_str(_state(active, change), refresh=False)
        self._bar.update(rounds - self._bar.n)

    def end(self, run: Run) -> None:
        self._bar.set_postfix_str(run.statistics["ended"], refresh=False)
        self._bar.update(run.statistics["rounds"] - self._bar.n)
        if run.statistics["converged"]:
            self._bar.total = self._bar.n  # fewer than the limit are no failure

    def __exit__(self, *exception: object) -> None:
        self._bar.close()


class _Line(_Watcher):
    """A line on stderr, which is redrawn where a terminal or a notebook shows it, and otherwise written at the end."""

    interval = REDRAW

    def __init__(self, label: str) -> None:
        self._label = label
        self._redraws = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._width = 0
        self.report = self._report

    def _report(self, rounds: int, active: int, change: float | None, seconds: float) -> None:
        if self._redraws:
            self._write(f"{self._label}: {rounds} rounds, {_state(active, change)}, {seconds:.1f} s")

    def _write(self, text: str) -> None:
        begin = "\r" if self._redraws else ""
        sys.stderr.write(begin + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def end(self, run: Run) -> None:
        statistics = run.statistics
        self._write(f"{self._label}: {statistics['rounds']} rounds, {statistics['ended']}, {statistics['time_ms']:.1f} ms")

    def __exit__(self, *exception: object) -> None:
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()


def _state(active: int, change: float | None) -> str:
    return f"{active:,} active" if change is None else f"change {change:.2e}"


def _limit(program: Program, given: Mapping[str, str]) -> int | None:
    """The most rounds that a run may take, if it has a limit."""
    limits = [given.get("max_rounds", "0")]
    for parameter in program.parameters:
        if parameter["name"] == "rounds":
            limits.append(given.get("rounds", parameter["default"]))
    numbers = [int(limit) for limit in limits if limit.isdecimal() and int(limit) > 0]
    return min(numbers, default=None)


def watch(progress: Progress, program: Program, given: Mapping[str, str]) -> _Watcher:
    """What a run reports to. `given`: its parameters and options."""
    if progress is None or progress is False:
        return _NOTHING
    if progress is True:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return _Line(program.name)
        return _Bar(tqdm, program.name, _limit(program, given))
    if callable(progress):
        return _Function(progress)
    raise UsageError(f"progress {progress!r}: it is True, False or a function of a RoundProgress")
