"""Writes the type stubs of the package: of the extension module by nanobind, of the functions from the programs themselves.

    python python/tools/stubs.py           writes python/chattygraph/_core.pyi and __init__.pyi
    python python/tools/stubs.py --check   compares, and prints what differs; exit code 1 if something does

`chattygraph` is the package that Python finds, so set PYTHONPATH to that of the build folder.
"""

from __future__ import annotations

import ast
import difflib
import pathlib
import sys

import nanobind.stubgen

from chattygraph import _core, _programs

HERE = pathlib.Path(__file__).resolve().parents[1] / "chattygraph"


def core_stub() -> str:
    """The stub of the extension module."""
    generator = nanobind.stubgen.StubGen(_core)
    generator.put(_core)
    return generator.get()


def init_stub() -> str:
    """The stub of the package: what __init__.py imports and defines, and a signature for each program."""
    tree = ast.parse((HERE / "__init__.py").read_text())
    lines = [
        '"""Graph algorithms and vertex programs on CPU cores and GPUs."""',
        "",
        "from typing import Any",
        "",
        "import numpy",
        "",
    ]
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
    for node in imported:
        for alias in node.names:
            name = alias.asname or alias.name
            if not name.startswith("_"):
                lines.append(f"from .{node.module or ''} import {alias.name} as {name}")
    lines += [
        "from . import csgraph as csgraph",
        "from ._graph import GraphLike",
        "from ._progress import Progress",
        "",
        "__version__: str",
        "UNREACHED: int",
        "",
    ]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            lines.append(f"def {node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}: ...")
    known = _programs.programs()
    names = dict.fromkeys(known) | {alias: full for alias, full in _programs.ALIASES.items() if full in known}
    for name, full in sorted(names.items()):
        parts = ["graph: GraphLike | Session", "/", "*"]
        for parameter in list(known[full or name].__signature__.parameters.values())[1:-1]:
            kind = parameter.annotation
            text = kind if isinstance(kind, str) else {"ndarray": "numpy.ndarray | None"}.get(kind.__name__, kind.__name__)
            parts.append(f"{parameter.name}: {text} = {parameter.default!r}")
        lines.append(f"def {name}(\n    " + ",\n    ".join(parts) + ",\n    **options: Any,\n) -> numpy.ndarray: ...")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Writes or compares both."""
    status = 0
    for name, text in {"_core.pyi": core_stub(), "__init__.pyi": init_stub()}.items():
        path = HERE / name
        if arguments != ["--check"]:
            path.write_text(text)
            continue
        old = path.read_text() if path.exists() else ""
        for line in difflib.unified_diff(
            old.splitlines(), text.splitlines(), f"{name}, as it is", f"{name}, as it is to be", lineterm=""
        ):
            print(line)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
