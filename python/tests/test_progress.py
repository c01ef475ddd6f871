"""Progress of runs: functions called after rounds, bars, lines."""

from __future__ import annotations

import io
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix

import chattygraph as cg
from chattygraph._progress import _limit, _Line

PATH = 60


@pytest.fixture
def path() -> cg.Graph:
    """A directed path, on which a search has a level for each vertex."""
    return cg.Graph(sp.eye_array(PATH, k=1, format="csr", dtype=np.float32))


def test_a_function_is_called_after_each_round(path: cg.Graph) -> None:
    seen: list[cg.RoundProgress] = []
    run = cg.run("bfs", path, source=0, devices="host:2", progress=seen.append)
    assert [report.rounds for report in seen] == list(range(1, len(seen) + 1))
    assert run.statistics.rounds - 1 <= len(seen) <= run.statistics.rounds  # a last one without work is no report
    assert len(seen) >= PATH - 1
    assert [report.active for report in seen[: PATH - 1]] == [1] * (PATH - 1)
    assert all(report.change is None for report in seen)
    times = [report.seconds for report in seen]
    assert times == sorted(times) and times[0] >= 0
    assert np.array_equal(run.values, np.arange(PATH))


def test_rounds_that_a_device_runs_by_itself_are_one_report(path: cg.Graph) -> None:
    seen: list[cg.RoundProgress] = []
    run = cg.run("bfs", path, source=0, devices="host:1", progress=seen.append)
    assert len(seen) == 1 and seen[0].rounds == run.statistics.rounds >= PATH - 1


def test_a_change_is_reported_where_the_program_has_one(graph: cg.Graph) -> None:
    seen: list[cg.RoundProgress] = []
    values = cg.pagerank(graph, rounds=7, tolerance=0, progress=seen.append)
    assert len(seen) == 7
    changes = [report.change for report in seen]
    assert all(change is not None and change >= 0 for change in changes) and changes[-1] < changes[0]
    assert np.array_equal(values, cg.pagerank(graph, rounds=7, tolerance=0))


def test_rounds_of_a_sequence_add_up(graph: cg.Graph) -> None:
    """scc is programs in turn: their rounds go on counting."""
    for devices in ("host:1", "host:2"):
        seen: list[cg.RoundProgress] = []
        run = cg.run("scc", graph, devices=devices, progress=seen.append)
        rounds = [report.rounds for report in seen]
        assert len(rounds) > 2 and rounds == sorted(set(rounds))
        assert run.statistics.rounds - 1 <= rounds[-1] <= run.statistics.rounds


def test_the_engine_of_other_runs_is_as_before(path: cg.Graph) -> None:
    """A run that is watched and one that is not keep jobs of their own, on the same engine."""
    session = cg.Session(path, "host:2")
    seen: list[cg.RoundProgress] = []
    before = session.run("bfs", source=0)
    watched = session.run("bfs", source=0, progress=seen.append)
    count = len(seen)
    after = session.run("bfs", source=1)
    assert before.statistics.execution == watched.statistics.execution == after.statistics.execution
    assert count > 0 and len(seen) == count  # the last run reported to nobody
    other: list[cg.RoundProgress] = []
    session.run("bfs", source=2, progress=other.append)  # a kept job with another function
    assert other and len(seen) == count
    assert np.array_equal(before.values, watched.values)


def test_progress_does_not_choose_the_engine() -> None:
    """On several devices a graph of many levels has no rounds, watched or not."""
    deep = cg.Graph(sp.eye_array(40_001, k=1, format="csr", dtype=np.float32))
    plain = cg.run("bfs", deep, source=0, devices="host:2")
    seen: list[cg.RoundProgress] = []
    watched = cg.run("bfs", deep, source=0, devices="host:2", progress=seen.append)
    assert plain.statistics.execution == watched.statistics.execution == "async"
    assert not seen
    rounds = cg.run("bfs", deep, source=40_000 - 10, devices="host:2", execution="bsp", progress=seen.append)
    assert rounds.statistics.execution == "bsp" and seen


class Stop(Exception):
    """What a function raises in these tests."""


@pytest.mark.parametrize("devices", ["host:1", "host:3"])
def test_an_exception_ends_the_run(graph: cg.Graph, devices: str) -> None:
    calls = []

    def stop(report: cg.RoundProgress) -> None:
        calls.append(report.rounds)
        if report.rounds == 3:
            raise Stop("enough")

    session = cg.Session(graph, devices)
    for _ in range(2):
        calls.clear()
        with pytest.raises(Stop, match="enough") as caught:
            session.run("pagerank", rounds=50_000_000, tolerance=0, progress=stop)
        assert calls == [1, 2, 3]
        assert caught.traceback[-1].name == "stop"
    assert np.array_equal(session.run("bfs", source=0).values, cg.bfs(graph, source=0))


@pytest.mark.parametrize("devices", ["host:1", "host:2"])
def test_an_exception_comes_before_errors_that_follow_it(devices: str) -> None:
    """The values of a run that was ended are copied and checked, too."""
    large = 2**31 - 1
    graph = cg.Graph(([0, 1, 2], [1, 2, 3], np.int32([large] * 3)))
    calls = []

    def stop(report: cg.RoundProgress) -> None:
        calls.append(report.rounds)
        if report.rounds >= 2:  # the distance of vertex 2 does not fit
            raise Stop("enough")

    with pytest.raises(cg.CapabilityError):
        cg.sssp(graph, source=0, devices=devices)
    with pytest.raises(Stop, match="enough"):
        cg.sssp(graph, source=0, devices=devices, progress=stop)
    assert calls


def test_an_exception_ends_a_run_of_another_thread(graph: cg.Graph) -> None:
    failures = []

    def stop(report: cg.RoundProgress) -> None:
        raise Stop

    def work() -> None:
        try:
            cg.pagerank(graph, rounds=50_000_000, tolerance=0, progress=stop)
        except Stop as failure:
            failures.append(failure)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(failures) == 1


def test_a_function_may_use_other_graphs_and_not_this_one(graph: cg.Graph, path: cg.Graph) -> None:
    levels = []

    def nested(report: cg.RoundProgress) -> None:
        if report.rounds == 1:
            levels.append(cg.bfs(path, source=0)[PATH - 1])
        if report.rounds == 2:
            cg.bfs(graph, source=0)

    with pytest.raises(cg.UsageError, match="whose run it watches"):
        cg.pagerank(graph, rounds=10, tolerance=0, progress=nested)
    assert levels == [PATH - 1]
    with pytest.raises(cg.UsageError, match="whose run it watches"):
        cg.pagerank(graph, rounds=10, tolerance=0, progress=lambda report: graph.release())
    kept = graph._kept_session("auto", "edge-balanced")
    assert not kept.closed
    graph.release()
    assert kept.closed, "a release that failed had lost the session"
    assert cg.bfs(graph, source=0)[0] == 0


@pytest.mark.parametrize("devices", ["host:1", "host:2"])
def test_a_function_of_a_nested_run_may_not_use_the_outer_graph(graph: cg.Graph, path: cg.Graph, devices: str) -> None:
    calls = []

    def inner(report: cg.RoundProgress) -> None:
        calls.append("inner")
        cg.bfs(graph, source=0, devices=devices)

    def outer(report: cg.RoundProgress) -> None:
        calls.append("outer")
        cg.pagerank(path, rounds=3, tolerance=0, devices=devices, progress=inner)

    with pytest.raises(cg.UsageError, match="whose run it watches"):
        cg.pagerank(graph, rounds=3, tolerance=0, devices=devices, progress=outer)
    assert calls == ["outer", "inner"]
    assert cg.bfs(graph, source=0)[0] == 0 and cg.bfs(path, source=0)[1] == 1


def test_a_wrong_argument(graph: cg.Graph) -> None:
    with pytest.raises(cg.UsageError, match="progress 3: it is True, False or a function"):
        cg.bfs(graph, progress=3)
    with pytest.raises(cg.UsageError, match="it is True, False or a function"):
        cg.bfs(graph, progress="yes")
    assert np.array_equal(cg.bfs(graph, source=0, progress=None), cg.bfs(graph, source=0, progress=False))


def test_a_bar_by_tqdm(graph: cg.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tqdm")
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    run = cg.run("pagerank", graph, rounds=9, tolerance=0, progress=True)
    assert run.statistics.rounds == 9
    last = shown.getvalue().rstrip("\n").split("\r")[-1]
    assert "pagerank: 100%" in last and "9/9" in last and run.statistics.ended in last
    shown.seek(0)
    shown.truncate()
    cg.connected_components(graph, progress=True)
    assert "cc: " in shown.getvalue()
    with pytest.raises(cg.UsageError):
        cg.pagerank(graph, damping=7, progress=True)


class Terminal(io.StringIO):
    """A stderr that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_line_without_tqdm(graph: cg.Graph, monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # its import fails
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    shown = stream()
    monkeypatch.setattr(sys, "stderr", shown)
    run = cg.run("pagerank", graph, rounds=9, tolerance=0, progress=True)
    text = shown.getvalue()
    assert text.endswith("\n") and text.count("\n") == 1
    last = text.rstrip("\n").split("\r")[-1].rstrip()
    assert last == f"pagerank: 9 rounds, {run.statistics.ended}, {run.statistics.time_ms:.1f} ms"
    if stream is Terminal:
        assert "pagerank: 1 rounds, change" in text.split("\r")[1]
    else:
        assert "\r" not in text


def test_a_line_that_a_failure_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written of a run is a whole line, and a run without a report has none."""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    graph = cg.Graph(random_matrix(100, 300, 1))
    with pytest.raises(cg.UsageError):
        cg.pagerank(graph, damping=7, progress=True)
    assert shown.getvalue() == ""
    report = _Line._report

    def report_and_raise(line: _Line, *arguments) -> None:
        report(line, *arguments)
        raise Stop

    monkeypatch.setattr(_Line, "_report", report_and_raise)
    with pytest.raises(Stop):
        cg.pagerank(graph, rounds=50_000_000, tolerance=0, progress=True)
    text = shown.getvalue()
    assert text.startswith("\rpagerank: 1 rounds, change") and text.endswith("\n") and text.count("\n") == 1


def test_limits_of_bars() -> None:
    programs = cg.programs()
    assert _limit(programs["bfs"], {}) is None
    assert _limit(programs["bfs"], {"max_rounds": "5"}) == 5
    assert _limit(programs["pagerank"], {"max_rounds": "5", "rounds": "9"}) == 5
    assert _limit(programs["pagerank"], {"max_rounds": "0", "rounds": "9"}) == 9
    assert _limit(programs["pagerank"], {}) is None  # 0: until the tolerance is met
    assert _limit(programs["cdlp"], {}) == 10
