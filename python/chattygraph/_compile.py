"""Vertex programs from C++ source: compiled with the package's headers, kept by content, loaded into this process."""

from __future__ import annotations

import ctypes
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

#: nvcc's, for the unit of GPUs: as CMake compiles prebuilt programs. A call of a function that GPUs lack is an error, where
#: nvcc would only warn.
CUDA_FLAGS = (
    "-std=c++20", "-O3", "-DCHATTY_VERTEX_BITS=32", "-DNDEBUG", "--extended-lambda", "--expt-relaxed-constexpr",
    "--Werror=cross-execution-space-call",
)  # fmt: skip

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
#ifdef CHATTY_PYTHON_CUDA
namespace chatty {{
void RegisterProgram_{name}_cuda(Registry& registry);
}}
#endif
extern "C" __attribute__((visibility("default"))) void chatty_register(chatty::Registry* registry) {{
  chatty::RegisterProgram_{name}_host(*registry);
#ifdef CHATTY_PYTHON_CUDA
  chatty::RegisterProgram_{name}_cuda(*registry);
#endif
}}
"""
CUDA_SOURCE = """#include <chatty/chatty.h>
{program}
#line 1 "registration of {name}"
#include "chatty/framework/register.h"
CHATTY_REGISTER_CUDA({name}, {type})
"""


def program(
    source: str | os.PathLike[str],
    /,
    *,
    type: str | None = None,
    name: str | None = None,
    flags: Sequence[str] = (),
    compiler: str | None = None,
    cuda: bool | None = None,
) -> Program:
    """Compiles a vertex program in C++ and returns it, ready to run: ``program(text)(graph)``.

    The program is a type with the members that docs/writing-a-program.md explains; chatty.h need not be included.
    What was compiled is kept by content, so a second call with the same text takes milliseconds.

    Where there are GPUs and nvcc, the program is compiled for these GPUs, too.

    Args:
        source: the text, or the path of a file.
        type: the type that is the program. None: the last struct or class of the text.
        name: the program's name. None: the type's.
        flags: further options of the compiler, as "-O3" or "-I/path".
        compiler: a C++20 compiler. None: the environment's CXX, or else g++.
        cuda: whether to compile for the GPUs of this process. None: where there are some, and nvcc, which is the
            environment's CUDACXX, or on the PATH, or in CUDA_HOME or /usr/local/cuda.

    Raises:
        CompileError: with the sentence that says what is wrong with the program, and ``line``; ``log`` has all that the
            compiler wrote.
        CapabilityError: there is no compiler, or none for GPUs where ``cuda=True`` asks for it.
    """
    if cuda not in (None, True, False):
        raise UsageError(f"cuda {cuda!r}: it is True, False or None")
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
    host = _Compiler(compiler or os.environ.get("CXX") or "g++")
    gpus = _gpu_compiler(host, required=cuda is True) if cuda is not False else None
    units = [part.format(program=body, name=called, type=chosen) for part in (SOURCE, CUDA_SOURCE)]
    registry = _core.load(str(_compiled(units, text, shown, chosen, tuple(flags), host, gpus)))
    return Program(registry, registry.programs()[0], host_only=gpus is None)


class _Compiler:
    """A C++ compiler: its command and what its results depend on."""

    def __init__(self, command: str) -> None:
        self.command = command.split()
        self.version = _version_of(command)
        self.is_clang = "clang" in self.version


class _GpuCompiler:
    """nvcc with the host's compiler, for the GPUs of this process."""

    def __init__(self, nvcc: str, architectures: Sequence[int], host: _Compiler) -> None:
        self.command = [nvcc, "-ccbin", shutil.which(host.command[0]) or host.command[0]]
        self.flags = [*CUDA_FLAGS, "-Xcompiler=-fPIC,-fopenmp" + ("" if host.is_clang else ",-fno-gnu-unique")]
        for number in architectures:
            self.flags.append(f"--generate-code=arch=compute_{number},code=sm_{number}")
        self.version = f"{_version_of(nvcc)} {self.flags}"

    def own(self, flags: Sequence[str]) -> list[str]:
        """The caller's flags: those that nvcc does not have go to the host's compiler."""
        return [flag if re.match(r"-[IDUOLl]", flag) else f"-Xcompiler={flag}" for flag in flags]


def _gpu_compiler(host: _Compiler, required: bool) -> _GpuCompiler | None:
    """What compiles for the GPUs of this process. None where that is impossible, and CapabilityError if it is required."""
    architectures = _architectures() if _core.cuda_devices() > 0 else []
    if not architectures:
        if required:
            raise CapabilityError("cuda=True: there is no GPU here, or this build of chattygraph has no CUDA support")
        return None
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates = [os.environ.get("CUDACXX"), "nvcc", *(f"{home}/bin/nvcc" for home in homes if home)]
    nvcc = next((found for name in candidates if name and (found := shutil.which(name))), None)
    if nvcc is None:
        if required:
            raise CapabilityError("cuda=True: there is no nvcc; install CUDA's compiler, or name it in CUDACXX")
        return None
    return _GpuCompiler(nvcc, architectures, host)


def _architectures() -> list[int]:
    """Compute capabilities of the GPUs of this process, as 90. By the driver, which creates no context for the question."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, value = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = set()
    for gpu in range(count.value):
        parts = []
        for attribute in (
            75,
            76,
        ):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR; the GPU's ordinal is its handle
            if driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, gpu) != 0:
                return []
            parts.append(value.value)
        found.add(10 * parts[0] + parts[1])
    return sorted(found)


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


def _compiled(
    units: Sequence[str],
    text: str,
    shown: str,
    type: str,
    own_flags: tuple[str, ...],
    host: _Compiler,
    gpus: _GpuCompiler | None,
) -> pathlib.Path:
    """The shared object of the units for hosts and for GPUs, compiled now or earlier."""
    flags = [*FLAGS, *(() if host.is_clang else GCC_FLAGS), *(("-DCHATTY_PYTHON_CUDA",) if gpus else ()), *own_flags]
    parts = [*units, text, *flags, host.version, *((gpus.version,) if gpus else ()), _library()]
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
        device_source, device_object = pathlib.Path(work) / "unit.cu", pathlib.Path(work) / "unit.cu.o"
        source.write_text(units[0])
        device_source.write_text(units[1])
        includes = [f"-I{PACKAGE / 'include'}", f"-I{PACKAGE / 'include' / 'generated'}"]
        compile_ = [
            *host.command, *flags, "-fdiagnostics-color=never", "-fno-diagnostics-show-caret",
            "-MD", "-MF", str(list_), *includes, "-c", str(source), "-o", str(object_),
        ]  # fmt: skip
        library = [f"-L{PACKAGE}", "-Xlinker", "-l:libchattygraph.so", "-Xlinker", "-rpath", "-Xlinker", str(PACKAGE)]
        if gpus is None:
            openmp: tuple[str, ...] = CLANG_LINK_FLAGS if host.is_clang else ()
            commands = [compile_, [*host.command, "-shared", *openmp, str(object_), "-o", str(made), *own_flags, *library]]
        else:
            own = gpus.own(own_flags)
            openmp = tuple(f"-Xcompiler={flag}" for flag in CLANG_LINK_FLAGS) if host.is_clang else ()
            commands = [
                compile_,  # first: it has the sentences of what is wrong with a program
                [*gpus.command, *gpus.flags, *own, *includes, "-c", str(device_source), "-o", str(device_object)],
                [*gpus.command, "-shared", "--cudart=static", *openmp, str(object_), str(device_object), "-o", str(made),
                 *own, *library],
            ]  # fmt: skip
        for command in commands:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"}
            )
            if done.returncode != 0:
                raise _error(done.stderr or done.stdout, text, shown, type)
        paths = list_.read_text().replace("\\\n", " ").split()[1:]
        theirs = (str(PACKAGE), str(PACKAGE.resolve()), "/usr/", work)
        included = {path: _digest(path) for path in paths if not path.startswith(theirs)}
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
    if own is None:  # nvcc's
        own = re.search(rf"^{where}\((\d+)\): (?:catastrophic )?error(?: #\S+)?: (.+)$", log, flags=re.MULTILINE)
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
