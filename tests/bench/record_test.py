#!/usr/bin/env python3
"""Tests of bench/record: measuring with a program in chatty's place, plans, prints and usage errors. It needs no build."""

from __future__ import annotations

import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
from record_fixture import HERE, ROOT, bench_record, compare, records, today, call, entry, record_of, around, Scratch  # noqa: E402


CHATTY = """#!/usr/bin/env python3
import json, sys
if sys.argv[1] == "--version":
    print("chatty 0 (" + "ab" * 20 + "-dirty)")
elif sys.argv[1] == "generate":
    if sys.argv[2] == "uniform": sys.exit(5)
    open(sys.argv[-1], "w").write(" ".join(sys.argv[2:-2]))
else:
    graph, out = sys.argv[3], sys.argv[sys.argv.index("--json") + 1]
    print("one\\ntwo\\nthree\\nno such vertex")
    if sys.argv[2] == "sssp": sys.exit(4)
    time = {"median_ms": 2.0, "trials_ms": [1.0, 2.0, 3.0]}
    json.dump({"graph": {"path": graph, "made": open(graph).read()}, "time": time}, open(out, "w"), indent=2)
"""


class MeasureTest(Scratch):
    def setUp(self):
        super().setUp()
        self.chatty = self.put("chatty", CHATTY)
        os.chmod(self.chatty, 0o755)
        self.out = os.path.join(self.folder, "out.json")

    def measure(self, *options):
        status, _, err = call(self.out, "--chatty", self.chatty, *options, cwd=self.folder)
        with open(self.out, encoding="utf-8") as file:
            return status, json.load(file), err

    def test_runs_are_recorded(self):
        status, record, err = self.measure(
            "--graphs", "k g", "--programs", "bfs cc", "--execution", "auto async", "--on", "cuda:0"
        )
        self.assertEqual(status, 0, err)
        self.assertEqual(
            [(run["graph"], run["row"]) for run in record["runs"]],
            [(graph, row) for graph in "kg" for row in ("bfs", "bfs, async", "cc", "cc, async")],
        )
        run = record["runs"][1]
        self.assertEqual(run["command"], "chatty run bfs k.chatty --devices cuda:0 --trials 5 --verify --execution async")
        self.assertEqual(
            run["record"]["graph"], {"path": "k.chatty", "made": "kron 16 --edge-factor 16 --weights 1:100 --seed 1"}
        )
        self.assertEqual(record["commit"], "ab" * 20 + "-dirty")
        self.assertEqual(
            record["command"],
            f"bench/record {self.out} --chatty {self.chatty} --graphs 'k g' --programs 'bfs cc' "
            "--execution 'auto async' --on cuda:0",
        )
        self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(sorted(os.listdir(self.folder)), ["chatty", "out.json"])

    def test_failed_runs_are_recorded_and_make_the_status(self):
        status, record, err = self.measure("--graphs", "k", "--programs", "bfs sssp cc")
        self.assertEqual(status, 1)
        self.assertEqual([(run["program"], run["exit"]) for run in record["runs"]], [("bfs", 0), ("sssp", 4), ("cc", 0)])
        self.assertIsNone(record["runs"][1]["record"])
        self.assertIn("two\nthree\nno such vertex\n", err)
        self.assertIn("| sssp | failed |", call(self.out, "--print")[1])

    def test_a_graph_that_is_not_generated_is_left_out(self):
        status, record, err = self.measure("--graphs", "u k", "--programs", "bfs")
        self.assertEqual(status, 1)
        self.assertEqual([run["graph"] for run in record["runs"]], ["k"])
        self.assertIn("graph u was not generated (exit 5)", err)

    def test_tables_are_measured_as_they_are(self):
        status, record, _ = self.measure(
            "--tables", "host", "--graphs", "kron20", "--headline", "--programs", "bfs pagerank", "--trials", "3"
        )
        self.assertEqual(status, 0)
        self.assertEqual(
            [run["command"] for run in record["runs"]],
            [
                "chatty run bfs kron20.chatty --devices host:1 --trials 3 --verify --value parent",
                "chatty run pagerank kron20.chatty --devices host:1 --trials 3 --verify --tolerance 1e-4",
            ],
        )
        self.assertEqual(record["runs"][0]["record"]["graph"]["made"], "gap-kron 20 --weights own")

    def test_what_there_is_no_time_for_is_said(self):
        settings = bench_record.parse(
            [self.out, "--chatty", self.chatty, "--graphs", "k", "--programs", "bfs cc", "--seconds", "1"]
        )
        measurement = bench_record.Measurement(settings, "", self.folder)
        measurement.began -= 2
        said = []
        original, bench_record._say = bench_record._say, said.append
        self.addCleanup(setattr, bench_record, "_say", original)
        self.assertTrue(measurement.record())
        self.assertEqual(
            said, ["out of time, left out: k auto bfs --execution auto", "out of time, left out: k auto cc --execution auto"]
        )


class PlanTest(unittest.TestCase):
    def plan(self, *options):
        return [
            (job.graph, job.devices, job.row)
            for _, jobs in bench_record.plan(bench_record.parse(["out.json", *options]))
            for job in jobs
        ]

    def test_the_gpu_table(self):
        rows = ["bfs", "bfs, random sources", "sssp", "sssp, random sources", "pagerank", "pagerank unprepared", "cc", "bc"]
        self.assertEqual(
            self.plan("--tables", "gpu"), [(graph, "cuda:0", row) for graph in "K T G R V rgg".split() for row in rows]
        )

    def test_one_call_makes_the_rows_of_several_gpus(self):
        self.assertEqual(
            self.plan("--tables", "gpu", "--on", "cuda:0 cuda:0,1", "--graphs", "K T", "--headline"),
            [
                (graph, devices, row)
                for graph in "KT"
                for devices in ("cuda:0", "cuda:0,1")
                for row in ("bfs", "sssp", "pagerank", "cc", "bc")
            ],
        )
        self.assertEqual(
            self.plan("--tables", "gpu", "--graphs", "K", "--programs", "pagerank"),
            [("K", "cuda:0", "pagerank"), ("K", "cuda:0", "pagerank unprepared")],
        )

    def test_the_large_table(self):
        rows = ("bfs", "sssp", "pagerank", "cc")
        self.assertEqual(
            self.plan("--tables", "large"), [(graph, "cuda:0", row) for graph in ("K26", "U27") for row in rows]
        )
        self.assertEqual(bench_record.GRAPHS["K26"], "kron 26 --edge-factor 16 --weights 1:100 --seed 1")
        self.assertEqual(bench_record.GRAPHS["U27"], "uniform 27 --edge-factor 16 --weights 1:100 --seed 1")

    def test_a_directed_graph_has_the_rows_of_a_table(self):
        self.assertEqual(
            self.plan("--tables", "host", "--graphs", "D", "--headline"),
            [("D", "host:1", row) for row in ("bfs", "sssp", "pagerank", "cc", "bc")],
        )
        for graph, scale in (("D", 22), ("d", 16)):
            self.assertEqual(
                bench_record.GRAPHS[graph], f"kron {scale} --edge-factor 16 --directed --weights 1:100 --seed 1"
            )

    def test_least_ids_are_left_out_on_grids(self):
        self.assertEqual(
            self.plan("--graphs", "R k", "--programs", "label_propagation"), [("k", "auto", "label_propagation")]
        )

    def test_trials(self):
        self.assertEqual(
            [bench_record.parse(["o", *options]).trials for options in ([], ["--tables", "gpu"], ["--trials", "9"])],
            ["5", "16", "9"],
        )


class PrintTest(unittest.TestCase):
    def test_records_are_printed_as_ever(self):
        for name in ("2026-11-24-gpu-h200", "2026-11-27-gpu-h200x4"):
            with open(os.path.join(HERE, f"{name}.md"), encoding="utf-8") as file:
                self.assertEqual(
                    call(os.path.join(ROOT, "bench", "results", f"{name}.json"), "--print"), (0, file.read(), "")
                )


class UsageTest(Scratch):
    def test_bad_usage_ends_with_2_and_one_line(self):
        record = self.put("a.json", record_of([entry(around(1))]))
        no_runs = self.put("b.json", {"runs": [{"graph": "K"}]})
        for text, *arguments in (
            ("needs two records, not 1", "--compare", record),
            ("needs two records, not 3", "--compare", record, record, record),
            ("unknown option --slower", "--compare", record, record, "--slower"),
            ("there is no record none.json", "--compare", record, "none.json"),
            ("not a record of bench/record", "--compare", record, no_runs),
            ("is not JSON", "--compare", record, self.put("c.json", "{")),
            ("--today takes", "--today", "--chek"),
            ("--today takes", "--today", "--check", "--write"),
            ("needs records", "--today", "--add"),
            ("there is no record none.json", "none.json", "--print"),
            ("not an option: --on", "--on", "host:1"),
            ("--on needs a value", "out.json", "--on"),
            ("unknown option --largest", "out.json", "--largest"),
            ("there is no table both", "out.json", "--tables", "both"),
            ("unknown graph Z", "out.json", "--graphs", "k Z"),
            ("--trials 0: write a whole number", "out.json", "--trials", "0"),
            ("--seconds 1m: write a whole number", "out.json", "--seconds", "1m"),
            ("no table of large runs bc", "out.json", "--tables", "large", "--programs", "bc"),
            ("--headline narrows", "out.json", "--headline"),
            ("--execution is for", "out.json", "--tables", "gpu", "--execution", "bsp"),
            ("there is no program none/chatty", "out.json", "--chatty", "none/chatty"),
        ):
            status, out, err = call(*arguments, cwd=self.folder)
            self.assertEqual((status, out), (2, ""), arguments)
            self.assertIn(text, err)
            self.assertEqual(err.count("\n"), 1, err)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.json", "b.json", "c.json"])

    def test_help(self):
        status, out, _ = call("--help")
        self.assertEqual(status, 0)
        for word in (
            "--compare",
            "--today",
            "--fail-slower",
            "--headline",
            "95 %",
            "--add",
            *compare.VERDICTS,
            *bench_record.GRAPHS,
        ):
            self.assertIn(word, out)
        status, out, err = call()
        self.assertEqual((status, out), (2, ""))
        self.assertIn("bench/record OUT.json", err)


if __name__ == "__main__":
    unittest.main()
