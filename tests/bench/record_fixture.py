"""What tests of bench/record share: the script as a module, a call of it, and planted records. They need no build."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCRIPT = os.path.join(ROOT, "bench", "record")


def load_script():
    """bench/record as a module: it has no ending that import knows."""
    loader = importlib.machinery.SourceFileLoader("bench_record", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_record", loader))
    sys.modules["bench_record"] = module
    loader.exec_module(module)
    return module


bench_record = load_script()
compare, records, today = bench_record.compare, bench_record.records, bench_record.today


def call(*arguments, script=SCRIPT, cwd=None):
    """Runs bench/record. Returns its status, what it prints, and its messages."""
    ended = subprocess.run([script, *arguments], capture_output=True, text=True, check=False, cwd=cwd)
    return ended.returncode, ended.stdout, ended.stderr


def entry(trials, row="bfs", graph="K", devices="cuda:0", code=0, size=(10, 20), rounds=None):
    """A member of "runs"; a number in place of trials makes one of a median alone."""
    result = {"graph": {"vertices": size[0], "edges": size[1]}}
    if isinstance(trials, list):
        result["time"] = {"median_ms": statistics.median(trials), "trials_ms": trials}
    elif trials:
        result["time"] = {"median_ms": trials}
    if rounds:
        result["statistics"] = {"rounds": rounds}
    return {
        "graph": graph,
        "devices": devices,
        "program": row.split(",")[0],
        "row": row,
        "exit": code,
        "command": "chatty run",
        "record": None if trials is None else result,
    }


def record_of(runs, gpus="1 NVIDIA H200", machine="a processor", date="2030-01-01T00:00:00Z", cores=2):
    return {
        "date": date,
        "machine": machine,
        "cores": cores,
        "gpus": gpus,
        "commit": "0123456789" * 4,
        "command": "bench/record",
        "runs": runs,
    }


def around(median, spread=0.01, count=9):
    """Trials around a median, the outermost `spread` of it away."""
    return [median * (1 + spread * (2 * i / (count - 1) - 1)) for i in range(count)]


class Scratch(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def put(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path
