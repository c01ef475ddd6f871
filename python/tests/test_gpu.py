"""Arrays of cupy and torch in and out of runs on GPUs. What needs a GPU, cupy or torch is skipped where they are not:
`python -m pytest python/tests/test_gpu.py` on a machine with a GPU runs all.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_matrix

import chattygraph as cg
from chattygraph import _gpu

LIBRARIES = ("cupy", "torch")
on_gpu = pytest.mark.skipif(cg.cuda_devices() == 0, reason="no GPU, or a build without CUDA")


class Cupy:
    """Arrays of cupy."""

    def __init__(self) -> None:
        self.module = pytest.importorskip("cupy")

    def array(self, values: np.ndarray):
        """A copy on the current GPU."""
        return self.module.asarray(values)

    def host(self, values) -> np.ndarray:
        """A copy on the host, which needs no code of the package."""
        return self.module.asnumpy(values)

    def is_on(self, values, gpu: int) -> bool:
        """Whether this is an array of cupy on this GPU."""
        return isinstance(values, self.module.ndarray) and values.device.id == gpu

    def free(self) -> int:
        """Bytes that are free on the GPU, without the library's own cache."""
        self.module.get_default_memory_pool().free_all_blocks()
        return self.module.cuda.runtime.memGetInfo()[0]

    def slow_stream(self):
        """A stream of its own, and a function that makes an array of ones there, behind long work."""
        stream = self.module.cuda.Stream(non_blocking=True)

        def ones(values: np.ndarray):
            target = self.module.zeros(len(values), dtype=values.dtype)
            source = self.module.asarray(values)
            stream.synchronize()
            big = self.module.ones((4096, 4096), dtype=np.float32)
            self.module.cuda.runtime.deviceSynchronize()
            with stream:
                for _ in range(20):
                    big = big @ big * np.float32(1e-4)
                target[...] = source + (big.sum() * 0).astype(values.dtype)
            return target

        return stream, ones


class Torch:
    """Tensors of torch."""

    def __init__(self) -> None:
        self.module = pytest.importorskip("torch")

    def array(self, values: np.ndarray):
        return self.module.from_numpy(np.ascontiguousarray(values)).cuda()

    def host(self, values) -> np.ndarray:
        return values.cpu().numpy()

    def is_on(self, values, gpu: int) -> bool:
        return isinstance(values, self.module.Tensor) and values.is_cuda and values.device.index == gpu

    def free(self) -> int:
        self.module.cuda.empty_cache()
        return self.module.cuda.mem_get_info()[0]

    def slow_stream(self):
        stream = self.module.cuda.Stream()

        def ones(values: np.ndarray):
            source = self.array(values)
            target = self.module.zeros_like(source)
            big = self.module.ones((4096, 4096), device="cuda")
            self.module.cuda.synchronize()
            with self.module.cuda.stream(stream):
                for _ in range(20):
                    big = big @ big * 1e-4
                target.copy_(source + (big.sum() * 0).to(source.dtype))
            return target

        return self.module.cuda.stream(stream), ones


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest):
    """A library of arrays in a GPU's memory."""
    if cg.cuda_devices() == 0:
        pytest.skip("no GPU, or a build without CUDA")
    return {"cupy": Cupy, "torch": Torch}[request.param]()


def edges(n: int = 3000, m: int = 20_000, seed: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sources, targets and weights of a random graph."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(1, 10, m)


NOTHING = {"to_host": 0, "from_host": 0}


# ---------------------------------------------------------------- without a GPU ----
class OnlyDlpack:
    """An array that has DLPack, and nothing else of numpy's."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


def test_arrays_with_dlpack_on_the_host() -> None:
    sources, targets, weights = edges()
    expected = cg.Graph((sources, targets, weights), vertices=3000)
    graph = cg.Graph((OnlyDlpack(sources), OnlyDlpack(targets), OnlyDlpack(weights)), vertices=3000)
    assert np.array_equal(graph.indices, expected.indices) and np.array_equal(graph.weights, expected.weights)
    pairs = cg.Graph(OnlyDlpack(np.stack([sources, targets], axis=1)))
    assert np.array_equal(pairs.indptr, cg.Graph((sources, targets)).indptr)
    csr = cg.Graph.from_csr(OnlyDlpack(graph.indptr.view(np.int64)), OnlyDlpack(graph.indices.view(np.int32)))
    assert np.array_equal(csr.indices, graph.indices) and not csr.weighted
    assert isinstance(cg.bfs(csr, source=0), np.ndarray)
    teleport = np.zeros(3000, dtype=np.float64)
    teleport[3] = 1
    ranks = cg.personalised_pagerank(graph, teleport=OnlyDlpack(teleport))
    assert np.array_equal(ranks, cg.personalised_pagerank(graph, teleport=teleport))


def test_numpy_in_numpy_out() -> None:
    matrix = random_matrix(200, 900, 1)
    run = cg.run("sssp", matrix, source=0, devices="host:2")
    assert isinstance(run.values, np.ndarray) and run.statistics.value_bytes == NOTHING
    assert isinstance(cg.run("sssp", matrix, source=0, output="numpy").values, np.ndarray)
    with pytest.raises(cg.UsageError, match="output 'jax': it is one of numpy, cupy, torch"):
        cg.bfs(matrix, output="jax")
    with pytest.raises(cg.UsageError, match="devices='cuda:0'"):
        cg.bfs(matrix, devices="host", output="cupy")


@pytest.mark.skipif(cg.cuda_devices() > 0, reason="there is a GPU")
def test_values_for_a_gpu_that_is_not_there() -> None:
    """The request is refused before the run, and the session stays usable."""
    graph = cg.Graph(random_matrix(200, 900, 1))
    with cg.Session(graph, "host:2") as session:
        expected = session.run("bfs", source=0).values
        graph._location = _gpu.Location("cupy", 0)
        with pytest.raises(cg.CapabilityError, match="cuda:0|cupy"):
            session.run("bfs", source=0)
        with pytest.raises(cg.ChattyError, match="cuda"):
            registry = cg.programs()["bfs"]._registry
            session._core.run(registry, "bfs", {"source": "0"}, options={}, data={}, gpu=0)
        assert np.array_equal(session.run("bfs", source=0, output="numpy").values, expected)


def test_from_csr() -> None:
    matrix = random_matrix(200, 900, 1)
    graph = cg.Graph.from_csr(matrix.indptr, matrix.indices, matrix.data)
    assert np.array_equal(cg.sssp(graph, source=0), cg.sssp(matrix, source=0))
    assert cg.Graph.from_csr([0, 1, 2], [1, 0]).symmetric
    assert not cg.Graph.from_csr([0, 1, 2], [1, 0], directed=True).symmetric
    with pytest.raises(cg.UsageError, match="from_edges"):
        cg.Graph.from_csr([0, 1], [0], directed=False)
    with pytest.raises(cg.InputError, match="indptr ends at 3"):
        cg.Graph.from_csr([0, 1, 3], [1, 0])


def test_where_values_go() -> None:
    devices, host = ["cuda:1.0", "cuda:1.1"], ["host:0"]
    assert _gpu.where(None, _gpu.Location("torch", 0), devices) == ("torch", 0)
    assert _gpu.where("cupy", _gpu.Location("torch", 0), devices) == ("cupy", 0)
    assert _gpu.where("cupy", _gpu.HOST, devices) == ("cupy", 1)
    assert _gpu.where("torch", _gpu.HOST, host) == ("torch", None)
    assert _gpu.where("numpy", _gpu.Location("cupy", 3), devices) == _gpu.HOST


def test_tensors_on_the_host() -> None:
    torch = pytest.importorskip("torch")
    sources, targets, weights = (torch.from_numpy(array) for array in edges())
    graph = cg.Graph((sources, targets, weights.to(torch.float32).requires_grad_()), vertices=3000)
    distances = cg.sssp(graph, source=0, devices="host:2")
    assert isinstance(distances, torch.Tensor) and distances.dtype == torch.float32
    assert np.array_equal(distances.numpy(), cg.sssp(graph, source=0, devices="host:2", output="numpy"))
    with pytest.raises(cg.InputError, match="weights: "):
        cg.Graph((sources, targets, weights.to(torch.bfloat16)))


def test_addresses_without_a_gpu() -> None:
    """An interface of CUDA's whose address is on no GPU is refused, and no copy is tried."""

    class Claims:
        __cuda_array_interface__ = {"data": (4096, True), "shape": (3,), "typestr": "<i4", "version": 3}

    with pytest.raises(cg.ChattyError):
        cg.Graph((Claims(), Claims()))
    with pytest.raises(cg.CapabilityError, match="sources are in the memory of a GPU"):
        cg.Graph.from_csr(np.int64([0]), _gpu._core.from_address(4096, [3], [4], "<i4", 4, 1, "sources"))


def test_interfaces_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are refused before the address is read."""
    monkeypatch.setattr(_gpu._core, "gpu_of", lambda address: 0)

    class Claims:
        def __init__(self, **others) -> None:
            self.__cuda_array_interface__ = {"data": (4096, True), "shape": (3,), "typestr": "<i4", "version": 3, **others}

    for strides in ((), (4, 4), (4, 4, 4)):
        with pytest.raises(cg.InputError, match=f"1 dimensions and {len(strides)} strides"):
            cg.Graph((Claims(strides=strides), Claims(strides=strides)))
    with pytest.raises(cg.InputError, match="0 dimensions and 1 strides"):
        cg.Graph((Claims(shape=(), strides=(4,)), Claims()))
    swapped = "<i4" if sys.byteorder == "big" else ">i4"
    with pytest.raises(cg.InputError, match=f"dtype {swapped}, whose byte order"):
        cg.Graph((Claims(typestr=swapped), Claims(typestr=swapped)))


# ------------------------------------------------------------------- inputs ----
@on_gpu
@pytest.mark.parametrize("vertices", ["int32", "uint32", "int64", "uint8"])
@pytest.mark.parametrize("weights", ["int32", "float32", "float64", "float16", "int64", "bool", None])
def test_edges_of_every_type(library, vertices: str, weights: str | None) -> None:
    arrays = [array % 200 for array in edges()]
    arrays = [arrays[0].astype(vertices), arrays[1].astype(vertices), arrays[2].astype(weights or "int32")]
    arrays = arrays if weights else arrays[:2]
    expected = cg.Graph(tuple(arrays), vertices=300)
    graph = cg.Graph(tuple(map(library.array, arrays)), vertices=300)
    assert np.array_equal(graph.indptr, expected.indptr) and np.array_equal(graph.indices, expected.indices)
    assert (graph.weights is None) == (expected.weights is None)
    assert graph.weights is None or np.array_equal(graph.weights, expected.weights)


@on_gpu
def test_matrices_and_parts(library) -> None:
    matrix = random_matrix(2000, 9000, 7)
    expected = cg.sssp(matrix, source=0, devices="cuda:0")
    parts = [library.array(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
    graphs = [cg.Graph.from_csr(*parts)]
    if isinstance(library, Torch):
        graphs.append(cg.Graph(library.module.sparse_csr_tensor(*parts, size=matrix.shape)))
        with pytest.raises(cg.InputError, match="square"):
            cg.Graph(library.module.sparse_csr_tensor(*parts, size=(2000, 2001)))
    else:
        sparse = pytest.importorskip("cupyx.scipy.sparse")
        graphs.append(cg.Graph(sparse.csr_matrix(tuple(reversed(parts)), shape=matrix.shape)))
        graphs.append(cg.Graph.from_scipy(sparse.csr_matrix(matrix).tocoo(), directed=False))
        expected_both = cg.sssp(cg.Graph.from_scipy(matrix, directed=False), source=0, devices="cuda:0")
        assert np.array_equal(library.host(cg.sssp(graphs.pop(), source=0, devices="cuda:0")), expected_both)
    for graph in graphs:
        distances = cg.sssp(graph, source=0, devices="cuda:0")
        assert library.is_on(distances, 0) and np.array_equal(library.host(distances), expected)


@on_gpu
def test_columns_and_pairs(library) -> None:
    sources, targets, _ = edges()
    pairs = library.array(np.stack([sources, targets], axis=1))
    expected = cg.Graph((sources, targets)).indices
    assert np.array_equal(cg.Graph(pairs).indices, expected)
    assert library.is_on(cg.bfs(pairs, source=0, devices="cuda:0"), 0)
    assert np.array_equal(cg.Graph((pairs[:, 0], pairs[:, 1])).indices, expected)
    with pytest.raises(cg.InputError, match="shape"):
        cg.Graph(library.array(sources))
    with pytest.raises(cg.InputError, match="dimensions"):
        cg.Graph((pairs, pairs))
    with pytest.raises(cg.InputError, match="entry 1 is -1"):
        cg.Graph((library.array(np.int64([0, -1])), library.array(np.int64([0, 1]))))


@on_gpu
def test_data_of_vertices(library) -> None:
    matrix = random_matrix(500, 3000, 9)
    teleport = np.random.default_rng(1).random(500)
    expected = cg.personalised_pagerank(matrix, teleport=teleport, devices="cuda:0")
    for graph in (cg.Graph(matrix), cg.Graph.from_csr(*map(library.array, (matrix.indptr, matrix.indices, matrix.data)))):
        ranks = cg.personalised_pagerank(graph, teleport=library.array(teleport), devices="cuda:0")
        assert library.is_on(ranks, 0) and np.allclose(library.host(ranks), expected)


@on_gpu
def test_inputs_that_a_stream_still_computes(library) -> None:
    sources, targets, _ = edges()
    stream, compute = library.slow_stream()
    late = compute(targets)
    with stream:
        graph = cg.Graph((library.array(sources), late))
    assert np.array_equal(graph.indices, cg.Graph((sources, targets)).indices)


@on_gpu
def test_the_interface_of_cuda_alone() -> None:
    cupy = pytest.importorskip("cupy")
    sources, targets, _ = edges()

    class Interface:
        def __init__(self, values, stream: int | None) -> None:
            self.values = values
            self.__cuda_array_interface__ = {**values.__cuda_array_interface__, "stream": stream}

    for stream in (None, 1, 2):
        graph = cg.Graph((Interface(cupy.asarray(sources), stream), Interface(cupy.asarray(targets), stream)))
        assert np.array_equal(graph.indices, cg.Graph((sources, targets)).indices)
        assert isinstance(cg.bfs(graph, source=0, devices="cuda:0"), cupy.ndarray)


@on_gpu
def test_tensors_that_numpy_lacks(library) -> None:
    if not isinstance(library, Torch):
        pytest.skip("of torch")
    torch = library.module
    sources, targets, weights = map(library.array, edges())
    with pytest.raises(cg.InputError, match="weights"):
        cg.Graph((sources, targets, weights.to(torch.bfloat16)))
    weighted = cg.Graph((sources, targets, weights.to(torch.float32).requires_grad_()))
    assert np.array_equal(weighted.weights, cg.Graph((sources, targets, weights.to(torch.float32))).weights)


# ------------------------------------------------------------------- values ----
PROGRAMS = [(name, value) for name, program in cg.programs().items() for value in program.values]


@on_gpu
@pytest.mark.parametrize(("program", "value"), PROGRAMS)
def test_every_program(library, program: str, value: str) -> None:
    """Values are in the GPU's memory without a copy to the host, and the same as those that are copied there."""
    matrix = random_matrix(3000, 12_000, 3, symmetric=True, dtype="int32")
    graph = cg.Graph.from_csr(*map(library.array, (matrix.indptr, matrix.indices, matrix.data)))
    for devices in ("cuda:0", "cuda:3@0"):
        with cg.Session(graph, devices) as session:
            run = session.run(program, value=value)
            assert library.is_on(run.values, 0) and run.statistics.value_bytes["to_host"] == 0
            assert run.verify()[0], run.verify()[1]
            copied = session.run(program, value=value, output="numpy")
            assert isinstance(copied.values, np.ndarray) and copied.verify()[0]
            assert copied.statistics.value_bytes["to_host"] >= copied.values.nbytes
            assert library.host(run.values).dtype == copied.values.dtype
            if value in ("level", "distance", "core", "triangles") or program == "lcc":  # others may differ from run to run
                assert np.allclose(library.host(run.values), copied.values)
            assert run.total == copied.total and len(run) == 3000 and np.asarray(run).shape == (3000,)


@on_gpu
@pytest.mark.parametrize("partition", ["edge-balanced", "random"])
def test_parts_on_one_gpu(library, partition: str) -> None:
    """Parts that are no ranges of vertices are scattered there; their ids are copied once."""
    matrix = random_matrix(5000, 30_000, 3, dtype="int32")
    graph = cg.Graph.from_csr(*map(library.array, (matrix.indptr, matrix.indices, matrix.data)))
    expected = cg.sssp(matrix, source=0, devices="host")
    with cg.Session(graph, "cuda:4@0", partition=partition) as session:
        for repeated in range(3):
            run = session.run("sssp", source=0)
            assert library.is_on(run.values, 0) and np.array_equal(library.host(run.values), expected)
            ids = 4 * 5000 if partition == "random" and not repeated else 0
            assert run.statistics.value_bytes == {"to_host": 0, "from_host": ids}


@on_gpu
def test_large_values_stay(library) -> None:
    """A run of a large graph copies less to the host than its values are."""
    n = 2_000_000
    sources = np.arange(n - 1, dtype=np.int32) // 2
    graph = cg.Graph((library.array(sources), library.array(np.arange(1, n, dtype=np.int32))))
    with cg.Session(graph, "cuda:0") as session:
        session.run("bfs", source=0)
        run = session.run("bfs", source=0)
        assert run.statistics.copied_bytes["to_host"] + run.statistics.copied_bytes["from_host"] < n
        assert run.statistics.value_bytes == NOTHING
        assert session.run("bfs", source=0, output="numpy").statistics.copied_bytes["to_host"] >= 4 * n


@on_gpu
def test_runs_on_the_host_go_where_inputs_are(library) -> None:
    sources, targets, _ = edges()
    graph = cg.Graph((library.array(sources), library.array(targets)), vertices=3000)
    run = cg.run("bfs", graph, source=0, devices="host:2")
    assert library.is_on(run.values, 0) and run.statistics.value_bytes == {"to_host": 0, "from_host": 4 * 3000}
    assert np.array_equal(library.host(run.values), cg.bfs(graph, source=0, devices="host:2", output="numpy"))


@on_gpu
def test_output(library) -> None:
    matrix = random_matrix(200, 900, 1)
    assert isinstance(cg.bfs(matrix, source=0, devices="cuda:0"), np.ndarray)
    values = cg.bfs(matrix, source=0, devices="cuda:0", output=type(library).__name__.lower())
    assert library.is_on(values, 0)
    assert np.array_equal(library.host(values), cg.bfs(matrix, source=0, devices="cuda:0"))
    graph = cg.Graph.from_csr(*map(library.array, (matrix.indptr, matrix.indices)))
    for name, kind in (("cupy", Cupy), ("torch", Torch), ("numpy", None)):
        values = cg.bfs(graph, source=0, devices="cuda:0", output=name)
        assert isinstance(values, np.ndarray) if kind is None else kind().is_on(values, 0)
    from chattygraph import csgraph

    assert isinstance(csgraph.breadth_first_order(graph, 0)[0], np.ndarray)


@on_gpu
def test_refused_values(library) -> None:
    """A distance that does not fit is found on the GPU."""
    for dtype in ("int32", "float32"):
        top = np.iinfo(np.int32).max if dtype == "int32" else np.finfo(np.float32).max
        arrays = np.int32([0, 1, 2]), np.int32([1, 2, 3]), np.full(3, top, dtype=dtype)
        graph = cg.Graph(tuple(map(library.array, arrays)))
        with pytest.raises(cg.CapabilityError, match="a distance is"):
            cg.sssp(graph, source=0, devices="cuda:0")
        run = cg.run("sssp", graph, source=3, devices="cuda:0")
        assert run.statistics.value_bytes == NOTHING and library.host(run.values)[3] == 0


@on_gpu
def test_a_graph_without_vertices(library) -> None:
    none = library.array(np.int32([]))
    ranks = cg.pagerank(cg.Graph((none, none), vertices=0), devices="cuda:0")
    assert len(ranks) == 0 and library.is_on(ranks, 0)


@on_gpu
def test_values_are_the_callers_own(library) -> None:
    matrix = random_matrix(300, 1500, 2)
    graph = cg.Graph.from_csr(*map(library.array, (matrix.indptr, matrix.indices, matrix.data)))
    session = cg.Session(graph, "cuda:0")
    first = session.run("pagerank", rounds=3).values
    kept = library.host(first).copy()
    session.run("pagerank", rounds=3).values[:] = 7
    assert np.allclose(library.host(session.run("pagerank", rounds=3).values), kept)
    session.close()
    del session, graph
    gc.collect()
    assert np.array_equal(library.host(first), kept)
    first[:] = 7
    assert (library.host(first) == 7).all()


@on_gpu
def test_the_callers_gpu_stays_current() -> None:
    if cg.cuda_devices() < 2:
        pytest.skip("one GPU")
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Device(1):
        graph = cg.Graph(tuple(map(cupy.asarray, edges()[:2])))
        assert cg.bfs(graph, source=0, devices="cuda:0").device.id == 1
        assert cg.bfs(graph, source=0, devices="cuda:0,1").device.id == 1
        assert cupy.cuda.runtime.getDevice() == 1


USES_THE_SECOND_ALONE = """
import ctypes, gc, sys, threading
import numpy as np, chattygraph as cg

driver = ctypes.CDLL("libcuda.so.1")

def has_context(gpu):
    device, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
    if driver.cuDeviceGet(ctypes.byref(device), gpu) != 0:
        return False  # the driver is not initialised
    assert driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active)) == 0
    return bool(active.value)

def work():
    graph = cg.Graph((np.arange(99), np.arange(1, 100)))
    for source in range(3):
        assert cg.bfs(graph, source=source, devices="cuda:1")[50] == 50 - source
    assert cg.pagerank(graph, devices="cuda:1", progress=lambda report: None).shape == (100,)
    with cg.Session(graph, "cuda:1") as session:
        try:
            session.run("bfs", source=1000)
        except cg.UsageError:
            pass
        assert cg.run("cc", session).values[99] == 0
        kept = cg.Session(graph, "cuda:1")
        kept.run("bfs")
    del kept
    graph.release()
    gc.collect()

work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(has_context(0), has_context(1))
"""


@on_gpu
def test_one_gpu_is_used_without_a_context_on_another() -> None:
    if cg.cuda_devices() < 2:
        pytest.skip("one GPU")
    done = subprocess.run([sys.executable, "-c", USES_THE_SECOND_ALONE], capture_output=True, text=True, timeout=600)
    assert done.stdout.split() == ["False", "True"], done.stdout + done.stderr


@on_gpu
def test_a_program_in_source_runs_on_gpus(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_compile import REACH

    monkeypatch.setenv("CHATTYGRAPH_CACHE", str(tmp_path))
    matrix = random_matrix(2000, 9000, 4)
    try:
        hops = cg.program(REACH, cuda=True)
    except cg.CapabilityError as error:
        assert "no nvcc" in str(error)
        hops = cg.program(REACH)
        assert cg.run(hops, matrix, source=0).statistics.devices[0]["device"] == "host:0"
        pytest.skip("no nvcc")
    expected = hops(matrix, source=0, limit=5, devices="host:1")
    run = cg.run(hops, matrix, source=0, limit=5)
    assert run.statistics.devices[0]["device"].startswith("cuda:") and np.array_equal(run.values, expected)
    if cg.cuda_devices() > 1:
        assert np.array_equal(hops(matrix, source=0, limit=5, devices="cuda:0,1"), expected)


@on_gpu
def test_threads(library) -> None:
    matrix = random_matrix(2000, 9000, 4)
    graph = cg.Graph.from_csr(*map(library.array, (matrix.indptr, matrix.indices, matrix.data)))
    expected = [library.host(cg.bfs(graph, source=s, devices="cuda:0")) for s in range(4)]
    failures = []

    def work(s: int) -> None:
        try:
            for _ in range(50):
                assert np.array_equal(library.host(cg.bfs(graph, source=s, devices="cuda:0")), expected[s])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# -------------------------------------------------------------------- leaks ----
@on_gpu
def test_a_thousand_calls_keep_nothing(library) -> None:
    """Memory of returned arrays is the GPU's again; inputs have the references that they had."""
    n = 300_000
    arrays = [library.array(array.astype(np.int32)) for array in edges(n, n)]
    before = [sys.getrefcount(array) for array in arrays]
    graph = cg.Graph(tuple(arrays), vertices=n)
    teleport = library.array(np.ones(n))
    before_data = sys.getrefcount(teleport)
    with cg.Session(graph, "cuda:0") as session:
        for _ in range(5):
            session.run("bfs", source=0)
            session.run("personalised_pagerank", teleport=teleport, rounds=1)
        gc.collect()
        free = library.free()
        for i in range(1000):
            session.run("bfs", source=i)
            if i % 20 == 0:
                session.run("personalised_pagerank", teleport=teleport, rounds=1)
        gc.collect()
        assert abs(free - library.free()) < 32 << 20  # a thousand arrays of 1.2 MB would be 1.2 GB
        held = [session.run("bfs", source=i).values for i in range(200)]
        assert free - library.free() > 100 << 20  # so the measurement sees arrays
        del held
        gc.collect()
        assert abs(free - library.free()) < 32 << 20
    assert sys.getrefcount(teleport) == before_data
    del graph, session
    gc.collect()
    assert [sys.getrefcount(array) for array in arrays] == before


@on_gpu
def test_arrays_that_live_to_the_end(library) -> None:
    """A process may end while arrays, sessions and runs live."""
    make = "cupy.asarray(np.arange(9))" if isinstance(library, Cupy) else "torch.arange(9).cuda()"
    code = (
        f"import numpy as np, {type(library).__name__.lower()}\nimport chattygraph as cg\n"
        f"ends = {make}\nkept = cg.run('bfs', (ends, (ends + 1) % 9), source=0, devices='cuda:0')\n"
        "session = cg.Session((ends, ends), 'cuda:0')\nvalues = session.run('pagerank').values\nprint(np.asarray(kept)[5])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "5" in done.stdout, done.stderr
    assert "leak" not in done.stderr and "Error" not in done.stderr, done.stderr


@on_gpu
def test_a_matrix_of_scipy_needs_no_library() -> None:
    values = cg.bfs(sp.eye_array(50, k=1, format="csr", dtype=np.float32), source=0, devices="cuda:0")
    assert isinstance(values, np.ndarray) and values[49] == 49
