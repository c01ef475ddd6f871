"""Vertex programs from C++ source: compiled with the package's headers, kept by content, loaded into this process."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence

from . import _core
from ._errors import CapabilityError, CompileError, UsageError
from ._programs import Program

__all__ = ["program"]

PACKAGE = pathlib.Path(__file__).parent
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fopenmp", "-DCHATTY_VERTEX_BITS=32", "-DNDEBUG")

#: gcc's unique symbols are one for the whole process: a second program with a type of the same name, as a notebook makes
#: them, would get the first one's constants. clang has none, and does not know the option.
GCC_FLAGS = ("-fno-gnu-unique",)

#: Linking has -fopenmp with clang alone, whose code calls clang's own OpenMP runtime. gcc's code calls the libgomp that
#: libchattygraph.so has loaded. In a wheel that is the wheel's own copy, and -lgomp would load the system's as a second
#: runtime with threads of its own.
CLANG_LINK_FLAGS = ("-fopenmp",)

#: Registers the class, and nothing else, under the name. `#line` gives the compiler's messages the program's own lines.
SOURCE = """#include <chatty/chatty.h>
{program}
#line 1 "registration of {name}"
#include "chatty/framework/register.h"
CHATTY_REGISTER_HOST({name}, {type})
extern "C" __attribute__((visibility("default"))) void chatty_register(chatty::Registry* registry) {{
  chatty::RegisterProgram_{name}_host(*registry);
}}
"""


def program(
    source: str | os.PathLike[str],
    /,
    *,
    type: str | None = None,
    name: str | None = None,
    flags: Sequence[str] = (),
    compiler: str | None = None,
) -> Program:
    """Compiles a vertex program in C++ and returns it, ready to run: ``program(text)(graph)``.

    The program is a type with the members that docs/writing-a-program.md explains; chatty.h need not be included.
    What was compiled is kept by content, so a second call with the same text takes milliseconds.

    Args:
        source: the text, or the path of a file.
        type: the type that is the program. None: the last struct or class of the text.
        name: the program's name. None: the type's.
        flags: further options of the compiler, as "-O3" or "-I/path".
        compiler: a C++20 compiler. None: the environment's CXX, or else g++.

    Raises:
        CompileError: with the sentence that says what is wrong with the program, and ``line``; ``log`` has all that the
            compiler wrote.
        CapabilityError: there is no compiler.
    """
    is_text = isinstance(source, str) and ("\n" in source or "{" in source)
    path = None if is_text else pathlib.Path(source).absolute()
    if path is not None and not path.is_file():
        raise UsageError(f"{path}: there is no such file; a program's text has braces or several lines")
    text = str(source) if path is None else path.read_text()
    chosen = type or _last_type(text)
    if not re.fullmatch(r"(\w+::)*[A-Za-z_]\w*(<[\w:, <>]+>)?", chosen):
        raise UsageError(f"type '{chosen}': it is the name of a struct or class")
    called = name or re.sub(r"\W+", "_", chosen)
    if not re.fullmatch(r"[A-Za-z_]\w*", called):
        raise UsageError(f"name '{called}': it has letters, digits and underscores")
    shown = str(path) if path is not None else "program"
    # A file is included, so that its own includes are found beside it.
    body = f'#include "{path}"' if path is not None else f'#line 1 "{shown}"\n{text}'
    unit = SOURCE.format(program=body, name=called, type=chosen)
    registry = _core.load(
        str(_compiled(unit, text, shown, chosen, tuple(flags), compiler or os.environ.get("CXX") or "g++"))
    )
    return Program(registry, registry.programs()[0])


def _last_type(text: str) -> str:
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"^(?:struct|class)\s+([A-Za-z_]\w*)\s*(?:final\s*)?(?::[^{;]*)?\{", code, flags=re.MULTILINE)
    if not found:
        raise UsageError(
            "the text has no struct or class at the begin of a line; name the program's type: program(..., type='Reach')"
        )
    return found[-1]


def cache_folder() -> pathlib.Path:
    """Where compiled programs are kept: CHATTYGRAPH_CACHE, or chattygraph in the user's cache folder."""
    own = os.environ.get("CHATTYGRAPH_CACHE")
    if own:
        return pathlib.Path(own)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "chattygraph"


@functools.cache
def _version_of(compiler: str) -> str:
    found = shutil.which(compiler.split()[0])
    if found is None:
        raise CapabilityError(
            f"there is no compiler '{compiler}'; install g++ 12 or later, or name one: program(..., compiler='clang++')"
        )
    try:
        done = subprocess.run([*compiler.split(), "--version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError as error:
        raise CapabilityError(f"the compiler '{compiler}' does not start: {error}") from None
    return f"{found} {done.stdout.splitlines()[:1]}"


@functools.cache
def _library() -> str:
    """What a compiled program depends on: the library as it is."""
    digest = hashlib.sha256((PACKAGE / "libchattygraph.so").read_bytes())
    return digest.hexdigest()


def _digest(path: str) -> str | None:
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def _compiled(unit: str, text: str, shown: str, type: str, flags: tuple[str, ...], compiler: str) -> pathlib.Path:
    """The shared object of a translation unit, compiled now or earlier."""
    version = _version_of(compiler)
    own_flags = flags
    flags = (*FLAGS, *(() if "clang" in version else GCC_FLAGS), *own_flags)
    parts = [unit, text, *flags, version, _library()]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    kept, notes = folder / f"{key}.so", folder / f"{key}.json"
    if kept.exists() and notes.exists():
        included = json.loads(notes.read_text())
        if all(_digest(path) == digest for path, digest in included.items()):
            return kept
        # The process may have loaded the old one under this name, and would get it again.
        changed = hashlib.sha256("\0".join([key, *(str(_digest(path)) for path in included)]).encode()).hexdigest()
        kept, notes = folder / f"{changed}.so", folder / f"{changed}.json"
        if kept.exists() and notes.exists():
            return kept
    with tempfile.TemporaryDirectory(dir=folder) as work:
        source, object_, made, list_ = (pathlib.Path(work) / name for name in ("unit.cpp", "unit.o", "unit.so", "unit.d"))
        source.write_text(unit)
        compile_ = [
            *compiler.split(), *flags, "-fdiagnostics-color=never", "-fno-diagnostics-show-caret",
            "-MD", "-MF", str(list_),
            f"-I{PACKAGE / 'include'}", f"-I{PACKAGE / 'include' / 'generated'}", "-c", str(source), "-o", str(object_),
        ]  # fmt: skip
        link = [
            *compiler.split(), "-shared", *(CLANG_LINK_FLAGS if "clang" in version else ()), str(object_), "-o", str(made),
            *own_flags, f"-L{PACKAGE}", "-l:libchattygraph.so", f"-Wl,-rpath,{PACKAGE}",
        ]  # fmt: skip
        for command in (compile_, link):
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"}
            )
            if done.returncode != 0:
                raise _error(done.stderr, text, shown, type)
        paths = list_.read_text().replace("\\\n", " ").split()[1:]
        own = (str(PACKAGE), str(PACKAGE.resolve()), "/usr/", work)
        included = {path: _digest(path) for path in paths if not path.startswith(own)}
        os.replace(made, kept)
        (pathlib.Path(work) / "notes").write_text(json.dumps(included))
        os.replace(pathlib.Path(work) / "notes", notes)
    return kept


def _error(log: str, text: str, shown: str, type: str) -> CompileError:
    """The first thing that is wrong: an error in the program's own lines, or a sentence of the concept."""
    where = re.escape(shown)
    sentence = re.search(r"check\.h:\d+:\d+: error: static assertion failed: (.+)", log)
    if sentence is None:
        sentence = re.search(r"error: static assertion failed: (.+)", log)
    own = re.search(rf"^{where}:(\d+):\d+: (?:fatal )?error: (.+)$", log, flags=re.MULTILINE)
    if own is not None and (sentence is None or own.start() < sentence.start()):
        line = int(own[1])
        return CompileError(f"{shown}:{line}: {own[2]}", line, log)
    if sentence is not None:
        said = re.search(rf"^{where}:(\d+):", log, flags=re.MULTILINE)
        begin = re.search(rf"^\s*(?:struct|class)\s+{re.escape(type)}\b", text, flags=re.MULTILINE)
        line = int(said[1]) if said else text.count("\n", 0, begin.end()) + 1 if begin else 1
        return CompileError(f"{shown}:{line}: {type}: {sentence[1]}", line, log)
    first = re.search(r"(?:fatal )?error: (.+)", log)
    return CompileError(f"{shown}: {first[1] if first else 'the compiler failed'}", None, log)
