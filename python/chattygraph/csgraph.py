"""Functions of scipy.sparse.csgraph, with its arguments and the types of its results.

Matrices are what ``scipy.sparse.csgraph`` takes: n by n, sparse, or dense with zeros where there is no edge. Matrices of
whole numbers have exact distances, below 2**32; real weights and their sums are rounded to float32, about seven digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import UNREACHED
from ._errors import InputError, UsageError
from ._graph import Graph, checked
from ._programs import programs

__all__ = ["breadth_first_order", "connected_components", "dijkstra", "shortest_path"]

#: scipy's mark of vertices without a predecessor.
NO_PREDECESSOR = -9999


def _matrix(csgraph: Any, *, dense_null: Any = 0) -> Any:
    if hasattr(csgraph, "tocsr"):
        return checked(csgraph)
    from scipy.sparse.csgraph import csgraph_from_dense

    try:
        array = np.asarray(csgraph)
    except (TypeError, ValueError) as error:  # rows of different lengths, objects that refuse to be numbers
        raise InputError(f"a graph is a square matrix: {error}") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InputError(f"a graph is a square matrix, and this has the shape {array.shape}")
    if array.dtype.kind not in "biuf":
        raise InputError(f"a graph is a matrix of numbers, and this has the dtype {array.dtype}")
    return csgraph_from_dense(array.astype(np.float64), null_value=dense_null)


def _graph(csgraph: Any, directed: bool, weighted: bool) -> Graph:
    """A Graph of a matrix; of a Graph itself. Whole numbers become int32, so that sums are exact."""
    if isinstance(csgraph, Graph):
        if not directed and not csgraph.symmetric:
            raise UsageError("this Graph is directed; make it with directed=False")
        return csgraph
    matrix = _matrix(csgraph)
    if weighted and matrix.dtype.kind == "f":
        csr = matrix.tocsr()
        data = csr.data
        with np.errstate(invalid="ignore"):
            whole = bool(np.all((data == np.floor(data)) & (np.abs(data) < 2**31)))
        if whole:
            matrix = csr.astype(np.int32)
    return Graph.from_scipy(matrix, weighted=weighted, directed=None if directed else False)


def connected_components(
    csgraph: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> int | tuple[int, np.ndarray]:
    """Number of connected components, and the label of each vertex, as scipy.sparse.csgraph.connected_components.

    Labels are 0 to the number - 1, by the first vertex of each; scipy numbers strong components in another order.
    """
    if not isinstance(connection, str) or connection.lower() not in ("weak", "strong"):
        raise UsageError(f"connection '{connection}': it is weak or strong")
    strong = directed and connection.lower() == "strong"
    graph = _graph(csgraph, True, False)
    found = programs()["scc" if strong else "cc"](graph, output="numpy")
    first, labels = np.unique(found, return_index=True)[1], np.unique(found, return_inverse=True)[1]
    if not return_labels:
        return len(first)
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return len(first), rank[labels.reshape(-1)] if len(first) else np.empty(0, dtype=np.int32)


def _source(graph: Graph, index: Any) -> int:
    """A vertex of the caller's, which may count from the end."""
    n = graph.vertices
    try:
        v = int(index.__index__())
    except (AttributeError, TypeError):
        raise UsageError(f"vertex {index!r}: it is a whole number") from None
    if not -n <= v < n:
        raise UsageError(f"vertex {index}: the graph has {n}")
    return v % n


def breadth_first_order(
    csgraph: Any, i_start: int, directed: bool = True, return_predecessors: bool = True
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """The vertices that a breadth-first search from i_start reaches, and their predecessors, as scipy has them.

    Vertices are by level, and by number in a level; a predecessor is the one with the least number.
    """
    graph = _graph(csgraph, directed, False)
    start = _source(graph, i_start)
    levels = programs()["bfs"](graph, source=start, output="numpy")
    reached = np.flatnonzero(levels != UNREACHED)
    order = reached[np.argsort(levels[reached], kind="stable")].astype(np.int32)
    if not return_predecessors:
        return order
    return order, _predecessors(programs()["bfs"](graph, source=start, output="numpy", value="parent"), start)


def _predecessors(parents: np.ndarray, source: int) -> np.ndarray:
    predecessors = parents.astype(np.int64)
    predecessors[parents == UNREACHED] = NO_PREDECESSOR
    predecessors[source] = NO_PREDECESSOR
    return predecessors.astype(np.int32)


def _tight_predecessors(graph: Graph, distances: np.ndarray, source: int) -> np.ndarray:
    """For each reached vertex, an in-neighbour u with distance[u] + weight == distance, nearest first.

    An edge of weight 0 is tight both ways, so predecessors follow a search along tight edges from the source.
    """
    n = graph.vertices
    lengths = graph.degrees
    sources = np.repeat(np.arange(n, dtype=np.uint32), lengths)
    weights = graph.weights
    ones = np.ones(1, dtype=distances.dtype)
    with np.errstate(over="ignore"):
        sums = distances[sources] + (weights.astype(distances.dtype) if weights is not None else ones)
    tight = (sums == distances[graph.indices]) & (distances[sources] != _unreached(distances))
    if not tight.any():
        return np.full(n, NO_PREDECESSOR, dtype=np.int32)
    along = Graph.from_edges(sources[tight], graph.indices[tight], vertices=n)
    return _predecessors(programs()["bfs"](along, source=source, value="parent"), source)


def _unreached(distances: np.ndarray) -> Any:
    return np.inf if distances.dtype.kind == "f" else np.iinfo(distances.dtype).max


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
) -> Any:
    """Distances from the given vertices (None: from each), as scipy.sparse.csgraph.dijkstra.

    With ``return_predecessors`` also a predecessor of each vertex, -9999 where there is none. ``min_only`` returns, for each
    vertex, the distance from the nearest of the given vertices, with predecessors and that vertex.
    """
    graph = _graph(csgraph, directed, not unweighted)
    n = graph.vertices
    try:
        limit = float(limit)
    except (TypeError, ValueError):
        raise UsageError(f"limit {limit!r}: it is a number") from None
    if not limit >= 0:
        raise UsageError(f"limit {limit}: it is at least 0")
    if np.ma.is_masked(indices):
        raise UsageError("indices have a mask; drop missing entries first")
    given = np.arange(n) if indices is None else np.atleast_1d(np.asarray(indices))
    if given.dtype.kind not in "iu" and given.size:
        raise UsageError("indices are whole numbers")
    starts = [_source(graph, v) for v in given.ravel()]
    distances = np.full((len(starts), n), np.inf)
    predecessors = np.full((len(starts), n), NO_PREDECESSOR, dtype=np.int32)
    unit = unweighted or not graph.weighted
    for row, start in enumerate(starts):
        found = programs()["bfs" if unit else "sssp"](graph, source=start, output="numpy")
        far = found == _unreached(found)
        distances[row] = np.where(far, np.inf, found.astype(np.float64))
        if return_predecessors:
            if unit:
                parents = programs()["bfs"](graph, source=start, output="numpy", value="parent")
                predecessors[row] = _predecessors(parents, start)
            else:
                predecessors[row] = _tight_predecessors(graph, found, start)
    beyond = distances > limit
    distances[beyond] = np.inf
    predecessors[beyond] = NO_PREDECESSOR
    if min_only:
        best = distances.argmin(axis=0) if starts else np.zeros(n, dtype=np.int64)
        nearest = distances[best, np.arange(n)] if starts else np.full(n, np.inf)
        if not return_predecessors:
            return nearest
        sources = np.where(np.isinf(nearest), NO_PREDECESSOR, np.array(starts or [0])[best]).astype(np.int32)
        return nearest, predecessors[best, np.arange(n)], sources
    shape = (n, n) if indices is None else np.shape(indices) + (n,)
    distances, predecessors = distances.reshape(shape), predecessors.reshape(shape)
    return (distances, predecessors) if return_predecessors else distances


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
) -> Any:
    """Distances from the given vertices (None: from each), as scipy.sparse.csgraph.shortest_path.

    The method is always this library's; weights are at least 0. ``overwrite`` has no effect.
    """
    if method not in ("auto", "FW", "D", "BF", "J"):
        raise UsageError(f"method '{method}': it is auto, FW, D, BF or J")
    return dijkstra(csgraph, directed, indices, return_predecessors, unweighted)
