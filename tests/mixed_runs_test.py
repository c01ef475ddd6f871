#!/usr/bin/env python3
"""Tests of tests/mixed_runs with a script in chatty's place, which is right, wrong, refuses or hangs. They need no build."""

from __future__ import annotations

import collections
import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
SCRIPT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mixed_runs")


def load_script():
    """The script as a module: it has no ending that import knows."""
    loader = importlib.machinery.SourceFileLoader("mixed_runs", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mixed_runs", loader))
    sys.modules["mixed_runs"] = module
    loader.exec_module(module)
    return module


mixed_runs = load_script()

DATUM = {"name": "side", "required": True, "complete": True, "instead_of": ["source"]}
PROGRAMS = [
    {"name": "bfs", "values": ["level", "parent"], "reduction": "min", "safety": "monotone", "vertex_data": []},
    {"name": "cdlp", "values": ["label"], "reduction": "count", "safety": "synchronous", "vertex_data": []},
    {"name": "sides", "values": ["same"], "reduction": "sum", "safety": "synchronous", "vertex_data": [DATUM]},
]
for described in PROGRAMS:
    described["parameters"] = [{"name": "source", "vertex": True}, {"name": "rounds", "vertex": False}]

# `generate` writes what it is told; `run` logs the contents of its graph and its vertex data, and sources what a test says.
CHATTY = """#!/bin/sh
case $1 in
  --version) echo 'chatty 0' ;;
  programs) cat "$0.programs" ;;
  generate)
    for file; do :; done
    echo "$@" >"$file" ;;
  run)
    data=/dev/null
    for word; do case $word in side=*) data=${word#side=} ;; esac; done
    cat "$3" "$data" >"$0.read"
    . "$0.run" ;;
esac
"""
PLAN = '{"programs": [{"engine": "bsp", "fused": {"use": "whole run"}}]}'
RIGHT = f"""echo '{{"verification": {{"passed": true}}, "plan": {PLAN}}}'\n"""
WRONG = """echo '{"verification": {"passed": false, "message": "vertex 3"}}'\n"""


class MixedRunsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.temporary = os.path.join(self.folder, "tmp")  # where the script makes its own folder
        os.mkdir(self.temporary)
        self.chatty = self.put("chatty", CHATTY)
        os.chmod(self.chatty, 0o755)
        self.put("chatty.programs", json.dumps({"programs": PROGRAMS}))

    def put(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return path

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def start(self, body, *options):
        """Starts the script with a program whose runs do as `body` says."""
        self.put("chatty.run", body)
        return subprocess.Popen(
            [SCRIPT, "--chatty", self.chatty, *options],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": self.temporary},
        )

    def call(self, body, *options):
        """The same to its end. Returns status, output and messages; nothing may be left in the temporary folder."""
        with self.start(body, *options) as process:
            out, err = process.communicate()
        self.assertEqual(os.listdir(self.temporary), [])
        return process.returncode, out, err

    def record(self, body, *options):
        """The record of the script's runs."""
        self.call(body, *options, "--json", "runs.json")
        return json.loads(self.read("runs.json"))

    def fifo(self):
        """A FIFO that a run holds open as long as it, or a child of it, exists."""
        path = os.path.join(self.folder, "alive")
        os.mkfifo(path)
        return path

    def test_right_answers_are_counted(self):
        status, out, err = self.call(RIGHT, "--runs", "7", "--devices", "host:2 host:3")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("\n7 runs: 7 verified, 0 wrong, 0 failed, 0 hung, 0 refused\n", out)
        self.assertIn("\nengines that ran: bsp, fused: whole run: 7\n", out)
        self.assertRegex(out, r"(?m)^bfs +[23] +0 +0 +0 +0$")

    def test_a_wrong_answer_is_found_and_made_again(self):
        for body, said in ((WRONG + "exit 3\n", "vertex 3"), (WRONG, "vertex 3"), (RIGHT + "echo no >&2; exit 3\n", "no")):
            status, out, err = self.call(body, "--runs", "5", "--programs", "sides")
            self.assertEqual(status, 1)
            lines = [line for line in out.splitlines() if line.startswith("wrong, ")]
            self.assertEqual(len(lines), 1, "one wrong run ends the rest")
            self.assertIn("1 runs: 0 verified, 1 wrong,", out)
            self.assertIn("mixed_runs: run 0 wrong, left out: 4 of 5 runs\n", err)
            prefix = f"wrong, run 0: {said}: "
            self.assertTrue(lines[0].startswith(prefix), lines[0])
            again = os.path.join(self.folder, "again")
            os.mkdir(again)
            before = self.read("chatty.read")
            os.remove(os.path.join(self.folder, "chatty.read"))
            command = lines[0][len(prefix) :]
            ended = subprocess.run(["bash", "-c", command], cwd=again, capture_output=True, check=False)
            self.assertEqual(ended.returncode, 3 if "exit 3" in body else 0)
            self.assertEqual(self.read("chatty.read"), before, "the command makes another graph or other vertex data")
            self.assertGreater(before.count("\n"), 100)
            shutil.rmtree(again)

    def test_sparse_vertex_data_are_made_again(self):
        programs = [{**PROGRAMS[2], "vertex_data": [{**DATUM, "complete": False}]}]
        self.put("chatty.programs", json.dumps({"programs": programs}))
        run = self.record(WRONG, "--runs", "1", "--seed", "5")["runs"][0]
        before = self.read("chatty.read")
        subprocess.run(["bash", "-c", run["command"]], cwd=self.temporary, stdout=subprocess.DEVNULL, check=True)
        self.assertEqual(self.read("chatty.read"), before)
        self.assertIn(before.count("\n"), range(13, 16))

    def test_failures_are_found(self):
        for body, reason in (
            ("echo 'chatty: error: no' >&2; exit 1\n", "status 1: chatty: error: no"),
            ("kill -SEGV $$\n", "signal 11"),
            ("echo '{\"verification\": null}'\n", "status 0 without a verdict"),
            ("echo nothing\n", "status 0 without a verdict"),
            (":\n", "status 0 without a verdict"),
        ):
            status, out, err = self.call(body, "--runs", "4", "--keep-going", "--jobs", "2")
            self.assertEqual(status, 1)
            self.assertEqual(out.count(f": {reason}: {self.chatty} generate "), 4, out)
            self.assertIn("4 runs: 0 verified, 0 wrong, 4 failed, 0 hung, 0 refused", out)
            self.assertIn("no verified run of bfs, cdlp, sides\n", err)

    def test_a_hang_is_found_and_killed(self):
        fifo = self.fifo()
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        status, out, _ = self.call(f"sleep 1000 >{fifo} &\nwait\n", "--runs", "2", "--timeout", "1")
        self.assertEqual(status, 1)
        self.assertIn("\nhung, run 0: no end after 1 s: ", "\n" + out)
        self.assertIn("1 runs: 0 verified, 0 wrong, 0 failed, 1 hung, 0 refused", out)
        os.set_blocking(reader, True)
        self.assertEqual(os.read(reader, 1), b"")  # waits for the end of the run's child

    def test_a_full_disk_is_an_error_and_a_device_stays_one(self):
        link = os.path.join(self.folder, "full")
        os.symlink("/dev/full", link)  # a file that is moved there would replace the link
        status, _, err = self.call("exit 1\n", "--runs", "1", "--json", link)
        self.assertEqual(status, 1)
        self.assertIn("No space left on device", err)
        self.assertTrue(os.path.islink(link))

    def test_an_interrupt_ends_runs_and_leaves_nothing(self):
        fifo = self.fifo()
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.start(f"sleep 1000 >{fifo} &\nwait\n", "--runs", "9") as process:
                with open(fifo, "rb") as reader:  # waits for the run
                    process.send_signal(number)
                    self.assertEqual(reader.read(), b"")
                _, err = process.communicate()
            self.assertEqual(process.returncode, status)
            self.assertIn("interrupted, left out: 9 of 9 runs", err)
            self.assertEqual(os.listdir(self.temporary), [])

    def test_refusals_are_counted(self):
        refuse = "echo 'chatty: error: not so' >&2; exit 2\n"
        status, out, err = self.call(refuse, "--runs", "6")
        self.assertEqual(status, 1)
        self.assertIn("6 runs: 0 verified, 0 wrong, 0 failed, 0 hung, 6 refused", out)
        self.assertIn("6 of 6 runs refused: more than half", err)
        self.assertEqual(out.count("refused, run "), 3, "a line for each program and reason")
        status, out, err = self.call(f'if test "$2" = cdlp; then {refuse.strip()}; fi\n{RIGHT}', "--runs", "6")
        self.assertEqual(status, 1)
        self.assertIn("6 runs: 4 verified, 0 wrong, 0 failed, 0 hung, 2 refused", out)
        self.assertEqual(err, "mixed_runs: no verified run of cdlp\n")
        # Every other run: no more than half, and each program has a verified one.
        every_other = f'test -e "$0.odd" && {{ rm "$0.odd"; {refuse.strip()}; }}\ntouch "$0.odd"\n{RIGHT}'
        status, out, err = self.call(every_other, "--runs", "18")
        self.assertIn("18 runs: 9 verified, 0 wrong, 0 failed, 0 hung, 9 refused", out)
        self.assertEqual((status, err), (0, ""))

    def test_runs_that_did_not_happen_are_said(self):
        status, out, err = self.call(RIGHT, "--runs", "2")
        self.assertEqual(status, 1)
        self.assertIn("no verified run of ", err)
        status, out, err = self.call(RIGHT, "--runs", "500", "--seconds", "0.001")
        self.assertEqual(status, 1)
        self.assertRegex(err, "out of time, left out: [0-9]+ of 500 runs")

    def test_a_program_that_lists_or_generates_nothing_fails(self):
        self.put("chatty.programs", "none")
        status, _, err = self.call(RIGHT)
        self.assertEqual(status, 1)
        self.assertIn("does not list its programs", err)
        self.put("chatty", CHATTY.replace('echo "$@"', "echo full >&2; exit 4; echo"))
        self.put("chatty.programs", json.dumps({"programs": PROGRAMS}))
        status, _, err = self.call(RIGHT)
        self.assertEqual(status, 1)
        self.assertIn("status 4: full", err)

    def test_a_reader_that_leaves_ends_the_runs(self):
        with self.start("exit 1\n", "--runs", "400", "--keep-going") as process:
            process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
        self.assertEqual(process.returncode, 1)
        progress, left = r"(mixed_runs: \d+ of 400 runs, \d+ s\n)*", r"mixed_runs: stopped, left out: \d+ of 400 runs\n"
        self.assertRegex(err, f"^{progress}{left}$")
        self.assertEqual(os.listdir(self.temporary), [])

    def test_runs_depend_on_the_seed_alone(self):
        one = self.record(RIGHT, "--runs", "9", "--seed", "4")
        three = self.record(RIGHT, "--runs", "9", "--seed", "4", "--jobs", "3")
        self.assertEqual(one["runs"], three["runs"])
        self.assertNotEqual(one["runs"], self.record(RIGHT, "--runs", "9", "--seed", "5")["runs"])
        self.assertEqual(one["counts"]["program"]["bfs"], {"verified": 3})
        self.assertEqual(one["chatty"], "chatty 0")

    def test_what_is_refused_by_design_is_not_drawn(self):
        devices = "host:1 host:4 cuda:0 cuda:0,1 cuda:2@0"
        settings = mixed_runs.parse(["--chatty", self.chatty, "--runs", "3000", "--devices", devices])
        seen = collections.Counter()
        for run in mixed_runs.plan(settings, mixed_runs.programs_of(settings)):
            given = dict(zip(run.arguments, run.arguments[1:]))
            comm, direction = given.get("--comm"), given.get("--direction")
            seen.update([(run.program.name, run.engine), ("comm", run.devices, comm), ("direction", direction)])
            self.assertIn("--verify", run.arguments)
            self.assertFalse(run.engine == "async" and run.program.safety != "monotone", run)
            self.assertFalse(run.engine == "async" and direction == "pull", run)
            self.assertFalse(run.program.reduction == "count" and direction == "push", run)
            self.assertFalse(run.devices.startswith("cuda") and comm not in (None, "p2p-direct", "uva"), run)
            self.assertFalse(run.data and "--source" in given, "the data stand in place of a source")
            options = [word for word in run.arguments if word.startswith("--") and word != "--set"]
            self.assertEqual(len(options), len(set(options)), "an option is given twice")
        for kind in (
            *(("bfs", engine) for engine in ("auto", "bsp", "async")),
            *(("comm", "host:4", comm) for comm in (None, *mixed_runs.TRANSPORTS["host"])),
            *(("comm", "cuda:2@0", comm) for comm in (None, "p2p-direct", "uva")),
            *(("direction", direction) for direction in (None, "push", "pull")),
        ):
            self.assertGreater(seen[kind], 0, kind)

    def test_wrong_usage_is_refused(self):
        for options, said in (
            (["--run", "3"], "there is no option --run"),
            (["--runs"], "--runs needs a value"),
            (["--timeout", "x"], "--timeout x: write a number above 0"),
            (["--devices", "host:2 gpu"], "--devices gpu: write host:3"),
            (["--programs", "bfs dfs"], "there is no program dfs; there are bfs, cdlp, sides"),
            (["--vertices", "99"], "the smallest graph has 100"),
            (["--json", "nowhere/runs.json"], "there is no such folder"),
            (["--examples", "nowhere/chatty"], "there is no program nowhere/chatty"),
        ):
            with self.assertRaisesRegex(mixed_runs.UsageError, said):
                mixed_runs.programs_of(mixed_runs.parse(["--chatty", self.chatty, *options]))
        status, out, err = self.call(RIGHT, "--runs", "0")
        self.assertEqual((status, out), (2, ""))
        self.assertEqual(err, "mixed_runs: --runs 0: write a whole number above 0; --help says how it is called\n")

    def test_counts_of_devices(self):
        for devices, count in (("host:1", 1), ("host:12", 12), ("cuda:0,1", 2), ("cuda:2@0", 2), ("cuda:0,2@1", 3)):
            self.assertEqual(mixed_runs.count_of(devices), count)


if __name__ == "__main__":
    unittest.main()
