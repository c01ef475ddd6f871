"""What networkx asks about the backend when it is imported. Apart from the package, so that the question loads nothing."""

from __future__ import annotations

from typing import Any

#: Each function of networkx that the backend has, and what is different or refused.
FUNCTIONS = {
    "all_pairs_shortest_path_length": "",
    "ancestors": "",
    "average_clustering": "Undirected graphs without a weight; no multigraphs.",
    "betweenness_centrality": "All vertices as sources, without weights and endpoints; no multigraphs.",
    "bfs_layers": "",
    "clustering": "Undirected graphs without a weight; no multigraphs.",
    "connected_components": "",
    "core_number": "Graphs without loops; no multigraphs.",
    "descendants": "",
    "descendants_at_distance": "",
    "has_path": "",
    "is_connected": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "pagerank": "Without edge weights, personalization, nstart and dangling.",
    "single_source_dijkstra_path_length": "Weights are whole numbers from 0, so that sums are exact.",
    "single_source_shortest_path_length": "",
    "single_target_shortest_path_length": "",
    "transitivity": "Undirected graphs; no multigraphs.",
    "triangles": "",
    "weakly_connected_components": "",
}


def get_info() -> dict[str, Any]:
    """The entry point networkx.backend_info."""
    return {
        "backend_name": "chattygraph",
        "project": "chattygraph",
        "package": "chattygraph",
        "short_summary": "Parallel vertex programs on CPU cores and GPUs.",
        "default_config": {},
        "functions": {name: {"additional_docs": text} if text else {} for name, text in FUNCTIONS.items()},
    }
