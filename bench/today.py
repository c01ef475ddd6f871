"""Makes the tables of today's times in docs/performance.md and README.md from records, peers' figures and floors.

bench/today.json names the records in order: a cell shows the last record that has the run. bench/peers.json has the peers'
figures. A floor is a formula of bench/today.json, evaluated for the graph's sizes at the rates measured on one GPU. README.md
has a few rows of the same, beside the peers that bench/today.json names.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import operator
import os
import re
from typing import Optional

from records import Record, RecordError, Run, load

DESCRIPTION = "bench/today.json"
BEGIN, END = "<!-- today: begin -->", "<!-- today: end -->"
WRITE = "bench/record --today --write"
HOST = "host"
OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
COLUMNS = {1: "1 GPU", 2: "2 GPUs", 4: "4 GPUs", HOST: "host"}


@dataclasses.dataclass
class Cell:
    """One time in the table: what it is, and which record it is from."""

    value: Optional[float]  # None for a run that failed
    record: Record

    def text(self) -> str:
        return "failed" if self.value is None else three_digits(self.value)


def three_digits(value: float) -> str:
    """A number as the table shows it; numbers below 0.1 have less."""
    return (
        f"{value:.0f}"
        if value >= 100
        else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"
    )


def column_of(devices: str) -> object:
    """The column of a choice of devices: how many GPUs, HOST, or None for what the table does not show."""
    if devices == "host:1":
        return HOST
    if re.fullmatch(r"cuda:\d+(,\d+)*", devices):
        count = devices.count(",") + 1
        return count if count in COLUMNS else None
    return None


def value_of(row: str, run: Run) -> Optional[float]:
    """What a run says of a row of the table, None if nothing. A round of PageRank is a share of its run."""
    if row == "pagerank, a round":
        return run.median / run.rounds if run.row == "pagerank" and run.rounds else None
    return run.median if run.row == row else None


def find(records: list[Record], row: str, graph: str, column: object) -> Optional[Cell]:
    """The cell of a row: from the last record that has the run."""
    for record in reversed(records):
        for run in reversed(record.runs):
            if run.graph != graph or column_of(run.devices) != column:
                continue
            if run.failed and run.row == row.split(",")[0]:
                return Cell(None, record)
            value = None if run.failed else value_of(row, run)
            if value is not None:
                return Cell(value, record)
    return None


# ------------------------------------------------------------------ floors ----
def evaluate(formula: str, names: dict[str, float]) -> Optional[float]:
    """The value of a formula of numbers, names, + - * / and max, min; None where a name has no value."""

    def of(node: ast.AST) -> float:
        if isinstance(node, ast.Expression):
            return of(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            return OPERATIONS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("max", "min"):
            return {"max": max, "min": min}[node.func.id](of(argument) for argument in node.args)
        raise RecordError(f"{DESCRIPTION}: the formula {formula} has more than numbers, names, + - * /, max and min")

    try:
        return of(ast.parse(formula, mode="eval"))
    except KeyError:
        return None
    except SyntaxError:
        raise RecordError(f"{DESCRIPTION}: {formula} is not a formula") from None


def floor_of(floors: dict, row: str, graph: str, rounds: Optional[int]) -> Optional[float]:
    """The least time of a row on one GPU, in milliseconds; None without a formula, or where a size is not known."""
    formula = floors["formulas"].get(row)
    if formula is None or graph not in floors["graphs"]:
        return None
    known = {**floors["rates"], **floors["graphs"][graph], **({"rounds": rounds} if rounds else {})}
    return evaluate(formula["ms"], known)


def check_sizes(floors: dict, records: list[Record]) -> None:
    """Throws RecordError where the sizes of a graph in the description are not those of a record."""
    for record in records:
        for run in record.runs:
            sizes = floors["graphs"].get(run.graph)
            if sizes and run.size and run.size != (sizes["n"], sizes["m"]):
                raise RecordError(
                    f"{DESCRIPTION} has n {sizes['n']} and m {sizes['m']} for {run.graph}; {record.path} has "
                    f"{run.size[0]} and {run.size[1]}"
                )


# ------------------------------------------------------------------- peers ----
def best_peers(peers: list[dict], row: str, graph: str, host: bool) -> list[dict]:
    """The fastest peer of a row on the fewest devices, and those on more that are faster than all on fewer."""
    unit = "cores" if host else "gpus"
    fit = sorted(
        (peer for peer in peers if peer["row"] == row and peer["graph"] == graph and unit in peer),
        key=lambda peer: (peer[unit], peer["ms"]),
    )
    best: list[dict] = []
    for peer in fit:
        if not best or (peer["ms"] < best[-1]["ms"] and peer[unit] != best[-1][unit]):
            best.append(peer)
    return best


def comparable(peer: dict, record: Record) -> bool:
    """Whether the times were taken on the same kind of card; on hosts, on the same machine on the same day."""
    if "gpus" in peer:
        return peer["machine"] in record.gpus
    return peer["machine"] == record.machine and peer["date"] == record.day


def ratio_text(peer: dict, cell: Optional[Cell]) -> str:
    """The peer's time over ours on as many devices, marked where they are not comparable; empty without a time of ours."""
    if cell is None or cell.value is None or peer.get("cores", cell.record.cores) != cell.record.cores:
        return ""
    return three_digits(peer["ms"] / cell.value) + ("" if comparable(peer, cell.record) else " ~")


def peer_named(peers: list[dict], name: str, row: str, graph: str) -> Optional[dict]:
    """What that peer took on one GPU, or on a host; None where it was not measured."""
    for peer in peers:
        if (peer["name"], peer["row"], peer["graph"]) == (name, row, graph) and peer.get("gpus", 1) == 1:
            return peer
    return None


def where(peer: dict) -> str:
    """On what a peer was measured."""
    return f"{peer['cores']} {peer['machine']}" if "cores" in peer else peer["machine"]


def peer_text(peer: dict) -> str:
    text = f"{peer['name']} {peer['ms']:g}"
    return text + (f" on {peer['gpus']}" if peer.get("gpus", 1) > 1 else "") + ("" if peer["checked"] else " (u)")


# ---------------------------------------------------------------- the table ----
@dataclasses.dataclass
class Page:
    """A page with the lines that belong between its markers."""

    root: str
    name: str
    block: list[str]

    def split(self) -> tuple[list[str], list[str], list[str]]:
        """The page's lines before the markers, from one to the other, and after them."""
        try:
            with open(os.path.join(self.root, self.name), encoding="utf-8") as file:
                lines = file.read().split("\n")
        except OSError as error:
            raise RecordError(f"{self.name} cannot be read: {error}") from None
        if lines.count(BEGIN) != 1 or lines.count(END) != 1 or lines.index(BEGIN) > lines.index(END):
            raise RecordError(f"{self.name} needs the line {BEGIN} once and {END} once below it")
        begin, end = lines.index(BEGIN), lines.index(END)
        return lines[:begin], lines[begin : end + 1], lines[end + 1 :]

    def difference(self) -> Optional[str]:
        """What differs first between the page and the records, None if nothing does."""
        found = self.split()[1]
        if found == self.block:
            return None
        what = f"the page has {len(found)} lines where the records make {len(self.block)}"
        for is_there, wanted in zip(found, self.block):
            if is_there != wanted:
                what = f"the page has\n  {is_there}\nthe records say\n  {wanted}"
                break
        return f"{self.name} differs from the records: run {WRITE}\n{what}"


# record, column, row: graphs
Used = dict[str, dict[object, dict[str, list[str]]]]


class Today:
    """The description, the records and the peers that it names, and the tables that they make."""

    def __init__(self, root: str):
        self.root = root
        self.description = self._json(DESCRIPTION)
        try:
            self.floors = self.description["floors"]
            self.records = [self._record(path) for path in self.description["records"]]
            self.peers = self._json(self.description["peers"])
            check_sizes(self.floors, self.records)
            self.used: Used = {}
            self.shown: list[dict] = []  # peers
            self.block = [BEGIN, *self._gpu_table(), "", *self._host_table(), "", *self._notes(), END]
            self.pages = [Page(root, self.description["page"], self.block)]
            if "readme" in self.description:
                self.pages.append(Page(root, self.description["readme"]["page"], self._readme(self.description["readme"])))
        except (KeyError, TypeError, AttributeError) as error:
            raise RecordError(f"{DESCRIPTION}, or a file that it names, lacks {error}") from None

    def _json(self, path: str) -> dict:
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError) as error:
            raise RecordError(f"{path} cannot be read: {error}") from None

    def _record(self, path: str) -> Record:
        record = load(os.path.join(self.root, path))
        record.path = path
        if record.kind != "record":
            raise RecordError(f"{path} is of `chatty compare`; the table takes records of bench/record")
        return record

    def _cell(self, row: str, graph: str, column: object, used: Optional[Used] = None) -> Optional[Cell]:
        """Finds a cell, and notes which record it is from."""
        cell = find(self.records, row, graph, column)
        if cell:
            (self.used if used is None else used).setdefault(cell.record.path, {}).setdefault(column, {}).setdefault(row, []).append(graph)
        return cell

    def rounds(self, graph: str) -> Optional[int]:
        """How many rounds PageRank takes on a graph, by the last record that says so."""
        for record in reversed(self.records):
            for run in record.runs:
                if run.graph == graph and run.row == "pagerank" and run.rounds and column_of(run.devices) == 1:
                    return run.rounds
        return None

    def _gpu_table(self) -> list[str]:
        lines = [
            "| ms | | 1 GPU | 2 GPUs | 4 GPUs | best peer | peer / ours | floor, 1 GPU | 1 GPU / floor |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for row in self.description["gpu"]:
            label = row["label"]
            for graph in row["graphs"].split():
                cells = {count: self._cell(row["row"], graph, count) for count in (1, 2, 4)}
                peers = best_peers(self.peers["peers"], row["row"], graph, host=False)
                if not any(cells.values()) and not peers:
                    continue
                self.shown += peers
                ratios = [ratio_text(peer, cells.get(peer["gpus"])) for peer in peers]
                floor = floor_of(self.floors, row["row"], graph, self.rounds(graph))
                columns = [
                    label,
                    graph,
                    *(cell.text() if cell else "" for cell in cells.values()),
                    "; ".join(map(peer_text, peers)),
                    "; ".join(ratio or "-" for ratio in ratios) if any(ratios) else "",
                    three_digits(floor) if floor else "",
                    self._times_floor(cells[1], floor),
                ]
                lines.append(f"| {' | '.join(columns)} |")
                label = ""
        return lines

    def _times_floor(self, cell: Optional[Cell], floor: Optional[float]) -> str:
        """How many floors a time is; empty where it was taken on another card than the floor's rates."""
        if not floor or cell is None or cell.value is None or self.floors["gpu"] not in cell.record.gpus:
            return ""
        return f"{cell.value / floor:.{1 if cell.value < 10 * floor else 0}f}"

    def _host_table(self) -> list[str]:
        graphs: list[str] = list(dict.fromkeys(" ".join(row["graphs"] for row in self.description["host"]).split()))
        lines, cores = [], set()
        for row in self.description["host"]:
            line = f"| {row['label']} |"
            for graph in graphs:
                wanted = graph in row["graphs"].split()
                cell = self._cell(row["row"], graph, HOST) if wanted else None
                peers = best_peers(self.peers["peers"], row["row"], graph, host=True)[:1] if wanted else []
                self.shown += peers
                cores |= {peer["cores"] for peer in peers} | ({cell.record.cores} if cell else set())
                beside = [", ".join(filter(None, [peer_text(peer), ratio_text(peer, cell)])) for peer in peers]
                line += " " + " ".join(filter(None, [cell.text() if cell else "", *(f"({text})" for text in beside)])) + " |"
            lines.append(line)
        title = f"host, {' or '.join(map(str, sorted(cores, key=str)))} cores: ms (best peer, peer / ours)"
        return [f"| {title} |" + "".join(f" {graph} |" for graph in graphs), "|---|" + "---|" * len(graphs), *lines]

    def _notes(self) -> list[str]:
        rates = ", ".join(f"`{name}` {value:g}" for name, value in self.floors["rates"].items())
        notes = [
            f"`{WRITE}` makes these tables from the files below. Times are medians of verified runs; a run that failed or "
            "did not verify is `failed`. *peer / ours*: on as many devices (-: no time of ours); above 1 the peer takes longer. "
            "`~`: the peer was measured on another card, or on another host or day; both are to be measured in one run. "
            "(u): the peer's answer was not checked.",
            "",
            *self._record_notes(),
            self._peer_note(),
            f"- Floors: {self.floors['gpu']}, {rates} ({self.floors['rates_are']}). {self.floors['names_are']}",
        ]
        for row, formula in self.floors["formulas"].items():
            notes.append(f"- Floor of {row}: `{formula['ms']}`: {formula['because']}.")
        return notes

    def _peer_note(self) -> str:
        """Where and when the peers of the tables were measured, and what has to be known of them."""
        taken: dict[str, set[str]] = {}
        for peer in self.shown:
            taken.setdefault(f"{peer['date']}, {where(peer)}", set()).add(peer["name"])
        sentences = [
            f"{when}: " + ", ".join(f"{name} ({self.peers['sources'][name]})" for name in sorted(names)) + "."
            for when, names in taken.items()
        ]
        sentences += dict.fromkeys(peer["note"] for peer in self.shown if "note" in peer)
        return f"- Peers, `{self.description['peers']}`: " + " ".join(sentences)

    def _record_notes(self) -> list[str]:
        """A line for each record that a cell is from: the cells, the file, and what it says of where it was made."""
        lines = []
        for record in self.records:
            columns = self.used.get(record.path)
            if not columns:
                continue
            cells = "; ".join(
                f"{COLUMNS[column]}: "
                + ", ".join(f"{row.replace(',', '')} {' '.join(graphs)}" for row, graphs in rows.items())
                for column, rows in columns.items()
            )
            machine = ", ".join(filter(None, [record.machine, record.gpus]))
            command = f"`{record.command}`" if record.command else "command not kept"
            origin = f"; {record.source}" if record.source else ""
            made = f"`{record.path}`, {record.day}, {machine}, commit {record.short_commit}, {command}{origin}"
            lines.append(f"- {cells}. {made}.")
        return lines

    # -------------------------------------------------------------- README.md ----
    def _readme(self, readme: dict) -> list[str]:
        """The few rows of README.md: our times beside those of the peer that it names, and of the fastest other one."""
        used: Used = {}
        shown: list[dict] = []
        return [
            BEGIN,
            *self._beside(readme, readme["gpu"], {1: "1 GPU", 4: "4 GPUs"}, used, shown),
            "",
            *self._beside(readme, readme["host"], {HOST: "ChattyGraph"}, used, shown),
            "",
            *self._readme_notes(used, shown),
            END,
        ]

    def _beside(self, readme: dict, table: dict, columns: dict, used: Used, shown: list[dict]) -> list[str]:
        named, host = table["beside"], HOST in columns
        lines = [
            f"| {table['title']} | graph | {' | '.join(columns.values())} | {named} | fastest other |",
            "|---|---|" + "---|" * (len(columns) + 2),
        ]
        for row in table["rows"]:
            label = row["label"]
            for graph in row["graphs"].split():
                cells = [self._cell(row["row"], graph, column, used) for column in columns]
                peer = peer_named(self.peers["peers"], named, row["row"], graph)
                others = [other for other in self.peers["peers"] if other["name"] != named]
                best = best_peers(others, row["row"], graph, host)[:1]
                shown += best + ([peer] if peer else [])
                texts = [cell.text() if cell else "-" for cell in cells]
                for other, text in ((peer, "{ms:g}"), (best[0] if best else None, "{name} {ms:g}")):
                    mark = ""
                    if other is not None:
                        mark += "" if other["checked"] else " (u)"
                        mark += "" if cells[0] is None or comparable(other, cells[0].record) else " ~"
                    texts.append(text.format(**other) + mark if other is not None else "-")
                lines.append(f"| {label} | {readme['graphs'][graph]} | {' | '.join(texts)} |")
                label = ""
        return lines

    def _readme_notes(self, used: Used, shown: list[dict]) -> list[str]:
        ours = [
            f"- {', '.join('ChattyGraph' if column == HOST else COLUMNS[column] for column in used[record.path])}: on "
            f"{record.gpus if any(column != HOST for column in used[record.path]) else f'{record.cores} cores'}, "
            f"{record.day}, [{os.path.basename(record.path)}]({record.path}): `{record.command}`"
            for record in self.records
            if record.path in used
        ]
        when = sorted({f"{peer['date']} on {where(peer)}" for peer in shown})
        names = ", ".join(f"{name} ({self.peers['sources'][name]})" for name in sorted({peer["name"] for peer in shown}))
        return [
            *ours,
            f"- others: on {', '.join(when)}, [peers.json]({self.description['peers']}): {names}. ~: on another machine or day than "
            "ours; (u): its answer was not checked; -: not measured",
        ]

    # --------------------------------------------------------------- the pages ----
    def difference(self) -> Optional[str]:
        """What differs first between a page and the records, None if nothing does."""
        return next(filter(None, (page.difference() for page in self.pages)), None)

    def write(self) -> None:
        """Writes all pages, or none where one has no place for its tables."""
        texts = [(page, page.split()) for page in self.pages]
        for page, (before, _, after) in texts:
            _write(os.path.join(self.root, page.name), "\n".join(before + page.block + after))


def add_records(root: str, paths: list[str]) -> Today:
    """Puts records at the end of the description's list, where they win, and writes the page. An error changes nothing."""
    path = os.path.join(root, DESCRIPTION)
    try:
        with open(path, encoding="utf-8") as file:
            before = file.read()
        listed = json.loads(before)["records"]
    except (OSError, ValueError, KeyError) as error:
        raise RecordError(f"{DESCRIPTION} cannot be read: {error}") from None
    added = [os.path.relpath(os.path.abspath(record), root) for record in paths]
    for record, relative in zip(paths, added):
        if relative.startswith(".."):
            raise RecordError(f"{record} is not in the project: move it to bench/results/ first")
    inside = ",\n".join(f"    {json.dumps(record)}" for record in [*(old for old in listed if old not in added), *added])
    _write(path, re.sub(r'("records": \[)[^\]]*\]', lambda match: f"{match.group(1)}\n{inside}\n  ]", before, count=1))
    try:
        today = Today(root)
        today.write()
    except RecordError:
        _write(path, before)
        raise
    return today


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
