/// \file
/// Graphs from arrays and files, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "chatty/core/graph.h"

namespace chatty::python {

namespace nb = nanobind;

/// A graph with shared ownership: sessions and results keep it. Its reads are safe from any thread.
struct SharedGraph {
  std::shared_ptr<const Graph> graph;  ///< never null
};

/// Adds class Graph to the module.
void BindGraph(nb::module_& module);

}  // namespace chatty::python
