"""Look-alikes of scipy.sparse.csgraph, compared with it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scipy_csgraph
from conftest import random_matrix

import chattygraph as cg
from chattygraph import csgraph


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two labellings have the same classes."""
    return np.unique(np.stack([a, b]), axis=1).shape[1] == len(np.unique(a)) == len(np.unique(b))


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("connection", ["weak", "strong"])
def test_connected_components(matrix: sp.csr_array, directed: bool, connection: str) -> None:
    if matrix.shape[0] == 0:
        assert csgraph.connected_components(matrix, directed, connection)[0] == 0
        return
    count, labels = csgraph.connected_components(matrix, directed, connection)
    expected_count, expected = scipy_csgraph.connected_components(matrix, directed, connection)
    assert count == expected_count and labels.dtype == expected.dtype
    assert same_partition(labels, expected)
    if connection == "weak" or not directed:
        assert np.array_equal(labels, expected)
    assert csgraph.connected_components(matrix, directed, connection, return_labels=False) == count


@pytest.mark.parametrize("directed", [True, False])
def test_breadth_first_order(matrix: sp.csr_array, directed: bool) -> None:
    if matrix.shape[0] == 0:
        return
    order, predecessors = csgraph.breadth_first_order(matrix, 0, directed)
    expected_order, expected = scipy_csgraph.breadth_first_order(matrix, 0, directed)
    assert order.dtype == expected_order.dtype and predecessors.dtype == expected.dtype
    assert set(order) == set(expected_order) and np.array_equal(predecessors == -9999, expected == -9999)
    levels = scipy_csgraph.shortest_path(matrix, indices=0, directed=directed, unweighted=True)
    assert np.all(np.diff(levels[order]) >= 0)
    for v in order[1:]:
        assert levels[predecessors[v]] + 1 == levels[v]
    assert np.array_equal(csgraph.breadth_first_order(matrix, 0, directed, return_predecessors=False), order)


def lengths_of(matrix: sp.csr_array, predecessors: np.ndarray, source: int, directed: bool, unweighted: bool) -> np.ndarray:
    """Distances along predecessors."""
    dense = matrix.toarray().astype(np.float64)
    dense[dense == 0] = np.inf
    dense = dense if directed else np.minimum(dense, dense.T)
    lengths = np.full(len(predecessors), np.inf)
    for v in range(len(predecessors)):
        length, u, steps = 0.0, v, 0
        while u != source and predecessors[u] >= 0 and steps <= len(predecessors):
            length += 1 if unweighted else dense[predecessors[u], u]
            u = predecessors[u]
            steps += 1
        if u == source:
            lengths[v] = length
    return lengths


@pytest.mark.parametrize("dtype", ["float64", "int32"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("unweighted", [True, False])
def test_dijkstra(matrix: sp.csr_array, dtype: str, directed: bool, unweighted: bool) -> None:
    n = matrix.shape[0]
    if n == 0:
        return
    matrix = matrix.astype(dtype)
    for indices in (0, -1, [0], [n - 1, 0, n // 2], np.array([0, 0])):
        ours = csgraph.dijkstra(matrix, directed, indices, unweighted=unweighted)
        expected = scipy_csgraph.dijkstra(matrix, directed, indices, unweighted=unweighted)
        assert ours.dtype == expected.dtype and ours.shape == expected.shape
        assert np.array_equal(ours, expected)
    distances, predecessors = csgraph.shortest_path(
        matrix, directed=directed, indices=0, unweighted=unweighted, return_predecessors=True
    )
    assert predecessors.dtype == np.int32
    assert np.array_equal(lengths_of(matrix, predecessors, 0, directed, unweighted), distances)
    limited = csgraph.dijkstra(matrix, directed, 0, unweighted=unweighted, limit=3)
    assert np.array_equal(limited, scipy_csgraph.dijkstra(matrix, directed, 0, unweighted=unweighted, limit=3))
    ours = csgraph.dijkstra(matrix, directed, [0, n - 1], unweighted=unweighted, min_only=True, return_predecessors=True)
    expected = scipy_csgraph.dijkstra(
        matrix, directed, [0, n - 1], unweighted=unweighted, min_only=True, return_predecessors=True
    )
    assert np.array_equal(ours[0], expected[0]) and np.array_equal(ours[2] < 0, expected[2] < 0)
    assert [part.dtype for part in ours] == [part.dtype for part in expected]


def test_all_sources_and_real_weights() -> None:
    matrix = random_matrix(40, 150, 8, dtype="float64")
    matrix.data += np.random.default_rng(1).random(len(matrix.data))
    assert np.allclose(csgraph.dijkstra(matrix), scipy_csgraph.dijkstra(matrix), rtol=1e-6)
    assert np.allclose(csgraph.shortest_path(matrix.toarray()), scipy_csgraph.shortest_path(matrix.toarray()), rtol=1e-6)


def test_zero_weights_have_predecessors_without_a_cycle() -> None:
    matrix = sp.csr_array((np.array([0, 0, 0, 1]), (np.array([1, 2, 0, 0]), np.array([2, 1, 1, 2]))), shape=(3, 3))
    distances, predecessors = csgraph.dijkstra(matrix, indices=0, return_predecessors=True)
    assert list(distances) == [0, 0, 0] and list(predecessors) == [-9999, 0, 1]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: csgraph.dijkstra(m, indices=99), "vertex 99"),
        (lambda m: csgraph.dijkstra(m, indices=0.5), "whole"),
        (lambda m: csgraph.dijkstra(m, limit=-1), "limit"),
        (lambda m: csgraph.dijkstra(-m, indices=0), "at least 0"),
        (lambda m: csgraph.connected_components(m, connection="some"), "weak or strong"),
        (lambda m: csgraph.shortest_path(m, method="A*"), "method"),
        (lambda m: csgraph.dijkstra(np.zeros((2, 3))), "square"),
        (lambda m: csgraph.dijkstra([["a"]]), "dtype"),
        (lambda m: csgraph.dijkstra(cg.Graph(m), directed=False), "directed"),
    ],
)
def test_wrong_arguments(call, text: str) -> None:
    with pytest.raises(cg.ChattyError, match=text):
        call(random_matrix(20, 60, 1))
