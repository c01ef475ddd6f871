"""Imports the extension module before all else, and loads NCCL for it where the dynamic linker does not find it.

chattygraph-cu13 finds the library of the wheel nvidia-nccl-cu13 by a path from its own folder. The path leads nowhere if the
wheels are in different folders, as in a virtual environment that sees the system's packages. Python finds NCCL there, and
the dynamic linker takes a library of that name that the process has loaded.
"""

from __future__ import annotations

import ctypes
import importlib.util
import pathlib

__all__ = ["load"]


def load() -> None:
    """Imports the extension module.

    Raises:
        ImportError: it cannot be loaded; where that is for want of NCCL, the text names the wheel.
    """
    try:
        from . import _core  # noqa: F401
    except ImportError as error:
        if "libnccl" not in str(error):
            raise
        try:
            found = importlib.util.find_spec("nvidia.nccl")
        except ModuleNotFoundError:
            found = None
        folders = list(found.submodule_search_locations or []) if found is not None else []
        libraries = [path for folder in folders if (path := pathlib.Path(folder) / "lib" / "libnccl.so.2").is_file()]
        if not libraries:
            raise ImportError(f"{error}; this package needs NCCL: pip install nvidia-nccl-cu13") from None
        ctypes.CDLL(str(libraries[0]))
        from . import _core  # noqa: F401


load()
