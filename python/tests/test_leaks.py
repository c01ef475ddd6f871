"""A thousand calls: memory of returned arrays is given back, and arguments keep the references that they had."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest
from conftest import random_matrix

import chattygraph as cg

CALLS = 1000


def resident_mib() -> float:
    """Memory of this process, without what the C library keeps for later."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 2**20


@pytest.mark.parametrize("devices", ["host:1", "host:2"])
def test_returned_arrays_are_released(devices: str) -> None:
    n = 100_000  # arrays of 0.4 MB: of a thousand that stay, the process would have 381 MB more
    graph = cg.Graph(random_matrix(n, n, 1))
    with cg.Session(graph, devices) as session:
        for i in range(20):
            session.run("bfs", source=i)
        before = resident_mib()
        for i in range(CALLS):
            session.run("bfs", source=i)
        assert resident_mib() - before < 32
        held = [session.run("bfs", source=i).values for i in range(200)]
        assert sum(array.nbytes for array in held) > 76 << 20 and resident_mib() - before > 60  # the measurement sees arrays
        del held
        assert resident_mib() - before < 32


def test_arguments_keep_their_references() -> None:
    matrix = random_matrix(300, 2000, 2)
    teleport = np.ones(300)
    graph = cg.Graph(matrix)
    name = "a value that is its own object".split()[-1] + "!"
    watched = [matrix, matrix.indptr, matrix.indices, matrix.data, teleport, graph, name, cg.bfs, cg.programs()["bfs"]]

    def calls(count: int) -> None:
        for i in range(count):
            cg.bfs(graph, source=i % 300)
            cg.run("pagerank", graph, rounds=1 + i % 3, damping=0.8 + (i % 2) / 10)
            cg.Graph((matrix.indices[:2000], matrix.indices[:2000], matrix.data[:2000]), vertices=300)
            if i % 10 == 0:
                cg.personalised_pagerank(graph, teleport=teleport, rounds=1)
                cg.run("sssp", graph, source=0, trace=True).trace.events()
                for wrong in ({"source": -1}, {"value": name}, {"devices": 3}, {"output": name}, {"direction": name}):
                    with pytest.raises(cg.UsageError):
                        cg.bfs(graph, **wrong)

    calls(30)
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    objects = len(gc.get_objects())
    calls(CALLS)
    gc.collect()
    assert [sys.getrefcount(each) for each in watched] == before
    assert len(gc.get_objects()) - objects < CALLS / 10


def test_values_end_with_their_last_reference() -> None:
    graph = cg.Graph(random_matrix(300, 2000, 2))
    for program in cg.programs():
        run = cg.run(program, graph)
        owner, values = weakref.ref(run.values), weakref.ref(graph)
        view = run.values[10:20]
        expected = view.copy()
        del run
        gc.collect()
        assert owner() is not None and np.array_equal(view, expected)  # a view keeps what it shows
        del view
        assert owner() is None and values() is graph
