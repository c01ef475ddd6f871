"""Compares two records run by run: order statistics bound each median, and the bounds decide what may be said.

The interval is free of assumptions about how times are distributed: of n trials, sorted, the k-th and the k-th from the end
hold the median unless fewer than k trials fall on one side of it, which is a matter of n tosses of a coin.
"""

from __future__ import annotations

import math
from typing import Optional

from records import Record, RecordError, Run

COVERAGE = 0.95  # of the interval of a median, at least
DIFFERENCE = 0.03  # medians that differ by less are not said to differ
HALF_WIDTH = 0.05  # of the median: two intervals as narrow are apart if the medians differ by 10 %
FEWEST = 3  # trials: the range of two covers the median as often as not
VERDICTS = ("FASTER", "SAME", "SLOWER", "UNCLEAR", "FAILED")


def coverage(trials: int, rank: int) -> float:
    """How probably the rank-th shortest and the rank-th longest of some trials hold the median of all possible trials."""
    return 1 - 2 * sum(math.comb(trials, below) for below in range(rank)) / 2**trials


def rank_of_interval(trials: int) -> int:
    """The largest rank whose interval covers the median with COVERAGE; 1, the whole range, where no rank does (under 6)."""
    rank = 1
    while 2 * (rank + 1) <= trials and coverage(trials, rank + 1) >= COVERAGE:
        rank += 1
    return rank


def interval(run: Run) -> Optional[tuple[float, float]]:
    """The interval of a run's median; the whole range if nothing else is kept, None if not even this is."""
    if not run.trials:
        return run.range
    ordered = sorted(run.trials)
    rank = rank_of_interval(len(ordered))
    return ordered[rank - 1], ordered[-rank]


def verdict(a: Run, b: Run) -> tuple[str, str]:
    """What may be said of b against a, and why where this is not plain."""
    failed = [name for name, run in (("A", a), ("B", b)) if run.failed]
    if failed:
        return "FAILED", "in " + " and ".join(failed)
    if a.size and b.size and a.size != b.size:
        return "UNCLEAR", f"not the same graph: {a.size[1]} edges in A, {b.size[1]} in B"
    bounds = {"A": interval(a), "B": interval(b)}
    few = [name for name, run in (("A", a), ("B", b)) if run.trials and len(run.trials) < FEWEST]
    if few:
        return "UNCLEAR", f"fewer than {FEWEST} trials in " + " and ".join(few)
    missing = [name for name, found in bounds.items() if found is None]
    if missing:
        return "UNCLEAR", "trials not kept in " + " and ".join(missing)
    (low_a, high_a), (low_b, high_b) = bounds["A"], bounds["B"]
    apart = high_a < low_b or high_b < low_a
    differ = max(a.median, b.median) > (1 + DIFFERENCE) * min(a.median, b.median)
    if apart and differ:
        return ("FASTER" if b.median < a.median else "SLOWER"), ""
    widths = {
        name: (high - low) / 2 / median
        for name, (low, high), median in (("A", bounds["A"], a.median), ("B", bounds["B"], b.median))
    }
    wide = [
        f"{name} within {100 * width:.{1 if width < 0.1 else 0}f} %" for name, width in widths.items() if width > HALF_WIDTH
    ]
    return ("UNCLEAR", ", ".join(wide)) if wide else ("SAME", "")


def _place(record: Record) -> str:
    return ", ".join(filter(None, [record.machine, f"{record.cores} cores" if record.cores else "", record.gpus]))


def _head(a: Record, b: Record) -> list[str]:
    """What is compared, and what a reader has to know before the verdicts."""
    lines = [f"{name}: {record.path}, {record.day}, commit {record.short_commit}" for name, record in (("A", a), ("B", b))]
    if _place(a) != _place(b):
        lines.append(
            f"warning: A ran on {_place(a)}; B on {_place(b)}. Times of different machines or cards are not comparable."
        )
    for name, record in (("A", a), ("B", b)):
        repeated = len(record.runs) - len(record.run_of())
        if repeated:
            lines.append(
                f"warning: {name} has {repeated} runs of a graph, devices and row that come again later; the last counts."
            )
        few = [run for run in record.runs if not run.failed and run.trials and coverage(len(run.trials), 1) < COVERAGE]
        if few:
            lines.append(
                f"warning: {name} has {len(few)} runs of fewer than 6 trials; their intervals cover less than 95 %."
            )
    return lines


def _aligned(table: list[tuple[str, ...]]) -> list[str]:
    """The rows of a table, whose first three columns are words, the next three numbers."""
    widths = [max(len(row[column]) for row in table) for column in range(6)]
    sides = [str.ljust] * 3 + [str.rjust] * 3
    return [
        "  ".join([*(side(cell, width) for side, cell, width in zip(sides, row, widths)), row[6]]).rstrip() for row in table
    ]


def compare(a: Record, b: Record) -> tuple[list[str], dict[str, int]]:
    """The lines of a comparison, and how often each verdict was given. Throws RecordError where the kinds differ."""
    if a.kind != b.kind:
        raise RecordError(
            f"{a.path} and {b.path} have no run in common: one is of `chatty compare`, the other of bench/record"
        )
    runs_a, runs_b = a.run_of(), b.run_of()
    counts = dict.fromkeys(VERDICTS, 0)
    table = [("graph", "devices", "row", "A ms", "B ms", "B/A", "")]
    for key, run in runs_a.items():
        other = runs_b.get(key)
        if other is None:
            table.append((*key, _median(run), "", "", "only in A"))
            continue
        said, why = verdict(run, other)
        counts[said] += 1
        ratio = "" if said == "FAILED" else f"{other.median / run.median:.3f}"
        table.append((*key, _median(run), _median(other), ratio, f"{said} ({why})" if why else said))
    table += [(*key, "", _median(run), "", "only in B") for key, run in runs_b.items() if key not in runs_a]
    only_a, only_b = len(runs_a.keys() - runs_b.keys()), len(runs_b.keys() - runs_a.keys())
    summary = f"{sum(counts.values())} pairs: " + ", ".join(f"{count} {said}" for said, count in counts.items())
    return [*_head(a, b), *_aligned(table), f"{summary}; only in A {only_a}, only in B {only_b}"], counts


def _median(run: Run) -> str:
    return "failed" if run.failed else f"{run.median:.4g}" if run.median < 1000 else f"{run.median:.0f}"
