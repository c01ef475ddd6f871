/// \file
/// Arrays with a number for each vertex that a run is given from outside, and what a program makes of them: its Data, one a
/// vertex.
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

/// A number for each vertex, entry v for vertex v, or for some of them. Owned; copies share it.
class VertexArray {
 public:
  /// The numbers, of one of these types.
  using Values = std::variant<Array<std::int32_t>, Array<std::uint32_t>, Array<std::int64_t>, Array<std::uint64_t>,
                              Array<float>, Array<double>>;

  /// Takes `values`. `present`: for which vertices there is one; empty: for all. Throws UsageError if the two are of
  /// different lengths.
  explicit VertexArray(Values values, Array<bool> present = {});
  /// A copy of numbers that lie one after the other, as in a std::vector.
  template <std::ranges::contiguous_range Range>
  explicit VertexArray(const Range& range)
      : VertexArray(Values(Array(std::span<const std::ranges::range_value_t<Range>>(range)))) {}

  /// The numbers.
  const Values& values() const { return content_->values; }
  /// Entries, those of vertices without a number included.
  std::size_t size() const;
  /// Whether vertex v has a number.
  bool has(std::size_t v) const { return content_->present.empty() || content_->present[v]; }
  /// "int32", "uint32", "int64", "uint64", "float" or "double".
  std::string_view type() const { return TypeName(content_->values.index()); }

  /// What the types of Values are called, by their places.
  static std::string_view TypeName(std::size_t index);
  /// The place of T among them.
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

/// Arrays by the names that a program's kVertexData has for them.
using VertexData = std::map<std::string, VertexArray, std::less<>>;

namespace detail {

/// Throws UsageError if an array has a name that is none of `known`.
void CheckDataNames(const VertexData& given, std::span<const std::string_view> known);
/// The array that is given under this name, or null. Throws UsageError if it must be given and is not, is not of the type,
/// or is not as long as the graph has vertices.
const VertexArray* FindData(const VertexData& given, std::string_view name, std::size_t type, Presence presence,
                            const Graph& graph);
/// Throws UsageError, naming the first, if a vertex has no number.
void CheckComplete(const VertexArray& array, std::string_view name, const Graph& graph);

/// AssembleVertexData of a P with a Data, into memory for as many as the graph has vertices.
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

/// What P is given of each vertex, in id order: Data{}, with the members of kVertexData from the arrays in `given`, as
/// `program` has prepared them by its PrepareData, if it has one. Empty for a P without a Data. Throws UsageError for an
/// array that P does not take, is of another type or length, lacks a vertex that it must not lack, or is missing; and what
/// PrepareData throws.
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
