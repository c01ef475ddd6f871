"""Arrays in a GPU's memory, of cupy, torch and others: as inputs, copied to the host, and as results, which are not.

Graphs are built in host memory, so inputs are copied there once, behind the work that their library has for them. The
values of a run on GPUs are written by a kernel to memory of the GPU where the inputs are. It goes to cupy or torch by
DLPack, and is freed with the array.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._errors import CapabilityError, InputError, UsageError

__all__ = ["HOST", "Location", "as_library", "first_location", "installed_location", "location_of", "to_host", "where"]

#: DLPack's numbers of devices: CUDA, and memory that CUDA manages.
_CUDA_DEVICES = (2, 13)

#: What `output` may be.
OUTPUTS = ("numpy", "cupy", "torch")


class Location(NamedTuple):
    """Where an array is: its library, "numpy", "cupy" or "torch", and the GPU, or None for the host."""

    library: str
    gpu: int | None


HOST = Location("numpy", None)


def location_of(values: Any) -> Location:
    """The location of an array; of anything else, and of arrays in host memory that are not torch's, HOST."""
    if isinstance(values, (np.ndarray, list, tuple)):
        return HOST
    library = type(values).__module__.partition(".")[0]
    if library == "torch" and hasattr(values, "is_cuda"):
        return Location("torch", values.device.index if values.is_cuda else None)
    if hasattr(values, "__dlpack_device__"):
        kind, number = values.__dlpack_device__()
        return Location("cupy", int(number)) if int(kind) in _CUDA_DEVICES else HOST
    if hasattr(values, "__cuda_array_interface__"):
        gpu = _core.gpu_of(values.__cuda_array_interface__["data"][0])
        return HOST if gpu is None else Location("cupy", gpu)
    return HOST


def first_location(*arrays: Any) -> Location:
    """The first location that is not HOST."""
    return next((location for location in map(location_of, arrays) if location != HOST), HOST)


def to_host(values: Any, name: str) -> Any:
    """A numpy array with the entries of an array in a GPU's memory, of a torch tensor, or of what has DLPack alone; anything
    else as it is.
    """
    location = location_of(values)
    if location == HOST:
        return np.from_dlpack(values) if hasattr(values, "__dlpack__") and not hasattr(values, "__array__") else values
    if hasattr(values, "detach"):  # a tensor of torch's, perhaps one that records gradients
        values = values.detach()
    if location.gpu is None:
        try:
            return values.numpy()
        except TypeError as error:  # a dtype that numpy lacks, or a sparse tensor
            raise InputError(f"{name}: {error}") from None
    if hasattr(values, "__dlpack__"):
        try:
            capsule = values.__dlpack__(stream=1)  # CUDA's default stream, on which the copy is
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(f"{name}: {error}") from None
        return _core.from_dlpack(capsule, name)
    interface = values.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise InputError(f"{name} have a mask; fill missing entries first")
    dtype = np.dtype(interface["typestr"])
    if not dtype.isnative:
        native = dtype.newbyteorder("=").str
        raise InputError(
            f"{name} have the dtype {dtype.str}, whose byte order is not this machine's; convert them to {native}"
        )
    shape = list(interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        strides = [dtype.itemsize * int(np.prod(shape[d + 1 :], dtype=np.int64)) for d in range(len(shape))]
    stream = interface.get("stream") or 1
    return _core.from_address(interface["data"][0], shape, list(strides), dtype.str, dtype.itemsize, stream, name)


def where(output: str | None, location: Location, devices: list[str]) -> Location:
    """Where the values of a run are to be: by `output`, else where the inputs are. `devices`: those of the run."""
    if output is None:
        return location
    if output not in OUTPUTS:
        raise UsageError(f"output {output!r}: it is one of {', '.join(OUTPUTS)}")
    if output == "numpy":
        return HOST
    if location.gpu is not None:
        return Location(output, location.gpu)
    first = devices[0].partition(":")
    if first[0] == "cuda":
        return Location(output, int(first[2].partition(".")[0]))
    if output == "torch":
        return Location("torch", None)
    raise UsageError("output 'cupy': neither the devices nor the graph's arrays are on a GPU; name one, as devices='cuda:0'")


class _Export:
    """Values of a GPU, for the one consumer that takes them by DLPack."""

    __slots__ = ("_capsule", "_gpu")

    def __init__(self, capsule: Any, gpu: int) -> None:
        self._capsule = capsule
        self._gpu = gpu

    def __dlpack__(self, **_: Any) -> Any:  # the values are complete, so any stream may read them
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA_DEVICES[0], self._gpu


@functools.cache
def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CapabilityError(
            f"the values are to be an array of {name}, which is not installed; give output='numpy'"
        ) from None


@functools.cache
def installed_location(location: Location) -> Location:
    """The location with a library that is installed: torch where cupy is not. Throws CapabilityError where neither is."""
    if (
        location.library == "cupy"
        and importlib.util.find_spec("cupy") is None
        and importlib.util.find_spec("torch") is not None
    ):
        return Location("torch", location.gpu)
    if location.library != "numpy":
        _library(location.library)
    return location


def as_library(values: Any, location: Location) -> Any:
    """The values of a run, a numpy array or a DLPack capsule, as an array of the location's library. Copies nothing."""
    if location.library == "numpy":
        return values
    if location.gpu is None:
        return _library(location.library).from_numpy(values)
    return _library(location.library).from_dlpack(_Export(values, location.gpu))
