/// \file
/// The parameters of a registered program, from text.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/typed_program.h"

namespace chatty::registration {

/// Parses a parameter with the default `preset` from text. Throws UsageError, also for a number that is not finite unless
/// the default is not finite either: few programs support one.
template <class T>
void ParseParameter(std::string_view name, std::string_view text, [[maybe_unused]] T preset, T* value) {
  T parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) {
    Throw<UsageError>("parameter {}: '{}' is not a {} that fits", name, text,
                      std::is_floating_point_v<T> ? "number" : "whole number");
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(parsed) || (!std::isfinite(parsed) && std::isfinite(preset))) {
      Throw<UsageError>("parameter {}: '{}' is not a finite number", name, text);
    }
  }
  *value = parsed;
}

template <class P>
void SetParameter(P* program, std::string_view name, std::string_view text) {
  bool found = false;
  std::string names;
  if constexpr (requires { P::kParameters; }) {
    std::apply(
        [&](const auto&... parameter) {
          const auto one = [&](const auto& p) {
            names += names.empty() ? p.name : fmt::format(", {}", p.name);
            if (name != p.name) return;
            ParseParameter(name, text, P{}.*p.member, &(program->*p.member));
            found = true;
          };
          (one(parameter), ...);
        },
        P::kParameters);
  }
  if (!found) {
    Throw<UsageError>("the program has no parameter '{}'; it has {}", name, names.empty() ? "none" : names);
  }
}

template <class P>
P Configure(const Graph& graph, const ParameterValues& parameters) {
  P program{};
  for (const auto& [name, text] : parameters) SetParameter(&program, name, text);
  CheckProgramInput(graph, program);
  return program;
}

}  // namespace chatty::registration
