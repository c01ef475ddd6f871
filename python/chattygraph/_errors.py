"""The exceptions of the package: one family, with the texts of the command line."""

from __future__ import annotations


class ChattyError(Exception):
    """Base of all exceptions of this package; itself for a fault of the library."""


class UsageError(ChattyError, ValueError):
    """The request is wrong: an unknown program, a parameter out of range, a closed session."""


class InputError(ChattyError, ValueError):
    """A graph is wrong: a file or arrays that contradict themselves, or do not fit."""


class CapabilityError(ChattyError, RuntimeError):
    """The machine, the build or the graph does not allow the request."""


class OutOfMemoryError(ChattyError, MemoryError):
    """Memory does not suffice; the text says how much is needed."""


class DeviceError(ChattyError, RuntimeError):
    """A device failed during a run."""


class RunTimeoutError(DeviceError, TimeoutError):
    """A run waited longer than its timeout."""


class CompileError(ChattyError):
    """A vertex program does not compile, or breaks the rules of vertex programs.

    Attributes:
        line: the line of the program's text, from 1, or None.
        log: all that the compiler wrote.
    """

    def __init__(self, message: str, line: int | None = None, log: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.log = log
