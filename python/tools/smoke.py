"""Tries an installed package `chattygraph`: what a wheel can lack, and what can be wrong in one and right in a build folder.

    python -P python/tools/smoke.py

Needs scipy, networkx and g++. The package is that of the running Python; one outside its environment is refused. Answers are
compared with scipy's and networkx'. Prints a line for each thing that was tried.
"""

from __future__ import annotations

import ast
import contextlib
import gzip
import importlib.metadata
import os
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator

import networkx as nx
import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph

import chattygraph as cg
from chattygraph import csgraph

PACKAGE = pathlib.Path(cg.__file__).parent
HOPS = """
struct Hops {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  chatty::VertexId source = 0;
  static constexpr auto kParameters =
      std::make_tuple(chatty::Parameter{"source", &Hops::source, "vertex to start from"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& hops) const { return hops != chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>) const { return hops + 1; }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};
"""


def check(holds: object, what: str) -> None:
    """Ends the program unless it holds, with python -O as well."""
    if not holds:
        sys.exit(f"smoke: {what}")


@contextlib.contextmanager
def standard_error() -> Iterator[list[str]]:
    """What is written to file descriptor 2 meanwhile, by the library, too: one text, when the block has ended."""
    written: list[str] = []
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield written
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            written.append(file.read().decode())


def mapped(pattern: str) -> set[str]:
    """Files in this process' memory whose name matches."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return {path for path in re.findall(r"\S+$", maps, flags=re.MULTILINE) if re.search(pattern, path)}


def files() -> None:
    """The package is the installed one, and has stubs and headers."""
    check(PACKAGE.is_relative_to(sys.prefix), f"the package is {PACKAGE}, not of the environment {sys.prefix}")
    names = [name for name in ("chattygraph", "chattygraph-cu13") if list(importlib.metadata.distributions(name=name))]
    check(len(names) == 1, f"installed are {names}, which have the same files")
    distribution = importlib.metadata.distribution(names[0])
    check(distribution.version == cg.__version__, f"the wheel is {distribution.version}, the library {cg.__version__}")
    for name in ("py.typed", "__init__.pyi", "_core.pyi", "include/chatty/chatty.h", "include/fmt/format.h"):
        check((PACKAGE / name).is_file(), f"the wheel lacks {name}")
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    check(set(cg.programs()) <= declared, f"stubs lack {set(cg.programs()) - declared}")
    print(f"{names[0]} {cg.__version__}, {PACKAGE}, {len(cg.programs())} programs, each with a stub")


def answers(matrix: sp.csr_array) -> None:
    """bfs, csgraph, and a graph of networkx."""
    expected = scipy.sparse.csgraph.shortest_path(matrix, indices=3, unweighted=True)
    for devices in ("host", "host:3"):
        levels = cg.bfs(matrix, source=3, devices=devices)
        check(np.array_equal(np.where(levels == cg.UNREACHED, np.inf, levels), expected), f"bfs is wrong on {devices}")
    count, labels = csgraph.connected_components(matrix, directed=True, connection="strong")
    correct, other = scipy.sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    check(count == correct and len(set(zip(labels, other, strict=True))) == correct, "csgraph: the components are wrong")
    check(np.allclose(csgraph.dijkstra(matrix, indices=[3]), scipy.sparse.csgraph.dijkstra(matrix, indices=[3])),
          "csgraph: the distances are wrong")  # fmt: skip
    G = nx.gnp_random_graph(300, 0.02, seed=1)
    ranks, correct = nx.pagerank(G, backend="chattygraph"), nx.pagerank(G)
    check(all(abs(ranks[v] - correct[v]) < 1e-4 for v in G), "networkx: the ranks are wrong")
    print("bfs, csgraph and networkx agree with scipy and networkx")


def bundled(matrix: sp.csr_array) -> None:
    """zlib, zstd and METIS are in the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        text = b"0 1\n1 2\n2 3\n"
        # One raw block: a frame without a dictionary and checksum, with its size in one byte.
        block = ((len(text) << 3) | 1).to_bytes(3, "little")
        frame = b"\x28\xb5\x2f\xfd\x20" + bytes([len(text)]) + block + text
        for name, packed in (("path.txt.gz", gzip.compress(text)), ("path.txt.zst", frame)):
            path = pathlib.Path(folder) / name
            path.write_bytes(packed)
            check(list(cg.bfs(cg.Graph(path), source=0)) == [0, 1, 2, 3], f"{name} is read wrongly")
    with standard_error() as written, cg.Session(matrix, "host:2", partition="metis") as session:
        levels = session.run("bfs", source=3).values
    check(np.array_equal(levels, cg.bfs(matrix, source=3)), "bfs is wrong after METIS")
    check("metis" not in written[0].lower(), f"partition metis: {written[0]}")
    print("files in gzip and zstd are read; METIS divides graphs")


def compiled(matrix: sp.csr_array) -> None:
    """cg.program works with the headers of the package, and with the OpenMP runtime of the library."""
    hops = cg.program(HOPS)
    for devices in ("host", "host:3"):
        check(np.array_equal(hops(matrix, source=3, devices=devices), cg.bfs(matrix, source=3)),
              f"the compiled program is wrong on {devices}")  # fmt: skip
    runtimes = mapped(r"/lib(gomp|iomp5|omp)\b[^/]*$")
    check(len(runtimes) == 1, f"the process has {len(runtimes)} OpenMP runtimes: {sorted(runtimes)}")
    print(f"cg.program runs; the only OpenMP runtime is {runtimes.pop()}")


def main() -> None:
    """Tries all."""
    rng = np.random.default_rng(1)
    matrix = sp.random_array((2000, 2000), density=0.003, format="csr", dtype=np.float32, rng=rng)
    matrix.data = np.ceil(matrix.data * 9)
    files()
    answers(matrix)
    bundled(matrix)
    compiled(matrix)


if __name__ == "__main__":
    main()
