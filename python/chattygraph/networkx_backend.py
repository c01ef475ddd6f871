"""The networkx backend: ``nx.pagerank(G, backend="chattygraph")``.

networkx converts a graph once and keeps the result. Functions have networkx's signatures, and return its types. ``can_run``
says why a call is left to networkx; ``should_run`` leaves small graphs to it, which take longer to convert than to solve.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np

from . import UNREACHED, _core, _programs
from ._graph import Graph

__all__ = ["ConvertedGraph", "backend"]

#: Below so many edges networkx alone is about as fast.
FEW_EDGES = 1000


#: In place of an edge attribute that an edge lacks. None is a value, which hides the edge from some functions.
MISSING = object()


def _whole_weights(values: list[Any], times: int = 1) -> np.ndarray | None:
    """Weights as int32, if they are whole numbers from 0 with exact sums; else None. Each edge is there `times` times."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if array.ndim != 1:
        return None
    whole = np.isfinite(array) & (array == np.floor(array)) & (array >= 0)
    # The sum of all is a bound of each path, and below 2^31 exact in int32.
    exact = whole.all() and float(array.sum()) < times * 2**31 and float(array.max(initial=0)) < 2**31
    return array.astype(np.int32) if exact else None


class ConvertedGraph:
    """A networkx graph as the backend keeps it.

    Attributes:
        original: the networkx graph, from which it was made.
        graph: its structure, perhaps with weights.
        nodes: its nodes in their order.
        weight: the edge attribute that it has, or None.
        exact: whether the sums of weights are those of networkx: all weights are whole numbers from 0.
        whole: whether all weights are of type int.
        weighted: whether any edge has the attribute.
    """

    __networkx_backend__ = "chattygraph"

    def __init__(self, graph: nx.Graph, weight: str | None, default: Any) -> None:
        self.original = graph
        self.nodes = list(graph)
        self.index = {node: v for v, node in enumerate(self.nodes)}
        self.weight, self.exact, self.whole, self.weighted = weight, True, True, False
        # An undirected edge is in the rows of both its ends, and a loop once in its row.
        rows = [row for _, row in graph.adjacency()]
        targets = np.fromiter(map(self.index.__getitem__, itertools.chain.from_iterable(rows)), dtype=np.uint32)
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        data: Iterable[Any] = itertools.chain.from_iterable(row.values() for row in rows)
        if graph.is_multigraph():  # a row has dictionaries of parallel edges
            of_rows = [list(row.values()) for row in rows]
            # Where edges are filtered, the length of networkx' view of a row counts neighbours without any.
            lengths = np.fromiter(map(len, of_rows), dtype=np.int64, count=len(rows))
            keys = list(itertools.chain.from_iterable(of_rows))
            counts = np.fromiter(map(len, keys), dtype=np.int64, count=len(keys))
            before = np.concatenate([[0], np.cumsum(counts)])
            targets = np.repeat(targets, counts)
            ends = np.cumsum(lengths)
            lengths = before[ends] - before[ends - lengths]
            data = itertools.chain.from_iterable(edges.values() for edges in keys)
        weights = None
        if weight is not None:
            found = [edge.get(weight, MISSING) for edge in data]
            self.weighted = any(value is not MISSING for value in found)
            times = 1 if graph.is_directed() else 2
            weights = _whole_weights([default if value is MISSING else value for value in found], times)
            self.exact = weights is not None
            self.whole = all(value is MISSING or type(value) is int or isinstance(value, np.integer) for value in found)
        self.loops = int(np.count_nonzero(targets == np.repeat(np.arange(len(rows), dtype=np.uint32), lengths)))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        symmetric = None if graph.is_directed() else True
        self.graph = Graph._of(_core.Graph.from_csr(offsets, targets, weights, symmetric=symmetric))

    def is_directed(self) -> bool:
        """As networkx."""
        return self.original.is_directed()

    def is_multigraph(self) -> bool:
        """As networkx."""
        return self.original.is_multigraph()

    def vertex(self, node: Hashable, text: str = "Node {} not in G") -> int:
        """The vertex of a node. Raises networkx' NodeNotFound."""
        try:
            return self.index[node]
        except (KeyError, TypeError):
            raise nx.NodeNotFound(text.format(node)) from None

    def dictionary(self, values: np.ndarray) -> dict[Hashable, Any]:
        """Values by node."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def reverse(self) -> Graph:
        """The graph with all edges turned round, without weights."""
        if self.graph.symmetric:
            return self.graph
        if getattr(self, "_reversed", None) is None:
            sources = np.repeat(np.arange(self.graph.vertices, dtype=np.uint32), self.graph.degrees)
            self._reversed = Graph.from_edges(self.graph.indices, sources, vertices=self.graph.vertices)
        return self._reversed


def _call(program: str, graph: Graph, **arguments: Any) -> np.ndarray:
    return _programs.programs()[program](graph, **arguments)


def _refuse_directed(graph: ConvertedGraph) -> None:
    if graph.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")


def _refuse_undirected(graph: ConvertedGraph) -> None:
    if not graph.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for undirected type")


# ---------------------------------------------------------------- searches ----
def _levels(graph: ConvertedGraph, source: int, cutoff: float | None = None, *, reverse: bool = False) -> np.ndarray:
    levels = _call("bfs", graph.reverse() if reverse else graph.graph, source=source)
    if cutoff is not None:
        levels = np.where(levels <= cutoff, levels, UNREACHED)
    return levels


def _by_distance(graph: ConvertedGraph, distances: np.ndarray, none: int = UNREACHED) -> dict[Hashable, Any]:
    """The reached nodes with their distance, the nearest first, as networkx has them."""
    reached = np.flatnonzero(distances != none)
    order = reached[np.argsort(distances[reached], kind="stable")]
    return {graph.nodes[v]: d for v, d in zip(order.tolist(), distances[order].tolist(), strict=True)}


def single_source_shortest_path_length(G: ConvertedGraph, source: Hashable, cutoff: float | None = None) -> dict:
    """networkx.single_source_shortest_path_length."""
    v = G.vertex(source, "Source {} is not in G")
    return _by_distance(G, _levels(G, v, cutoff))


def single_target_shortest_path_length(G: ConvertedGraph, target: Hashable, cutoff: float | None = None) -> dict:
    """networkx.single_target_shortest_path_length."""
    v = G.vertex(target, "Target {} is not in G")
    return _by_distance(G, _levels(G, v, cutoff, reverse=True))


def all_pairs_shortest_path_length(G: ConvertedGraph, cutoff: float | None = None) -> Iterator[tuple[Hashable, dict]]:
    """networkx.all_pairs_shortest_path_length."""
    for v, node in enumerate(G.nodes):
        yield node, _by_distance(G, _levels(G, v, cutoff))


def single_source_dijkstra_path_length(
    G: ConvertedGraph, source: Hashable, cutoff: float | None = None, weight: str = "weight"
) -> dict:
    """networkx.single_source_dijkstra_path_length."""
    v = G.vertex(source, "Node {} not found in graph")
    if not G.exact:
        raise NotImplementedError("weights are not all whole numbers from 0, so sums would be rounded")
    distances = _call("sssp", G.graph, source=v).astype(np.int64)
    if cutoff is not None:
        distances[distances > cutoff] = UNREACHED
    found = _by_distance(G, distances)
    if G.whole:
        return found
    return {node: float(distance) if node != source else distance for node, distance in found.items()}


def bfs_layers(G: ConvertedGraph, sources: Any) -> Iterator[list]:
    """networkx.bfs_layers."""
    if isinstance(sources, Hashable) and sources in G.index:
        sources = [sources]
    sources = list(sources)
    for node in sources:
        if node not in G.index:
            raise nx.NetworkXError(f"The node {node} is not in the graph.")
    levels = np.full(len(G.nodes), UNREACHED, dtype=np.uint32)
    for node in sources:
        levels = np.minimum(levels, _levels(G, G.index[node]))
    for level in itertools.count():
        layer = np.flatnonzero(levels == level)
        if not len(layer):
            return
        yield [G.nodes[v] for v in layer]


def descendants_at_distance(G: ConvertedGraph, source: Hashable, distance: int) -> set:
    """networkx.descendants_at_distance."""
    if source not in G.index:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return {G.nodes[v] for v in np.flatnonzero(_levels(G, G.index[source]) == distance)}


def _reached(G: ConvertedGraph, source: Hashable, reverse: bool) -> set:
    if source not in G.index:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    levels = _levels(G, G.index[source], reverse=reverse)
    return {G.nodes[v] for v in np.flatnonzero((levels != UNREACHED) & (levels != 0))}


def descendants(G: ConvertedGraph, source: Hashable) -> set:
    """networkx.descendants."""
    return _reached(G, source, False)


def ancestors(G: ConvertedGraph, source: Hashable) -> set:
    """networkx.ancestors."""
    return _reached(G, source, True)


def has_path(G: ConvertedGraph, source: Hashable, target: Hashable) -> bool:
    """networkx.has_path."""
    start, end = G.vertex(source, "Source {} is not in G"), G.vertex(target, "Target {} is not in G")
    return bool(_levels(G, start)[end] != UNREACHED)


# -------------------------------------------------------------- components ----
def _sets(graph: ConvertedGraph, labels: np.ndarray) -> Iterator[set]:
    """The sets of nodes with one label, by the place of their first node."""
    if not len(labels):
        return
    order = np.argsort(labels, kind="stable")
    begins = np.flatnonzero(np.diff(labels[order], prepend=labels[order[0]] + 1))
    groups = np.split(order, begins[1:])
    for group in sorted(groups, key=lambda group: group[0]):
        yield {graph.nodes[v] for v in group}


def _count(labels: np.ndarray) -> int:
    return len(np.unique(labels))


def connected_components(G: ConvertedGraph) -> Iterator[set]:
    """networkx.connected_components."""
    _refuse_directed(G)
    return _sets(G, _call("cc", G.graph))


def number_connected_components(G: ConvertedGraph) -> int:
    """networkx.number_connected_components."""
    _refuse_directed(G)
    return _count(_call("cc", G.graph))


def is_connected(G: ConvertedGraph) -> bool:
    """networkx.is_connected."""
    _refuse_directed(G)
    if not G.nodes:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return number_connected_components(G) == 1


def node_connected_component(G: ConvertedGraph, n: Hashable) -> set:
    """networkx.node_connected_component."""
    _refuse_directed(G)
    labels = _call("cc", G.graph)
    return {G.nodes[v] for v in np.flatnonzero(labels == labels[G.index[n]])}


def weakly_connected_components(G: ConvertedGraph) -> Iterator[set]:
    """networkx.weakly_connected_components."""
    _refuse_undirected(G)
    return _sets(G, _call("cc", G.graph))


def number_weakly_connected_components(G: ConvertedGraph) -> int:
    """networkx.number_weakly_connected_components."""
    _refuse_undirected(G)
    return _count(_call("cc", G.graph))


def is_weakly_connected(G: ConvertedGraph) -> bool:
    """networkx.is_weakly_connected."""
    _refuse_undirected(G)
    if not G.nodes:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return number_weakly_connected_components(G) == 1


def number_strongly_connected_components(G: ConvertedGraph) -> int:
    """networkx.number_strongly_connected_components."""
    _refuse_undirected(G)
    return _count(_call("scc", G.graph))


def is_strongly_connected(G: ConvertedGraph) -> bool:
    """networkx.is_strongly_connected."""
    _refuse_undirected(G)
    if not G.nodes:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return number_strongly_connected_components(G) == 1


# -------------------------------------------------------------- centrality ----
def pagerank(
    G: ConvertedGraph,
    alpha: float = 0.85,
    personalization: dict | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: dict | None = None,
    weight: str | None = "weight",
    dangling: dict | None = None,
) -> dict:
    """networkx.pagerank."""
    if G.weighted:
        raise NotImplementedError("edges have weights, which pagerank here ignores")
    if not G.nodes:
        return {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    n = len(G.nodes)
    program = _programs.programs()["pagerank_double"]
    # networkx ends when the sum of changes is below n * tol; ranks add up to 1 in both.
    run = program.run(G.graph, damping=alpha, rounds=max_iter, tolerance=max(n * tol, 1e-300))
    if not run.statistics.converged and run.statistics.rounds >= max_iter:
        raise nx.PowerIterationFailedConvergence(max_iter)
    return G.dictionary(run.values / run.values.sum())


def betweenness_centrality(
    G: ConvertedGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict:
    """networkx.betweenness_centrality."""
    n = len(G.nodes)
    if n == 0:
        return {}
    values = _call("bc", G.graph, sources=0)
    if normalized:
        scale = 1 / ((n - 1) * (n - 2)) if n > 2 else 1.0
    else:
        scale = 1.0 if G.is_directed() else 0.5
    return G.dictionary(values * scale)


# --------------------------------------------------------------- triangles ----
def _of_nodes(G: ConvertedGraph, values: np.ndarray, nodes: Any) -> Any:
    """Values of all nodes, of a node, or of some, as networkx returns them."""
    if nodes is None:
        return G.dictionary(values)
    if isinstance(nodes, Hashable) and nodes in G.index:
        return values[G.index[nodes]].item()
    if not isinstance(nodes, Iterable):
        raise nx.NetworkXError(f"Node {nodes} is not in the graph.")
    return {node: values[G.index[node]].item() for node in nodes if node in G.index}


def triangles(G: ConvertedGraph, nodes: Any = None) -> Any:
    """networkx.triangles."""
    _refuse_directed(G)
    return _of_nodes(G, _call("triangles", G.graph).astype(np.int64), nodes)


def _coefficients(G: ConvertedGraph) -> np.ndarray:
    """Local clustering coefficients: triangles, and degrees without loops."""
    counts = _call("triangles", G.graph).astype(np.float64)
    degrees = _degrees_without_loops(G)
    pairs = degrees * (degrees - 1)
    return np.divide(2 * counts, pairs, out=np.zeros(len(counts)), where=counts > 0)


def _degrees_without_loops(G: ConvertedGraph) -> np.ndarray:
    lengths = G.graph.degrees
    sources = np.repeat(np.arange(G.graph.vertices), lengths)
    loops = np.bincount(sources[sources == G.graph.indices], minlength=G.graph.vertices)
    return (lengths - loops).astype(np.float64)


def clustering(G: ConvertedGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """networkx.clustering."""
    values = _coefficients(G)
    found = _of_nodes(G, values, nodes)
    if isinstance(found, dict):
        return {node: value if value else 0 for node, value in found.items()}
    return found if found else 0


def average_clustering(G: ConvertedGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True) -> float:
    """networkx.average_clustering."""
    found = clustering(G, nodes)
    values = list(found.values()) if isinstance(found, dict) else [found]
    if not count_zeros:
        values = [value for value in values if abs(value) > 0]
    return sum(values) / len(values)


def transitivity(G: ConvertedGraph) -> float:
    """networkx.transitivity."""
    _refuse_directed(G)
    counts = 2 * int(_call("triangles", G.graph).sum())
    degrees = _degrees_without_loops(G)
    return 0 if counts == 0 else counts / float((degrees * (degrees - 1)).sum())


def core_number(G: ConvertedGraph) -> dict:
    """networkx.core_number."""
    return G.dictionary(_call("kcore", G.graph))


# ----------------------------------------------------------------- dispatch ----
def _kept(graph: Any, weight: Any) -> ConvertedGraph | None:
    """The converted graph with this edge attribute, if networkx has it in its cache."""
    if isinstance(graph, ConvertedGraph):
        return graph
    cache = getattr(graph, "__networkx_cache__", None) or {}
    for kept in cache.get("backends", {}).get("chattygraph", {}).values():
        if isinstance(kept, ConvertedGraph) and kept.weight == weight:
            return kept
    return None


def _weighted(graph: Any, weight: Any) -> bool:
    """Whether an edge has the attribute."""
    if weight is None:
        return False
    kept = _kept(graph, weight)
    if kept is not None:
        return kept.weighted
    return any(value is not MISSING for *_, value in graph.edges(data=weight, default=MISSING))


def _exact(graph: Any, weight: Any) -> bool:
    """Whether the sums of weights are those of networkx."""
    kept = _kept(graph, weight)
    if kept is not None:
        return kept.exact
    return _whole_weights([value for *_, value in graph.edges(data=weight, default=1)]) is not None


#: Methods by which networkx' functions read edges: a class that has others may have other edges than edges() says.
READS = ("adjacency", "neighbors", "edges", "adj", "__getitem__", "degree")
PLAIN = {name: {getattr(kind, name) for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)} for name in READS}


def _has_plain_edges(graph: Any) -> bool:
    """Whether a graph reads its edges as networkx' own classes do."""
    return isinstance(graph, ConvertedGraph) or all(getattr(type(graph), name, None) in PLAIN[name] for name in READS)


def _reason(name: str, arguments: dict[str, Any]) -> str | None:
    """Why a call is not for this backend; None if it is."""
    graph = arguments["G"]
    if not _has_plain_edges(graph):
        return "the graph's class has edges of its own"
    weight = arguments.get("weight")
    if callable(weight):
        return "weight is a function"
    if name == "single_source_dijkstra_path_length":
        if not _exact(graph, arguments.get("weight", "weight")):
            return "weights are not all whole numbers from 0, so sums would be rounded"
    elif name == "pagerank":
        for other in ("personalization", "nstart", "dangling"):
            if arguments.get(other) is not None:
                return f"{other} is given"
        if not 0 <= arguments.get("alpha", 0.85) < 1:
            return "alpha is at least 0 and below 1"
        if _weighted(graph, arguments.get("weight", "weight")):
            return "edges have weights"
    elif name == "betweenness_centrality":
        if graph.is_multigraph():
            return "parallel edges are different paths"
        for other in ("k", "weight"):
            if arguments.get(other) is not None:
                return f"{other} is given"
        if arguments.get("endpoints"):
            return "endpoints count"
    elif name in ("clustering", "average_clustering", "transitivity"):
        if weight is not None:
            return "weight is given"
        if graph.is_directed():
            return "directed coefficients are others"
        if graph.is_multigraph():
            return "a multigraph"
    elif name == "core_number":
        if graph.is_multigraph():
            return "a multigraph"
        if (graph.loops if isinstance(graph, ConvertedGraph) else nx.number_of_selfloops(graph)) > 0:
            return "the graph has loops"
    return None


def _bound(name: str, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by their names."""
    signature = inspect.signature(getattr(backend, name))
    return signature.bind_partial(*args, **kwargs).arguments


#: Functions whose work is more than a look at each edge, so that they pay for the conversion of the graph.
WORTH_CONVERSION = {
    "all_pairs_shortest_path_length", "average_clustering", "betweenness_centrality", "clustering", "core_number",
    "pagerank", "single_source_dijkstra_path_length", "transitivity", "triangles",
}  # fmt: skip
#: Functions of which networkx answers most calls after a part of the graph, so that all of it takes longer.
ENDS_EARLY = {"descendants_at_distance", "has_path"}


class _Backend:
    """What the entry point networkx.backends names: networkx' functions as attributes."""

    @staticmethod
    def convert_from_nx(
        graph: Any, *, edge_attrs: dict[str, Any] | None = None, weight: str | None = None, **options: Any
    ) -> ConvertedGraph:
        """A networkx graph as this backend keeps it."""
        if isinstance(graph, ConvertedGraph):
            return graph
        if not _has_plain_edges(graph):
            raise NotImplementedError("the graph's class has edges of its own")
        name, default = None, 1
        if edge_attrs:
            if len(edge_attrs) > 1:
                raise NotImplementedError("a graph here has one edge attribute at most")
            name, default = next(iter(edge_attrs.items()))
        return ConvertedGraph(graph, name, default)

    @staticmethod
    def convert_to_nx(result: Any, *, name: str | None = None) -> Any:
        """A converted graph as the networkx graph that it was; other results as they are."""
        return result.original if isinstance(result, ConvertedGraph) else result

    @staticmethod
    def can_run(name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
        """True, or the reason against."""
        try:
            reason = _reason(name, _bound(name, args, kwargs))
        except TypeError as error:
            return str(error)
        return True if reason is None else reason

    @staticmethod
    def should_run(name: str, args: tuple, kwargs: dict[str, Any]) -> bool | str:
        """True, or the reason against: networkx alone takes less time."""
        graph = args[0] if args else kwargs.get("G")
        if graph is None or isinstance(graph, ConvertedGraph):
            return True
        if name in ENDS_EARLY:
            return "networkx ends its search early, at the nodes that it is asked for"
        cache = getattr(graph, "__networkx_cache__", None) or {}
        if cache.get("backends", {}).get("chattygraph"):
            return True
        if graph.number_of_edges() < FEW_EDGES:
            return f"with fewer than {FEW_EDGES} edges networkx is as fast"
        if name not in WORTH_CONVERSION:
            return "networkx answers in less time than it takes to convert the graph"
        return True


backend = _Backend()


def _add(functions: Iterable[Callable[..., Any]]) -> None:
    for function in functions:
        setattr(backend, function.__name__, function)


def _public() -> Iterator[Callable[..., Any]]:
    from _chattygraph_networkx import FUNCTIONS

    for name in FUNCTIONS:
        yield globals()[name]


_add(_public())
