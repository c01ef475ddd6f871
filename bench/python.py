#!/usr/bin/env python3
# Times package chattygraph beside networkx, scipy, igraph, networkit and python-graphblas, on a graph from arrays in memory.
#
#   bench/python.py [--edges N] [--kind kron|uniform|grid] [--trials N] [--threads N] [--systems NAME,...] [--json FILE]
#
# Prints a table: milliseconds to make each system's graph from the arrays, and of each program (the median of the trials) on
# the graph that was made. Every answer is compared with scipy's. Systems that are not installed are left out.
from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
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
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--systems", default="chattygraph,networkit,igraph,scipy,graphblas,networkx")
    parser.add_argument("--json")
    return parser.parse_args()


options = arguments()
os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))

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


class System:
    """A system: `make` takes the arrays; a method a program returns an array, or None."""

    name = ""

    def __init__(self, n: int, sources: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        raise NotImplementedError


class Chattygraph(System):
    """This package."""

    def __init__(self, n, sources, targets, weights):
        import chattygraph as cg

        self.cg, self.graph = cg, cg.Graph.from_edges(sources, targets, weights, vertices=n)

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

    def __init__(self, n, sources, targets, weights):
        self.matrix = sp.coo_array((weights, (sources, targets)), shape=(n, n)).tocsr()

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

    def __init__(self, n, sources, targets, weights):
        import networkx as nx

        self.nx, self.graph, self.n = nx, nx.Graph(), n
        self.graph.add_nodes_from(range(n))
        half = len(sources) // 2
        self.graph.add_weighted_edges_from(
            zip(sources[:half].tolist(), targets[:half].tolist(), weights[:half].tolist(), strict=True)
        )

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

    def __init__(self, n, sources, targets, weights):
        import igraph

        half = len(sources) // 2
        self.graph = igraph.Graph(n=n, edges=np.stack([sources[:half], targets[:half]], axis=1))
        self.weights = weights[:half].tolist()

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

    def __init__(self, n, sources, targets, weights):
        import networkit as nk

        nk.setNumberOfThreads(options.threads)
        half = len(sources) // 2
        coo = sp.coo_matrix((weights[:half].astype(np.float64), (sources[:half], targets[:half])), shape=(n, n))
        self.nk, self.graph = nk, nk.GraphFromCoo(coo, n=n, weighted=True, directed=False)

    def _far(self, distances):
        values = np.asarray(distances)
        return np.where(values > 1e300, np.inf, values)

    def bfs(self, source):
        return self._far(self.nk.distance.BFS(self.graph, source, storePaths=False).run().getDistances())

    def sssp(self, source):
        return self._far(self.nk.distance.Dijkstra(self.graph, source, storePaths=False).run().getDistances())

    def pagerank(self):
        algorithm = self.nk.centrality.PageRank(self.graph, damp=0.85, tol=1e-6, distributeSinks=True)
        algorithm.norm = self.nk.centrality.Norm.L1_NORM
        return None if algorithm.run().scores() is None else None  # by weights: another answer

    def components(self):
        return np.array(self.nk.components.ConnectedComponents(self.graph).run().getPartition().getVector())


class Graphblas(System):
    """python-graphblas, by its products of a matrix and a vector."""

    def __init__(self, n, sources, targets, weights):
        import graphblas as gb

        gb.ss.config["nthreads"] = options.threads
        self.gb, self.n = gb, n
        self.matrix = gb.Matrix.from_coo(sources, targets, weights, nrows=n, ncols=n)

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
    "networkit": Networkit,
    "igraph": Igraph,
    "scipy": Scipy,
    "graphblas": Graphblas,
    "networkx": Networkx,
}
PROGRAMS = ["bfs", "sssp", "pagerank", "components"]


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Milliseconds of a call, and what it returns."""
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1000, result


def right(program: str, found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two answers are the same: components up to names, ranks up to the tolerance."""
    if program == "components":
        pairs = np.unique(np.stack([found.astype(np.int64), expected.astype(np.int64)]), axis=1)
        return pairs.shape[1] == len(np.unique(expected)) == len(np.unique(found))
    if program == "pagerank":
        return bool(np.abs(found / found.sum() - expected / expected.sum()).sum() < 1e-4)
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


def main() -> int:
    """Prints the table."""
    n, *arrays = edges_of(options.kind, options.edges)
    source = int(np.bincount(arrays[0], minlength=n).argmax())
    reference = Scipy(n, *arrays)
    expected = {name: timed(lambda name=name: call(reference, name, source))[1] for name in PROGRAMS}
    print(f"{options.kind}: {n} vertices, {len(arrays[0])} directed edges; {options.threads} threads")
    print(f"milliseconds, medians of {options.trials}")
    print("| system | make | first bfs | " + " | ".join(PROGRAMS) + " |\n" + "|---" * (len(PROGRAMS) + 3) + "|")
    records, status = [], 0
    for name in options.systems.split(","):
        try:
            importlib.import_module({"graphblas": "graphblas"}.get(name, name))
        except ImportError:
            print(f"| {name} | not installed |")
            continue
        made, system = timed(lambda name=name: SYSTEMS[name](n, *arrays))
        first, _ = timed(lambda system=system: call(system, "bfs", source))
        record: dict[str, Any] = {"system": name, "make": made, "first": first}
        cells = [f"{made:.1f}", f"{first:.1f}"]
        for program in PROGRAMS:
            times = []
            for _ in range(options.trials):
                took, answer = timed(lambda system=system, program=program: call(system, program, source))
                times.append(took)
                if took > 10_000:
                    break
            if answer is None:
                cells.append("-")
                continue
            ok = right(program, answer, expected[program])
            status |= not ok
            record[program] = statistics.median(times)
            cells.append(f"{record[program]:.2f}" + ("" if ok else " WRONG"))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        records.append(record)
    if "chattygraph" in options.systems.split(","):
        import chattygraph as cg

        for devices in ("host:1", "cuda:0") if cg.cuda_devices() else ("host:1",):
            again = overhead("bfs", devices, [{"source": s} for s in range(4)])
            changed = overhead("pagerank", devices, [{"rounds": 1}, {"rounds": 2}])
            others = [{"rounds": 1, "damping": 0.5}, {"rounds": 2, "damping": 0.6, "tolerance": 0.001}]
            several = overhead("pagerank", devices, others)
            print(f"a call on a graph that is there, on {devices}: {again:.0f} us beyond the run; "
                  f"with another parameter {changed:.0f} us, with three others {several:.0f} us")  # fmt: skip
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"kind": options.kind, "vertices": n, "edges": len(arrays[0]), "threads": options.threads,
                       "systems": records}, file, indent=1)  # fmt: skip
    return status


def call(system: System, program: str, source: int) -> Any:
    """A program on a system."""
    method = getattr(system, program)
    return method(source) if program in ("bfs", "sssp") else method()


if __name__ == "__main__":
    sys.exit(main())
