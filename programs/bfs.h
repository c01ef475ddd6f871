/// \file
/// Breadth-first search: levels, and parents derived from them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>

#include "chatty/core/array.h"
#include "chatty/framework/derived.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

struct Bfs;

/// Levels and parents in one run. It replaces Bfs and BfsParents on a single host device, where rounds run in place
/// (FusedWith): a vertex keeps the least (level, neighbour) that it receives. The result is that of BfsParents, without a
/// second pass over the edges.
struct BfsTree {
  /// The level of a vertex with this parent, and the parent; ordered by level first.
  struct Value {
    std::uint32_t level;  ///< kInfinity if unreached
    VertexId parent;      ///< kNoVertex if unreached
    /// The order. If a 64-bit word holds both, one comparison suffices: a search compares at every edge, and a branch would
    /// be unpredictable.
    CHATTY_FN friend bool operator<(const Value& a, const Value& b) {
      if constexpr (sizeof(VertexId) == 4) {
        const auto key = [](const Value& v) { return std::uint64_t{v.level} << 32 | v.parent; };
        return key(a) < key(b);
      } else {
        return a.level < b.level || (a.level == b.level && a.parent < b.parent);
      }
    }
  };
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Shared = std::uint32_t;  ///< the level
  using Message = Value;
  static constexpr auto kReduction = Reduction::kCustom;
  static constexpr Message kIdentity{kInfinity<std::uint32_t>, kNoVertex};
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.first_in_row_suffices = true};  // within a round all messages have the same level
  static constexpr Info kInfo{.output_name = "parent", .output_is_vertex = true};
  /// @}

  /// The source.
  VertexId source = 0;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(Parameter{"source", &BfsTree::source, "vertex to start from"});

  BfsTree() = default;
  /// With the source of this search.
  explicit BfsTree(const Bfs& bfs);

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? Value{0, v.id} : kIdentity; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.level != kInfinity<std::uint32_t>; }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.level; }
  CHATTY_FN Message ComputeScatter(const Shared& level, Edge<> e) const { return {level + 1, e.source}; }
  CHATTY_FN Message ComputeReduce(const Message& a, const Message& b) const { return b < a ? b : a; }
  CHATTY_FN bool Filter(const Value& v) const { return v.level == kInfinity<std::uint32_t>; }
  CHATTY_FN bool Filter(const Value& v, const Message& m) const { return m < v; }
  CHATTY_FN bool UpdateStatus(Value& v, const Message& m, Vertex) const {
    const bool reached = m.level < v.level;
    if (m < v) v = m;
    return reached;
  }
  CHATTY_FN VertexId Output(const Value& v) const { return v.parent; }
  /// @}
};

/// Derives parents from levels: each reached vertex takes its least in-neighbour one level up. So the tree does not depend
/// on the order of the search. One round.
struct BfsParents {
  /// A candidate parent. Ordered by level first: candidates one level up have the least level.
  struct Message {
    /// The sender's level.
    std::uint32_t level;
    /// The sender.
    VertexId id;
  };
  /// A vertex's value.
  struct Value {
    /// The level, from Bfs.
    std::uint32_t level;
    /// kNoVertex if there is none.
    VertexId parent;
  };
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Input = std::uint32_t;
  using FusedWith = BfsTree;
  using Shared = std::uint32_t;
  static constexpr auto kReduction = Reduction::kCustom;
  static constexpr Message kIdentity{kInfinity<std::uint32_t>, kNoVertex};
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr Hints kHints{.first_in_row_suffices = true};  // all messages that count have the same level
  static constexpr Info kInfo{
      .summary = "parents of a breadth-first search: each vertex's least neighbour one level up",
      .output_name = "parent",
      .output_is_vertex = true,
  };
  /// @}

  /// The search's source.
  VertexId source = 0;

  BfsParents() = default;
  /// With the source of this search.
  explicit BfsParents(const Bfs& bfs);

  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  CHATTY_FN Value InitVertex(Vertex v, const Input& level) const { return {level, level == 0 ? v.id : kNoVertex}; }
  CHATTY_FN bool IsActive(const Value& v) const { return v.level != kInfinity<std::uint32_t>; }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.level; }
  CHATTY_FN Message ComputeScatter(const Shared& level, Edge<> e) const { return {level, e.source}; }
  CHATTY_FN Message ComputeReduce(Message a, Message b) const {
    return a.level < b.level || (a.level == b.level && a.id <= b.id) ? a : b;
  }
  CHATTY_FN bool Filter(const Value& v) const { return v.level != 0 && v.level != kInfinity<std::uint32_t>; }
  CHATTY_FN bool Filter(const Value& v, const Message& m) const { return m.level + 1 == v.level; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex) const {
    v.parent = m.id;
    return false;
  }
  CHATTY_FN VertexId Output(const Value& v) const { return v.parent; }
  /// @}

  /// Checks a tree at the source whose depths are the levels: VerifyBfsParents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> parents, const RunStatistics&) const {
    return VerifyBfsParents(graph, source, parents);
  }
  /// As Verify, for an answer of unknown origin: the source may also have no parent, instead of itself.
  Verdict VerifyAnswer(const Graph& graph, std::span<const VertexId> parents) const {
    if (source >= parents.size() || parents[source] != kNoVertex) return VerifyBfsParents(graph, source, parents);
    Array<VertexId> rooted(parents.size());
    std::copy(parents.begin(), parents.end(), rooted.begin());
    rooted[source] = source;
    Verdict verdict = VerifyBfsParents(graph, source, rooted.span());
    verdict.message += "; the source has no parent, which was taken as itself";
    return verdict;
  }
};

/// Number of edges on a shortest path from `source`; kInfinity if there is none. The engine chooses push or pull by Beamer's
/// rule (SC'12), as for any program.
struct Bfs {
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  // Within a round all messages have the same level.
  static constexpr Hints kHints{.any_message_suffices = true, .update_is_reduction = true};
  static constexpr Info kInfo{
      .summary = "breadth-first search: edges on a shortest path from --source",
      .output_name = "level",
  };
  /// @}

  /// The source.
  VertexId source = 0;
  /// @{
  /// The program; docs/writing-a-program.md explains each member.
  static constexpr auto kParameters = std::make_tuple(Parameter{"source", &Bfs::source, "vertex to start from"});
  using Derived = DerivedPrograms<BfsParents>;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& level) const { return level != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& level, Edge<>) const { return level + 1; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return round.index + 1; }
  CHATTY_FN bool Filter(const Value& level) const { return level == kInfinity<Value>; }
  CHATTY_FN bool UpdateStatus(Value& level, Message m, Vertex) const {
    if (m >= level) return false;
    level = m;
    return true;
  }
  /// @}

  /// Checks every edge and every vertex: VerifyBfsLevels.
  Verdict Verify(const Graph& graph, std::span<const std::uint32_t> levels, const RunStatistics&) const {
    return VerifyBfsLevels(graph, source, levels);
  }
};

inline BfsTree::BfsTree(const Bfs& bfs) : source(bfs.source) {}
inline BfsParents::BfsParents(const Bfs& bfs) : source(bfs.source) {}

}  // namespace chatty
