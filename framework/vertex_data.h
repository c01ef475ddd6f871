/// \file
/// Vertex data: arrays of numbers that are a run's input, and their conversion to a program's Data, one per vertex.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/parallel.h"
#include "chatty/framework/program.h"

namespace chatty {

/// Numbers of vertices, entry v for vertex v; some vertices may have none. Copies share the array.
class VertexArray {
 public:
  /// The numbers, in one of these types.
  using Values = std::variant<Array<std::int32_t>, Array<std::uint32_t>, Array<std::int64_t>, Array<std::uint64_t>,
                              Array<float>, Array<double>>;

  /// Takes ownership of `values`. `present`: the vertices with a number; empty: all. Throws UsageError if the lengths
  /// differ.
  explicit VertexArray(Values values, Array<bool> present = {});
  /// A copy of contiguous numbers, such as a std::vector.
  template <std::ranges::contiguous_range Range>
  explicit VertexArray(const Range& range)
      : VertexArray(Values(Array(std::span<const std::ranges::range_value_t<Range>>(range)))) {}

  /// The numbers.
  const Values& values() const { return content_->values; }
  /// Number of entries, including those without a number.
  std::size_t size() const;
  /// Whether vertex v has a number.
  bool has(std::size_t v) const { return content_->present.empty() || content_->present[v]; }
  /// "int32", "uint32", "int64", "uint64", "float" or "double".
  std::string_view type() const { return TypeName(content_->values.index()); }

  /// The name of type number `index` in Values.
  static std::string_view TypeName(std::size_t index);
  /// The index of T in Values.
  template <class T>
  static constexpr std::size_t kIndexOf = [] {
    constexpr bool kIs[] = {std::is_same_v<T, std::int32_t>, std::is_same_v<T, std::uint32_t>,
                            std::is_same_v<T, std::int64_t>, std::is_same_v<T, std::uint64_t>,
                            std::is_same_v<T, float>,        std::is_same_v<T, double>};
    std::size_t i = 0;
    while (i < std::size(kIs) && !kIs[i]) ++i;
    return i;
  }();

 private:
  struct Content {
    Values values;
    Array<bool> present;
  };
  std::shared_ptr<const Content> content_;
};

/// Arrays by their names in a program's kVertexData.
using VertexData = std::map<std::string, VertexArray, std::less<>>;

namespace detail {

/// Throws UsageError for an array whose name is not in `known`.
void CheckDataNames(const VertexData& given, std::span<const std::string_view> known);
/// The array with this name, or null. Throws UsageError if it is required and missing, has another type, or has another
/// length than the graph has vertices.
const VertexArray* FindData(const VertexData& given, std::string_view name, std::size_t type, Presence presence,
                            const Graph& graph);
/// Throws UsageError with the first vertex that has no number.
void CheckComplete(const VertexArray& array, std::string_view name, const Graph& graph);

/// AssembleVertexData for a P with Data, into existing memory with an entry for each vertex.
template <class P>
void FillVertexData(const Graph& graph, const P& program, const VertexData& given, std::span<DataOf<P>> all) {
  std::vector<std::string_view> known, found;
  std::apply([&](const auto&... datum) { (known.push_back(datum.name), ...); }, P::kVertexData);
  CheckDataNames(given, known);
  ParallelChunks(all.size(), 0, std::size_t{1} << 16, [&](std::size_t begin, std::size_t end) {
    std::uninitialized_fill(all.data() + begin, all.data() + end, DataOf<P>{});
  });
  const auto fill = [&]<class T>(const VertexDatum<DataOf<P>, T>& datum) {
    const VertexArray* const array = FindData(given, datum.name, VertexArray::kIndexOf<T>, datum.presence, graph);
    if (array == nullptr) return;
    found.push_back(datum.name);
    const Array<T>& values = std::get<Array<T>>(array->values());
    if (datum.missing == Missing::kRefused) CheckComplete(*array, datum.name, graph);
    ParallelFor(all.size(), 0, [&](std::size_t v) {
      if (array->has(v)) all[v].*datum.member = values[v];
    });
  };
  std::apply([&](const auto&... datum) { (fill(datum), ...); }, P::kVertexData);
  if constexpr (Traits<P>::kPreparesData) program.PrepareData(graph, all, found);
}

}  // namespace detail

/// P's Data of each vertex, in id order: Data{}, with the members of kVertexData from the arrays in `given`, after
/// `program`'s PrepareData, if it has one. Empty for a P without Data. Throws UsageError for an array that P does not take,
/// one of another type or length, one that lacks a required number, or a missing one; also throws the errors of PrepareData.
template <class P>
Array<DataOf<P>> AssembleVertexData(const Graph& graph, const P& program, const VertexData& given) {
  Array<DataOf<P>> all;
  if constexpr (Traits<P>::kHasData) {
    all = Array<DataOf<P>>(graph.vertices());
    detail::FillVertexData<P>(graph, program, given, all.span());
  } else {
    detail::CheckDataNames(given, {});
  }
  return all;
}

}  // namespace chatty
