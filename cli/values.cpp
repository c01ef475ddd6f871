#include "chatty/cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <type_traits>
#include <unordered_map>

#include "chatty/cli/text.h"
#include "chatty/io/input.h"
#include "chatty/io/results.h"

namespace chatty::cli {
namespace {

namespace fs = std::filesystem;

/// Whether the file has its bytes a second time: standard input and pipes do not.
bool CanBeReadAgain(const std::string& path) {
  std::error_code ignored;
  return path != "-" && fs::is_regular_file(path, ignored);
}

bool IsNpy(const std::string& path) {
  constexpr std::string_view kMagic{"\x93NUMPY", 6};
  return CanBeReadAgain(path) && Input(path).Peek(kMagic.size()) == kMagic;
}

/// Whether -1 can only mean unreached: in a program's own signed numbers it may be a value.
ResultKind KindToRead(const ErasedValues& shape) {
  if (shape.is_vertex) return ResultKind::kVertex;
  if (!shape.may_be_unreached) return ResultKind::kNumber;
  const bool is_unsigned = shape.type == ScalarType::kUint32 || shape.type == ScalarType::kUint64;
  return is_unsigned || shape.name == "level" || shape.name == "distance" ? ResultKind::kDistance : ResultKind::kNumber;
}

/// Integer distances as reals, which LDBC Graphalytics has distances be.
template <class T>
Array<double> RealDistances(std::span<const T> distances) {
  Array<double> reals(distances.size());
  std::transform(distances.begin(), distances.end(), reals.begin(),
                 [](T d) { return d == kInfinity<T> ? kInfinity<double> : static_cast<double>(d); });
  return reals;
}

/// Labels of any kind to the least vertices that have them.
template <class T, class Label>
Array<T> LeastVertices(const Array<Label>& labels) {
  Array<T> least(labels.size());
  std::unordered_map<Label, T> first;
  for (std::size_t v = 0; v < labels.size(); ++v) least[v] = first.try_emplace(labels[v], static_cast<T>(v)).first->second;
  return least;
}

}  // namespace

void WriteValues(const std::string& path, const Graph& graph, const ErasedValues& values, const ValueForm& form) {
  const std::string name = !form.name.empty()               ? form.name
                           : HasResultSuffix(path, ".npy")  ? "npy"
                           : HasResultSuffix(path, ".json") ? "json"
                                                            : "text";
  WithType(values.type, [&]<class T>(T) {
    const std::span<const T> raw = values.As<T>();
    const ResultKind kind = values.is_vertex          ? ResultKind::kVertex
                            : values.may_be_unreached ? ResultKind::kDistance
                                                      : ResultKind::kNumber;
    if (name == "json") {
      WriteResultJson(path, graph, raw, kind, {form.program, values.name});
    } else if (name == "ldbc" && std::is_integral_v<T> && values.name == "distance") {
      const Array<double> reals = RealDistances(raw);
      WriteResultText(path, graph, std::span<const double>(reals.span()), kind, ResultStyle::kLdbc);
    } else if (name != "npy") {
      WriteResultText(path, graph, raw, kind, name == "ldbc" ? ResultStyle::kLdbc : ResultStyle::kShortest);
    } else if (!values.is_vertex) {
      WriteResultNpy(path, raw);
    } else {
      Array<std::int64_t> ids(raw.size());
      std::transform(raw.begin(), raw.end(), ids.begin(), [&](T v) {
        return v == std::numeric_limits<T>::max() ? -1 : static_cast<std::int64_t>(graph.id(static_cast<VertexId>(v)));
      });
      WriteResultNpy(path, std::span<const std::int64_t>(ids.span()));
    }
  });
}

ErasedValues ReadValues(const std::string& path, const Graph& graph, const ErasedValues& shape, ForeignMarks* marks) {
  ErasedValues values;
  values.type = shape.type;
  values.is_vertex = shape.is_vertex;
  values.name = shape.name;
  values.may_be_unreached = shape.may_be_unreached;
  const bool npy = IsNpy(path);
  WithType(shape.type, [&]<class T>(T) {
    Array<T> read;
    if (shape.is_vertex && shape.name == "component") {
      try {
        read = LeastVertices<T>(ReadResult<std::int64_t>(path, graph.vertices(), graph, ResultKind::kLabel));
      } catch (const ImpossibleValueError&) {  // hashes of 2^63 and more are without a sign
        if (!CanBeReadAgain(path)) throw;
        read = LeastVertices<T>(ReadResult<std::uint64_t>(path, graph.vertices(), graph, ResultKind::kLabel));
      }
    } else if (npy && shape.is_vertex) {
      const Array<std::int64_t> ids = ReadResultNpy<std::int64_t>(path, graph.vertices(), ResultKind::kDistance, marks);
      const auto marked = [&](std::size_t v) { return marks != nullptr && !marks->which.empty() && marks->which[v] != 0; };
      read = Array<T>(ids.size());
      for (std::size_t v = 0; v < ids.size(); ++v) {
        const bool none = ids[v] == kInfinity<std::int64_t>;
        const std::optional<VertexId> vertex =
            none || ids[v] < 0 ? std::nullopt : graph.find(static_cast<std::uint64_t>(ids[v]));
        if (!vertex && !none && !marked(v)) {
          Throw<ImpossibleValueError>("{}: entry {} is {}, which is no vertex; the graph's are {} to {}, and -1 means none",
                                      path, v, ids[v], graph.id(0), graph.id(graph.vertices() - 1));
        }
        read[v] = vertex ? static_cast<T>(*vertex) : kInfinity<T>;
      }
    } else {
      const bool may_be_none = !(shape.is_vertex && shape.name == "label");
      read = ReadResult<T>(path, graph.vertices(), graph, KindToRead(shape), may_be_none ? marks : nullptr);
    }
    values.bytes = Array<std::byte>(read.bytes());
    if (!read.empty()) std::memcpy(values.bytes.data(), read.data(), read.bytes());
  });
  return values;
}

void ReportWrongAnswer(std::string_view message) {
  PrintError(fmt::format("chatty: error: verification failed: {}\n", message));
}

}  // namespace chatty::cli
