"""The examples of docs/python.md run, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import networkx as nx
import pytest

import chattygraph as cg

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


TABLE = re.compile(r"<!-- python-(\w+): begin -->\n(.*?)\n<!-- python-\1: end -->", re.DOTALL)


def test_tables_are_those_of_the_records() -> None:
    tables = dict(TABLE.findall(PAGE.read_text()))
    assert set(tables) == {"edges", "csr"}
    for start, text in tables.items():
        (record,) = re.findall(r"\(\.\./(bench/results/[\w.-]+\.json)\)", text)
        assert json.loads((ROOT / record).read_text())["start"] == start
        command = [sys.executable, str(ROOT / "bench" / "python.py"), "--show", str(ROOT / record)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        assert text == shown.rstrip("\n")


COMMAND = re.compile(r"python -c ([\"'].*)")


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_two_commands(page: str) -> None:
    """`pip install .` brings numpy alone, so the second command imports nothing else."""
    (command,) = COMMAND.findall((ROOT / page).read_text())
    code = shlex.split(command)[0]
    imported = re.findall(r"import (\w+)", code)
    assert imported == ["chattygraph"]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "[0 1 2 3]\n", done.stderr


# --------------------------------------------------------------- notebooks ----
def executed(cells: list, folder: pathlib.Path) -> dict:
    """A notebook of these cells, as a kernel has executed it in a folder."""
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    # As a file has them: a cell's source may be a list of lines, which reading joins.
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    notebook = nbformat.reads(json.dumps(whole), as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(pathlib.Path(cg.__file__).parents[1].absolute())})
    return notebook


def types_of(cell: dict) -> set[str]:
    """The kinds of data that a cell shows."""
    return {kind for output in cell.get("outputs", []) for kind in output.get("data", {})}


@pytest.mark.parametrize("notebook", sorted(path.name for path in (ROOT / "examples").glob("*.ipynb")))
def test_notebooks(notebook: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATTYGRAPH_CACHE", str(tmp_path / "cache"))
    cells = json.loads((ROOT / "examples" / notebook).read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)  # they would differ from machine to machine
    shown = executed(cells, tmp_path)["cells"]
    assert all(cell["execution_count"] for cell in shown if cell["cell_type"] == "code")
    assert sum("image/png" in types_of(cell) for cell in shown) >= 2  # the drawings


def test_progress_and_plots_in_a_notebook(tmp_path: pathlib.Path) -> None:
    """progress=True is a bar of the notebook's own with ipywidgets, and a line that is redrawn without tqdm."""
    pytest.importorskip("ipywidgets")
    run = "run = cg.run('pagerank', ([0, 1, 2], [1, 2, 0]), rounds=9, tolerance=0, trace=True, progress=True)"
    sources = [
        "import sys, chattygraph as cg",
        run,
        "run.plot_rounds();",
        "sys.modules['tqdm.auto'] = None  # its import fails",
        run,
    ]
    cells = [
        {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": source, "id": f"cell-{i}"}
        for i, source in enumerate(sources)
    ]
    notebook = executed(cells, tmp_path)
    shown = notebook["cells"]
    assert "application/vnd.jupyter.widget-view+json" in types_of(shown[1])
    assert not any(output.get("name") == "stderr" for output in shown[1]["outputs"])
    widgets = notebook["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"].values()
    bars = [widget["state"] for widget in widgets if widget["model_name"] == "FloatProgressModel"]
    assert [(bar["value"], bar["max"], bar["bar_style"]) for bar in bars] == [(9, 9, "success")]
    assert any("pagerank" in str(widget["state"].get("value")) for widget in widgets)
    assert "image/png" in types_of(shown[2])
    line = "".join(output["text"] for output in shown[4]["outputs"] if output.get("name") == "stderr")
    assert line.startswith("\rpagerank: 1 rounds") and line.rstrip().endswith("ms")
