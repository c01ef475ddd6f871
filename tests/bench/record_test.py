#!/usr/bin/env python3
"""Tests of bench/record: verdicts on planted records, the table of docs/performance.md against the records, measuring with a
program in chatty's place, and usage errors. It needs no build."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import random
import re
import shutil
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


class IntervalTest(unittest.TestCase):
    def test_ranks_are_the_largest_that_cover_enough(self):
        self.assertEqual(
            {count: compare.rank_of_interval(count) for count in (1, 2, 5, 6, 8, 9, 11, 12, 16, 100)},
            {1: 1, 2: 1, 5: 1, 6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 16: 4, 100: 40},
        )
        for count in range(6, 200):
            rank = compare.rank_of_interval(count)
            self.assertGreaterEqual(compare.coverage(count, rank), 0.95)
            if 2 * (rank + 1) <= count:
                self.assertLess(compare.coverage(count, rank + 1), 0.95)
        for count in range(1, 6):
            self.assertLess(compare.coverage(count, 1), 0.95)

    def test_coverage_is_the_binomial_sum(self):
        self.assertAlmostEqual(compare.coverage(9, 2), 1 - 2 * (1 + 9) / 512)
        self.assertAlmostEqual(compare.coverage(5, 1), 1 - 2 / 32)

    def test_intervals_of_a_skewed_distribution_cover_its_median(self):
        draw = random.Random(1)
        covered = 0
        for _ in range(4000):
            run = records.Run("K", "cuda:0", "bfs", "bfs", False, trials=[draw.lognormvariate(0, 1) for _ in range(16)])
            low, high = compare.interval(run)
            covered += low <= 1 <= high
        self.assertAlmostEqual(covered / 4000, compare.coverage(16, 4), delta=0.01)


class CompareTest(Scratch):
    def compare(self, a, b, *options, **places):
        """Compares two records of these runs. Returns the status, the verdict's column of each run by row, and all lines."""
        status, out, _ = call(
            "--compare", self.put("a.json", record_of(a)), self.put("b.json", record_of(b, **places)), *options
        )
        lines = out.splitlines()
        verdicts = {}
        for line in lines:
            for run in a + b:
                start = f"{run['graph']} {run['devices']} {run['row']} "
                if " ".join(line.split()).startswith(start):
                    verdicts[run["row"]] = line
        return status, verdicts, lines

    def verdict(self, a, b):
        _, verdicts, _ = self.compare([entry(a)], [entry(b)])
        words = verdicts["bfs"].split()
        return next(word for word in words if word in compare.VERDICTS)

    def test_faster_and_slower(self):
        self.assertEqual(self.verdict(around(100), around(90)), "FASTER")
        self.assertEqual(self.verdict(around(90), around(100)), "SLOWER")

    def test_wide_intervals_that_are_apart_decide(self):
        self.assertEqual(self.verdict(around(100, 0.2), around(40, 0.2)), "FASTER")

    def test_apart_by_less_than_three_percent_is_the_same(self):
        self.assertEqual(self.verdict(around(100, 0.001), around(102, 0.001)), "SAME")
        self.assertEqual(self.verdict(around(100, 0.001), around(104, 0.001)), "SLOWER")

    def test_narrow_intervals_that_overlap_are_the_same(self):
        self.assertEqual(self.verdict(around(100, 0.06), around(104, 0.06)), "SAME")

    def test_a_wide_interval_that_overlaps_is_unclear(self):
        self.assertEqual(self.verdict(around(100, 0.2), around(105)), "UNCLEAR")
        self.assertEqual(self.verdict(around(100), around(105, 0.2)), "UNCLEAR")
        self.assertEqual(self.verdict(around(100, 0.2), around(100, 0.2)), "UNCLEAR")

    def test_a_slow_first_trial_does_not_widen_nine(self):
        self.assertEqual(self.verdict([900.0, *around(100, count=8)], [900.0, *around(100, count=8)]), "SAME")
        self.assertEqual(self.verdict([900.0, *around(100, count=8)], [900.0, *around(90, count=8)]), "FASTER")

    def test_few_trials_take_the_whole_range(self):
        slow_first = [900.0, *around(100, count=4)]
        self.assertEqual(self.verdict(slow_first, slow_first), "UNCLEAR")
        self.assertEqual(self.verdict(around(100, count=3), around(100, count=3)), "SAME")
        self.assertEqual(self.verdict(around(100, count=3), around(90, count=3)), "FASTER")
        self.assertEqual(self.verdict([900.0, *around(100, count=4)], around(90, count=4)), "FASTER")

        _, _, lines = self.compare([entry(around(100, count=5))], [entry(around(100, count=6))])
        self.assertEqual(
            [line for line in lines if "warning" in line],
            ["warning: A has 1 runs of fewer than 6 trials; their intervals cover less than 95 %."],
        )

    def test_one_or_two_trials_decide_nothing(self):
        _, verdicts, _ = self.compare([entry([100.0, 100.0])], [entry(around(50))])
        self.assertIn("UNCLEAR (fewer than 3 trials in A)", verdicts["bfs"])
        _, verdicts, _ = self.compare([entry([100.0])], [entry([50.0])])
        self.assertIn("UNCLEAR (fewer than 3 trials in A and B)", verdicts["bfs"])

    def test_without_trials_nothing_is_said(self):
        _, verdicts, _ = self.compare([entry(around(100))], [entry(50.0)])
        self.assertIn("UNCLEAR (trials not kept in B)", verdicts["bfs"])

    def test_other_graphs_are_not_compared(self):
        _, verdicts, _ = self.compare([entry(around(100))], [entry(around(50), size=(10, 21))])
        self.assertIn("UNCLEAR (not the same graph", verdicts["bfs"])

    def test_failed_and_missing_runs_and_the_summary(self):
        a = [entry(around(1)), entry(around(1), "cc"), entry(None, "sssp", code=1), entry(around(1), "bc")]
        b = [entry(around(1)), entry(around(1), "cc", code=3), entry(around(1), "sssp"), entry(around(1), "pagerank")]
        status, verdicts, lines = self.compare(a, b)
        self.assertEqual(status, 0)
        self.assertTrue(verdicts["cc"].endswith("FAILED (in B)"), verdicts)
        self.assertTrue(verdicts["sssp"].endswith("FAILED (in A)"), verdicts)
        self.assertTrue(verdicts["bc"].endswith("only in A"), verdicts)
        self.assertTrue(verdicts["pagerank"].endswith("only in B"), verdicts)
        self.assertEqual(lines[-1], "3 pairs: 0 FASTER, 1 SAME, 0 SLOWER, 0 UNCLEAR, 2 FAILED; only in A 1, only in B 1")

    def test_status_with_fail_slower(self):
        same, slower = [entry(around(100))], [entry(around(120))]
        failed = [entry(around(100), code=1)]
        self.assertEqual([self.compare(same, b, "--fail-slower")[0] for b in (same, slower, failed)], [0, 1, 1])
        self.assertEqual([self.compare(same, b)[0] for b in (same, slower, failed)], [0, 0, 0])
        self.assertEqual(self.compare(slower, same, "--fail-slower")[0], 0)

    def test_the_line_has_medians_and_ratio(self):
        _, verdicts, _ = self.compare([entry(around(100))], [entry(around(80))])
        self.assertEqual(verdicts["bfs"].split(), ["K", "cuda:0", "bfs", "100", "80", "0.800", "FASTER"])

    def test_other_machines_are_warned_of(self):
        runs = [entry(around(1))]
        self.assertFalse(any("warning" in line for line in self.compare(runs, runs)[2]))
        for place in ({"gpus": "1 NVIDIA H100 80GB HBM3"}, {"machine": "another"}, {"cores": 4}):
            lines = self.compare(runs, runs, **place)[2]
            self.assertTrue(any("warning" in line and "not comparable" in line for line in lines), lines)
            self.assertIn("1 SAME", lines[-1])

    def test_repeated_runs_are_warned_of_and_the_last_counts(self):
        _, verdicts, lines = self.compare([entry(around(50)), entry(around(100))], [entry(around(100))])
        self.assertTrue(any("warning: A has 1 runs" in line for line in lines), lines)
        self.assertIn("SAME", verdicts["bfs"])

    def test_results_of_chatty_compare(self):
        def result(median, low, high, outcome="ok"):
            return {
                "started": "2030-01-01",
                "machine": {"processor": "p", "threads": 2},
                "measurements": [
                    {
                        "graph": "k",
                        "program": "bfs",
                        "devices": 2,
                        "comm": "ring",
                        "execution": "bsp",
                        "outcome": outcome,
                        "median_ms": median,
                        "min_ms": low,
                        "max_ms": high,
                        "trials": 9,
                        "verified": True,
                    }
                ],
            }

        a = self.put("a.json", result(100, 98, 103))
        _, out, _ = call("--compare", a, self.put("b.json", result(90, 88, 92)))
        self.assertIn("FASTER", out.splitlines()[3])
        _, out, _ = call("--compare", a, self.put("b.json", result(101, 99, 140)))
        self.assertIn("UNCLEAR (B within 20 %)", out)
        _, out, _ = call("--compare", a, self.put("b.json", result(0, 0, 0, "failed")))
        self.assertIn("FAILED (in B)", out)
        status, out, err = call("--compare", a, self.put("b.json", record_of([entry(around(1))])))
        self.assertEqual((status, out), (2, ""))
        self.assertIn("no run in common", err)

    def test_a_median_that_is_not_the_trials_is_refused(self):
        run = entry(around(100))
        run["record"]["time"]["median_ms"] = 99.0
        status, _, err = call("--compare", self.put("a.json", record_of([run])), self.put("b.json", record_of([])))
        self.assertEqual(status, 2)
        self.assertIn("median of its trials is 100.000000", err)


class TodayTest(Scratch):
    """The table of a page of its own, with a record, peers and floors that are planted."""

    SIZE = (1000, 8000)

    def setUp(self):
        super().setUp()
        for folder in ("bench/results", "docs"):
            os.makedirs(os.path.join(self.folder, folder))
        for name in ("record", "records.py", "compare.py", "today.py"):
            shutil.copy(os.path.join(ROOT, "bench", name), os.path.join(self.folder, "bench"))
        self.script = os.path.join(self.folder, "bench", "record")

        def peer(row, graph, name, ms, unit, count, checked=True, **more):
            machine = "NVIDIA H200" if unit == "gpus" else "a processor"
            return {
                "row": row,
                "graph": graph,
                "name": name,
                "ms": ms,
                unit: count,
                "machine": machine,
                "date": "2029-12-31",
                "checked": checked,
                **more,
            }

        self.put(
            "bench/today.json",
            {
                "page": "docs/performance.md",
                "peers": "bench/peers.json",
                "records": ["bench/results/old.json"],
                "gpu": [
                    {"row": "bfs", "label": "`bfs`", "graphs": "K T"},
                    {"row": "pagerank", "label": "`pagerank`", "graphs": "K"},
                    {"row": "pagerank, a round", "label": "a round", "graphs": "K"},
                ],
                "host": [{"row": "bfs", "label": "parents", "graphs": "kron20"}],
                "floors": {
                    "gpu": "NVIDIA H200",
                    "rates": {"copy": 1e6},
                    "rates_are": "bytes a ms",
                    "names_are": "`n` vertices.",
                    "graphs": {"K": {"n": 1000, "m": 8000}},
                    "formulas": {
                        "bfs": {"ms": "10 * n / copy", "because": "ten bytes per vertex"},
                        "pagerank": {"ms": "rounds * m / copy", "because": "a byte per edge"},
                    },
                },
            },
        )
        self.put(
            "bench/peers.json",
            {
                "sources": {"Fast": "2028", "Spread": "2027", "Hosted": "2026"},
                "peers": [
                    peer("bfs", "K", "Fast", 0.25, "gpus", 1, note="Fast prepares."),
                    peer("bfs", "K", "Slow", 0.3, "gpus", 1),
                    peer("bfs", "K", "Spread", 0.2, "gpus", 2, False),
                    peer("bfs", "K", "Late", 0.22, "gpus", 4),
                    peer("bfs", "kron20", "Hosted", 10, "cores", 2),
                ],
            },
        )
        self.put("bench/results/old.json", record_of([entry(around(0.5), size=self.SIZE)]))
        self.put("docs/performance.md", f"# Page\n\n{today.BEGIN}\n{today.END}\n\nThe end.\n")
        self.assertEqual(self.today("--check")[0], 1)
        self.assertEqual(self.today("--write")[0], 0)
        self.assertEqual(self.today("--check"), (0, "", ""))

    def today(self, *options):
        return call("--today", *options, script=self.script, cwd=self.folder)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def change(self, name, before, after):
        text = self.read(name)
        self.assertIn(before, text)
        self.put(name, text.replace(before, after, 1))

    def rows(self):
        """The cells of the tables that the page has, by program and graph; of hosts by program."""
        rows, label = {}, ""
        for line in self.read("docs/performance.md").splitlines():
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            if len(cells) == 9:
                label = cells[0] or label
                rows[label, cells[1]] = cells[2:]
            elif cells:
                rows[cells[0]] = cells[1:]
        return rows

    def add(self, runs, name="new.json", **places):
        """Lists a record of these runs. Returns the rows of the page that comes of it."""
        path = self.put(f"bench/results/{name}", record_of(runs, **places))
        self.assertEqual(self.today("--add", path), (0, "", ""))
        self.assertEqual(self.today("--check")[0], 0)
        return self.rows()

    def test_the_tables(self):
        page = self.read("docs/performance.md")
        self.assertTrue(
            page.startswith(f"# Page\n\n{today.BEGIN}\n|") and page.endswith(f"\n{today.END}\n\nThe end.\n"), page
        )
        self.assertEqual(
            self.rows()["`bfs`", "K"], ["0.500", "", "", "Fast 0.25; Spread 0.2 on 2 (u)", "0.500; -", "0.010", "50"]
        )
        self.assertNotIn(("`bfs`", "T"), self.rows())
        self.assertEqual(self.rows()["parents"], ["(Hosted 10)"])
        for text in (
            "- 1 GPU: bfs K. `bench/results/old.json`, 2030-01-01, a processor, 1 NVIDIA H200, commit 0123456, `bench/record`",
            "2029-12-31, NVIDIA H200: Fast (2028), Spread (2027).",
            "2029-12-31, 2 a processor: Hosted (2026).",
            "Fast prepares.",
            "- Floor of bfs: `10 * n / copy`: ten bytes per vertex.\n",
        ):
            self.assertIn(text, page)
        self.assertEqual(self.today()[1], page[page.index(today.BEGIN) : page.index("\nThe end")])

    def test_a_changed_figure_of_the_page_is_found(self):
        self.change("docs/performance.md", "| K | 0.500 |", "| K | 0.400 |")
        status, out, err = self.today("--check")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("docs/performance.md differs from the records: run bench/record --today --write\n", err)
        self.assertIn("| K | 0.400 |", err)
        self.assertEqual(self.today("--write")[0], 0)
        self.assertEqual(self.today("--check")[0], 0)

    def test_a_changed_record_is_found(self):
        self.put("bench/results/old.json", record_of([entry(around(0.6), size=self.SIZE)]))
        self.assertEqual(self.today("--check")[0], 1)

    def test_a_changed_median_without_its_trials_is_refused(self):
        record = record_of([entry(around(0.5), size=self.SIZE)])
        record["runs"][0]["record"]["time"]["median_ms"] = 0.4
        self.put("bench/results/old.json", record)
        status, _, err = self.today("--check")
        self.assertEqual(status, 2)
        self.assertIn("the median of its trials is 0.500000", err)

    def test_a_changed_peer_and_a_changed_floor_are_found(self):
        self.change("bench/peers.json", "0.25", "0.26")
        self.assertEqual(self.today("--check")[0], 1)
        self.change("bench/peers.json", "0.26", "0.25")
        self.assertEqual(self.today("--check")[0], 0)
        self.change("bench/today.json", "10 * n", "11 * n")
        self.assertEqual(self.today("--check")[0], 1)

    def test_the_last_record_that_has_a_run_wins(self):
        rows = self.add(
            [
                entry(around(ms), row, devices=devices, size=self.SIZE)
                for ms, row, devices in (
                    (0.4, "bfs", "cuda:0,1"),
                    (0.3, "bfs", "cuda:0,1,2,3"),
                    (0.1, "bfs", "cuda:4@0"),
                    (0.1, "bfs, random sources", "cuda:0"),
                )
            ]
        )
        self.assertEqual(rows["`bfs`", "K"][:3], ["0.500", "0.400", "0.300"])
        self.assertEqual(rows["`bfs`", "K"][4], "0.500; 0.500")
        rows = self.add([entry(around(0.25), size=self.SIZE)], name="newer.json")
        self.assertEqual(rows["`bfs`", "K"][:3], ["0.250", "0.400", "0.300"])
        self.assertNotIn("old.json", self.read("docs/performance.md"))
        self.assertEqual(
            json.loads(self.read("bench/today.json"))["records"],
            [f"bench/results/{name}.json" for name in ("old", "new", "newer")],
        )

    def test_adding_a_listed_record_moves_it_to_the_end(self):
        self.add([entry(around(0.25), size=self.SIZE)])
        before = json.loads(self.read("bench/today.json"))
        self.assertEqual(self.today("--add", os.path.join(self.folder, "bench/results/old.json"))[0], 0)
        self.assertEqual(self.rows()["`bfs`", "K"][0], "0.500")
        after = json.loads(self.read("bench/today.json"))
        self.assertEqual(after.pop("records"), list(reversed(before.pop("records"))))
        self.assertEqual(after, before)

    def test_failed_runs_are_shown(self):
        rows = self.add([entry(None, code=1), entry(around(5), "pagerank", code=1, size=self.SIZE)])
        self.assertEqual(rows["`bfs`", "K"], ["failed", "", "", "Fast 0.25; Spread 0.2 on 2 (u)", "", "0.010", ""])
        self.assertEqual(rows["`pagerank`", "K"][0], "failed")
        self.assertEqual(rows["a round", "K"][0], "failed")

    def test_a_round_is_a_share_of_pagerank(self):
        rows = self.add([entry(around(8), "pagerank", size=self.SIZE, rounds=16)])
        self.assertEqual(rows["`pagerank`", "K"], ["8.00", "", "", "", "", "0.128", "62"])
        self.assertEqual(rows["a round", "K"], ["0.500", "", "", "", "", "", ""])

    def test_a_median_alone_is_shown_with_its_source(self):
        record = {**record_of([entry(0.4, size=self.SIZE)]), "source": "noted by hand", "command": ""}
        record["commit"] += "-dirty"
        self.assertEqual(self.today("--add", self.put("bench/results/new.json", record))[0], 0)
        self.assertEqual(self.rows()["`bfs`", "K"][0], "0.400")
        self.assertIn(", commit 0123456-dirty, command not kept; noted by hand.\n", self.read("docs/performance.md"))

    def test_ratios_of_other_cards_are_marked_and_have_no_floor(self):
        rows = self.add([entry(around(0.5), size=self.SIZE)], gpus="1 NVIDIA H100 80GB HBM3")
        self.assertEqual(rows["`bfs`", "K"][4:], ["0.500 ~; -", "0.010", ""])

    def test_hosts_of_another_day_are_marked(self):
        run = entry(around(20), graph="kron20", devices="host:1")
        self.assertEqual(self.add([run], gpus="")["parents"], ["20.0 (Hosted 10, 0.500 ~)"])
        self.assertEqual(
            self.add([run], gpus="", date="2029-12-31T01:00:00Z", machine="other")["parents"], ["20.0 (Hosted 10, 0.500 ~)"]
        )
        self.assertEqual(self.add([run], gpus="", date="2029-12-31T01:00:00Z")["parents"], ["20.0 (Hosted 10, 0.500)"])
        self.assertEqual(self.add([run], gpus="", cores=16)["parents"], ["20.0 (Hosted 10)"])

    def readme(self):
        """Has the description ask for tables in README.md, and makes that page."""
        description = json.loads(self.read("bench/today.json"))
        table = {"title": "ms", "beside": "Slow", "rows": [{"row": "bfs", "label": "search", "graphs": "K"}]}
        host = {"title": "host", "beside": "Hosted", "rows": [{"row": "bfs", "label": "search", "graphs": "kron20"}]}
        graphs = {"K": "8000 edges", "kron20": "GAP's"}
        description["readme"] = {"page": "README.md", "graphs": graphs, "gpu": table, "host": host}
        self.put("bench/today.json", description)
        self.change("bench/peers.json", '"Fast": "2028"', '"Slow": "2025", "Fast": "2028"')
        self.put("README.md", f"# Name\n\n{today.BEGIN}\n{today.END}\n")

    def test_the_tables_of_readme(self):
        self.readme()
        self.assertEqual(self.today("--check")[0], 1)
        self.assertEqual(self.today("--write")[0], 0)
        self.assertEqual(self.today("--check"), (0, "", ""))
        text = self.read("README.md")
        for line in (
            "| ms | graph | 1 GPU | 4 GPUs | Slow | fastest other |",
            "| search | 8000 edges | 0.500 | - | 0.3 | Fast 0.25 |",
            "| search | GAP's | - | 10 | - |",
            "- ours on 1 NVIDIA H200, 2030-01-01, [old.json](bench/results/old.json): `bench/record`",
        ):
            self.assertIn(line, text)
        self.assertIn(text[text.index(today.BEGIN) : -1], self.today()[1])
        path = self.put("bench/results/new.json", record_of([entry(around(0.125), size=self.SIZE)], gpus="1 other card"))
        self.assertEqual(self.today("--add", path), (0, "", ""))
        self.assertIn("| search | 8000 edges | 0.125 | - | 0.3 ~ | Fast 0.25 ~ |", self.read("README.md"))
        self.assertNotIn("old.json", self.read("README.md"))

    def test_nothing_is_written_where_one_page_has_no_markers(self):
        self.readme()
        self.put("README.md", "# Name\n")
        before = self.read("docs/performance.md")
        self.change("bench/peers.json", "0.25", "0.26")
        status, _, err = self.today("--write")
        self.assertEqual(status, 2)
        self.assertIn(f"README.md needs the line {today.BEGIN} once", err)
        self.assertEqual(self.read("docs/performance.md"), before)

    def test_what_cannot_be_listed_is_refused_and_nothing_changes(self):
        before = self.read("bench/today.json"), self.read("docs/performance.md")
        for text, content in (
            ("is not JSON", "{"),
            ("not a record of bench/record", {"runs": [{"graph": "K"}]}),
            ("is of `chatty compare`", {"measurements": []}),
            ("has n 1000 and m 8000 for K", record_of([entry(around(1), size=(1000, 8001))])),
        ):
            status, _, err = self.today("--add", self.put("bench/results/new.json", content))
            self.assertEqual(status, 2)
            self.assertIn(text, err)
        status, _, err = self.today("--add", os.path.join(self.folder, "..", "new.json"))
        self.assertEqual(status, 2)
        self.assertIn("move it to bench/results/ first", err)
        self.assertEqual((self.read("bench/today.json"), self.read("docs/performance.md")), before)

    def test_a_page_without_markers_is_refused(self):
        self.change("docs/performance.md", today.BEGIN, "")
        for option in ("--check", "--write"):
            status, _, err = self.today(option)
            self.assertEqual(status, 2)
            self.assertIn(today.BEGIN, err)

    def test_formulas(self):
        self.assertEqual(today.evaluate("max(2 * n, min(m, 3) / 2 - 1)", {"n": 4, "m": 5}), 8)
        self.assertIsNone(today.evaluate("n * m", {"n": 4}))
        for formula in ("n ** 2", "open(n)", "n.real", "n +"):
            with self.assertRaises(records.RecordError):
                today.evaluate(formula, {"n": 4})


class TreeTest(Scratch):
    """The page of this tree against its records."""

    def setUp(self):
        super().setUp()
        shutil.copytree(os.path.join(ROOT, "bench"), os.path.join(self.folder, "bench"))
        os.mkdir(os.path.join(self.folder, "docs"))
        self.page = shutil.copy(os.path.join(ROOT, "docs", "performance.md"), os.path.join(self.folder, "docs"))
        shutil.copy(os.path.join(ROOT, "README.md"), self.folder)

    def check(self):
        return call("--today", "--check", script=os.path.join(self.folder, "bench", "record"))[0]

    def test_page_and_records_agree(self):
        self.assertEqual(call("--today", "--check"), (0, "", ""))

    def test_a_changed_figure_of_the_page_is_found(self):
        self.assertEqual(self.check(), 0)
        with open(self.page, encoding="utf-8") as file:
            lines = file.read().split("\n")
        row = next(i for i in range(lines.index(today.BEGIN) + 3, len(lines)) if lines[i].split("|")[3].strip())
        cells = lines[row].split("|")
        cells[3] = f" {cells[3].strip()}1 "
        lines[row] = "|".join(cells)
        self.put("docs/performance.md", "\n".join(lines))
        self.assertEqual(self.check(), 1)

    def test_a_changed_figure_of_readme_is_found(self):
        with open(os.path.join(self.folder, "README.md"), encoding="utf-8") as file:
            text = file.read()
        row = next(line for line in text.split("\n") if line.startswith("| shortest paths |"))
        ours = row.split("|")[3]
        self.put("README.md", text.replace(row, row.replace(ours, f" 1{ours.strip()} ", 1)))
        status, _, err = call("--today", "--check", script=os.path.join(self.folder, "bench", "record"))
        self.assertEqual(status, 1)
        self.assertIn("README.md differs from the records: run bench/record --today --write\n", err)

    def test_readme_is_short_and_names_its_sources(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertLessEqual(len(lines), 150)
        made = today.Today(ROOT)
        self.assertEqual([page.name for page in made.pages], ["docs/performance.md", "README.md"])
        text = "\n".join(made.pages[1].block)
        for peer in ("cuGraph", "GAP suite"):
            self.assertIn(f"{peer} ({made.peers['sources'][peer]})", text)
        ours = re.findall(r"- ours on .*\((bench/results/[^)]*)\): `[^`]+`", text)
        self.assertTrue(ours and set(ours) <= set(made.description["records"]), text)

    def test_a_changed_record_is_found(self):
        for path in today.Today(self.folder).used:
            with open(os.path.join(self.folder, path), encoding="utf-8") as file:
                content = json.load(file)
            for run in content["runs"]:
                times = (run["record"] or {}).get("time", {})
                if "trials_ms" in times:
                    times["trials_ms"] = [2 * trial for trial in times["trials_ms"]]
                if "median_ms" in times:
                    times["median_ms"] *= 2
            self.put(path, content)
            self.assertEqual(self.check(), 1, path)
            shutil.copy(os.path.join(ROOT, path), os.path.join(self.folder, path))

    def test_the_table_is_short(self):
        block = today.Today(ROOT).block
        self.assertLess(len(block), 75)
        self.assertGreater(sum(line.startswith("| ") for line in block), 20)

    def test_no_time_is_below_its_floor(self):
        made, judged = today.Today(ROOT), 0
        for row in made.description["gpu"]:
            for graph in row["graphs"].split():
                cell = today.find(made.records, row["row"], graph, 1)
                floor = today.floor_of(made.floors, row["row"], graph, made.rounds(graph))
                if cell and cell.value and floor:
                    judged += 1
                    self.assertGreater(cell.value, floor, (row["row"], graph))
        self.assertGreater(judged, 20)


class PeersTest(unittest.TestCase):
    def test_a_peer_on_more_devices_is_shown_where_it_is_faster(self):
        def peer(ms, gpus):
            return {"row": "cc", "graph": "K", "ms": ms, "gpus": gpus}

        peers = [peer(3, 1), peer(2, 1), peer(2.5, 2), peer(1, 4), {"row": "cc", "graph": "K", "ms": 0.1, "cores": 2}]
        self.assertEqual(today.best_peers(peers, "cc", "K", host=False), [peer(2, 1), peer(1, 4)])
        self.assertEqual(today.best_peers(peers, "cc", "K", host=True), peers[-1:])


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
