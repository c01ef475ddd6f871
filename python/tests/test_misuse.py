"""What a stranger may try: each call gives one exception of the package that says what is wrong, or a right answer."""

from __future__ import annotations

import decimal
import os
import pathlib
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scipy_csgraph
from conftest import random_matrix

import chattygraph as cg
from chattygraph import csgraph

HUGE = 10**5000  # Python writes no integer of more than 4300 digits
HALF = "\udcff"  # half of a surrogate pair, which UTF-8 cannot encode


def path(weights=(1, 1, 1), dtype="float32") -> sp.csr_array:
    """The path 0 -> 1 -> 2 -> 3 with these weights."""
    matrix = sp.eye_array(4, k=1, format="csr", dtype=dtype)
    matrix.data = np.asarray(weights, dtype)
    return matrix


def mapped(array: np.ndarray, folder: pathlib.Path) -> np.memmap:
    """The array in memory that nobody can write: a file that is mapped to be read."""
    name = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(name, array)
    return np.load(name, mmap_mode="r")


def edges(graph: cg.Graph) -> list[tuple[int, int]]:
    """The edges of a graph in its order."""
    return list(zip(np.repeat(np.arange(graph.vertices), graph.degrees).tolist(), graph.indices.tolist(), strict=True))


# ------------------------------------------------------------------ numbers ----
@pytest.mark.parametrize(
    "source",
    [np.int8(3), np.uint64(3), np.float32(3), np.array(3), decimal.Decimal(3), "3", np.str_("3"), 3.0],
    ids=repr,
)
def test_a_source_of_any_type_that_is_a_vertex(source: object) -> None:
    matrix = random_matrix(50, 300, 9)
    assert np.array_equal(cg.bfs(matrix, source=source), cg.bfs(matrix, source=3))


NO_VERTEX = {
    "a fraction": np.float32(2.5),
    "nan": np.nan,
    "infinite": np.inf,
    "masked": np.ma.masked,
    "masked 3": np.ma.array(3, mask=True),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "complex": 3 + 0j,
    "400 digits": 10**400,
    "huge": HUGE,
    "minus huge": -HUGE,
    "the largest uint64": np.uint64(2**64 - 1),
    "the least int64": np.int64(-(2**63)),
    "2**32": 2**32,
    "2**32 + 3": 2**32 + 3,
    "2**64 + 3": 2**64 + 3,
    "n": 4,
    "two": np.array([0, 1]),
    "a date": np.datetime64("2020-01-01"),
    "empty": "",
    "a space": " 3",
    "a nul": "3\0",
    "hexadecimal": "0x3",
    "half a character": HALF,
    "a set": {3},
    "an object": object(),
}


@pytest.mark.parametrize("case", NO_VERTEX)
def test_a_source_that_is_no_vertex(case: str) -> None:
    with pytest.raises(cg.UsageError, match="source"):
        cg.bfs(path(), source=NO_VERTEX[case])


NO_NUMBER = {
    "nan": np.nan,
    "negative": -1,
    "huge": HUGE,
    "a text": "x",
    "half": HALF,
    "a list": [1],
    "NA": pd.NA,
    "object": object(),
}


@pytest.mark.parametrize("case", NO_NUMBER)
@pytest.mark.parametrize("name", ["damping", "tolerance", "rounds", "max_rounds", "timeout", "delta", "slots"])
def test_numbers_out_of_range(name: str, case: str) -> None:
    with pytest.raises(cg.UsageError, match=name):
        cg.pagerank(path(), **{name: NO_NUMBER[case]})


@pytest.mark.parametrize(
    "name", ["direction", "execution", "comm", "links", "tiles", "records", "output", "value", "devices", "partition"]
)
@pytest.mark.parametrize("value", [HALF, "a\0b", "nothing"], ids=["half", "nul", "unknown"])
def test_names_that_are_none(name: str, value: str) -> None:
    with pytest.raises(cg.ChattyError) as error:
        cg.bfs(path(), source=0, **{name: value})
    assert str(error.value)


WRONG = {
    "a program of half a character": (lambda: cg.run(HALF, path()), "program"),
    "a trace that is a text": (lambda: cg.run("bfs", path(), trace="yes"), "trace 'yes': it is True or False"),
    "a progress that is a text": (lambda: cg.bfs(path(), progress="yes"), "progress 'yes'"),
    "copy that is a text": (lambda: cg.Graph(path(), copy="no"), "copy 'no': it is True or False"),
    "copy that is None": (lambda: cg.Graph.from_csr([0, 1], [0], copy=None), "copy None"),
    "weighted that is a text": (lambda: cg.Graph(path(), weighted="no"), "weighted 'no'"),
    "loops that is a text": (lambda: cg.Graph(([0], [1]), loops="no"), "loops 'no'"),
    "vertices of thousands of digits": (lambda: cg.Graph(([0], [1]), vertices=HUGE), "32-bit"),
    "vertices below that": (lambda: cg.Graph(([0], [1]), vertices=-HUGE), "0 or more"),
    "a seed of thousands of digits": (lambda: cg.Session(path(), seed=HUGE), "seed"),
    "an id of thousands of digits": (lambda: cg.Graph(([HUGE], [1])), "dtype object"),
    "ids beyond 64 bits": (lambda: cg.Graph.from_csr([0, 1, 1], [2**40]), "1099511627776"),
    "a path of half a character": (lambda: cg.Graph("/no/" + HALF), "path"),
    "a path with a nul": (lambda: cg.Graph("/no\0such"), "no"),
    "a folder": (lambda: cg.Graph(os.curdir), "directory|folder"),
    "a path of bytes that is none": (lambda: cg.Graph.read(b"/no/such"), "/no/such"),
    "a session": (lambda: cg.Graph(cg.Session(path())), "a Session is no graph"),
    "a sparse vector": (lambda: cg.Graph(sp.coo_array(np.array([1, 0, 2]))), "square"),
    "a structured array": (lambda: cg.Graph((np.zeros(2, "i4,i4"), [0, 1])), "dtype"),
    "a column of lists": (lambda: cg.Graph(pd.DataFrame({"source": [[0], [1]], "target": [[1], [2]]})), "no names"),
    "missing dates": (
        lambda: cg.Graph(pd.DataFrame({"source": pd.to_datetime(["2020", None]), "target": [0, 1]})),
        "no value",
    ),
    "missing categories": (
        lambda: cg.Graph(pd.DataFrame({"source": pd.Categorical(["a", None]), "target": ["b", "c"]})),
        "no value",
    ),
    "weights of objects": (
        lambda: cg.Graph(pd.DataFrame({"source": [0], "target": [1], "weight": np.array([None], object)})),
        "dtype object",
    ),
    "an index between two vertices": (lambda: csgraph.breadth_first_order(path(), 1.5), "whole number"),
    "an index that is None": (lambda: csgraph.breadth_first_order(path(), None), "whole number"),
    "an index from beyond the end": (lambda: csgraph.dijkstra(path(), indices=[-5]), "vertex -5"),
    "a connection that is None": (lambda: csgraph.connected_components(path(), connection=None), "weak or strong"),
    "a limit that is nan": (lambda: csgraph.dijkstra(path(), limit=np.nan), "limit"),
    "negative weights of csgraph": (lambda: csgraph.shortest_path(path([1, -1, 1])), "at least 0"),
    "rows of several lengths": (lambda: csgraph.dijkstra([[0, 1], [0]]), "square|inhomogeneous"),
    "values of another size": (lambda: values_of(slice(3)).verify(), "these are others"),
    "devices in a list": (lambda: cg.bfs(path(), devices=["host"]), "texts"),
    "a long double beyond all": (lambda: cg.Graph(([0], [1], np.array([np.longdouble("1e400")]))), "float64 does not hold"),
    "a column in a list": (
        lambda: cg.Graph.from_pandas(pd.DataFrame({"source": [0], "target": [1]}), ["source"]),
        "one column",
    ),
    "a table that is none": (lambda: cg.Graph.from_pandas({"source": [0], "target": [1]}), "a dict is no pandas.DataFrame"),
    "a limit that is a text": (lambda: csgraph.dijkstra(path(), limit="far"), "limit 'far'"),
    "missing indices": (lambda: csgraph.dijkstra(path(), indices=np.ma.array([0, 1], mask=[0, 1])), "mask"),
    "values in another byte order": (lambda: values_of(slice(4), ">u4").verify(), "byte order"),
    "a file in no folder": (lambda: cg.run("bfs", path(), trace=True).trace.save("/no/such/file.json"), "/no/such"),
}


def values_of(part: slice, dtype: str = "uint32") -> cg.Run:
    """A run whose values were replaced by a part of them, of another type."""
    run = cg.run("bfs", path(), source=0)
    run.values = run.values[part].astype(dtype)
    return run


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_say_what_is_wrong(case: str) -> None:
    call, text = WRONG[case]
    with pytest.raises(cg.ChattyError, match=text):
        call()


# ------------------------------------------------------------------- arrays ----
ODD = {
    "big-endian": lambda a, _: a.astype(a.dtype.newbyteorder(">")),
    "int16": lambda a, _: a.astype("int16") if a.dtype.kind == "i" else a.astype("float16"),
    "backwards": lambda a, _: a[::-1].copy()[::-1],
    "every second": lambda a, _: np.repeat(a, 2)[::2],
    "misaligned": lambda a, _: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype),
    "read only": lambda a, _: np.frombuffer(a.tobytes(), a.dtype),
    "mapped": mapped,
    "masked, with all entries": lambda a, _: np.ma.array(a.copy(), mask=np.zeros(a.shape, bool)),
    "a list": lambda a, _: a.tolist(),
    "a Series": lambda a, _: pd.Series(a),
    "a long double": lambda a, _: a.astype(np.longdouble) if a.dtype.kind == "f" else a.astype("longlong"),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("unsorted", [False, True])
def test_odd_arrays_are_the_same_graph(kind: str, unsorted: bool, tmp_path: pathlib.Path) -> None:
    matrix = random_matrix(60, 400, 11)
    if unsorted:
        for v in range(60):
            row = slice(matrix.indptr[v], matrix.indptr[v + 1])
            matrix.indices[row], matrix.data[row] = matrix.indices[row][::-1].copy(), matrix.data[row][::-1].copy()
    arrays = [ODD[kind](array, tmp_path) for array in (matrix.indptr, matrix.indices, matrix.data)]
    kept = [np.array(array) for array in arrays]
    graph = cg.Graph.from_csr(*arrays)
    matrix.sort_indices()
    assert np.array_equal(graph.indices, matrix.indices) and np.array_equal(graph.weights, matrix.data)
    assert np.array_equal(cg.sssp(graph, source=0).astype(float), scipy_csgraph.dijkstra(matrix, indices=0))
    sources = np.repeat(np.arange(60, dtype=np.int32), np.diff(matrix.indptr))
    pairs = cg.Graph(tuple(ODD[kind](array, tmp_path) for array in (sources, matrix.indices, matrix.data)), vertices=60)
    assert edges(pairs) == edges(graph) and np.array_equal(pairs.weights, graph.weights)
    assert all(map(np.array_equal, arrays, kept))


def test_a_trace_goes_to_a_path_of_any_kind(tmp_path: pathlib.Path) -> None:
    run = cg.run("bfs", path(), trace=True)
    for name in (tmp_path / "a.json", str(tmp_path / "b.json"), str(tmp_path / f"c{HALF}.json")):
        run.trace.save(name)
        assert os.path.getsize(name) > 0


def test_bytes_name_a_file(tmp_path: pathlib.Path) -> None:
    name = tmp_path / "two.txt"
    name.write_text("0 1\n")
    assert cg.Graph.read(os.fsencode(name)).vertices == 2


# ------------------------------------------------------------------ weights ----
READS_WEIGHTS = {"sssp"}


@pytest.mark.parametrize("program", [*cg.programs()])
def test_negative_weights_of_each_program(program: str) -> None:
    if program in READS_WEIGHTS:
        with pytest.raises(cg.UsageError, match="at least 0"):
            cg.run(program, path([1, -2, 3]), source=0)
    else:
        run = cg.run(program, path([1, -2, 3]), max_rounds=50)
        assert np.array_equal(run.values, cg.run(program, path(), max_rounds=50).values)


@pytest.mark.parametrize("program", [*cg.programs()])
@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("loop", [False, True])
def test_each_program_on_next_to_nothing(program: str, n: int, loop: bool) -> None:
    matrix = sp.csr_array(np.ones((n, n), np.float32) if loop else (n, n), dtype=np.float32)
    try:
        run = cg.run(program, matrix)
    except cg.UsageError as error:
        assert n == 0 and "no vertices" in str(error)
        return
    assert len(run.values) == n
    passed, text = run.verify()
    assert passed, text


def test_weights_at_the_ends_of_their_types() -> None:
    assert list(cg.sssp(path([-0.0, 0.0, 1e-45]), source=0)) == [0, 0, 0, np.float32(1e-45)]
    with pytest.raises(cg.CapabilityError, match="the most that a float holds"):
        cg.sssp(path([1, np.inf, 1]), source=0)
    assert list(cg.sssp(path([2**31 - 1, 1, 0], "int32"), source=0)) == [0, 2**31 - 1, 2**31, 2**31]
    for weights in ([2**31 - 1] * 3, [2**31 - 1, 2**31 - 2, 0], [2**31 - 1, 2**31 - 1, 0]):
        if sum(weights) < 2**32 - 2:
            assert cg.sssp(path(weights, "int32"), source=0)[3] == sum(weights)
            continue
        with pytest.raises(cg.CapabilityError, match="the most that 32 bits hold"):
            cg.sssp(path(weights, "int32"), source=0)


# ----------------------------------------------------------------- lifetime ----
def test_graphs_made_in_many_threads_at_once() -> None:
    matrices = [random_matrix(3000, 30_000, seed) for seed in range(4)]
    expected = [scipy_csgraph.dijkstra(matrix, indices=0, unweighted=True) for matrix in matrices]
    failures = []

    def work(k: int) -> None:
        try:
            for _ in range(5):
                levels = cg.bfs(matrices[k], source=0)
                assert np.array_equal(np.where(levels == cg.UNREACHED, np.inf, levels), expected[k])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_graph_that_is_released_while_others_use_it() -> None:
    graph = cg.Graph(random_matrix(500, 4000, 1))
    expected = cg.bfs(graph, source=0)
    failures, stop = [], threading.Event()

    def work() -> None:
        try:
            while not stop.is_set():
                assert np.array_equal(cg.bfs(graph, source=0), expected)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        graph.release()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_sessions_and_runs_are_not_pickled() -> None:
    for made in (cg.Session(path()), cg.run("bfs", path())):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(made)
