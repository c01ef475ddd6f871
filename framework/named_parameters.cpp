#include "chatty/framework/named_parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"

namespace chatty {
namespace {

std::optional<std::uint64_t> ParseWhole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A vertex from text in the graph's ids, 0-based.
VertexId ParseVertex(std::string_view label, std::string_view text, const Graph& graph, std::string_view hint) {
  const std::optional<std::uint64_t> id = ParseWhole(text);
  const std::optional<VertexId> v = id ? graph.find(*id) : std::nullopt;
  if (v) return *v;
  if (graph.vertices() == 0) Throw<UsageError>("{} {}: not a vertex; the graph has none", label, text);
  const bool gaps = !graph.ids().empty();
  Throw<UsageError>("{} {}: not a vertex; the graph's are {} to {}{}{}", label, text, graph.id(0),
                    graph.id(graph.vertices() - 1), gaps ? ", with gaps" : "", gaps || graph.first_id() == 1 ? hint : "");
}

/// The seed of `random` and `random:SEED`; none for other sources. Throws UsageError for text that is no source of any
/// graph.
std::optional<std::uint64_t> SourceSeed(std::string_view label, std::string_view text, std::uint64_t default_seed) {
  if (text == "random") return default_seed;
  if (text.starts_with("random:")) {
    const std::optional<std::uint64_t> seed = ParseWhole(text.substr(7));
    if (!seed) Throw<UsageError>("{} {}: the seed is no whole number; write, say, random:1", label, text);
    return seed;
  }
  if (text != "max-degree" && (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)) {
    Throw<UsageError>("{} '{}': write a vertex id, random:SEED or max-degree", label, text);
  }
  return std::nullopt;
}

/// A random-looking 64-bit number, the same everywhere (Steele, Lea and Flood's SplitMix64, OOPSLA'14).
std::uint64_t SplitMix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

SourceChoice SourceChoice::Parse(std::string_view text, const Graph& graph, const ResolveOptions& options,
                                 std::string_view label) {
  if (graph.vertices() == 0) throw UsageError("the graph has no vertices, so there is none to start from");
  SourceChoice choice;
  if (const std::optional<std::uint64_t> seed = SourceSeed(label, text, options.seed)) {
    choice.random_ = true;
    choice.seed_ = *seed;
  } else {
    choice.vertex_ = text == "max-degree" ? graph.max_degree_vertex() : ParseVertex(label, text, graph, options.ids_hint);
  }
  return choice;
}

VertexId SourceChoice::Pick(const Graph& graph, std::uint32_t trial) const {
  if (!random_) return vertex_;
  constexpr int kDraws = 64;
  const VertexId n = graph.vertices();
  const std::uint64_t stream = SplitMix(SplitMix(seed_) + trial);
  VertexId v = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    v = static_cast<VertexId>(SplitMix(stream + static_cast<std::uint64_t>(draw)) % n);
    if (graph.out_degree(v) > 0) return v;
  }
  for (VertexId step = 0; step < n; ++step) {  // few vertices have out-edges: take the next one that has
    const VertexId u = v < n - step ? v + step : v - (n - step);
    if (graph.out_degree(u) > 0) return u;
  }
  return v;
}

bool IsReplaced(std::string_view parameter, std::span<const VertexDataInfo> data) {
  return std::any_of(data.begin(), data.end(), [&](const VertexDataInfo& info) {
    return std::find(info.instead_of.begin(), info.instead_of.end(), parameter) != info.instead_of.end();
  });
}

NamedParameters::NamedParameters(const RegisteredProgram& program) : program_(&program), known_(program.parameters()) {}

void NamedParameters::Set(std::string_view name, std::string_view value, std::string_view label) {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const ParameterInfo& p) { return p.name == name; });
  if (found == known_.end()) {
    std::vector<std::string_view> names;
    names.reserve(known_.size());
    for (const ParameterInfo& p : known_) names.emplace_back(p.name);
    Throw<UsageError>("program '{}' has no parameter '{}'{}; it has {}", program_->name(), name, DidYouMean(name, names),
                      names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  if (std::any_of(given_.begin(), given_.end(), [&](const Given& other) { return other.name == name; })) {
    Throw<UsageError>("parameter '{}' is set twice", name);
  }
  if (value.empty()) Throw<UsageError>("parameter '{}' is set to nothing; write {}=VALUE", name, name);
  given_.push_back({std::string(name), std::string(value), std::string(label.empty() ? name : label), found->is_vertex});
}

void NamedParameters::Check() const {
  ParameterValues values;
  for (const Given& given : given_) {
    if (given.name == "source") {
      static_cast<void>(SourceSeed(given.label, given.value, 0));
    } else if (!given.is_vertex) {  // the graph decides whether it has a vertex
      values.emplace(given.name, given.value);
    }
  }
  program_->Check(values);
}

bool NamedParameters::NamesVertex() const {
  return std::any_of(given_.begin(), given_.end(), [](const Given& given) {
    return given.is_vertex &&
           (given.name != "source" || (given.value != "max-degree" && !SourceSeed(given.label, given.value, 0)));
  });
}

ResolvedParameters NamedParameters::Resolve(const Graph& graph, std::span<const VertexDataInfo> data,
                                            const ResolveOptions& options) const {
  ResolvedParameters resolved;
  std::string_view source = "max-degree", label = "source";
  for (const Given& given : given_) {
    if (given.name == "source") {
      source = given.value;
      label = given.label;
    } else if (given.is_vertex) {
      resolved.values.emplace(given.name, fmt::format("{}", ParseVertex(given.label, given.value, graph, options.ids_hint)));
    } else {
      resolved.values.emplace(given.name, given.value);
    }
  }
  const bool starts_somewhere =
      std::any_of(known_.begin(), known_.end(), [](const ParameterInfo& p) { return p.name == "source"; });
  if (starts_somewhere && !IsReplaced("source", data)) {
    resolved.source = SourceChoice::Parse(source, graph, options, label);
  }
  return resolved;
}

}  // namespace chatty
