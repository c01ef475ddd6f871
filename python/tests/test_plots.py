"""Tables and plots of runs: the data that are drawn."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import chattygraph as cg
from chattygraph import _plots

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def tree() -> cg.Graph:
    """A complete binary tree of 127 vertices, whose levels have 1, 2, 4, ... of them."""
    children = np.arange(1, 127)
    return cg.Graph(((children - 1) // 2, children))


@pytest.mark.parametrize("devices", ["host:1", "host:2"])
def test_rounds(tree: cg.Graph, devices: str) -> None:
    run = cg.run("bfs", tree, source=0, devices=devices, trace=True, direction="push")
    table = run.round_table()
    assert run.statistics.rounds == len(table["round"]) > 0
    assert table["round"].tolist() == list(range(len(table["round"])))
    assert table["active"][:7].tolist() == [1, 2, 4, 8, 16, 32, 64]
    assert table["edges"][:6].tolist() == [2, 4, 8, 16, 32, 64]
    assert set(table["direction"]) == {"push"}
    # Each time is that of one device, so the sum is between the largest sum of a device and that of all together.
    sums = [
        sum(e["duration_us"] for e in run.trace.events() if e["track"] == track and e["name"].startswith("round ")) / 1000
        for track in (device["device"] for device in run.statistics.devices)
    ]
    assert len(sums) == int(devices[-1]) and min(sums) > 0 and (table["time_ms"] > 0).all()
    assert max(sums) * (1 - 1e-9) <= table["time_ms"].sum() <= sum(sums) * (1 + 1e-9)

    axes = run.plot_rounds()
    _, points = axes.lines
    assert points.get_label() == "active (push)"
    assert np.array_equal(points.get_xdata(), table["round"]) and np.array_equal(points.get_ydata(), table["active"])
    assert axes.get_yscale() == "log"
    times = next(other for other in axes.figure.axes if other is not axes)
    assert np.array_equal(times.lines[0].get_ydata(), table["time_ms"])
    assert axes.get_title().startswith("bfs")
    axes.figure.canvas.draw()


def test_directions_have_points_of_their_own(graph: cg.Graph) -> None:
    matrix = sp.random_array((3000, 3000), density=0.01, format="csr", rng=np.random.default_rng(1))
    run = cg.run("bfs", cg.Graph(matrix + matrix.T), source=0, trace=True)
    directions = set(run.round_table()["direction"].tolist())
    assert directions == {"push", "pull"}
    drawn = {line.get_label(): len(line.get_xdata()) for line in run.plot_rounds().lines}
    assert drawn["active (push)"] == run.statistics.push_rounds
    assert drawn["active (pull)"] == run.statistics.pull_rounds


def widths(axes) -> dict[str, list[float]]:
    """The parts of an Axes' bars by label."""
    return {bars.get_label(): [bar.get_width() for bar in bars] for bars in axes.containers}


def test_time_by_category(tree: cg.Graph) -> None:
    run = cg.run("pagerank", tree, devices="host:2")
    axes = run.plot_time()
    drawn = widths(axes)
    assert list(drawn) == ["compute", "communication", "waiting", "other"]
    for name in ("compute", "communication", "waiting"):
        assert drawn[name] == pytest.approx([device[f"{name}_ms"] for device in run.statistics.devices])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["host:0", "host:1"]
    for device in (0, 1):
        total = sum(parts[device] for parts in drawn.values())
        assert total >= run.statistics.time_ms * 0.999
        ends = [bars[device].get_x() for bars in axes.containers]
        assert ends == pytest.approx(np.cumsum([0.0, *(parts[device] for parts in drawn.values())])[:-1])


def test_time_by_step(tree: cg.Graph) -> None:
    run = cg.run("pagerank", tree, devices="host:2", trace=True)
    drawn = widths(run.plot_time(by="step"))
    assert {"init", "apply"} <= set(drawn)
    assert not any("from 0" in name or "to 1" in name for name in drawn)  # peers are not steps
    assert all(width >= 0 for parts in drawn.values() for width in parts)
    # All spans of a device's thread, those that are not in another one.
    for d, device in enumerate(("host:0", "host:1")):
        spans = [e for e in run.trace.events() if e["track"] == device and e["type"] == "span"]
        spans = [e for e in spans if e["row"] in ("compute", "communication", "waiting")]
        end = total = 0  # in nanoseconds, which the trace has
        for span in spans:
            start, duration = round(span["start_us"] * 1000), round(span["duration_us"] * 1000)
            if start >= end:
                total += duration
                end = start + duration
        assert sum(parts[d] for parts in drawn.values()) == pytest.approx(total / 1e6, rel=1e-6)


def test_a_step_that_begins_where_another_ends_is_not_enclosed() -> None:
    """1.1 + 2.2 is more than 3.3 in floating point."""

    def span(name: str, start_us: float, duration_us: float) -> dict:
        times = {"start_us": start_us, "duration_us": duration_us}
        return {"type": "span", "track": "host:0", "row": "compute", "name": name, **times}

    events = [span("scatter", 1.1, 2.2), span("update", 3.3, 4.4), span("part", 3.3, 1.1), span("part to 1", 4.4, 3.3)]
    run = SimpleNamespace(trace=SimpleNamespace(events=lambda: events))
    (steps,) = _plots._steps(run).values()
    assert steps == pytest.approx({"scatter": 0.0022, "update": 0, "part": 0.0044}, abs=1e-12)


def test_axes_of_the_callers_own(tree: cg.Graph) -> None:
    from matplotlib.figure import Figure

    above, below = Figure().subplots(2)
    run = cg.run("bfs", tree, source=0, trace=True)
    assert run.plot_rounds(above) is above
    assert run.plot_time(ax=below) is below and len(below.containers) == 4


def test_what_cannot_be_drawn(tree: cg.Graph) -> None:
    run = cg.run("bfs", tree, source=0)
    for draw in (run.round_table, run.plot_rounds, lambda: run.plot_time(by="step")):
        with pytest.raises(cg.UsageError, match="trace=True"):
            draw()
    with pytest.raises(cg.UsageError, match="category or step"):
        run.plot_time(by="colour")
    with pytest.raises(cg.UsageError, match="no rounds"):
        cg.run("triangles", tree, trace=True).plot_rounds()


def test_without_matplotlib() -> None:
    code = (
        "import sys\nsys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
        "import chattygraph as cg\nrun = cg.run('bfs', ([0, 1], [1, 2]), source=0, trace=True)\n"
        "for draw in (run.plot_rounds, run.plot_time):\n"
        "  try:\n    draw()\n  except ImportError as error:\n    print(error)\n"
        "print(len(run.round_table()['round']) > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    sentence = "plots need matplotlib, which is not installed: pip install matplotlib"
    assert done.stdout.splitlines() == [sentence, sentence, "True"], done.stderr
