#!/usr/bin/env python3
"""Tests of bench/record --today: tables of a planted page, and this tree's pages against its records."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
from record_fixture import ROOT, compare, records, today, call, entry, record_of, around, Scratch  # noqa: E402


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
            "- 1 GPU: on 1 NVIDIA H200, 2030-01-01, [old.json](bench/results/old.json): `bench/record`",
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
        ours = re.findall(r"- [^:\n]+: on .*\((bench/results/[^)]*)\): `[^`]+`", text)
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


if __name__ == "__main__":
    unittest.main()
