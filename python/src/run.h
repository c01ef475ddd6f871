/// \file
/// Sessions, runs and programs, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <type_traits>

#include "chatty/framework/registry.h"

/// A map of pointers with one owner each, which the standard's trait takes for copyable.
template <>
struct nanobind::detail::is_copy_constructible<chatty::Registry> : std::false_type {};

namespace chatty::python {

namespace nb = nanobind;

/// Adds classes Registry and Program: programs by name, and their parameters.
void BindPrograms(nb::module_& module);
/// Adds class Session, with its runs.
void BindSession(nb::module_& module);
/// Adds class Run: values, statistics and trace.
void BindRun(nb::module_& module);

}  // namespace chatty::python
