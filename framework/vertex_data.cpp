#include "chatty/framework/vertex_data.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace chatty {

VertexArray::VertexArray(Values values, Array<bool> present)
    : content_(std::make_shared<const Content>(Content{std::move(values), std::move(present)})) {
  if (!content_->present.empty() && content_->present.size() != size()) {
    Throw<UsageError>("an array of {} numbers for vertices comes with {} marks of which are there", size(),
                      content_->present.size());
  }
}

std::size_t VertexArray::size() const {
  return std::visit([](const auto& values) { return values.size(); }, content_->values);
}

std::string_view VertexArray::TypeName(std::size_t index) {
  constexpr std::string_view kNames[] = {"int32", "uint32", "int64", "uint64", "float", "double"};
  return kNames[index];
}

namespace detail {

void CheckDataNames(const VertexData& given, std::span<const std::string_view> known) {
  for (const auto& [name, array] : given) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Throw<UsageError>("the program takes no vertex data '{}'; it takes {}", name,
                      known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  }
}

const VertexArray* FindData(const VertexData& given, std::string_view name, std::size_t type, Presence presence,
                            const Graph& graph) {
  const auto found = given.find(name);
  if (found == given.end()) {
    if (presence == Presence::kOptional) return nullptr;
    Throw<UsageError>("the program needs vertex data '{}', which is not given", name);
  }
  const VertexArray& array = found->second;
  if (array.values().index() != type) {
    Throw<UsageError>("vertex data '{}' are of type {}, and the program takes {}; convert them", name, array.type(),
                      VertexArray::TypeName(type));
  }
  if (array.size() != graph.vertices()) {
    Throw<UsageError>("vertex data '{}' have {} entries for a graph of {} vertices", name, array.size(), graph.vertices());
  }
  return &array;
}

void CheckComplete(const VertexArray& array, std::string_view name, const Graph& graph) {
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    if (array.has(v)) continue;
    Throw<UsageError>("vertex data '{}' have no entry for vertex {}; the program needs one for every vertex", name,
                      graph.id(v));
  }
}

}  // namespace detail
}  // namespace chatty
