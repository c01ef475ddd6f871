"""Reads the records of bench/record, and the results of `chatty compare`, into runs; prints runs as Markdown tables."""

from __future__ import annotations

import dataclasses
import json
import re
import statistics
from typing import Optional


class RecordError(Exception):
    """A record or a description that cannot be used: what is wrong, in which file."""


@dataclasses.dataclass
class Run:
    """One run of a program. The times are in milliseconds."""

    graph: str
    devices: str
    program: str
    row: str
    failed: bool
    median: Optional[float] = None
    trials: Optional[list[float]] = None  # every trial; None where the record does not keep them
    range: Optional[tuple[float, float]] = None  # the shortest and the longest trial, where only these are kept
    rounds: Optional[int] = None
    prepare: Optional[float] = None
    size: Optional[tuple[int, int]] = None  # vertices and directed edges


@dataclasses.dataclass
class Record:
    """A file of runs, and where they were measured."""

    path: str
    kind: str  # "record" of bench/record, "compare" of `chatty compare`
    date: str
    machine: str
    gpus: str
    commit: str
    command: str
    runs: list[Run]
    cores: Optional[int] = None
    source: str = ""  # where the figures come from, if not from trials that the record keeps
    engine_regret: Optional[dict] = None  # of results of `chatty compare`, with `auto` among the engines

    @property
    def day(self) -> str:
        return self.date[:10]

    @property
    def short_commit(self) -> str:
        """The commit as pages show it: whether the tree had other changes belongs to it."""
        return (self.commit[:7] + ("-dirty" if self.commit.endswith("-dirty") else "")) or "unknown"

    def run_of(self) -> dict[tuple[str, str, str], Run]:
        """The runs by graph, devices and row. Of runs with the same key, the last."""
        return {(run.graph, run.devices, run.row): run for run in self.runs}


def load(path: str) -> Record:
    """Reads a record. Throws RecordError where the file is none, or where a median is not the median of its trials."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError:
        raise RecordError(f"there is no record {path}") from None
    except ValueError as error:
        raise RecordError(f"{path} is not JSON: {error}") from None
    if isinstance(content, dict) and isinstance(content.get("measurements"), list):
        try:
            return _of_compare(path, content)
        except (AttributeError, KeyError, TypeError) as error:
            raise RecordError(f"{path} is not a result of `chatty compare`: a measurement has no {error}") from None
    runs = content.get("runs") if isinstance(content, dict) else None
    if not isinstance(runs, list) or not all(
        isinstance(run, dict) and {"graph", "devices", "exit"} <= run.keys() for run in runs
    ):
        raise RecordError(f"{path} is not a record of bench/record: it needs `runs`, each with graph, devices and exit")
    try:
        return Record(
            path=path,
            kind="record",
            date=content.get("date", ""),
            machine=content.get("machine", ""),
            gpus=content.get("gpus", ""),
            cores=content.get("cores"),
            commit=content.get("commit", ""),
            command=content.get("command", ""),
            source=content.get("source", ""),
            runs=[_run(path, entry) for entry in runs],
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise RecordError(f"{path} is not a record of bench/record: a run has no {error}") from None


def _run(path: str, entry: dict) -> Run:
    """A member of "runs" of bench/record."""
    program = entry.get("program", "")
    execution = re.search(r"--execution (\w+)", entry.get("command", ""))  # the first records had no rows
    row = entry.get("row") or (f"{program}, {execution.group(1)}" if execution else program)
    run = Run(
        graph=entry["graph"],
        devices=entry["devices"],
        program=program,
        row=row,
        failed=entry["exit"] != 0 or entry.get("record") is None,
    )
    result = entry.get("record") or {}
    time = result.get("time") or {}
    run.median = time.get("median_ms")
    run.trials = time.get("trials_ms") or None
    run.rounds = (result.get("statistics") or {}).get("rounds")
    run.prepare = (result.get("phases_ms") or {}).get("prepare")
    graph = result.get("graph") or {}
    if "vertices" in graph and "edges" in graph:
        run.size = (graph["vertices"], graph["edges"])
    if not run.failed and not (run.median and run.median > 0):
        raise RecordError(f"{path}: {run.graph} {run.devices} {run.row} ended with exit 0 and has no time.median_ms above 0")
    if run.trials and run.median is not None:
        expected = statistics.median(run.trials)
        if abs(expected - run.median) > 1e-5 * expected + 1e-6:
            raise RecordError(
                f"{path}: {run.graph} {run.devices} {run.row} has median_ms {run.median}, but the median of its "
                f"trials is {expected:.6f}"
            )
    return run


def _of_compare(path: str, content: dict) -> Record:
    """The results of `chatty compare`. Those of the first schema have no trials but the shortest and the longest one."""
    machine, chatty = content.get("machine") or {}, content.get("chatty") or {}
    names = [
        device.get("name", "")
        for device in (machine.get("topology") or {}).get("devices", [])
        if device.get("kind") == "cuda"
    ]
    record = Record(
        path=path,
        kind="compare",
        date=content.get("started", ""),
        machine=machine.get("processor", ""),
        gpus=";".join(f"{names.count(name)} {name}" for name in sorted(set(names))),
        cores=machine.get("threads"),
        commit=chatty.get("commit", ""),
        command=content.get("command", ""),
        runs=[],
        engine_regret=content.get("engine_regret"),
    )
    for entry in content["measurements"]:
        # Later results leave the default partition out.
        what = [
            entry[key]
            for key in ("execution", "partition", "comm")
            if entry.get(key, "none") not in ("none", "edge-balanced")
        ]
        time = entry.get("time", entry)
        verified = (entry.get("verification") or {}).get("passed", entry.get("verified"))
        run = Run(
            graph=entry["graph"],
            devices=str(entry["devices"]),
            program=entry["program"],
            row=", ".join([entry["program"], *what]),
            failed=entry.get("outcome") != "ok" or verified is False,
            median=time.get("median_ms"),
            trials=time.get("trials_ms") or None,
        )
        if not run.failed:
            run.range = (time["min_ms"], time["max_ms"])
        record.runs.append(run)
    return record


def milliseconds(value: float) -> str:
    """A time with three digits, as tables show it."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"


def markdown(record: Record) -> str:
    """The medians of a record as Markdown, a table for each choice of devices."""
    head = record.machine + (", " if record.gpus else "") + record.gpus + ", " + record.day
    lines = [head]
    if record.command:
        lines.append(f"commit {record.commit[:7]}, {record.command}")
    if record.source:
        lines.append(record.source)
    graphs: dict[str, dict[str, None]] = {}
    rows: dict[str, dict[str, dict[str, str]]] = {}
    for run in record.runs:
        graphs.setdefault(run.devices, {})[run.graph] = None
        for row, text in _cells(run):
            rows.setdefault(run.devices, {}).setdefault(row, {})[run.graph] = text
    for devices, columns in graphs.items():
        lines += ["", f"| {devices} (ms) |" + "".join(f" {graph} |" for graph in columns), "|---|" + "---|" * len(columns)]
        for row, cells in rows[devices].items():
            lines.append(f"| {row} |" + "".join(f" {cells.get(graph, '')} |" for graph in columns))
    return "\n".join(lines) + "\n"


def regret_of_engines(record: Record) -> str:
    """How much longer `auto` takes than the best engine that one names, as Markdown. Throws RecordError if there is none."""
    regret = record.engine_regret or {}
    if not regret.get("cases"):
        raise RecordError(f"{record.path} has no regret of engines; `chatty compare --execution bsp,async,auto` makes one")
    head = record.machine + (", " if record.gpus else "") + record.gpus + ", " + record.day
    lines = [head, f"commit {record.short_commit}, {record.command}", ""]
    try:
        judged = len(regret["cases"]) - regret["unclear"]
        summary = f"{100 * regret['median']:.1f} % in the median of {judged}, {100 * regret['worst']:.1f} % at worst"
        lines += [
            f"Regret of the engine that auto takes: {summary if judged else 'unknown'}; {regret['unclear']} unclear.",
            "",
            "| graph | program | devices | auto takes | auto, ms | best | best, ms | auto is | regret, % |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for case in regret["cases"]:
            share = "" if case["verdict"] == "unclear" else f"{100 * case['regret']:.1f}"
            cells = [case["graph"], case["program"], str(case["devices"]), case["took"], milliseconds(case["auto_ms"])]
            cells += [case["best"], milliseconds(case["best_ms"]), case["verdict"], share]
            lines.append("| " + " | ".join(cells) + " |")
    except (KeyError, TypeError) as error:
        raise RecordError(f"{record.path}: engine_regret has no {error}") from None
    return "\n".join(lines) + "\n"


def _cells(run: Run) -> list[tuple[str, str]]:
    """The rows of one run and what they show: PageRank has a row for a round, too, and one for its preparation."""
    if run.failed:
        return [(run.row, "failed")]
    cells = [(run.row, milliseconds(run.median))]
    if re.match("pagerank", run.row):
        cells.append((f"{run.row}, a round", milliseconds(run.median / run.rounds) if run.rounds else ""))
        if run.row == "pagerank":
            cells.append((f"{run.row}, preparation", "" if run.prepare is None else milliseconds(run.prepare)))
    return cells
