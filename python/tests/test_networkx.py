"""The networkx backend: each function beside networkx's own, what it refuses, and networkx's own tests."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import chattygraph
from _chattygraph_networkx import FUNCTIONS, get_info
from chattygraph.networkx_backend import ENDS_EARLY, WORTH_CONVERSION, ConvertedGraph, backend

nx.config.warnings_to_ignore.add("cache")


def graphs() -> dict[str, nx.Graph]:
    """Graphs of all kinds, with nodes that are not numbers."""
    karate = nx.Graph(nx.karate_club_graph().edges())
    looped = nx.Graph([("a", "a"), ("a", "b"), ("c", "d"), ("b", "c"), ("b", "d")])
    looped.add_node("alone")
    directed = nx.gnp_random_graph(60, 0.04, seed=2, directed=True)
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 0), (3, 4)])
    multidirected = nx.MultiDiGraph([(0, 1), (0, 1), (1, 2), (2, 0), (3, 4)])
    weighted = nx.gnp_random_graph(50, 0.1, seed=3)
    for i, (_, _, data) in enumerate(weighted.edges(data=True)):
        data["weight"] = i % 7 + 1
    real = weighted.copy()
    real.edges[next(iter(real.edges))]["weight"] = 0.5
    return {
        "karate": karate, "looped": looped, "directed": directed, "multi": multi, "multidirected": multidirected,
        "weighted": weighted, "real": real, "one": nx.empty_graph(1), "two": nx.path_graph(2),
        "sparse": nx.gnp_random_graph(80, 0.01, seed=4),
    }  # fmt: skip


GRAPHS = graphs()


def outcome(function, *args, **kwargs):
    """What a function returns, with sets and generators as comparable values, or the type of what it raises."""
    try:
        result = function(*args, **kwargs)
        return list(result) if hasattr(result, "__next__") else result
    except Exception as error:
        return type(error), str(error)


ARGUMENTS = {
    "ancestors": ["first"], "bfs_layers": ["first"], "descendants": ["first"], "descendants_at_distance": ["first", 2],
    "has_path": ["first", "last"], "node_connected_component": ["first"], "single_source_dijkstra_path_length": ["first"],
    "single_source_shortest_path_length": ["first"], "single_target_shortest_path_length": ["first"],
}  # fmt: skip


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_answer_as_networkx(name: str, kind: str) -> None:
    graph = GRAPHS[kind].copy()
    nodes = list(graph)
    args = [{"first": nodes[0], "last": nodes[-1]}.get(argument, argument) for argument in ARGUMENTS.get(name, [])]
    function = getattr(nx, name)
    if backend.can_run(name, (graph, *args), {}) is not True:
        assert name in (
            "pagerank",
            "betweenness_centrality",
            "clustering",
            "average_clustering",
            "core_number",
            "transitivity",
        ) or (name, kind) == ("single_source_dijkstra_path_length", "real")
        return
    ours = outcome(function, graph, *args, backend="chattygraph")
    theirs = outcome(function, graph, *args, backend="networkx")
    if isinstance(theirs, dict) and any(isinstance(value, float) for value in theirs.values()):
        assert ours == pytest.approx(theirs, abs=1e-5)
        assert list(ours) == list(theirs)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs)
    elif name == "bfs_layers":
        assert [set(layer) for layer in ours] == [set(layer) for layer in theirs]
    elif isinstance(theirs, tuple):
        assert ours[0] is theirs[0]
    else:
        assert ours == theirs
        assert type(ours) is type(theirs)


def test_conversion_is_kept_by_networkx() -> None:
    graph = nx.gnp_random_graph(100, 0.1, seed=1)
    nx.pagerank(graph, backend="chattygraph")
    kept = list(graph.__networkx_cache__["backends"]["chattygraph"].values())
    nx.number_connected_components(graph, backend="chattygraph")
    assert list(graph.__networkx_cache__["backends"]["chattygraph"].values()) == kept
    graph.add_edge(0, 200)
    assert nx.has_path(graph, 0, 200, backend="chattygraph")


def test_a_call_that_is_refused_says_why() -> None:
    graph = GRAPHS["weighted"]
    assert backend.can_run("pagerank", (graph,), {}) == "edges have weights"
    assert backend.can_run("pagerank", (graph,), {"weight": None}) is True
    assert backend.can_run("pagerank", (graph,), {"weight": None, "personalization": {0: 1}}) == "personalization is given"
    assert "loops" in backend.can_run("core_number", (GRAPHS["looped"],), {})
    assert "directed" in backend.can_run("clustering", (GRAPHS["directed"],), {})
    assert "function" in backend.can_run("single_source_dijkstra_path_length", (graph, 0), {"weight": lambda u, v, d: 1})
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, backend="chattygraph")


def test_what_pays_is_what_runs_without_being_asked_for() -> None:
    small, large = GRAPHS["karate"], nx.gnp_random_graph(200, 0.1, seed=1)
    assert "networkx is as fast" in backend.should_run("pagerank", (small,), {})
    assert backend.should_run("pagerank", (large,), {}) is True
    assert "to convert the graph" in backend.should_run("is_connected", (), {"G": large})
    assert "ends its search early" in backend.should_run("has_path", (large, 0, 1), {})
    nx.is_connected(large, backend="chattygraph")
    assert backend.should_run("is_connected", (large,), {}) is True  # it is converted now
    assert "ends its search early" in backend.should_run("has_path", (large, 0, 1), {})
    assert backend.should_run("has_path", (ConvertedGraph(large, None, 1), 0, 1), {}) is True  # there is no other way
    assert set(WORTH_CONVERSION) | set(ENDS_EARLY) <= set(FUNCTIONS)


@pytest.mark.parametrize("weight", [None, 0.5, -1, 2**31, "heavy", float("nan"), [1, 2]])
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_weights_that_sums_here_would_not_have(kind: type[nx.Graph], weight: object) -> None:
    """None hides an edge from networkx' searches; other values have no exact sum in 32 bits."""
    graph = kind([(0, 1), (1, 2), (0, 2), (2, 2)])
    nx.set_edge_attributes(graph, 1, "weight")
    graph.add_edge(0, 1, weight=weight)
    assert not ConvertedGraph(graph, "weight", 1).exact and ConvertedGraph(graph, "weight", 1).weighted
    assert "whole numbers" in backend.can_run("single_source_dijkstra_path_length", (graph, 0), {})
    assert backend.can_run("single_source_dijkstra_path_length", (graph, 0), {"weight": None}) is True
    assert backend.can_run("single_source_dijkstra_path_length", (graph, 0), {"weight": "length"}) is True
    assert backend.can_run("pagerank", (graph,), {}) == "edges have weights"


def test_sums_of_weights_have_31_bits() -> None:
    """The bound is one of the sum of all edges, of which an undirected graph stores each twice."""
    for graph in (nx.path_graph(3), nx.path_graph(3, create_using=nx.DiGraph)):
        for weight, exact in ((2**30 - 1, True), (2**30, False)):
            nx.set_edge_attributes(graph, weight, "weight")
            assert ConvertedGraph(graph, "weight", 1).exact == exact
            assert (backend.can_run("single_source_dijkstra_path_length", (graph, 0), {}) is True) == exact
        nx.set_edge_attributes(graph, 2**30 - 1, "weight")
        assert nx.single_source_dijkstra_path_length(graph, 0, backend="chattygraph")[2] == 2**31 - 2
        graph.clear()


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("size", [(0, 0), (1, 0), (1, 2), (30, 60), (100, 1000)])
def test_conversion_has_all_edges(kind: type[nx.Graph], size: tuple[int, int]) -> None:
    n, edges = size
    graph = kind()
    graph.add_nodes_from(f"n{v}" for v in range(n))
    rng = np.random.default_rng(n)
    for u, v in rng.integers(0, max(n, 1), (edges, 2)).tolist():
        graph.add_edge(f"n{u}", f"n{v}", weight=int(rng.integers(1, 9)))
    half = graph.subgraph(list(graph)[: n // 2])
    third = graph.edge_subgraph(list(graph.edges)[::3])
    some = nx.subgraph_view(half, filter_edge=lambda u, v, *key: (int(u[1:]) + int(v[1:]) + sum(key)) % 3 != 0)
    for part in (graph, half, third, some):
        converted, index = ConvertedGraph(part, "weight", 1), {node: v for v, node in enumerate(part)}
        expected = [(index[u], index[v], w) for u, v, w in part.edges(data="weight")]
        if not part.is_directed():
            expected += [(v, u, w) for u, v, w in expected if u != v]
        found = converted.graph
        sources = np.repeat(np.arange(found.vertices), found.degrees)
        weights = found.weights if found.weighted else []
        assert sorted(zip(sources.tolist(), found.indices.tolist(), map(int, weights), strict=False)) == sorted(expected)
        assert found.edges == len(expected)
        assert part.is_directed() or found.symmetric
        assert converted.loops == nx.number_of_selfloops(part)


def test_real_weights_are_left_to_networkx() -> None:
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=0.1)
    assert not ConvertedGraph(graph, "weight", 1).exact
    with pytest.raises(NotImplementedError, match="single_source_dijkstra_path_length"):
        nx.single_source_dijkstra_path_length(graph, 0, backend="chattygraph")
    with nx.config.backend_priority(algos=["chattygraph"]):
        assert nx.single_source_dijkstra_path_length(graph, 0) == {0: 0, 1: 0.1}


def test_a_class_with_edges_of_its_own_is_left_to_networkx() -> None:
    from networkx.algorithms.approximation.kcomponents import _AntiGraph

    graph = _AntiGraph(nx.path_graph(5))
    assert "edges of its own" in backend.can_run("core_number", (graph,), {})
    assert backend.can_run("core_number", (nx.path_graph(5).subgraph([1, 2]),), {}) is True
    with pytest.raises(NotImplementedError):
        backend.convert_from_nx(graph)


def test_importing_networkx_loads_nothing() -> None:
    code = "import networkx, sys; print('chattygraph' in sys.modules, 'chattygraph' in networkx.config.backends)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False", "True"], done.stderr
    assert set(get_info()["functions"]) == set(FUNCTIONS)


#: Modules of networkx' tests that call functions of the backend and take seconds.
OWN_TESTS = [
    "centrality.tests.test_betweenness_centrality", "components", "link_analysis", "shortest_paths", "tests.test_cluster",
    "tests.test_core", "tests.test_dag", "tests.test_dominating", "traversal",
]  # fmt: skip

#: A plugin of pytest that writes the names of the backend's functions that have answered.
COUNTING = """
import functools
import networkx as nx

answered = set()

def counted(name, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        result = function(*args, **kwargs)
        answered.add(name)
        return result
    return call

def pytest_collection_finish(session):
    backend = nx.utils.backends.backends["chattygraph"].load()
    for name in nx.utils.backends.backend_info["chattygraph"]["functions"]:
        setattr(backend, name, counted(name, getattr(backend, name)))

def pytest_sessionfinish(session):
    with open("answered", "w") as file:
        file.write(" ".join(answered))
"""


def test_networkx_own_tests(tmp_path: pathlib.Path) -> None:
    """Tests of networkx that call a function of the backend, with each of these calls dispatched to it."""
    (tmp_path / "counting.py").write_text(COUNTING)
    here = os.path.dirname(os.path.dirname(os.path.abspath(chattygraph.__file__)))
    environment = {
        **os.environ,
        "PYTHONPATH": f"{here}{os.pathsep}{tmp_path}",
        "NETWORKX_TEST_BACKEND": "chattygraph",
        "NETWORKX_FALLBACK_TO_NX": "True",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "counting", "--pyargs"]
    done = subprocess.run(
        [*command, *(f"networkx.algorithms.{module}" for module in OWN_TESTS)],
        capture_output=True, text=True, timeout=800, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    answered = (tmp_path / "answered").read_text().split()
    assert set(answered) == set(FUNCTIONS)  # else networkx would have answered in the backend's place
