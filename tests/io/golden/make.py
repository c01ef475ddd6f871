#!/usr/bin/env python3
"""Writes the files beside it with the tools that own their formats, and what they hold by those tools' own account.

    python3 -m venv v && v/bin/pip install networkx==3.6.1 scipy==1.17.1 igraph==1.0.0   # and Debian's metis, 5.1.0
    v/bin/python tests/io/golden/make.py

golden_test.cpp reads the files and compares. Nothing here is made by this project's code.
"""

import json
import os
import random
import subprocess
import tempfile

import igraph
import networkx
import numpy
import scipy.io
import scipy.sparse

here = os.path.dirname(os.path.abspath(__file__))
expected = {}


def tell(name, vertices, arcs, first_id, symmetric, ids=None):
    """Arcs are (source, target) or (source, target, weight), counted from 0, without repeats."""
    expected[name] = {"vertices": vertices, "first_id": first_id, "symmetric": symmetric,
                      "arcs": sorted([list(a) for a in arcs])}
    if ids is not None:
        expected[name]["ids"] = ids


def path(name):
    return os.path.join(here, name)


# ---- networkx: edge lists ----
g = networkx.gnm_random_graph(30, 60, seed=1, directed=True)
g.add_edge(28, 29)
g.add_edge(29, 0)
networkx.write_edgelist(g, path("networkx-directed.edgelist"), data=False)
tell("networkx-directed.edgelist", 30, g.edges(), 0, False)

g = networkx.gnm_random_graph(25, 50, seed=2, directed=True)
rng = random.Random(2)
for u, v in g.edges():
    g[u][v]["weight"] = rng.randint(-9, 99)
g.add_edge(23, 24, weight=7)
networkx.write_weighted_edgelist(g, path("networkx-integers.edgelist"))
tell("networkx-integers.edgelist", 25, ((u, v, d["weight"]) for u, v, d in g.edges(data=True)), 0, False)

g = networkx.relabel_nodes(networkx.florentine_families_graph(),
                           {n: 10 ** 10 + 7 * i for i, n in enumerate(sorted(networkx.florentine_families_graph()))})
networkx.write_edgelist(g, path("networkx-sparse-ids.edgelist"), data=False)
names = sorted(n for n in g if g.degree(n) > 0)
place = {n: i for i, n in enumerate(names)}
tell("networkx-sparse-ids.edgelist", len(names), ((place[u], place[v]) for u, v in g.edges()), 0, False, names)

# ---- igraph: its edge list, and NCOL with weights ----
g = igraph.Graph.Erdos_Renyi(n=20, m=45, directed=True, loops=False)
random.seed(3)
g = igraph.Graph.Barabasi(n=20, m=3, directed=True)
g.write_edgelist(path("igraph.edgelist"))
tell("igraph.edgelist", 20, set(e.tuple for e in g.es), 0, False)
g.es["weight"] = [i * 0.25 for i in range(g.ecount())]
g.vs["name"] = [str(v) for v in range(20)]
g.write_ncol(path("igraph-weighted.ncol"), names="name", weights="weight")
tell("igraph-weighted.ncol", 20, (e.tuple + (e["weight"],) for e in g.es), 0, False)

# ---- scipy: Matrix Market ----
rng = numpy.random.default_rng(4)


def matrix(n, density, values):
    m = scipy.sparse.random(n, n, density=density, random_state=rng, data_rvs=values).tolil()
    m.setdiag(0)
    m = m.tocoo()
    m.eliminate_zeros()
    return m


def arcs_of(m, weighted):
    return [(int(u), int(v), m_v) if weighted else (int(u), int(v))
            for u, v, m_v in zip(m.row, m.col, (x.item() for x in m.data))]


m = matrix(24, 0.1, lambda k: rng.integers(1, 50, k))
m = m.astype("int64")
scipy.io.mmwrite(path("scipy-integer-general.mtx"), m, symmetry="general")
tell("scipy-integer-general.mtx", 24, arcs_of(m, True), 1, False)
m = matrix(24, 0.1, lambda k: rng.standard_normal(k).astype("float32").astype("float64"))
scipy.io.mmwrite(path("scipy-real-general.mtx"), m, symmetry="general", precision=9)
tell("scipy-real-general.mtx", 24, arcs_of(m, True), 1, False)
m = matrix(31, 0.06, lambda k: numpy.ones(k))
m = ((m + m.T) > 0).astype("float64").tocoo()
scipy.io.mmwrite(path("scipy-real-symmetric.mtx"), m)
tell("scipy-real-symmetric.mtx", 31, arcs_of(m, True), 1, True)
scipy.io.mmwrite(path("scipy-pattern-symmetric.mtx"), m, field="pattern")
tell("scipy-pattern-symmetric.mtx", 31, arcs_of(m, False), 1, True)

# ---- METIS: the nodal graph of a mesh, and graphchk's rewriting of a graph with weights ----
with tempfile.TemporaryDirectory() as scratch:
    mesh = os.path.join(scratch, "grid.mesh")
    quads = [[5 * r + c + 1, 5 * r + c + 2, 5 * r + c + 7, 5 * r + c + 6] for r in range(3) for c in range(4)]
    with open(mesh, "w") as file:
        file.write(f"{len(quads)}\n" + "".join(" ".join(map(str, q)) + "\n" for q in quads))
    subprocess.run(["m2gmetis", "-gtype=nodal", mesh, path("metis-mesh.graph")], check=True, stdout=subprocess.DEVNULL)
    arcs = set()
    for q in quads:
        arcs |= {(u - 1, v - 1) for u in q for v in q if u != v}
    tell("metis-mesh.graph", 20, arcs, 1, True)

    g = networkx.gnm_random_graph(18, 30, seed=5)
    broken = os.path.join(scratch, "broken.graph")
    rng5 = random.Random(5)
    for u, v in g.edges():
        g[u][v]["weight"] = rng5.randint(1, 20)
    with open(broken, "w") as file:
        # Two loops, which graphchk takes out: it writes only what it had to mend.
        file.write(f"% with weights of edges and of vertices\n18 {g.number_of_edges() + 1} 011 1\n")
        for u in range(18):
            loop = f" {u + 1} 3" if u < 2 else ""
            file.write(f"{u + 1} " + " ".join(f"{v + 1} {g[u][v]['weight']}" for v in g[u]) + loop + "\n")
    subprocess.run(["graphchk", broken, path("metis-graphchk.graph")], check=False, stdout=subprocess.DEVNULL)
    tell("metis-graphchk.graph", 18, [(u, v, g[u][v]["weight"]) for u in g for v in g[u]], 1, True)

with open(path("expected.json"), "w") as file:
    file.write("{\n" + ",\n".join(f"{json.dumps(n)}: {json.dumps(e)}" for n, e in sorted(expected.items())) + "\n}\n")
