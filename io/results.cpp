#include "chatty/io/results.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/result_values.h"

namespace chatty {

namespace {

/// If ids have gaps, a number that is not a vertex has no id to name it in a message, and could be another vertex's id.
template <class T>
void CheckVertices(const std::string& name, const Array<T>& values) {
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v] == kInfinity<T> || static_cast<double>(values[v]) < static_cast<double>(values.size())) continue;
    Throw<ImpossibleValueError>("{}: entry {} is {}, which no correct answer contains: the graph has {} vertices", name, v,
                                values[v], values.size());
  }
}

}  // namespace

std::string_view ForeignMarks::Text(std::uint8_t mark) { return io::kForeignMarks[mark - 1].text; }

std::optional<std::uint64_t> ResultIds::find(std::uint64_t id, std::uint64_t vertices) const {
  if (ids_.empty()) {
    const std::uint64_t v = id - first_id_;  // an id below first_id_ wraps to a large value
    return v < vertices ? std::optional(v) : std::nullopt;
  }
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return static_cast<std::uint64_t>(found - ids_.begin());
}

std::string ResultIds::Describe(std::uint64_t vertices) const {
  if (vertices == 0) return "the graph's, which has no vertices";
  return fmt::format("the graph's, which go from {} to {}{}", (*this)[0], (*this)[vertices - 1],
                     ids_.empty() ? "" : " with gaps");
}

bool HasResultSuffix(const std::string& path, std::string_view suffix) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  return name.ends_with(suffix);
}

void WriteResult(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind) try {
  if (HasResultSuffix(path, ".npy")) {
    WriteResultNpy(path, values);
  } else if (HasResultSuffix(path, ".json")) {
    WriteResultJson(path, ids, values, kind);
  } else {
    WriteResultText(path, ids, values, kind);
  }
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing results");
}

template <class T>
Array<T> ReadResult(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks) {
  Input input(path);
  if (input.Peek(io::kNpyMagic.size()) == io::kNpyMagic) {
    Array<T> values = io::ReadNpy<T>(input, vertices, kind, marks);
    if (kind == ResultKind::kVertex && !ids.gaps().empty()) CheckVertices(input.name(), values);
    return values;
  }
  input.SkipByteOrderMark();
  if (io::LooksLikeJson(input)) return io::ReadJson<T>(input, vertices, ids, kind, marks);
  return io::ReadText<T>(input, vertices, ids, kind, marks);
}

template <class T>
VertexNumbers<T> ReadVertexNumbers(const std::string& path, VertexId vertices, const ResultIds& ids, bool needed) {
  Input input(path);
  if (input.Peek(io::kNpyMagic.size()) == io::kNpyMagic) return io::ReadNumbersOfNpy<T>(input, vertices);
  input.SkipByteOrderMark();
  if (io::LooksLikeJson(input)) {
    Throw<InputError>("{}: is JSON; vertex data are lines \"id value\", a value a line, or a NumPy array", input.name());
  }
  return io::ReadNumbersOfText<T>(input, vertices, ids, needed);
}

#define CHATTY_RESULT_READERS(T)                                                                              \
  template Array<T> ReadResult<T>(const std::string&, VertexId, const ResultIds&, ResultKind, ForeignMarks*); \
  template VertexNumbers<T> ReadVertexNumbers<T>(const std::string&, VertexId, const ResultIds&, bool);
CHATTY_RESULT_READERS(std::uint32_t)
CHATTY_RESULT_READERS(std::int32_t)
CHATTY_RESULT_READERS(std::uint64_t)
CHATTY_RESULT_READERS(std::int64_t)
CHATTY_RESULT_READERS(float)
CHATTY_RESULT_READERS(double)
#undef CHATTY_RESULT_READERS

}  // namespace chatty
