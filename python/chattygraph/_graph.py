"""Graphs from matrices, arrays, tables, networkx and files."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._errors import CapabilityError, InputError, UsageError, check_flag, checked_text, shown
from ._gpu import HOST, Location, first_location, to_host

if TYPE_CHECKING:
    from ._session import Session

__all__ = ["Graph", "GraphLike"]

#: Vertices have the numbers 0 to 2^32 - 2.
MOST_VERTICES = 2**32 - 2

GraphLike = Any
"""What `Graph` takes: a Graph, a sparse matrix of scipy, cupyx or torch, edge arrays, a pandas.DataFrame, a networkx graph
or a path."""


def _array(values: Any, name: str) -> np.ndarray:
    """A one-dimensional, contiguous, aligned array in the machine's byte order. Copies only what is not."""
    array = _plain(values, name)
    if array.dtype == object or array.dtype.kind not in "biuf":
        raise InputError(f"{name} have the dtype {array.dtype}; they must be numbers")
    if array.ndim != 1:
        raise InputError(f"{name} have {array.ndim} dimensions; they must be a one-dimensional array")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        given = array
        with np.errstate(over="ignore"):
            array = given.astype(np.float32 if given.dtype.itemsize < 4 else np.float64)
        wrong = np.flatnonzero(np.isinf(array) & np.isfinite(given))
        if len(wrong):
            raise InputError(
                f"{name}: entry {wrong[0]} is {given[wrong[0]]}, which float64 does not hold; scale the weights"
            )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements=["C", "A"])


def _plain(values: Any, name: str) -> np.ndarray:
    """An array in host memory. Throws InputError for missing entries, which numpy.asarray would fill with what is there."""
    values = to_host(values, name)
    if np.ma.is_masked(values):
        raise InputError(f"{name} have a mask; fill missing entries or drop them first")
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:  # lists of different lengths, objects that refuse to be numbers
        raise InputError(f"{name}: {error}") from None


def _vertices(values: Any, name: str) -> np.ndarray:
    given = _plain(values, name)
    if given.dtype.kind in "bf" and not (given.size == 0 and given.dtype.kind == "f"):  # numpy's dtype of [] is a real one
        raise InputError(f"{name} have the dtype {given.dtype}; vertices are whole numbers, so convert them with astype")
    array = _array(given, name)
    return array.astype(np.int64) if array.dtype.kind == "f" else array


def _weights(values: Any) -> np.ndarray | None:
    """Weights as numbers; None for a mask, whose entries say no more than that there is an edge."""
    array = _array(values, "weights")
    return None if array.dtype.kind == "b" else array


def _check_compressed(indptr: Any, indices: Any, data: Any, major: int, minor: int) -> None:
    """Throws InputError unless these are the arrays of a matrix with `major` rows, or columns, of `minor` entries."""
    begins, places = _vertices(indptr, "indptr"), _vertices(indices, "indices")
    if len(begins) != major + 1:
        raise InputError(f"indptr has {len(begins)} entries for {major} rows or columns; it has one more than these")
    if begins[0] != 0 or (begins[1:] < begins[:-1]).any():
        raise InputError("indptr does not ascend from 0")
    if begins[-1] != len(places) or len(places) != len(data):
        raise InputError(f"indptr ends at {begins[-1]}, but there are {len(places)} indices and {len(data)} entries")
    _check_places(places, minor, "indices")


def _check_places(places: np.ndarray, limit: int, name: str) -> None:
    """Throws InputError for a place that is negative or not below the limit."""
    wrong = np.flatnonzero((places < 0) | (places >= limit))
    if len(wrong):
        raise InputError(f"{name}: entry {wrong[0]} is {places[wrong[0]]}, which is no vertex: they are 0 to {limit - 1}")


def _converted(matrix: Any, conversion: str) -> Any:
    """A matrix in another format, by this method of its own."""
    try:
        return getattr(matrix, conversion)()
    except (IndexError, TypeError, ValueError) as error:
        raise InputError(f"{conversion}() of the matrix: {error}") from None


def _entries(matrix: Any) -> tuple[Any, Any, Any]:
    """Row, column and value of each entry of a matrix that is checked."""
    if getattr(matrix, "format", "") != "csr":
        coo = _converted(matrix, "tocoo")
        return coo.row, coo.col, coo.data
    n = matrix.shape[0]
    _check_compressed(matrix.indptr, matrix.indices, matrix.data, n, n)
    return np.repeat(np.arange(n), np.diff(_vertices(matrix.indptr, "indptr"))), matrix.indices, matrix.data


def checked(matrix: Any) -> Any:
    """The matrix itself. Throws InputError if it is not square, or its arrays contradict themselves.

    scipy's conversions trust the arrays, and else leave their memory. CSR is checked where a graph is made of it.
    """
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix is square, and this one is {' x '.join(map(str, matrix.shape))}")
    n, format = matrix.shape[0], getattr(matrix, "format", "")
    if format == "csc":
        _check_compressed(matrix.indptr, matrix.indices, matrix.data, n, n)
    elif format == "bsr":
        if matrix.data.ndim != 3 or 0 in matrix.data.shape[1:]:
            raise InputError(f"the data of a matrix in blocks have three dimensions, not the shape {matrix.data.shape}")
        rows, columns = matrix.data.shape[1:]
        if n % rows or n % columns:
            raise InputError(f"blocks of {rows} x {columns} do not fill a matrix of {n} x {n}")
        _check_compressed(matrix.indptr, matrix.indices, matrix.data, n // rows, n // columns)
    elif format == "coo":
        for places, name in ((matrix.row, "row"), (matrix.col, "col")):
            found = _vertices(places, name)
            if len(found) != len(matrix.data):
                raise InputError(f"there are {len(found)} entries in {name} and {len(matrix.data)} in data")
            _check_places(found, n, name)
    elif format == "lil":
        if [*map(len, matrix.rows)] != [*map(len, matrix.data)] or len(matrix.rows) != n:
            raise InputError("rows and data have other numbers of entries")
    elif format == "dia" and (matrix.data.ndim != 2 or len(matrix.offsets) != len(matrix.data)):
        raise InputError(f"there are {len(matrix.offsets)} offsets for data of the shape {matrix.data.shape}")
    return matrix


class Graph:
    """A graph in host memory: vertices 0 to n - 1 and directed edges, perhaps with weights. It does not change.

    ``Graph(data)`` takes

    - a scipy.sparse matrix or array, n by n: an edge i -> j for each stored entry, explicit zeros included. CSR is taken
      without a copy where its types are those of the library: ``indices`` of 32 bits, ``indptr`` of 64 bits, ``data``
      int32 or float32, columns sorted in each row. Other arrays are converted one by one; a bool matrix has no weights;
    - a matrix of cupyx.scipy.sparse, or a tensor of torch with the layout sparse_csr;
    - a pair ``(sources, targets)`` or a triple ``(sources, targets, weights)`` of arrays, or an array of shape (m, 2);
    - a pandas.DataFrame, by its columns ``source``, ``target`` and, where there is one, ``weight``;
    - a networkx graph, whose nodes become ``nodes``, in their order;
    - a path: any file that the command line reads.

    Arrays may be numpy's, cupy's, torch's, or have ``__dlpack__`` or ``__cuda_array_interface__``. Those in a GPU's memory
    are copied to the host, where the graph is made. Values of runs are then arrays of cupy or torch in that GPU's memory.

    The classmethods ``from_scipy``, ``from_csr``, ``from_edges``, ``from_pandas``, ``from_networkx`` and ``read`` have
    options.

    Arrays that are taken without a copy must not be changed during the graph's life. ``copy=True`` makes copies.
    """

    __slots__ = ("_handle", "_nodes", "_index", "_location", "_sessions", "_lock", "__weakref__")

    _handle: _core.Graph
    _nodes: Sequence[Hashable] | None
    _index: dict[Hashable, int] | None
    _location: Location
    _sessions: dict[tuple[str, str], Session]
    _lock: threading.Lock

    def __new__(cls, data: GraphLike, /, **options: Any) -> Graph:
        if isinstance(data, Graph):
            if options:
                raise UsageError("a Graph does not change; give options where it is made")
            return data
        if isinstance(data, (str, os.PathLike)):
            return cls.read(data, **options)
        if str(getattr(data, "layout", "")) == "torch.sparse_csr":
            if data.ndim != 2 or data.shape[0] != data.shape[1]:
                raise InputError(f"an adjacency matrix is square, and this one is {' x '.join(map(str, data.shape))}")
            return cls.from_csr(data.crow_indices(), data.col_indices(), data.values(), **options)
        if hasattr(data, "__dlpack__") or hasattr(data, "__cuda_array_interface__"):
            return cls._from_pairs(data, **options)
        if isinstance(data, tuple) and len(data) in (2, 3):
            return cls.from_edges(*data, **options)
        if hasattr(data, "tocsr") and hasattr(data, "shape"):
            return cls.from_scipy(data, **options)
        if hasattr(data, "adj") and hasattr(data, "is_directed"):
            return cls.from_networkx(data, **options)
        if hasattr(data, "columns") and hasattr(data, "iloc"):
            return cls.from_pandas(data, **options)
        raise InputError(
            f"a {type(data).__name__} is no graph; give a scipy.sparse matrix, arrays (sources, targets), a "
            "pandas.DataFrame, a networkx graph or a path"
        )

    @classmethod
    def _of(cls, core: _core.Graph, nodes: Sequence[Hashable] | None = None, location: Location = HOST) -> Graph:
        self = object.__new__(cls)
        self._handle = core
        self._nodes = nodes
        self._index = None
        self._location = location
        self._sessions = {}
        self._lock = threading.Lock()
        return self

    # ------------------------------------------------------------- sources ----
    @classmethod
    def from_scipy(cls, matrix: Any, /, *, weighted: bool = True, directed: bool | None = None, copy: bool = False) -> Graph:
        """The graph with an edge i -> j for each stored entry of a square scipy.sparse matrix or array.

        Args:
            matrix: in any format; CSR is the fastest. Matrices of cupyx.scipy.sparse, too.
            weighted: whether entries are weights. int32 and float32 are taken as they are; other integers must fit int32;
                float64 is rounded to float32. bool is never a weight.
            directed: False: edges also go back, and of two between the same vertices the lighter one stays, as in
                scipy.sparse.csgraph. None: the matrix says it: it is undirected if it is symmetric.
            copy: whether to copy arrays that could be shared.
        """
        checked(matrix)
        check_flag(weighted, "weighted")
        check_flag(directed, "directed", True)
        check_flag(copy, "copy")
        directed = None if directed is None else bool(directed)
        if directed is False:
            rows, columns, data = _entries(matrix)
            return cls.from_edges(
                rows, columns, data if weighted else None, vertices=matrix.shape[0], directed=False, parallel="lightest"
            )
        csr = _converted(matrix, "tocsr")
        if len(csr.indptr) != csr.shape[0] + 1:
            raise InputError(f"indptr has {len(csr.indptr)} entries for {csr.shape[0]} rows; it has one more than rows")
        return cls.from_csr(csr.indptr, csr.indices, csr.data if weighted else None, directed=directed, copy=copy)

    @classmethod
    def from_csr(
        cls, indptr: Any, indices: Any, weights: Any = None, /, *, directed: bool | None = None, copy: bool = False
    ) -> Graph:
        """The graph with the edges v -> indices[i] for each i from indptr[v] to indptr[v + 1].

        Args:
            indptr: one whole number more than there are vertices.
            indices: whole numbers from 0; sorted in each row, or else they are sorted in a copy.
            weights: as many numbers, or None. Types as in from_scipy.
            directed: True: the rows are not compared with their reverse. None: the graph is undirected if they are
                symmetric.
            copy: whether to copy arrays that could be shared.
        """
        check_flag(directed, "directed", True)
        check_flag(copy, "copy")
        directed = None if directed is None else bool(directed)
        if directed is False:
            raise UsageError("from_csr takes rows as they are; from_edges adds reverse edges with directed=False")
        core = _core.Graph.from_csr(
            _vertices(indptr, "indptr"),
            _vertices(indices, "indices"),
            None if weights is None else _weights(weights),
            symmetric=None if directed is None else False,
            copy=bool(copy),
        )
        return cls._of(core, location=first_location(indices, indptr, weights))

    @classmethod
    def _from_pairs(cls, edges: Any, **options: Any) -> Graph:
        """The graph of an array of the shape (m, 2). From a GPU it is copied as a whole."""
        location = first_location(edges)
        pairs = _plain(edges, "edges")
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"an array of edges has the shape (m, 2), not {pairs.shape}; a matrix comes as scipy.sparse")
        graph = cls.from_edges(pairs[:, 0], pairs[:, 1], **options)
        graph._location = location
        return graph

    @classmethod
    def from_edges(
        cls,
        sources: Any,
        targets: Any,
        weights: Any = None,
        /,
        *,
        vertices: int | None = None,
        directed: bool = True,
        loops: bool = True,
        parallel: str = "keep",
    ) -> Graph:
        """The graph with the edges sources[i] -> targets[i].

        Args:
            sources: whole numbers from 0.
            targets: as many.
            weights: as many numbers, or None. Types as in from_scipy.
            vertices: number of vertices; None: the largest id + 1.
            directed: False: each edge also goes back.
            loops: whether to keep edges from a vertex to itself.
            parallel: "keep", or "lightest": of several equal edges the one with the least weight.
        """
        if parallel not in ("keep", "lightest"):
            raise UsageError(f"parallel '{parallel}': it is keep or lightest")
        check_flag(directed, "directed")
        check_flag(loops, "loops")
        if vertices is not None:
            try:
                vertices = int(vertices.__index__())
            except (AttributeError, TypeError):
                raise UsageError(f"vertices {shown(vertices)}: it is a whole number") from None
            if vertices < 0:
                raise UsageError(f"vertices {shown(vertices)}: a graph has 0 or more")
            if vertices > MOST_VERTICES:
                raise CapabilityError(f"{shown(vertices)} vertices are more than 32-bit vertex ids can name")
        core = _core.Graph.from_edges(
            _vertices(sources, "sources"),
            _vertices(targets, "targets"),
            None if weights is None else _weights(weights),
            vertices=vertices,
            symmetrise=not directed,
            remove_loops=not loops,
            merge_parallel=parallel == "lightest",
        )
        return cls._of(core, location=first_location(sources, targets, weights))

    @classmethod
    def from_pandas(
        cls,
        table: Any,
        /,
        source: Hashable = "source",
        target: Hashable = "target",
        weight: Hashable | None = "weight",
        *,
        vertices: int | None = None,
        directed: bool = True,
    ) -> Graph:
        """The graph with an edge for each row of a pandas.DataFrame.

        Columns of whole numbers are vertices themselves. Others, as texts, are names: they become ``nodes`` in the order of
        their first occurrence, and vertices by their place there.

        Args:
            table: the table.
            source: name of the column with the edges' sources.
            target: name of the column with their targets.
            weight: name of the column with their weights. None, or no such column: none.
            vertices: number of vertices, where columns are whole numbers.
            directed: False: each edge also goes back.
        """
        if not (hasattr(table, "columns") and hasattr(table, "iloc")):
            raise InputError(f"a {type(table).__name__} is no pandas.DataFrame")
        for column in (source, target):
            if not isinstance(column, Hashable):
                raise UsageError(f"column {column!r}: it is the name of one column")
            if column not in table.columns:
                raise InputError(f"the table has no column {column!r}; it has {', '.join(map(repr, table.columns))}")
        weights = table[weight].to_numpy() if weight is not None and weight in table.columns else None
        ends = [table[source].to_numpy(), table[target].to_numpy()]
        nodes: list[Hashable] | None = None
        if any(end.dtype.kind not in "iu" for end in ends):
            import pandas

            if table[source].isna().any() or table[target].isna().any():
                raise InputError(f"a row of the columns {source!r} and {target!r} has no value; drop such rows first")
            if vertices is not None:
                raise UsageError(f"vertices {vertices}: the columns {source!r} and {target!r} have names, which are counted")
            both = np.stack([np.asarray(end, dtype=object) for end in ends], axis=1).ravel()
            try:
                codes, unique = pandas.factorize(both)
            except TypeError as error:  # lists and the like
                raise InputError(f"the columns {source!r} and {target!r} have values that are no names: {error}") from None
            ends = [np.ascontiguousarray(codes[0::2]), np.ascontiguousarray(codes[1::2])]
            nodes = list(unique)
            vertices = len(nodes)
        graph = cls.from_edges(*ends, weights, vertices=vertices, directed=directed)
        graph._nodes = nodes
        return graph

    @classmethod
    def from_networkx(cls, graph: Any, /, *, weight: str | None = "weight", default: float = 1) -> Graph:
        """The graph of a networkx graph, whose nodes become ``nodes``, in their order.

        Args:
            graph: any of networkx's four kinds. Undirected edges go both ways; parallel edges stay.
            weight: the edge attribute with the weight. None, or an attribute that no edge has: no weights.
            default: the weight of edges without the attribute, where others have it.
        """
        nodes = list(graph)
        index = {node: v for v, node in enumerate(nodes)}
        ends = [(index[u], index[v]) for u, v in graph.edges()]
        sources, targets = np.ascontiguousarray(np.array(ends, dtype=np.uint32).reshape(-1, 2).T)
        weights = None
        if weight is not None:
            found = [value for _, _, value in graph.edges(data=weight)]
            if any(value is not None for value in found):
                weights = _plain([default if value is None else value for value in found], "weights")
        directed = graph.is_directed()
        if not directed:  # a loop is one edge, not two
            other = sources != targets
            sources, targets = np.concatenate([sources, targets[other]]), np.concatenate([targets, sources[other]])
            if weights is not None:
                weights = np.concatenate([weights, weights[other]])
        core = _core.Graph.from_edges(
            sources,
            targets,
            None if weights is None else _weights(weights),
            vertices=len(nodes),
            symmetric=None if directed else True,
        )
        result = cls._of(core, nodes)
        result._index = index
        return result

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        /,
        *,
        format: str | None = None,
        symmetrise: bool = False,
        directed: bool = False,
        keep_loops: bool = False,
        keep_parallel: bool = False,
        compact_ids: bool = False,
        threads: int = 0,
    ) -> Graph:
        """The graph in a file, with the options and the meaning of the command line (docs/formats.md)."""
        return cls._of(
            _core.Graph.read(
                checked_text("path", os.fsdecode(path)),
                format=format,
                symmetrise=symmetrise,
                directed=directed,
                keep_loops=keep_loops,
                keep_parallel=keep_parallel,
                compact_ids=compact_ids,
                threads=threads,
            )
        )

    # ---------------------------------------------------------- properties ----
    @property
    def vertices(self) -> int:
        """Number of vertices."""
        return self._handle.vertices

    @property
    def edges(self) -> int:
        """Number of directed edges: one that goes both ways counts twice."""
        return self._handle.edges

    @property
    def symmetric(self) -> bool:
        """Whether every edge has its reverse, with the same weight."""
        return self._handle.symmetric

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self._handle.weight_type != "none"

    @property
    def nodes(self) -> Sequence[Hashable] | None:
        """The caller's nodes, from networkx or a table: vertex v is nodes[v]. None where vertices are numbers."""
        return self._nodes

    @property
    def ids(self) -> np.ndarray:
        """The id of each vertex in its file, ascending; 0 to n - 1 for graphs from arrays."""
        ids = self._handle.ids
        if ids is not None:
            return ids
        first = self._handle.first_id
        return np.arange(first, first + self.vertices, dtype=np.uint64)

    @property
    def name(self) -> str:
        """The file's name without folder and suffixes, or ""."""
        return self._handle.name

    @property
    def nbytes(self) -> int:
        """Bytes of host memory in use, shared ones included."""
        return self._handle.nbytes

    @property
    def indptr(self) -> np.ndarray:
        """Begin of each vertex's row in ``indices``, and the end of the last. Read only."""
        return self._handle.indptr

    @property
    def indices(self) -> np.ndarray:
        """The neighbours of all vertices, ascending in each row. Read only."""
        return self._handle.indices

    @property
    def degrees(self) -> np.ndarray:
        """Number of edges that leave each vertex."""
        return np.diff(self._handle.indptr.view(np.int64))

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of all edges, or None. Read only."""
        return self._handle.weights

    def to_scipy(self) -> Any:
        """The graph as a scipy.sparse.csr_array; its data are the weights, or ones."""
        import scipy.sparse

        weights = self.weights
        data = np.ones(self.edges, dtype=np.int32) if weights is None else weights
        shape = (self.vertices, self.vertices)
        return scipy.sparse.csr_array((data, self.indices.view(np.int32), self.indptr.view(np.int64)), shape=shape)

    def index(self, node: Hashable) -> int:
        """The vertex of a node of the caller's. Throws UsageError if there is none."""
        if self._nodes is None:
            raise UsageError("this graph has numbers for vertices, and no nodes")
        if self._index is None:
            self._index = {node: v for v, node in enumerate(self._nodes)}
        try:
            return self._index[node]
        except (KeyError, TypeError):
            raise UsageError(f"{node!r} is no node of the graph") from None

    def session(self, devices: str = "auto", **options: Any) -> Session:
        """A session of its own on these devices: see Session."""
        from ._session import Session

        return Session(self, devices, **options)

    def release(self) -> None:
        """Frees the devices that calls such as ``bfs(graph)`` have kept. The next call opens them again."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        while sessions:
            key, session = sessions.popitem()
            try:
                session.close()
            except UsageError:  # in a function that watches a run of it
                with self._lock:
                    for left, other in [(key, session), *sessions.items()]:
                        self._sessions.setdefault(left, other)
                raise

    def _kept_session(self, devices: str, partition: str) -> Session:
        """The session that functions such as ``bfs`` share."""
        if not isinstance(devices, Hashable) or not isinstance(partition, Hashable):
            raise UsageError(f"devices {devices!r} and partition {partition!r} are texts")
        key = (devices, partition)
        found = self._sessions.get(key)
        if found is not None:
            return found
        from ._session import Session

        with self._lock:
            found = self._sessions.get(key)
            if found is None:
                found = Session(weakref.proxy(self), devices, partition=partition, _waits=True)
                self._sessions[key] = found
        return found

    def __len__(self) -> int:
        return self.vertices

    def __reduce__(self) -> tuple:
        nodes = self._nodes
        if nodes is None and (self._handle.ids is not None or self._handle.first_id != 0):
            nodes = self.ids.tolist()  # the copy has no file, but the same names of vertices
        weights = None if self.weights is None else np.array(self.weights)
        return _restore, (np.array(self.indptr), np.array(self.indices), weights, self.symmetric, nodes)

    def __repr__(self) -> str:
        kind = "undirected" if self.symmetric else "directed"
        weights = f", {self._handle.weight_type} weights" if self.weighted else ""
        name = f" {self.name!r}" if self.name else ""
        return f"<chattygraph.Graph{name}: {self.vertices} vertices, {self.edges} edges, {kind}{weights}>"


def _restore(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None, symmetric: bool, nodes: Sequence[Hashable] | None
) -> Graph:
    return Graph._of(_core.Graph.from_csr(indptr, indices, weights, symmetric=symmetric), nodes)
