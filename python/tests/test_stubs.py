"""The stubs in the repository are those that the package has now."""

from __future__ import annotations

import pathlib
import subprocess
import sys

TOOL = pathlib.Path(__file__).parents[1] / "tools" / "stubs.py"


def test_stubs_are_current() -> None:
    done = subprocess.run([sys.executable, str(TOOL), "--check"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nwrite them again: python python/tools/stubs.py"
