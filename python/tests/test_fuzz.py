"""Random requests, right and wrong: each gives an answer or one exception of the package, and never a crash."""

from __future__ import annotations

import random

import numpy as np
import pytest
import scipy.sparse as sp

import chattygraph as cg

DTYPES = [
    "int8",
    "uint8",
    "int16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
    "complex64",
    ">i4",
    "S3",
]
SPICE = [0, 1, -1, 2, 5, 127, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, np.nan, np.inf, -np.inf, 1e300, 0.5]
TEXTS = [
    "",
    "0",
    "-1",
    "random",
    "random:x",
    "max-degree",
    "nan",
    "inf",
    "1e99",
    "ü",
    "\0",
    "host",
    "auto",
    "host:2",
    "0" * 400,
]


def array(rng: random.Random, length: int, most: int) -> np.ndarray:
    """An array of numbers that are mostly below `most`, in a type by chance."""
    values = [rng.randrange(most) if most and rng.random() < 0.998 else rng.choice(SPICE) for _ in range(length)]
    with np.errstate(all="ignore"):
        try:
            made = np.array(values).astype(rng.choice(DTYPES) if rng.random() < 0.2 else "int64")
        except (ValueError, OverflowError):
            made = np.zeros(length)
    if rng.random() < 0.05:
        made = np.repeat(made, 2)[::2]
    if rng.random() < 0.03:
        made = made.reshape(-1, 1)
    if rng.random() < 0.05:
        made.flags.writeable = False
    if rng.random() < 0.03 and made.dtype.kind in "biuf":
        made = np.ma.array(made, mask=[rng.random() < 0.2 for _ in range(made.size)] if made.ndim == 1 else False)
    return made


def damaged(rng: random.Random, made: sp.sparray) -> sp.sparray:
    """The matrix in a format by chance. Half the time with an entry of an array that is another one, or an entry fewer."""
    made = made.asformat(rng.choice(["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]))
    names = {"csr": "indptr indices data", "csc": "indptr indices data", "bsr": "indptr indices data", "dia": "offsets data"}
    name = rng.choice([*names.get(made.format, "row col data" if made.format == "coo" else "").split(), ""])
    if not name or rng.random() < 0.5:
        return made
    array = getattr(made, name).copy()
    if array.size and rng.random() < 0.7:
        array.flat[rng.randrange(array.size)] = rng.choice([-1, 0, 1, 30, 2**31 - 1, -(2**31)])
    else:
        array = array[:-1]
    if name in ("row", "col"):
        made.coords = (array, made.col) if name == "row" else (made.row, array)
    else:
        setattr(made, name, array)
    return made


def matrix(rng: random.Random) -> sp.csr_array:
    """A CSR matrix that is right more often than not."""
    n = rng.choice([0, 1, 2, 7, 30])
    degrees = [rng.randrange(4) if n else 0 for _ in range(n)]
    m = sum(degrees)
    made = sp.csr_array((n, n), dtype=np.float32)
    made.indptr = np.cumsum([0, *degrees]).astype(rng.choice(["int32", "int64"]))
    made.indices = np.array([rng.randrange(n) for _ in range(m)], dtype=rng.choice(["int32", "int64"]))
    made.data = array(rng, m, 9) if rng.random() < 0.5 else np.ones(m, np.float32)
    damage = rng.random()
    if damage < 0.1 and n:
        made.indptr[rng.randrange(n + 1)] = rng.choice([-1, 0, 5, 2**31 - 1])
    elif damage < 0.2 and m:
        made.indices[rng.randrange(m)] = rng.choice([-1, n, 2**31 - 1, -(2**31)])
    elif damage < 0.25:
        made.indices = made.indices[:-1]
    elif damage < 0.3:
        made.indptr = made.indptr[:-1]
    elif damage < 0.35:
        made.data = made.data[:-1]
    return made


def request(rng: random.Random) -> None:
    """One graph and one run."""
    kind = rng.random()
    if kind < 0.3:
        graph = cg.Graph(matrix(rng), directed=rng.choice([None, None, True, False]))
    elif kind < 0.6:
        right = sp.random_array((24, 24), density=0.1, dtype=np.float32, rng=np.random.default_rng(rng.randrange(100)))
        graph = cg.Graph(damaged(rng, right), directed=rng.choice([None, True, False]))
    else:
        most, m = rng.choice([0, 1, 3, 20]), rng.choice([0, 1, 5, 40])
        lengths = [m if rng.random() < 0.95 else rng.randrange(50) for _ in range(3)]
        edges = [array(rng, lengths[0], most), array(rng, lengths[1], most)]
        if rng.random() < 0.5:
            edges.append(array(rng, lengths[2], 9))
        graph = cg.Graph(tuple(edges), vertices=rng.choice([20, 20, 3, 0]), directed=rng.random() < 0.5)
    program = rng.choice([*cg.programs(), "nothing", ""])
    arguments = {}
    for name in (
        "source",
        "rounds",
        "damping",
        "tolerance",
        "sources",
        "max_rounds",
        "delta",
        "direction",
        "timeout",
        "value",
    ):
        if rng.random() < 0.15:
            arguments[name] = rng.choice([*SPICE[:6], *SPICE[10:], *TEXTS])
    if "value" in arguments:
        arguments["value"] = str(arguments["value"])
    arguments.setdefault("max_rounds", 50)
    arguments["devices"] = rng.choice(["host:1", "host:1", "host:2", "host:3", "hots"])
    run = cg.run(program, graph, **arguments)
    assert len(run.values) == graph.vertices


@pytest.mark.parametrize("seed", range(8))
def test_any_request(seed: int) -> None:
    rng = random.Random(seed)
    answers = 0
    for _ in range(150):
        try:
            request(rng)
            answers += 1
        except cg.ChattyError as error:
            assert str(error)
    assert 3 < answers < 147
