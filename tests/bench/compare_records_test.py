#!/usr/bin/env python3
"""Tests of bench/record --compare: intervals of medians, and verdicts on planted records."""

from __future__ import annotations

import random
import sys
import unittest

sys.dont_write_bytecode = True
from record_fixture import compare, records, call, entry, record_of, around, Scratch  # noqa: E402


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

    def test_regret_of_engines(self):
        case = {"graph": "k", "program": "bfs", "devices": 2, "took": "async", "auto_ms": 110.0, "best": "bsp"}
        case |= {"best_ms": 100.0, "verdict": "slower", "regret": 0.1}
        regret = {"median": 0.1, "worst": 0.1, "unclear": 1, "cases": [case, case | {"verdict": "unclear", "regret": 0}]}
        result = {
            "started": "2030-01-01T00:00:00Z",
            "machine": {"processor": "p", "threads": 2},
            "chatty": {"commit": "0123456789"},
            "command": "chatty compare k --execution bsp,async,auto",
            "measurements": [],
            "engine_regret": regret,
        }
        status, out, err = call(self.put("a.json", result), "--regret")
        self.assertEqual((status, err), (0, ""))
        lines = out.splitlines()
        self.assertEqual(lines[:2], ["p, 2030-01-01", "commit 0123456, chatty compare k --execution bsp,async,auto"])
        self.assertEqual(
            lines[3], "Regret of the engine that auto takes: 10.0 % in the median of 1, 10.0 % at worst; 1 unclear."
        )
        self.assertEqual(lines[-2], "| k | bfs | 2 | async | 110 | bsp | 100 | slower | 10.0 |")
        self.assertEqual(lines[-1], "| k | bfs | 2 | async | 110 | bsp | 100 | unclear |  |")
        for content in (result | {"engine_regret": None}, record_of([entry(around(1))])):
            status, out, err = call(self.put("b.json", content), "--regret")
            self.assertEqual((status, out), (2, ""))
            self.assertIn("has no regret of engines", err)
        broken = result | {"engine_regret": {"unclear": 0, "cases": [case]}}
        self.assertIn("engine_regret has no 'median'", call(self.put("b.json", broken), "--regret")[2])

    def test_results_of_chatty_compare_with_their_trials(self):
        def result(middle, passed=True):
            trials = [middle - 1, middle, middle + 2, middle, middle - 1, middle + 1]
            measurement = {
                "graph": "k",
                "program": "bfs",
                "devices": 2,
                "comm": "ring",
                "execution": "bsp",
                "partition": "edge-balanced",
                "outcome": "ok",
                "time": {"median_ms": middle, "min_ms": min(trials), "max_ms": max(trials), "trials_ms": trials},
                "verification": {"passed": passed, "message": "as expected" if passed else "wrong"},
            }
            return {"started": "2030-01-01", "machine": {"processor": "p", "threads": 2}, "measurements": [measurement]}

        a = self.put("a.json", result(100))
        _, out, _ = call("--compare", a, self.put("b.json", result(90)))
        self.assertIn("FASTER", out.splitlines()[3])
        _, out, _ = call("--compare", a, self.put("b.json", result(90, passed=False)))
        self.assertIn("FAILED (in B)", out)
        run = records.load(a).runs[0]
        self.assertEqual((run.row, run.median, len(run.trials)), ("bfs, bsp, ring", 100, 6))

    def test_a_median_that_is_not_the_trials_is_refused(self):
        run = entry(around(100))
        run["record"]["time"]["median_ms"] = 99.0
        status, _, err = call("--compare", self.put("a.json", record_of([run])), self.put("b.json", record_of([])))
        self.assertEqual(status, 2)
        self.assertIn("median of its trials is 100.000000", err)


if __name__ == "__main__":
    unittest.main()
