"""Graphs that tests share."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

import chattygraph as cg


def random_matrix(n: int, edges: int, seed: int, *, dtype: str = "float32", symmetric: bool = False) -> sp.csr_array:
    """A random n by n matrix without a diagonal; whole weights from 1 to 9."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, n, edges), rng.integers(0, n, edges)
    keep = rows != columns
    matrix = sp.coo_array((rng.integers(1, 10, edges)[keep], (rows[keep], columns[keep])), shape=(n, n)).tocsr()
    matrix.data = np.minimum(matrix.data, 9)  # entries at one place were added
    if symmetric:
        matrix = matrix.maximum(matrix.T).tocsr()
    matrix.sort_indices()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix.astype(dtype)


GRAPHS = {
    "empty": lambda: sp.csr_array((0, 0), dtype=np.float32),
    "one vertex": lambda: sp.csr_array((1, 1), dtype=np.float32),
    "no edges": lambda: sp.csr_array((5, 5), dtype=np.float32),
    "path": lambda: sp.eye_array(40, k=1, format="csr", dtype=np.float32),
    "grid": lambda: nx.to_scipy_sparse_array(nx.grid_2d_graph(9, 11), format="csr", dtype=np.float32),
    "karate": lambda: nx.to_scipy_sparse_array(nx.karate_club_graph(), format="csr", weight=None, dtype=np.float32),
    "directed": lambda: random_matrix(200, 900, 1),
    "undirected": lambda: random_matrix(300, 900, 2, symmetric=True),
    "sparse": lambda: random_matrix(500, 400, 3),
}


@pytest.fixture(params=GRAPHS, ids=lambda name: name.replace(" ", "_"))
def matrix(request: pytest.FixtureRequest) -> sp.csr_array:
    """Matrices of several kinds."""
    return GRAPHS[request.param]()


@pytest.fixture
def graph() -> cg.Graph:
    """A small directed graph with weights."""
    return cg.Graph(GRAPHS["directed"]())
