"""Answers of the prebuilt programs, compared with networkx and scipy."""

from __future__ import annotations

import inspect

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
from conftest import GRAPHS, random_matrix

import chattygraph as cg

DEVICES = ["host", "host:2", "host:3"]


def networkx_of(matrix: sp.csr_array) -> nx.Graph:
    """The same graph for networkx."""
    symmetric = (matrix != matrix.T).nnz == 0
    return nx.from_scipy_sparse_array(matrix, create_using=nx.Graph if symmetric else nx.DiGraph)


@pytest.mark.parametrize("devices", DEVICES)
def test_bfs(matrix: sp.csr_array, devices: str) -> None:
    if matrix.shape[0] == 0:
        pytest.skip("no source")
    levels = cg.bfs(matrix, source=0, devices=devices)
    expected = csgraph.shortest_path(matrix, indices=0, unweighted=True)
    assert levels.dtype == np.uint32
    assert np.array_equal(np.where(levels == cg.UNREACHED, np.inf, levels), expected)
    parents = cg.bfs(matrix, source=0, value="parent", devices=devices)
    for v in np.flatnonzero(levels != cg.UNREACHED):
        assert v == 0 or levels[parents[v]] + 1 == levels[v]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("devices", DEVICES)
def test_sssp(matrix: sp.csr_array, dtype: str, devices: str) -> None:
    if matrix.shape[0] == 0:
        pytest.skip("no source")
    matrix = matrix.astype(dtype)
    distances = cg.sssp(matrix, source=0, devices=devices).astype(np.float64)
    distances[distances >= 2**32 - 1] = np.inf
    assert np.array_equal(distances, csgraph.dijkstra(matrix, indices=0))


@pytest.mark.parametrize("devices", DEVICES)
def test_components(matrix: sp.csr_array, devices: str) -> None:
    labels = cg.connected_components(matrix, devices=devices)
    count, expected = csgraph.connected_components(matrix, directed=False)
    assert len(np.unique(labels)) == count
    pairs = np.unique(np.stack([labels, expected]), axis=1)
    assert pairs.shape[1] == count  # one label for each component


@pytest.mark.parametrize("devices", DEVICES)
def test_pagerank(matrix: sp.csr_array, devices: str) -> None:
    if matrix.shape[0] == 0:
        pytest.skip("networkx has none")
    ranks = cg.pagerank_double(matrix, tolerance=1e-12, devices=devices)
    expected = nx.pagerank(networkx_of(matrix), weight=None, tol=1e-13, max_iter=1000)
    ours = ranks / ranks.sum()
    assert np.allclose(ours, [expected[v] for v in range(len(ours))], rtol=1e-7)
    single = cg.pagerank(matrix, devices=devices)
    assert np.allclose(single / single.sum(), ours, rtol=1e-3)


@pytest.mark.parametrize("name", ["karate", "grid", "undirected", "directed"])
@pytest.mark.parametrize("devices", DEVICES)
def test_betweenness(name: str, devices: str) -> None:
    matrix = GRAPHS[name]()
    expected = nx.betweenness_centrality(networkx_of(matrix), normalized=False)
    symmetric = cg.Graph(matrix).symmetric
    ours = cg.betweenness(matrix, sources=0, devices=devices) / (2 if symmetric else 1)
    assert np.allclose(ours, [expected[v] for v in range(len(ours))])


@pytest.mark.parametrize("name", ["karate", "grid", "undirected"])
@pytest.mark.parametrize("devices", DEVICES)
def test_triangles_and_cores(name: str, devices: str) -> None:
    matrix = GRAPHS[name]()
    graph = networkx_of(matrix)
    n = matrix.shape[0]
    run = cg.run("triangles", matrix, devices=devices)
    expected = nx.triangles(graph)
    assert list(run.values) == [expected[v] for v in range(n)]
    assert run.total == sum(expected.values()) // 3
    clustering = nx.clustering(graph)
    assert np.allclose(cg.lcc(matrix, devices=devices), [clustering[v] for v in range(n)])
    cores = nx.core_number(graph)
    assert list(cg.kcore(matrix, devices=devices)) == [cores[v] for v in range(n)]


@pytest.mark.parametrize("program", [name for name in cg.programs()])
@pytest.mark.parametrize("name", ["undirected", "directed", "path"])
def test_every_program_verifies(program: str, name: str) -> None:
    matrix = GRAPHS[name]()
    for value in cg.programs()[program].values:
        run = cg.run(program, matrix, value=value, devices="host:2")
        assert len(run) == matrix.shape[0]
        passed, text = run.verify()
        assert passed, text
        if len(run.values) > 1 and program in ("bfs", "sssp"):
            run.values[:] = 1
            assert not run.verify()[0]


def test_vertex_data() -> None:
    matrix = random_matrix(50, 300, 9)
    teleport = np.zeros(50)
    teleport[7] = 1
    by_data = cg.personalised_pagerank(matrix, teleport=teleport)
    by_source = cg.personalised_pagerank(matrix, source=7)
    assert np.allclose(by_data, by_source)
    with pytest.raises(cg.ChattyError, match="teleport"):
        cg.personalised_pagerank(matrix, teleport=teleport[:3])
    with pytest.raises(cg.InputError, match="teleport"):
        cg.personalised_pagerank(matrix, teleport="all")


def test_signatures_say_what_programs_take() -> None:
    signature = inspect.signature(cg.pagerank)
    assert signature.parameters["damping"].default == 0.85
    assert "damping: probability of following an edge" in cg.pagerank.__doc__
    assert inspect.signature(cg.bfs).parameters["source"].default is None
    assert cg.connected_components.__name__ == "connected_components"
    for name in cg.programs():
        assert getattr(cg, name).__doc__ and name in cg.__all__


def test_parameters_as_people_write_them() -> None:
    matrix = random_matrix(50, 300, 9)
    levels = cg.bfs(matrix, source=3)
    for source in (np.int64(3), np.uint8(3), "3", 3.0):
        assert np.array_equal(cg.bfs(matrix, source=source), levels)
    assert cg.run("bfs", matrix, source="max-degree").parameters["source"] == str(np.argmax(np.diff(matrix.indptr)))
    assert cg.run("pr", matrix, damping=np.float32(0.5), rounds=4).statistics.rounds == 4


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: cg.bfs(m, source=-1), "source"),
        (lambda m: cg.bfs(m, source=50), "not a vertex"),
        (lambda m: cg.bfs(m, source="x"), "source"),
        (lambda m: cg.bfs(m, source=[1]), "not a number"),
        (lambda m: cg.bfs(m, sourze=1), "did you mean 'source'"),
        (lambda m: cg.bfs(m, value="levle"), "did you mean 'level'"),
        (lambda m: cg.pagerank(m, damping=2), "damping"),
        (lambda m: cg.pagerank(m, damping=float("nan")), "damping"),
        (lambda m: cg.pagerank(m, rounds=2.5), "rounds"),
        (lambda m: cg.bfs(m, devices="gpux"), "gpux"),
        (lambda m: cg.bfs(m, devices=3), "text"),
        (lambda m: cg.bfs(m, direction="up"), "direction"),
        (lambda m: cg.bfs(m, execution="asynch"), "async"),
        (lambda m: cg.bfs(m, partition="none", devices="host:2"), "partition"),
        (lambda m: cg.bfs(m, timeout=-1), "timeout"),
        (lambda m: cg.run("bsf", m), "did you mean 'bfs'"),
        (lambda m: cg.run(7, m), "no program"),
        (lambda m: cg.sssp(-m), "at least 0"),
    ],
)
def test_wrong_requests_say_what_is_wrong(call, text: str) -> None:
    with pytest.raises(cg.ChattyError, match=text):
        call(random_matrix(50, 300, 9))
