// Results of each type, as text, NumPy array or JSON. Two bytes say of what; then comes the file.

#include <cmath>
#include <cstring>
#include <string>

#include "chatty/io/results.h"
#include "fuzz.h"

namespace {

using namespace chatty;

template <class T>
bool Same(const Array<T>& a, const Array<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T x, T y) { return x == y || (x != x && y != y); });  // NaN is none's equal, its own included
}

template <class T>
void Check(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind) {
  fuzz::Attempt([&] {  // as data that a program is given, too
    const VertexNumbers<T> numbers = ReadVertexNumbers<T>(path, vertices, ids, kind == ResultKind::kNumber);
    fuzz::Expect(numbers.values.size() == vertices, "{} numbers for {} vertices", numbers.values.size(), vertices);
  });
  Array<T> values;
  if (!fuzz::Attempt([&] { values = ReadResult<T>(path, vertices, ids, kind); })) return;
  fuzz::Expect(values.size() == vertices, "{} values for {} vertices", values.size(), vertices);
  for (const char* const name : {"again.txt", "again.json", "again.npy"}) {
    const bool npy = std::string_view(name).ends_with(".npy");
    const std::string again = fuzz::Files().Path(name);
    const ResultValues view = std::span<const T>(values.span());
    WriteResult(again, ids, view, kind);
    Array<T> read;
    try {
      read = npy ? ReadResultNpy<T>(again, vertices, kind) : ReadResult<T>(again, vertices, ids, kind);
    } catch (const std::exception& error) {
      fuzz::Report(fmt::format("{}: what was written is not read: {}", name, error.what()));
    }
    fuzz::Expect(Same(values, read), "{}: other values", name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return -1;
  const auto vertices = static_cast<VertexId>(data[1] & 0xf);
  const auto kind = static_cast<ResultKind>((data[1] >> 4) % 3);
  const std::string path = fuzz::Files().Write("values", {reinterpret_cast<const char*>(data) + 2, size - 2});
  const int first_id = (data[0] & 8) != 0 ? 1 : 0;
  Graph graph;
  if ((data[0] & 0x80) != 0) {  // ids with gaps
    Adjacency rows;
    rows.offsets = Array<EdgeIndex>(vertices + 1, 0);
    graph = Graph(std::move(rows), true);
    Array<std::uint64_t> ids(vertices);
    for (VertexId v = 0; v < vertices; ++v) ids[v] = 3 * std::uint64_t{v} + 5;
    graph.set_ids(std::move(ids));
  }
  const ResultIds ids = graph.ids().empty() ? ResultIds(first_id) : ResultIds(graph);
  switch (data[0] & 7) {
    case 0:
      Check<std::uint32_t>(path, vertices, ids, kind);
      break;
    case 1:
      Check<std::int32_t>(path, vertices, ids, kind);
      break;
    case 2:
      Check<std::uint64_t>(path, vertices, ids, kind);
      break;
    case 3:
      Check<std::int64_t>(path, vertices, ids, kind);
      break;
    case 4:
      Check<float>(path, vertices, ids, kind == ResultKind::kVertex ? ResultKind::kNumber : kind);
      break;
    default:
      Check<double>(path, vertices, ids, kind == ResultKind::kVertex ? ResultKind::kNumber : kind);
  }
  return 0;
}
