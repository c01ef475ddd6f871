#include "chatty/cli/parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "chatty/cli/text.h"
#include "chatty/cli/values.h"
#include "chatty/core/error.h"
#include "chatty/core/suggestion.h"
#include "chatty/io/input.h"
#include "chatty/io/results.h"

namespace chatty::cli {
namespace {

/// A vertex from text in the graph's ids, 0-based.
VertexId ParseVertex(std::string_view option, std::string_view text, const Graph& graph) {
  const std::optional<std::uint64_t> id = ParseNumber<std::uint64_t>(text);
  const std::optional<VertexId> v = id ? graph.find(*id) : std::nullopt;
  if (v) return *v;
  if (graph.vertices() == 0) Throw<UsageError>("{} {}: not a vertex; the graph has none", option, text);
  Throw<UsageError>("{} {}: not a vertex; the graph's are {} to {}{}", option, text, graph.id(0),
                    graph.id(graph.vertices() - 1),
                    !graph.ids().empty()    ? ", with gaps (--ids zero counts from 0)"
                    : graph.first_id() == 1 ? " (--ids zero counts from 0)"
                                            : "");
}

/// A random-looking 64-bit number, the same everywhere (Steele, Lea and Flood's SplitMix64, OOPSLA'14).
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Of `random` and `random:SEED`; none for the others. Throws UsageError for what is no source whatever the graph.
std::optional<std::uint64_t> SourceSeed(std::string_view text, std::uint64_t default_seed) {
  if (text == "random") return default_seed;
  if (text.starts_with("random:")) {
    const std::optional<std::uint64_t> seed = ParseNumber<std::uint64_t>(text.substr(7));
    if (!seed) Throw<UsageError>("--source {}: the seed is no whole number; write, say, random:1", text);
    return seed;
  }
  if (text != "max-degree" && (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos)) {
    Throw<UsageError>("--source '{}': write a vertex id, random:SEED or max-degree", text);
  }
  return std::nullopt;
}

/// What the command line sets, each name once and known.
struct GivenParameter {
  std::string_view name, value;
  bool is_vertex;
};

std::vector<GivenParameter> Given(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<ParameterInfo> known = program.parameters();
  std::vector<GivenParameter> given;
  const auto set = [&](std::string_view name, std::string_view value) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const ParameterInfo& p) { return p.name == name; });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      names.reserve(known.size());
      for (const ParameterInfo& p : known) names.emplace_back(p.name);
      Throw<UsageError>("program '{}' has no parameter '{}'{}; it has {}", program.name(), name, DidYouMean(name, names),
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    if (std::any_of(given.begin(), given.end(), [&](const GivenParameter& other) { return other.name == name; })) {
      Throw<UsageError>("parameter '{}' is set twice", name);
    }
    if (value.empty()) Throw<UsageError>("parameter '{}' is set to nothing; write {}=VALUE", name, name);
    given.push_back({name, value, found->is_vertex});
  };
  for (const std::string& pair : options.set) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) Throw<UsageError>("--set {}: write NAME=VALUE", pair);
    set(std::string_view(pair).substr(0, equals), std::string_view(pair).substr(equals + 1));
  }
  if (!options.source.empty()) set("source", options.source);
  if (!options.damping.empty()) set("damping", options.damping);
  if (!options.tolerance.empty()) set("tolerance", options.tolerance);
  if (!options.rounds.empty()) set("rounds", options.rounds);
  return given;
}

/// Shorter names, and others that LDBC Graphalytics has.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"pr", "pagerank"}, {"wcc", "cc"}, {"ppr", "personalised_pagerank"}};

}  // namespace

SourceChoice SourceChoice::Parse(std::string_view text, const Graph& graph, std::uint64_t default_seed) {
  if (graph.vertices() == 0) throw UsageError("the graph has no vertices, so there is none to start from");
  SourceChoice choice;
  if (const std::optional<std::uint64_t> seed = SourceSeed(text, default_seed)) {
    choice.random_ = true;
    choice.seed_ = *seed;
  } else {
    choice.vertex_ = text == "max-degree" ? graph.max_degree_vertex() : ParseVertex("--source", text, graph);
  }
  return choice;
}

VertexId SourceChoice::Pick(const Graph& graph, std::uint32_t trial) const {
  if (!random_) return vertex_;
  constexpr int kDraws = 64;
  const VertexId n = graph.vertices();
  const std::uint64_t stream = Mix(Mix(seed_) + trial);
  VertexId v = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    v = static_cast<VertexId>(Mix(stream + static_cast<std::uint64_t>(draw)) % n);
    if (graph.out_degree(v) > 0) return v;
  }
  for (VertexId step = 0; step < n; ++step) {  // few vertices have out-edges: take the next one that has
    const VertexId u = v < n - step ? v + step : v - (n - step);
    if (graph.out_degree(u) > 0) return u;
  }
  return v;
}

bool IsGiven(const ParameterOptions& options, std::string_view name) {
  const auto sets = [&](const std::string& pair) { return std::string_view(pair).substr(0, pair.find('=')) == name; };
  return (name == "source" && !options.source.empty()) || (name == "damping" && !options.damping.empty()) ||
         (name == "tolerance" && !options.tolerance.empty()) || (name == "rounds" && !options.rounds.empty()) ||
         std::any_of(options.set.begin(), options.set.end(), sets);
}

std::string_view FullProgramName(const Registry& registry, std::string_view name) {
  const std::vector<const RegisteredProgram*> all = registry.All();
  const bool own = std::any_of(all.begin(), all.end(), [&](const RegisteredProgram* p) { return p->name() == name; });
  if (own) return name;
  for (const auto& [other, full] : kOtherNames) {
    if (name == other) return full;
  }
  return name;
}

const RegisteredProgram& FindProgram(const Registry& registry, std::string_view name, DeviceKind kind,
                                     std::string_view precision) {
  const RegisteredProgram& program = registry.Find(FullProgramName(registry, name), kind);
  constexpr std::string_view kSuffix = "_double";
  if (precision != "double" || program.name().ends_with(kSuffix)) return program;
  const std::string wide = fmt::format("{}{}", program.name(), kSuffix);
  std::string choices;
  for (const RegisteredProgram* other : registry.All()) {
    if (other->name() == wide) return registry.Find(wide, kind);
    if (other->name().ends_with(kSuffix)) {
      choices += choices.empty() ? "" : ", ";
      choices += other->name().substr(0, other->name().size() - kSuffix.size());
    }
  }
  Throw<UsageError>("--precision double: program '{}' has one precision; those that have two are {}", program.name(),
                    choices.empty() ? "none" : choices);
}

void CheckVerifier(const RegisteredProgram& program, std::string_view value, std::string_view remedy) {
  if (program.has_verifier(value)) return;
  Throw<UsageError>("program '{}' has no verifier{}, so nothing can tell whether an answer is right; {}", program.name(),
                    value.empty() ? "" : fmt::format(" of the value '{}'", value), remedy);
}

/// Whether a parameter has no meaning beside one of these.
bool IsReplaced(std::string_view parameter, const std::vector<DataFile>& data) {
  return std::any_of(data.begin(), data.end(), [&](const DataFile& file) {
    const std::vector<std::string>& names = file.info.instead_of;
    return std::find(names.begin(), names.end(), parameter) != names.end();
  });
}

std::vector<DataFile> VertexDataFiles(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<VertexDataInfo> known = program.vertex_data();
  std::vector<DataFile> files;
  for (const std::string& pair : options.vertex_data) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      Throw<UsageError>("--vertex-data {}: write NAME=FILE", pair);
    }
    const std::string name = pair.substr(0, equals), path = pair.substr(equals + 1);
    const auto found = std::find_if(known.begin(), known.end(), [&](const VertexDataInfo& i) { return i.name == name; });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      names.reserve(known.size());
      for (const VertexDataInfo& info : known) names.emplace_back(info.name);
      Throw<UsageError>("--vertex-data {}: program '{}' takes no such array; it takes {}", pair, program.name(),
                        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
    }
    if (std::any_of(files.begin(), files.end(), [&](const DataFile& file) { return file.info.name == name; })) {
      Throw<UsageError>("--vertex-data {}: '{}' is given twice", pair, name);
    }
    if (path == "-") Throw<UsageError>("--vertex-data {}: data are read from a file; name one", pair);
    for (const std::string& parameter : found->instead_of) {
      if (!IsGiven(options, parameter)) continue;
      Throw<UsageError>("--vertex-data {}: parameter '{}' has no meaning beside it; give one of the two", pair, parameter);
    }
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) Input{path};  // throws
    files.push_back({*found, path});
  }
  for (const VertexDataInfo& info : known) {
    if (!info.required ||
        std::any_of(files.begin(), files.end(), [&](const DataFile& f) { return f.info.name == info.name; }))
      continue;
    Throw<UsageError>("program '{}' needs vertex data '{}', {}; give --vertex-data {}=FILE", program.name(), info.name,
                      info.help, info.name);
  }
  return files;
}

VertexData ReadVertexData(const std::vector<DataFile>& files, const Graph& graph) {
  VertexData data;
  for (const DataFile& file : files) {
    WithType(file.info.type, [&]<class T>(T) {
      VertexNumbers<T> read = ReadVertexNumbers<T>(file.path, graph.vertices(), graph, file.info.complete);
      data.emplace(file.info.name, VertexArray(VertexArray::Values(std::move(read.values)), std::move(read.present)));
    });
  }
  return data;
}

void CheckParameters(const RegisteredProgram& program, const ParameterOptions& options) {
  ParameterValues values;
  for (const auto& [name, value, is_vertex] : Given(program, options)) {
    if (name == "source") {
      static_cast<void>(SourceSeed(value, 0));
    } else if (!is_vertex) {  // which vertices there are depends on the graph
      values.emplace(name, value);
    }
  }
  program.Check(values);
}

bool NamesVertex(const RegisteredProgram& program, const ParameterOptions& options) {
  const std::vector<GivenParameter> given = Given(program, options);
  return std::any_of(given.begin(), given.end(), [](const GivenParameter& p) {
    return p.is_vertex && (p.name != "source" || (p.value != "max-degree" && !SourceSeed(p.value, 0)));
  });
}

Parameters ResolveParameters(const RegisteredProgram& program, const Graph& graph, const ParameterOptions& options,
                             std::uint64_t seed) {
  Parameters parameters;
  std::string_view source = "max-degree";
  for (const auto& [name, value, is_vertex] : Given(program, options)) {
    if (name == "source") {
      source = value;
    } else if (is_vertex) {
      parameters.values.emplace(name, fmt::format("{}", ParseVertex(fmt::format("--set {}", name), value, graph)));
    } else {
      parameters.values.emplace(name, value);
    }
  }
  const std::vector<ParameterInfo> known = program.parameters();
  const bool replaced = IsReplaced("source", VertexDataFiles(program, options));
  if (!replaced && std::any_of(known.begin(), known.end(), [](const ParameterInfo& p) { return p.name == "source"; })) {
    parameters.source = SourceChoice::Parse(source, graph, seed);
  }
  return parameters;
}

}  // namespace chatty::cli
