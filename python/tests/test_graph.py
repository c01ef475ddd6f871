"""Graphs from every source, and what is wrong with some."""

from __future__ import annotations

import copy
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_matrix

import chattygraph as cg


def same(graph: cg.Graph, matrix: sp.csr_array) -> bool:
    """Whether a graph has the edges and the weights of a matrix."""
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    weights = graph.weights is None or np.array_equal(graph.weights, matrix.data.astype(graph.weights.dtype))
    return (
        np.array_equal(graph.indptr, matrix.indptr.astype(np.uint64))
        and np.array_equal(graph.indices, matrix.indices.astype(np.uint32))
        and weights
    )


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float32", "float64", ">f8", ">i4"]
)
def test_weights_of_every_type(dtype: str) -> None:
    matrix = random_matrix(50, 200, 1, dtype="float64")
    matrix.data = matrix.data.astype(dtype)
    graph = cg.Graph.from_scipy(matrix)
    assert graph.weights.dtype == (np.float32 if np.dtype(dtype).kind == "f" else np.int32)
    assert np.array_equal(graph.weights, matrix.data.astype(np.float64))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_edges_of_every_type(dtype: str) -> None:
    sources, targets = np.array([0, 1, 99], dtype), np.array([1, 2, 0], dtype)
    graph = cg.Graph((sources, targets))
    assert (graph.vertices, graph.edges) == (100, 3)
    assert list(graph.indices) == [1, 2, 0]
    assert np.array_equal(sources, np.array([0, 1, 99]))  # the builder consumes its input, which must not be the caller's


def test_large_arrays_of_edges_stay_as_they_are() -> None:
    rng = np.random.default_rng(5)
    sources, targets = rng.integers(0, 1000, (2, 200_000), dtype=np.uint32)
    weights = rng.random(200_000, dtype=np.float32)
    before = sources.copy(), targets.copy(), weights.copy()
    graph = cg.Graph((sources, targets, weights))
    assert all(map(np.array_equal, before, (sources, targets, weights)))
    assert graph.edges == 200_000


def test_csr_is_shared() -> None:
    matrix = random_matrix(100, 600, 2)
    graph = cg.Graph(matrix)
    assert np.shares_memory(graph.indices, matrix.indices)
    assert np.shares_memory(graph.weights, matrix.data)
    assert not np.shares_memory(graph.indptr, matrix.indptr)  # 32 bits
    matrix.indptr = matrix.indptr.astype(np.int64)
    assert np.shares_memory(cg.Graph(matrix).indptr, matrix.indptr)
    owned = cg.Graph(matrix, copy=True)
    assert not any(
        map(np.shares_memory, (owned.indptr, owned.indices, owned.weights), (matrix.indptr, matrix.indices, matrix.data))
    )
    assert same(graph, matrix) and same(owned, matrix)


def test_unsorted_rows_are_sorted_in_a_copy() -> None:
    matrix = sp.csr_array((np.float32([1, 2, 3]), np.int32([2, 0, 1]), np.int32([0, 3, 3, 3])), shape=(3, 3))
    graph = cg.Graph(matrix)
    assert list(graph.indices) == [0, 1, 2] and list(graph.weights) == [2, 3, 1]
    assert list(matrix.indices) == [2, 0, 1]


def test_read_only_and_strided_arrays() -> None:
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    edges.flags.writeable = False
    graph = cg.Graph(edges)
    assert list(cg.bfs(graph, source=0)) == [0, 1, 2, 3]
    with pytest.raises(ValueError):
        graph.indices[0] = 7


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "lil", "dok", "bsr"])
def test_every_format_of_scipy(format: str) -> None:
    matrix = random_matrix(40, 150, 3)
    assert same(cg.Graph(matrix.asformat(format)), matrix)
    assert same(cg.Graph(sp.csr_matrix(matrix).asformat(format)), matrix)


def test_a_mask_has_no_weights() -> None:
    matrix = random_matrix(40, 150, 3).astype(bool)
    assert cg.Graph(matrix).weights is None
    assert cg.Graph.from_scipy(matrix.astype(float), weighted=False).weights is None


def test_directions() -> None:
    matrix = random_matrix(60, 200, 4)
    assert not cg.Graph(matrix).symmetric
    assert cg.Graph(matrix.maximum(matrix.T)).symmetric
    both = cg.Graph(matrix, directed=False)
    assert both.symmetric
    lightest = matrix.toarray() + np.where(matrix.toarray() == 0, np.inf, 0)
    lightest = np.minimum(lightest, lightest.T)
    assert same(both, sp.csr_array(np.where(np.isinf(lightest), 0, lightest)))


def test_pandas() -> None:
    table = pd.DataFrame({"source": [0, 2], "target": [1, 0], "weight": [0.5, 2.0]})
    graph = cg.Graph(table)
    assert (graph.vertices, graph.nodes, list(graph.weights)) == (3, None, [0.5, 2.0])
    names = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
    graph = cg.Graph.from_pandas(names, "a", "b")
    assert graph.nodes == ["x", "y", "z"]
    assert list(cg.bfs(graph, source="x")) == [0, 1, 2]
    with pytest.raises(cg.InputError, match="no column 'source'"):
        cg.Graph(names)
    with pytest.raises(cg.InputError, match="no value"):
        cg.Graph.from_pandas(pd.DataFrame({"a": ["x", None], "b": ["y", "z"]}), "a", "b")


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx(kind: type) -> None:
    source = kind()
    source.add_nodes_from(["c", ("t", 1), 7])
    source.add_edge("c", 7, weight=3)
    source.add_edge(7, 7)
    source.add_edge(7, ("t", 1))
    graph = cg.Graph(source)
    assert graph.nodes == ["c", ("t", 1), 7]
    assert graph.symmetric == (not source.is_directed())
    assert graph.edges == (3 if source.is_directed() else 5)
    assert sorted(graph.weights) == ([1, 1, 3] if source.is_directed() else [1, 1, 1, 3, 3])
    assert list(cg.bfs(graph, source="c")) == [0, 2, 1]
    with pytest.raises(cg.UsageError, match="no node"):
        cg.bfs(graph, source="d")


def test_files(tmp_path) -> None:
    path = tmp_path / "small.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 2\n")
    graph = cg.Graph(path)
    assert (graph.name, list(graph.ids), graph.vertices) == ("small", [1, 2, 3], 3)
    assert list(cg.sssp(graph, source=1)) == [0, 0.5, 2.5]  # the file counts from 1
    with pytest.raises(cg.UsageError, match="not a vertex"):
        cg.sssp(graph, source=0)
    with pytest.raises(cg.InputError, match="missing.mtx"):
        cg.Graph(tmp_path / "missing.mtx")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 9 0.5\n")
    with pytest.raises(cg.InputError, match="bad.mtx:3"):
        cg.Graph.read(tmp_path / "bad.mtx")


def test_back_to_scipy_and_through_pickle() -> None:
    matrix = random_matrix(80, 300, 6)
    graph = cg.Graph(matrix)
    assert (graph.to_scipy() != matrix).nnz == 0
    for other in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert same(other, matrix) and other.symmetric == graph.symmetric
    assert "80 vertices" in repr(graph) and len(graph) == 80


def masked(values: list) -> np.ma.MaskedArray:
    """An array whose last entry is missing."""
    return np.ma.array(values, mask=[0] * (len(values) - 1) + [1])


def table(**columns) -> pd.DataFrame:
    """Two edges, with other columns."""
    return pd.DataFrame({"source": [0, 1], "target": [1, 2]} | columns)


WRONG = {
    "a list": (lambda: cg.Graph([1, 2]), "a list is no graph"),
    "a dense matrix": (lambda: cg.Graph(np.eye(3)), r"shape \(m, 2\)"),
    "not square": (lambda: cg.Graph(sp.csr_array((2, 3))), "square"),
    "complex": (lambda: cg.Graph(sp.csr_array(np.array([[0, 1j], [0, 0]]))), "dtype complex128"),
    "objects": (lambda: cg.Graph((np.array([0, None]), [1, 2])), "dtype object"),
    "texts": (lambda: cg.Graph((["a"], ["b"])), "numbers"),
    "real ids": (lambda: cg.Graph(([0.0], [1.0])), "whole numbers"),
    "two dimensions": (lambda: cg.Graph((np.zeros((2, 2), int), [1, 2])), "one-dimensional"),
    "negative": (lambda: cg.Graph(([0, -3], [1, 2])), "entry 1 is -3"),
    "negative int8": (lambda: cg.Graph((np.int8([0, 1]), np.int8([-1, 2]))), "entry 0 is -1"),
    "too large": (lambda: cg.Graph(([0], [2**32])), "4294967296"),
    "outside": (lambda: cg.Graph(([0, 1], [1, 9]), vertices=5), "entry 1 is 9"),
    "lengths": (lambda: cg.Graph(([0, 1], [1])), "2 sources and 1 targets"),
    "weights short": (lambda: cg.Graph(([0], [1], [1, 2])), "2 weights for 1 edges"),
    "no vertices": (lambda: cg.Graph(([0], [1]), vertices=0), "no vertex"),
    "nan": (lambda: cg.Graph(([0, 1], [1, 2], [1, np.nan])), "entry 1 is nan"),
    "nan in float32": (lambda: cg.Graph(([0, 1], [1, 2], np.float32([np.nan, 1]))), "entry 0 is nan"),
    "beyond float32": (lambda: cg.Graph(([0], [1], [1e300])), "float32"),
    "beyond int32": (lambda: cg.Graph(([0], [1], [2**40])), "int32"),
    "parallel": (lambda: cg.Graph(([0], [1]), parallel="sum"), "keep or lightest"),
    "vertices real": (lambda: cg.Graph(([0], [1]), vertices=2.5), "whole number"),
    "vertices negative": (lambda: cg.Graph(([0], [1]), vertices=-1), "0 or more"),
    "vertices huge": (lambda: cg.Graph(([0], [1]), vertices=2**40), "32-bit"),
    "vertices beyond 64 bits": (lambda: cg.Graph(([0], [1]), vertices=2**70), "32-bit"),
    "directed no flag": (lambda: cg.Graph(([0], [1]), directed=None), "directed None: it is True or False"),
    "directed text": (lambda: cg.Graph(sp.eye_array(3, format="csr"), directed="no"), "True, False or None"),
    "bool ids": (lambda: cg.Graph((np.array([True]), np.array([False]))), "dtype bool"),
    "float16 ids": (lambda: cg.Graph((np.float16([0]), np.float16([1]))), "dtype float16"),
    "no dimensions": (lambda: cg.Graph((np.array(0), np.array(1))), "0 dimensions"),
    "uint64 beyond int64": (lambda: cg.Graph((np.uint64([2**63]), [1])), "9223372036854775808"),
    "dates": (lambda: cg.Graph((np.array(["2020"], "M8[D]"), np.array(["2021"], "M8[D]"))), "datetime64"),
    "masked sources": (lambda: cg.Graph((masked([0, 1]), [1, 2])), "sources have a mask"),
    "masked weights": (lambda: cg.Graph(([0, 1], [1, 2], masked([1.0, 2.0]))), "weights have a mask"),
    "masked pairs": (lambda: cg.Graph(np.ma.array([[0, 1]], mask=[[0, 1]])), "edges have a mask"),
    "masked rows": (lambda: cg.Graph.from_csr([0, 1, 2], masked([0, 1])), "indices have a mask"),
    "lists in lists": (lambda: cg.Graph(([[0], [1, 2]], [1, 2])), "sources"),
    "nullable weights": (lambda: cg.Graph(table(weight=pd.array([1.0, None], dtype="Float64"))), "entry 1 is nan"),
    "nullable ids": (lambda: cg.Graph(table(source=pd.array([0, None], dtype="Int64"))), "no value"),
    "nullable pairs": (lambda: cg.Graph((pd.Series([0, None], dtype="Int64"), [1, 2])), "whole numbers"),
    "columns twice": (lambda: cg.Graph(pd.DataFrame([[0, 1, 2]], columns=["source", "source", "target"])), "dimensions"),
    "names are counted": (lambda: cg.Graph(table(source=["a", "b"]), vertices=9), "have names"),
    "weights of lists": (lambda: cg.Graph(nx.DiGraph([(0, 1, {"weight": [1]}), (1, 2, {"weight": [2, 3]})])), "weights"),
    "weights of texts": (lambda: cg.Graph(nx.DiGraph([(0, 1, {"weight": "x"})])), "numbers"),
    "weights beyond float": (lambda: cg.Graph(nx.DiGraph([(0, 1, {"weight": 2**70})])), "numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_says_what_is_wrong(case: str) -> None:
    make, text = WRONG[case]
    with pytest.raises(cg.ChattyError, match=text):
        make()


def broken(indptr, indices, data=None, n: int = 3) -> sp.csr_array:
    """A matrix whose arrays contradict themselves."""
    matrix = sp.csr_array((n, n), dtype=np.float32)
    matrix.indptr = np.asarray(indptr, np.int32)
    matrix.indices = np.asarray(indices, np.int32)
    matrix.data = np.ones(len(indices), np.float32) if data is None else data
    return matrix


@pytest.mark.parametrize(
    ("matrix", "text"),
    [
        (lambda: broken([0, 1, 2, 5], [0, 1]), "indptr ends at 5"),
        (lambda: broken([1, 1, 2, 2], [0, 1]), "begins at 1"),
        (lambda: broken([0, 2, 1, 2], [0, 1]), "does not ascend: row 1"),
        (lambda: broken([0, -1, 1, 2], [0, 1]), "does not ascend: row 0"),
        (lambda: broken([0, 1, 2, 2], [0, 3]), "entry 1 is 3"),
        (lambda: broken([0, 1, 2, 2], [0, -2]), "entry 1 is -2"),
        (lambda: broken([0, 1, 2], [0, 1]), "indptr has 3 entries"),
        (lambda: broken([0, 1, 2, 2], [0, 1], np.float32([1])), "1 weights for 2 indices"),
    ],
)
def test_broken_rows(matrix, text: str) -> None:
    with pytest.raises(cg.InputError, match=text):
        cg.Graph(matrix())


def damaged(format: str, **arrays) -> sp.sparray:
    """A matrix in another format than CSR, with arrays that scipy has not seen: its conversions trust them."""
    made = sp.csr_array(np.float32([[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3], [4, 0, 0, 0]])).asformat(format)
    for name, array in arrays.items():
        setattr(made, name, array)
    return made


@pytest.mark.parametrize(
    ("format", "arrays", "text"),
    [
        ("csc", {"indices": np.int32([3, 0, 1, 9])}, "entry 3 is 9"),
        ("csc", {"indices": np.int32([3, -1, 1, 2])}, "entry 1 is -1"),
        ("csc", {"indptr": np.int32([0, 9, 2, 3, 4])}, "does not ascend"),
        ("csc", {"indptr": np.int32([0, 1, 2, 3, 999])}, "ends at 999"),
        ("csc", {"indptr": np.int32([0, 4])}, "indptr has 2 entries for 4"),
        ("csc", {"data": np.float32([1])}, "1 entries"),
        ("csc", {"indices": np.float32([3, 0, 1, 2])}, "whole numbers"),
        ("bsr", {"indices": np.int32([0, 1, 2, 99])}, "entry 3 is 99"),
        ("bsr", {"data": np.ones((4, 3, 3), np.float32)}, "blocks of 3 x 3"),
        ("bsr", {"data": np.ones(4, np.float32)}, "three dimensions"),
        ("coo", {"coords": (np.int32([0, 1, 2, 7]), np.int32([1, 2, 3, 0]))}, "row: entry 3 is 7"),
        ("coo", {"coords": (np.int32([0, 1, 2, 3]), np.int32([1, -2, 3, 0]))}, "col: entry 1 is -2"),
        ("coo", {"data": np.float32([1])}, "1 in data"),
        ("lil", {"data": np.array([[1.0], [], [3.0], [4.0]], dtype=object)}, "other numbers"),
        ("dia", {"offsets": np.int32([1])}, "offsets"),
        ("csr", {"indptr": np.int32([0, 1, 2, 3, 999])}, "ends at 999"),
    ],
)
@pytest.mark.parametrize("directed", [None, False])
def test_damaged_matrices_of_every_format(format: str, arrays: dict, text: str, directed: bool | None) -> None:
    with pytest.raises(cg.InputError, match=text):
        cg.Graph(damaged(format, **arrays), directed=directed)
    with pytest.raises(cg.InputError, match=text):
        cg.csgraph.connected_components(damaged(format, **arrays))


def test_masks_without_missing_entries_are_arrays() -> None:
    graph = cg.Graph((np.ma.array([0, 1]), np.ma.array([1, 2], mask=[0, 0])))
    assert list(graph.indices) == [1, 2]


def test_parallel_edges_and_loops_with_and_without_weights() -> None:
    source = nx.MultiDiGraph()
    source.add_edge("a", "b", weight=None)
    source.add_edge("a", "b", weight=0.5)
    source.add_edge("b", "c", weight=2.5)
    source.add_edge("a", "a")
    assert list(cg.sssp(source, source="a")) == [0, 0.5, 3]
    assert list(cg.sssp(cg.Graph.from_networkx(source, default=0.25), source="a")) == [0, 0.25, 2.75]
