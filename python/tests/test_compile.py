"""Programs from C++ source: right ones run, wrong ones say what is wrong and where."""

from __future__ import annotations

import pathlib
import time

import numpy as np
import pytest
import scipy.sparse.csgraph as csgraph
from conftest import random_matrix

import chattygraph as cg
from chattygraph import _compile

REACH = """
/// Number of edges from the source, at most `limit`.
struct Hops {
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = chatty::Reduction::kMin;
  static constexpr auto kSafety = chatty::Safety::kMonotone;
  static constexpr chatty::Info kInfo{.summary = "edges from the source", .output_name = "hops"};

  chatty::VertexId source = 0;
  std::uint32_t limit = 3;
  static constexpr auto kParameters = std::make_tuple(chatty::Parameter{"source", &Hops::source, "vertex to start from"},
                                                      chatty::Parameter{"limit", &Hops::limit, "most edges"});

  CHATTY_FN Value InitVertex(chatty::Vertex v) const { return v.id == source ? 0 : chatty::kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& hops, chatty::Edge<>) const {
    return hops < limit ? hops + 1 : chatty::kInfinity<Value>;
  }
  CHATTY_FN bool UpdateStatus(Value& hops, Message m, chatty::Vertex) const {
    if (m >= hops) return false;
    hops = m;
    return true;
  }
};
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch) -> pathlib.Path:
    """One cache for this module, which no other run has filled."""
    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("CHATTYGRAPH_CACHE", str(folder))
    return folder


def test_a_program_in_source_runs_as_any_other(own_cache: pathlib.Path) -> None:
    hops = cg.program(REACH)
    assert (hops.name, hops.summary, hops.values) == ("Hops", "edges from the source", ["hops"])
    matrix = random_matrix(100, 300, 5)
    expected = csgraph.shortest_path(matrix, indices=4, unweighted=True)
    for devices in ("host", "host:3"):
        found = hops(matrix, source=4, limit=2, devices=devices)
        assert np.array_equal(np.where(found == cg.UNREACHED, np.inf, found), np.where(expected <= 2, expected, np.inf))
    with cg.Session(matrix) as session:
        assert session.run(hops, source=4).statistics.rounds > 0
    with pytest.raises(cg.UsageError, match="did you mean 'limit'"):
        hops(matrix, limt=2)
    count = len(list(own_cache.glob("*.so")))
    start = time.monotonic()
    assert np.array_equal(cg.program(REACH)(matrix), hops(matrix))
    assert len(list(own_cache.glob("*.so"))) == count
    assert time.monotonic() - start < 60


def test_a_file_and_what_it_includes(tmp_path: pathlib.Path, own_cache: pathlib.Path) -> None:
    text = REACH.replace("limit = 3", "limit = kLimit").replace('"most edges"', "kHelp")
    (tmp_path / "limit.h").write_text('#pragma once\nconstexpr unsigned kLimit = 1;\nconstexpr char kHelp[] = "few";\n')
    (tmp_path / "hops.h").write_text('#include "limit.h"\n' + text)
    matrix = random_matrix(100, 300, 5)
    first = cg.program(tmp_path / "hops.h", type="Hops", name="near")
    assert first.name == "near" and first.parameters[1]["default"] == "1"
    (tmp_path / "limit.h").write_text('#pragma once\nconstexpr unsigned kLimit = 7;\nconstexpr char kHelp[] = "more";\n')
    second = cg.program(tmp_path / "hops.h", name="near")
    assert second.parameters[1]["default"] == "7"
    assert [program.parameters[1]["help"] for program in (first, second)] == ["few", "more"]  # types of one name stay apart
    assert (first(matrix, source=0) == cg.UNREACHED).sum() >= (second(matrix, source=0) == cg.UNREACHED).sum()


def line_of(text: str, part: str) -> int:
    """The line of a text that has the part."""
    return text[: text.index(part)].count("\n") + 1


def test_wrong_cpp_says_where() -> None:
    text = REACH.replace("? hops + 1 :", "? hops + nothing :")
    with pytest.raises(cg.CompileError, match="nothing.* was not declared") as caught:
        cg.program(text)
    assert caught.value.line == line_of(text, "nothing")
    assert f"program:{caught.value.line}:" in str(caught.value) and "error" in caught.value.log


def test_a_wrong_program_gets_the_sentence_of_the_concept() -> None:
    text = REACH.replace("  static constexpr auto kSafety = chatty::Safety::kMonotone;\n", "")
    with pytest.raises(cg.CompileError, match="kSafety = chatty::Safety") as caught:
        cg.program(text)
    assert caught.value.line == line_of(text, "struct Hops")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cg.program("/nowhere/program.h"), cg.UsageError, "no such file"),
        (lambda: cg.program("int x;\nint y;\n"), cg.UsageError, "no struct or class"),
        (lambda: cg.program(REACH, type="a b"), cg.UsageError, "type 'a b'"),
        (lambda: cg.program(REACH, name="a-b"), cg.UsageError, "name 'a-b'"),
        (lambda: cg.program(REACH, compiler="no-such-compiler"), cg.CapabilityError, "no compiler"),
        (lambda: cg.program(REACH, cuda="yes"), cg.UsageError, "cuda 'yes': it is True, False or None"),
    ],
)
def test_wrong_requests(call, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_the_type_is_the_last_one() -> None:
    assert _compile._last_type("struct A {\n};\n// struct C {\nstruct B : A {\n};\n  struct D {};\n") == "B"


class OneGpu:
    """The extension module as it is where there is a GPU."""

    def __getattr__(self, name: str):
        return (lambda: 1) if name == "cuda_devices" else getattr(cg._core, name)


def test_gpus_are_compiled_for_where_they_are(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if cg.cuda_devices() == 0:
        with pytest.raises(cg.CapabilityError, match="no GPU here"):
            cg.program(REACH, cuda=True)
    host = _compile._Compiler("g++")
    monkeypatch.setattr(_compile, "_core", OneGpu())
    monkeypatch.setattr(_compile, "_architectures", lambda: [80, 90])
    for name in ("CUDACXX", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(_compile.shutil, "which", lambda name: None)
    assert _compile._gpu_compiler(host, required=False) is None
    with pytest.raises(cg.CapabilityError, match="no nvcc"):
        cg.program(REACH, cuda=True, compiler="g++")
    monkeypatch.undo()

    monkeypatch.setattr(_compile, "_core", OneGpu())
    monkeypatch.setattr(_compile, "_architectures", lambda: [80, 90])
    monkeypatch.setenv("CHATTYGRAPH_CACHE", str(tmp_path / "cache"))
    text = REACH.replace("limit = 3", "limit = 4")
    line = line_of(text, "m >= hops")
    asked = tmp_path / "asked"
    nvcc = tmp_path / "nvcc"  # what nvcc says of code that a GPU cannot run
    nvcc.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo nvcc; exit; }\n'
        f'echo "$@" >{asked}\necho "program({line}): error: calling a __host__ function is not allowed" >&2\nexit 2\n'
    )
    nvcc.chmod(0o755)
    monkeypatch.setenv("CUDACXX", str(nvcc))
    with pytest.raises(cg.CompileError, match="calling a __host__ function") as caught:
        cg.program(text, flags=("-DX=1", "-funroll-loops"))
    assert caught.value.line == line
    command = asked.read_text().split()
    assert {"-DX=1", "-Xcompiler=-funroll-loops", "--generate-code=arch=compute_80,code=sm_80"} <= set(command)
