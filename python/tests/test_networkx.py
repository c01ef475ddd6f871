"""The networkx backend: each function beside networkx's own, what it refuses, and networkx's own tests."""

from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import pytest

import chattygraph
from _chattygraph_networkx import FUNCTIONS, get_info
from chattygraph.networkx_backend import ConvertedGraph, backend

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
    return {
        "karate": karate, "looped": looped, "directed": directed, "multi": multi, "multidirected": multidirected,
        "weighted": weighted, "one": nx.empty_graph(1), "two": nx.path_graph(2),
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
        )
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
    assert "networkx is as fast" in backend.should_run("pagerank", (GRAPHS["karate"],), {})
    assert backend.should_run("pagerank", (nx.gnp_random_graph(200, 0.1, seed=1),), {}) is True
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, backend="chattygraph")


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


def test_networkx_own_tests(tmp_path) -> None:
    """Tests of networkx that call a function of the backend, with each of these calls dispatched to it."""
    modules = [
        "shortest_paths", "components", "centrality.tests.test_betweenness_centrality", "link_analysis",
        "approximation.tests.test_kcomponents", "tests.test_cluster", "tests.test_core", "traversal", "tests.test_dag",
    ]  # fmt: skip
    here = os.path.dirname(os.path.dirname(os.path.abspath(chattygraph.__file__)))
    environment = {
        **os.environ,
        "PYTHONPATH": here,
        "NETWORKX_TEST_BACKEND": "chattygraph",
        "NETWORKX_FALLBACK_TO_NX": "True",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"]
    done = subprocess.run(
        [*command, *(f"networkx.algorithms.{module}" for module in modules)],
        capture_output=True, text=True, timeout=800, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
