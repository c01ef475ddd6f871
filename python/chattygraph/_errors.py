"""The exceptions of the package: one family, with the texts of the command line."""

from __future__ import annotations

from typing import Any

import numpy as np


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


def shown(value: Any) -> str:
    """A value as the texts of errors show it. Python writes no integer of more than 4300 digits."""
    try:
        return repr(value)
    except ValueError:
        return "an integer of thousands of digits"


def checked_text(name: str, text: str) -> str:
    """The text itself. Throws UsageError for one that UTF-8 cannot encode: half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} {text!r}: it has a character that UTF-8 cannot encode") from None
    return text


def check_flag(value: Any, name: str, none: bool = False) -> None:
    """Throws UsageError unless the value is True or False, or None if that is allowed."""
    if not (isinstance(value, (bool, np.bool_)) or (none and value is None)):
        raise UsageError(f"{name} {shown(value)}: it is {'True, False or None' if none else 'True or False'}")
