#!/usr/bin/env python3
# Times package chattygraph beside networkx, scipy, igraph, networkit and python-graphblas, on a graph from arrays in memory.
#
#   bench/python.py [--edges N] [--kind kron|uniform|grid] [--start edges|csr] [--turns N] [--threads N] [--systems NAME,...]
#                   [--json FILE] [--show FILE]
#
# Each system starts with arrays in memory, makes its graph of them and runs a program: a table has the time of both, and in
# brackets that of another run on the graph that is there. Systems take turns, so that other work on the machine meets all of
# them, and a ratio is that of times in the same turn. Every answer is compared with scipy's. Systems that are not installed
# are left out. --start csr: all start with a matrix of scipy in CSR. --json writes a record, and --show prints the table of
# one: docs/python.md has two. A graph that takes more than half a second is made once, and a run of more than two seconds is
# made in the first turn alone.
from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def arguments() -> argparse.Namespace:
    """The command line."""
    if "--help" in sys.argv or "-h" in sys.argv:
        for line in open(__file__).readlines()[1:]:
            if not line.startswith("#"):
                break
            print(line[1:].removeprefix(" ").rstrip())
        raise SystemExit(0)
    parser = argparse.ArgumentParser()
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--kind", choices=["kron", "uniform", "grid"], default="kron")
    parser.add_argument("--start", choices=["edges", "csr"], default="edges")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--systems", default="chattygraph,scipy,igraph,networkit,graphblas,networkx")
    parser.add_argument("--json")
    parser.add_argument("--show")
    return parser.parse_args()


options = arguments()
os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))

PROGRAMS = ["bfs", "sssp", "pagerank", "components"]
PACKAGES = {"graphblas": "python-graphblas"}  # where the module has another name
SLOW_MS, VERY_SLOW_MS = 500, 2000


def milliseconds(value: float) -> str:
    """A time as tables show it."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_to_ours(record: dict[str, Any], name: str, program: str, column: str) -> float | None:
    """Median over the turns of another system's time by this package's in the same turn; None if one of them has none."""
    ours, other = record["systems"].get("chattygraph", {}), record["systems"][name]
    if program not in ours or program not in other:
        return None
    pairs = zip(other[program][column], ours[program][column])  # noqa: B905 (a slow system has fewer turns)
    return statistics.median(theirs / own for theirs, own in pairs)


def tables(record: dict[str, Any], source: str) -> str:
    """The page's text of a record."""
    starts = {"edges": "arrays of edges", "csr": "a CSR matrix"}
    lines = [
        f"From {starts[record['start']]}, {record['kind']}: {record['vertices']} vertices and {record['edges']} edges. "
        f"{record['cores']} cores of {record['machine']}, {record['date'][:10]}"
        + (f", [{source}](../bench/results/{source})" if source else "")
        + f": `{record['command']}`.",
        "",
        "| ms from arrays (on a graph that is there) | " + " | ".join(PROGRAMS) + " |",
        "|---" * (len(PROGRAMS) + 1) + "|",
    ]
    for name, measured in record["systems"].items():
        cells = []
        for program in PROGRAMS:
            if program not in measured:
                cells.append("-")
                continue
            all_in, there = (statistics.median(measured[program][column]) for column in ("all_in", "there"))
            cells.append(
                f"{milliseconds(all_in)} ({milliseconds(there)})" + ("" if measured[program]["right"] else " WRONG")
            )
        lines.append(f"| {PACKAGES.get(name, name)} {record['versions'].get(name, '')} | " + " | ".join(cells) + " |")
    for column, text in (("all_in", "from arrays"), ("there", "on a graph that is there")):
        ratios = [
            (ratio, name, program)
            for name in record["systems"]
            if name != "chattygraph"
            for program in PROGRAMS
            if (ratio := ratio_to_ours(record, name, program, column)) is not None
        ]
        if ratios:
            least, name, program = min(ratios)
            lines += ["", f"The least ratio to chattygraph's time {text}: {least:.1f} ({name}, {program})."]
    return "\n".join(lines)


def show(path: str) -> None:
    """Prints the tables of a record."""
    with open(path) as file:
        print(tables(json.load(file), os.path.basename(path)))


if options.show:
    show(options.show)
    raise SystemExit(0)

import numpy as np  # noqa: E402  (after the number of threads)
import scipy.sparse as sp  # noqa: E402
import scipy.sparse.csgraph as csgraph  # noqa: E402


def edges_of(kind: str, count: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """About `count` directed edges of an undirected graph, both directions, without loops and parallel edges."""
    rng = np.random.default_rng(1)
    half = count // 2
    if kind == "grid":
        side = int((half / 2) ** 0.5)
        ids = np.arange(side * side).reshape(side, side)
        u = np.concatenate([ids[:, :-1].ravel(), ids[:-1, :].ravel()])
        v = np.concatenate([ids[:, 1:].ravel(), ids[1:, :].ravel()])
        n = side * side
    else:
        scale = max(1, int(np.ceil(np.log2(count / 16))))
        n = 1 << scale
        u, v = np.zeros(2 * half, np.int64), np.zeros(2 * half, np.int64)
        if kind == "uniform":
            u, v = rng.integers(0, n, 2 * half), rng.integers(0, n, 2 * half)
        else:  # Graph 500's Kronecker graph
            for _ in range(scale):
                below, right = rng.random(2 * half) > 0.76, rng.random(2 * half)
                u, v = 2 * u + below, 2 * v + np.where(below, right > 0.05 / 0.24 + 0.58, right > 0.57 / 0.76)
            order = rng.permutation(n)
            u, v = order[u], order[v]
        u, v = np.minimum(u, v), np.maximum(u, v)
        pairs = np.unique(u[u != v] * n + v[u != v])
        pairs = rng.permutation(pairs)[:half]
        u, v = pairs // n, pairs % n
    weights = rng.integers(1, 256, len(u)).astype(np.float32)
    sources, targets = np.concatenate([u, v]).astype(np.uint32), np.concatenate([v, u]).astype(np.uint32)
    return n, sources, targets, np.concatenate([weights, weights])


class Start:
    """What is in memory when the clock starts: edges of both directions, or a CSR matrix."""

    def __init__(self, n: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        self.n, self.sources, self.targets, self.weights = n, sources, targets, weights
        self.csr: sp.csr_array | None = None
        if options.start == "csr":
            self.csr = sp.coo_array((weights, (sources, targets)), shape=(n, n)).tocsr()

    def one_way(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each undirected edge once, for systems with undirected graphs."""
        if self.csr is not None:
            upper = sp.triu(self.csr, format="coo")
            return upper.row, upper.col, upper.data
        half = len(self.sources) // 2
        return self.sources[:half], self.targets[:half], self.weights[:half]


class System:
    """A system: the constructor makes its graph, with weights if the program needs them. Each program is a method."""

    def __init__(self, start: Start, weighted: bool) -> None:
        raise NotImplementedError


class Chattygraph(System):
    """This package."""

    def __init__(self, start, weighted):
        import chattygraph as cg

        self.cg = cg
        if start.csr is not None:
            self.graph = cg.Graph.from_scipy(start.csr, weighted=weighted)
        else:
            weights = start.weights if weighted else None
            self.graph = cg.Graph.from_edges(start.sources, start.targets, weights, vertices=start.n)

    def bfs(self, source):
        return self.cg.bfs(self.graph, source=source, devices="host")

    def sssp(self, source):
        return self.cg.sssp(self.graph, source=source, devices="host")

    def pagerank(self):
        return self.cg.pagerank(self.graph, tolerance=1e-6, devices="host")

    def components(self):
        return self.cg.connected_components(self.graph, devices="host")


class Scipy(System):
    """scipy.sparse.csgraph; PageRank by products of a matrix and a vector."""

    def __init__(self, start, weighted):
        self.matrix = start.csr
        if self.matrix is None:
            self.matrix = sp.coo_array((start.weights, (start.sources, start.targets)), shape=(start.n, start.n)).tocsr()

    def bfs(self, source):
        return csgraph.dijkstra(self.matrix, indices=source, unweighted=True)

    def sssp(self, source):
        return csgraph.dijkstra(self.matrix, indices=source)

    def pagerank(self):
        n = self.matrix.shape[0]
        degrees = np.diff(self.matrix.indptr)
        pattern = sp.csr_array((np.ones(self.matrix.nnz), self.matrix.indices, self.matrix.indptr), self.matrix.shape)
        shares, dangling = np.divide(1.0, degrees, out=np.zeros(n), where=degrees > 0), degrees == 0
        ranks = np.full(n, 1 / n)
        while True:
            new = 0.85 * (pattern @ (ranks * shares) + ranks[dangling].sum() / n) + 0.15 / n
            if np.abs(new - ranks).sum() < 1e-6:
                return new
            ranks = new

    def components(self):
        return csgraph.connected_components(self.matrix, directed=False)[1]


class Networkx(System):
    """networkx itself."""

    def __init__(self, start, weighted):
        import networkx as nx

        self.nx, self.graph, self.n = nx, nx.Graph(), start.n
        self.graph.add_nodes_from(range(start.n))
        edges = [column.tolist() for column in start.one_way()]
        if weighted:
            self.graph.add_weighted_edges_from(zip(*edges, strict=True))
        else:
            self.graph.add_edges_from(zip(*edges[:2], strict=True))

    def _array(self, found, none):
        values = np.full(self.n, none, dtype=np.float64)
        values[list(found)] = list(found.values())
        return values

    def bfs(self, source):
        return self._array(self.nx.single_source_shortest_path_length(self.graph, source, backend="networkx"), np.inf)

    def sssp(self, source):
        return self._array(self.nx.single_source_dijkstra_path_length(self.graph, source, backend="networkx"), np.inf)

    def pagerank(self):
        ranks = self.nx.pagerank(self.graph, weight=None, tol=1e-6 / self.n, max_iter=1000, backend="networkx")
        return self._array(ranks, 0)

    def components(self):
        labels = np.zeros(self.n, dtype=np.int64)
        for i, component in enumerate(self.nx.connected_components(self.graph, backend="networkx")):
            labels[list(component)] = i
        return labels


class Igraph(System):
    """igraph."""

    def __init__(self, start, weighted):
        import igraph

        sources, targets, weights = start.one_way()
        self.graph = igraph.Graph(n=start.n, edges=np.stack([sources, targets], axis=1))
        self.weights = weights.tolist() if weighted else None

    def bfs(self, source):
        return np.array(self.graph.distances(source)[0], dtype=np.float64)

    def sssp(self, source):
        return np.array(self.graph.distances(source, weights=self.weights)[0], dtype=np.float64)

    def pagerank(self):
        return np.array(self.graph.pagerank())

    def components(self):
        return np.array(self.graph.connected_components().membership)


class Networkit(System):
    """networkit."""

    def __init__(self, start, weighted):
        import networkit as nk

        nk.setNumberOfThreads(options.threads)
        sources, targets, weights = start.one_way()
        coo = sp.coo_matrix((weights.astype(np.float64), (sources, targets)), shape=(start.n, start.n))
        self.nk, self.graph = nk, nk.GraphFromCoo(coo, n=start.n, weighted=weighted, directed=False)

    def _far(self, distances):
        values = np.asarray(distances)
        return np.where(values > 1e300, np.inf, values)

    def bfs(self, source):
        return self._far(self.nk.distance.BFS(self.graph, source, storePaths=False).run().getDistances())

    def sssp(self, source):
        return self._far(self.nk.distance.Dijkstra(self.graph, source, storePaths=False).run().getDistances())

    def pagerank(self):
        sinks = self.nk.centrality.SinkHandling.DistributeSinks
        algorithm = self.nk.centrality.PageRank(self.graph, damp=0.85, tol=1e-6, distributeSinks=sinks)
        algorithm.norm = self.nk.centrality.Norm.L1_NORM
        return np.asarray(algorithm.run().scores())

    def components(self):
        return np.array(self.nk.components.ConnectedComponents(self.graph).run().getPartition().getVector())


class Graphblas(System):
    """python-graphblas, by its products of a matrix and a vector."""

    def __init__(self, start, weighted):
        import graphblas as gb

        gb.ss.config["nthreads"] = options.threads
        self.gb, self.n = gb, start.n
        if start.csr is not None:
            self.matrix = gb.io.from_scipy_sparse(start.csr)
        else:
            weights = start.weights if weighted else 1.0
            self.matrix = gb.Matrix.from_coo(start.sources, start.targets, weights, nrows=start.n, ncols=start.n)

    def bfs(self, source):
        gb = self.gb
        levels, front = gb.Vector(int, self.n), gb.Vector(bool, self.n)
        front[source] = True
        level = 0
        while front.nvals > 0:
            levels(mask=front.S) << level
            front(~levels.S, replace=True) << gb.semiring.any_pair(front @ self.matrix)
            level += 1
        values = np.full(self.n, np.inf)
        found, of = levels.to_coo()
        values[found] = of
        return values

    def sssp(self, source):
        gb = self.gb
        distances = gb.Vector(float, self.n)
        distances[source] = 0
        while True:
            before = distances.dup()
            distances(gb.binary.min) << gb.semiring.min_plus(distances @ self.matrix)
            if distances.isequal(before):
                break
        values = np.full(self.n, np.inf)
        found, of = distances.to_coo()
        values[found] = of
        return values

    def pagerank(self):
        gb, n = self.gb, self.n
        degrees = gb.Vector.from_coo(*self.matrix.reduce_rowwise(gb.agg.count).new().to_coo(), size=n, dtype=float)
        ranks = gb.Vector.from_scalar(1 / n, n)
        while True:
            shares = (ranks / degrees).new() if hasattr(ranks, "__truediv__") else gb.binary.truediv(ranks & degrees).new()
            rest = float(ranks.reduce(gb.monoid.plus).new().value) - float(
                gb.binary.times(shares & degrees).new().reduce(gb.monoid.plus).new().value
            )
            new = gb.Vector.from_scalar(0.15 / n + 0.85 * rest / n, n)
            new(gb.binary.plus) << gb.binary.times(gb.semiring.plus_first(shares @ self.matrix).new(), 0.85)
            change = gb.unary.abs(gb.binary.minus(new & ranks).new()).new().reduce(gb.monoid.plus).new().value
            ranks = new
            if change < 1e-6:
                return ranks.to_dense()

    def components(self):
        gb, n = self.gb, self.n
        labels = gb.Vector.from_coo(np.arange(n), np.arange(n), size=n)
        while True:
            before = labels.dup()
            labels(gb.binary.min) << gb.semiring.min_first(labels @ self.matrix)
            parents = labels.to_dense()
            labels = gb.Vector.from_dense(np.minimum(parents, parents[parents]))
            if labels.isequal(before):
                return labels.to_dense()


SYSTEMS = {
    "chattygraph": Chattygraph,
    "scipy": Scipy,
    "igraph": Igraph,
    "networkit": Networkit,
    "graphblas": Graphblas,
    "networkx": Networkx,
}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of a call, and what it returns."""
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1000, result


def right(program: str, found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two answers are the same: components up to names, ranks up to what the tolerance of 1e-6 leaves in both."""
    if program == "components":
        pairs = np.unique(np.stack([found.astype(np.int64), expected.astype(np.int64)]), axis=1)
        return pairs.shape[1] == len(np.unique(expected)) == len(np.unique(found))
    if program == "pagerank":
        return bool(np.abs(found / found.sum() - expected / expected.sum()).sum() < 2e-5)
    if found.dtype.kind == "u":
        found = np.where(found == np.iinfo(found.dtype).max, np.inf, found)
    return bool(np.array_equal(found.astype(np.float64), expected))


def overhead(program: str, devices: str, arguments: list[dict[str, float]]) -> float:
    """Microseconds of a call on a path of four vertices beyond the time that the run counts. Arguments take turns."""
    import chattygraph as cg

    graph = cg.Graph(sp.eye_array(4, k=1, format="csr"))
    beyond = []
    for i in range(2000):
        took, run = timed(lambda i=i: cg.run(program, graph, devices=devices, **arguments[i % len(arguments)]))
        beyond.append((took - run.statistics.time_ms) * 1000)
    return statistics.median(beyond)


def call(system: System, program: str, source: int) -> Any:
    """A program on a system."""
    method = getattr(system, program)
    return method(source) if program in ("bfs", "sssp") else method()


class Contender:
    """A system in the comparison: its times so far, and graphs that take long to make."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.made: dict[bool, tuple[float, System]] = {}
        self.times: dict[str, dict[str, Any]] = {}

    def take_turn(self, start: Start, program: str, source: int, expected: np.ndarray) -> None:
        """Makes the graph, unless it is there and took long, and runs the program on it twice."""
        so_far = self.times.setdefault(program, {"all_in": [], "there": [], "right": True})
        if so_far["there"] and so_far["there"][0] > VERY_SLOW_MS:
            return
        weighted = program == "sssp"
        made = self.made.get(weighted) or timed(lambda: SYSTEMS[self.name](start, weighted))
        if made[0] > SLOW_MS:
            self.made[weighted] = made
        first, answer = timed(lambda: call(made[1], program, source))
        again = timed(lambda: call(made[1], program, source))[0] if first < VERY_SLOW_MS else first
        so_far["all_in"].append(made[0] + first)
        so_far["there"].append(again)
        so_far["right"] = so_far["right"] and right(program, answer, expected)


def machine() -> str:
    """The processor's name."""
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found[1] if found else platform.machine()


def versions(names: list[str]) -> dict[str, str]:
    """The versions of these packages."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(PACKAGES.get(name, name))
        except importlib.metadata.PackageNotFoundError:
            found[name] = getattr(importlib.import_module(name), "__version__", "")
    return found


def call_overheads() -> dict[str, dict[str, float]]:
    """Microseconds of a call on a graph that is there, by devices and kind of call."""
    import chattygraph as cg

    several = [{"rounds": 1, "damping": 0.5}, {"rounds": 2, "damping": 0.6, "tolerance": 0.001}]
    return {
        devices: {
            "beyond the run": overhead("bfs", devices, [{"source": s} for s in range(4)]),
            "with another parameter": overhead("pagerank", devices, [{"rounds": 1}, {"rounds": 2}]),
            "with three others": overhead("pagerank", devices, several),
        }
        for devices in (("host:1", "cuda:0") if cg.cuda_devices() else ("host:1",))
    }


def main() -> int:
    """Prints the tables."""
    n, *arrays = edges_of(options.kind, options.edges)
    start = Start(n, *arrays)
    source = int(np.bincount(arrays[0], minlength=n).argmax())
    reference = Scipy(start, True)
    expected = {program: call(reference, program, source) for program in PROGRAMS}
    contenders = []
    for name in options.systems.split(","):
        try:
            importlib.import_module(name)
            contenders.append(Contender(name))
        except ImportError:
            print(f"{name} is not installed", file=sys.stderr)
    for turn in range(options.turns):
        for program in PROGRAMS:
            for contender in contenders:
                contender.take_turn(start, program, source, expected[program])
        print(f"turn {turn + 1} of {options.turns}", file=sys.stderr, flush=True)
        contenders.append(contenders.pop(0))  # another one is first in the next turn
    known = list(SYSTEMS)
    contenders.sort(key=lambda contender: known.index(contender.name))
    names = [contender.name for contender in contenders]
    commit = subprocess.run(
        ["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "HEAD"], capture_output=True, text=True
    )
    record = {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": machine(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": options.threads,
        "commit": commit.stdout.strip(),
        "command": " ".join(["bench/python.py", *(os.path.basename(a) if a == options.json else a for a in sys.argv[1:])]),
        "python": platform.python_version(),
        "versions": versions(names),
        "kind": options.kind,
        "start": options.start,
        "vertices": n,
        "edges": len(arrays[0]),
        "systems": {contender.name: contender.times for contender in contenders},
        "call_us": call_overheads() if "chattygraph" in names else {},
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    print(tables(record, os.path.basename(options.json or "")))
    for devices, times in record["call_us"].items():
        print(f"\nA call on a graph that is there, on {devices}: "
              + ", ".join(f"{value:.0f} us {what}" for what, value in times.items()))  # fmt: skip
    return int(not all(times["right"] for contender in contenders for times in contender.times.values()))


if __name__ == "__main__":
    sys.exit(main())
