"""The examples of docs/python.md run, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import re

import networkx as nx
import pytest

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def test_examples(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CHATTYGRAPH_CACHE", str(tmp_path / "cache"))
    nx.config.warnings_to_ignore.add("cache")
    names: dict = {}
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) >= 6
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == expected
    assert names["passed"] and (tmp_path / "run.json").exists()


@pytest.mark.parametrize("notebook", sorted(path.name for path in (ROOT / "examples").glob("*.ipynb")))
def test_notebooks(notebook: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATTYGRAPH_CACHE", str(tmp_path / "cache"))
    cells = json.loads((ROOT / "examples" / notebook).read_text())["cells"]
    names: dict = {}
    for cell in cells:
        assert not cell.get("outputs")  # they would differ from machine to machine
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), notebook, "exec"), names)
