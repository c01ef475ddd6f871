/// \file
/// Breadth-first search: levels, and from them parents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "chatty/core/array.h"
#include "chatty/framework/derived.h"
#include "chatty/framework/program.h"
#include "chatty/framework/statistics.h"
#include "chatty/programs/verify.h"

namespace chatty {

struct Bfs;

/// Levels and parents at once, where a search runs in place: a vertex keeps the least of all (level, neighbour) it hears of.
/// What BfsParents gives, without another look at the edges.
struct BfsTree {
  /// The level that a vertex is on if this is its parent; ordered by level first.
  struct Value {
    std::uint32_t level;  ///< kInfinity where the search does not come
    VertexId parent;      ///< kNoVertex there
    /// The order, of one number where that is wide enough: a search compares at every edge, and a branch would be a guess.
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
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Shared = std::uint32_t;  ///< the level
  using Message = Value;
  static constexpr auto kReduction = Reduction::kCustom;
  static constexpr Message kIdentity{kInfinity<std::uint32_t>, kNoVertex};
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr bool kFirstInRowSuffices = true;  // within a round all messages say the same level
  static constexpr bool kOutputIsVertex = true;
  static constexpr const char* kOutputName = "parent";
  /// @}

  /// Where to start.
  VertexId source = 0;
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kParameters = std::make_tuple(Parameter{"source", &BfsTree::source, "vertex to start from"});

  BfsTree() = default;
  /// Of this search's source.
  explicit BfsTree(const Bfs& bfs);

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? Value{0, v.id} : kIdentity; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.level != kInfinity<std::uint32_t>; }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.level; }
  CHATTY_FN Message ComputeScatter(const Shared& level, Edge<> e, const Round<>&) const { return {level + 1, e.source}; }
  CHATTY_FN Message ComputeReduce(const Message& a, const Message& b) const { return b < a ? b : a; }
  CHATTY_FN bool Wants(const Value& v) const { return v.level == kInfinity<std::uint32_t>; }
  CHATTY_FN bool Wants(const Value& v, const Message& m) const { return m < v; }
  CHATTY_FN bool UpdateStatus(Value& v, const Message& m, Vertex, const Round<>&) const {
    const bool reached = m.level < v.level;
    if (m < v) v = m;
    return reached;
  }
  CHATTY_FN VertexId Output(const Value& v) const { return v.parent; }
  /// @}
};

/// From levels to parents: each reached vertex takes its least in-neighbour one level up, so that the tree is the same
/// whatever order the search ran in. One round.
struct BfsParents {
  /// A candidate parent. Ordered by level first: the candidates one level up are those of least level.
  struct Message {
    /// The sender's level.
    std::uint32_t level;
    /// The sender.
    VertexId id;
  };
  /// What a vertex keeps.
  struct Value {
    /// Its own, from Bfs.
    std::uint32_t level;
    /// kNoVertex where there is none.
    VertexId parent;
  };
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Prior = std::uint32_t;
  using AtOnce = BfsTree;
  using Shared = std::uint32_t;
  static constexpr auto kReduction = Reduction::kCustom;
  static constexpr Message kIdentity{kInfinity<std::uint32_t>, kNoVertex};
  static constexpr auto kSafety = Safety::kSynchronous;
  static constexpr bool kFirstInRowSuffices = true;  // of the levels that are wanted all are the same
  static constexpr bool kOutputIsVertex = true;
  static constexpr const char* kOutputName = "parent";
  static constexpr const char* kSummary = "parents of a breadth-first search: each vertex's least neighbour one level up";
  /// @}

  /// Where the search started.
  VertexId source = 0;

  BfsParents() = default;
  /// Of this search's source.
  explicit BfsParents(const Bfs& bfs);

  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  CHATTY_FN Value InitVertex(Vertex v, const Prior& level) const { return {level, level == 0 ? v.id : kNoVertex}; }
  CHATTY_FN bool IsActive(const Value& v, const Round<>&) const { return v.level != kInfinity<std::uint32_t>; }
  CHATTY_FN Shared Share(const Value& v, Vertex) const { return v.level; }
  CHATTY_FN Message ComputeScatter(const Shared& level, Edge<> e, const Round<>&) const { return {level, e.source}; }
  CHATTY_FN Message ComputeReduce(Message a, Message b) const {
    return a.level < b.level || (a.level == b.level && a.id <= b.id) ? a : b;
  }
  CHATTY_FN bool Wants(const Value& v) const { return v.level != 0 && v.level != kInfinity<std::uint32_t>; }
  CHATTY_FN bool Wants(const Value& v, const Message& m) const { return m.level + 1 == v.level; }
  CHATTY_FN bool UpdateStatus(Value& v, Message m, Vertex, const Round<>&) const {
    v.parent = m.id;
    return false;
  }
  CHATTY_FN VertexId Output(const Value& v) const { return v.parent; }
  /// @}

  /// A tree at the source whose depths are the levels: VerifyBfsParents.
  Verdict Verify(const Graph& graph, std::span<const VertexId> parents, const RunStatistics&) const {
    return VerifyBfsParents(graph, source, parents);
  }
  /// Of unknown origin: the same, and the source may have no parent instead of itself.
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

/// Edges on a shortest path from `source`, kInfinity where there is none. Push or pull by Beamer's rule (SC'12), which the
/// engine applies to any program.
struct Bfs {
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr bool kFirstSuffices = true;  // within a round every message says the same level
  static constexpr const char* kSummary = "breadth-first search: edges on a shortest path from --source";
  static constexpr const char* kOutputName = "level";
  /// @}

  /// Where to start.
  VertexId source = 0;
  /// @{
  /// What VertexProgram asks for and the engines call; docs/writing-a-program.md says what each member means.
  static constexpr auto kParameters = std::make_tuple(Parameter{"source", &Bfs::source, "vertex to start from"});
  using Derived = DerivedPrograms<BfsParents>;

  CHATTY_FN Value InitVertex(Vertex v) const { return v.id == source ? 0 : kInfinity<Value>; }
  CHATTY_FN bool IsActive(const Value& level, const Round<>&) const { return level != kInfinity<Value>; }
  CHATTY_FN Message ComputeScatter(const Value& level, Edge<>, const Round<>&) const { return level + 1; }
  CHATTY_FN Message RoundMessage(const Round<>& round) const { return round.index + 1; }
  CHATTY_FN bool Wants(const Value& level) const { return level == kInfinity<Value>; }
  CHATTY_FN bool UpdateStatus(Value& level, Message m, Vertex, const Round<>&) const {
    if (m >= level) return false;
    level = m;
    return true;
  }
  /// @}

  /// Of every edge and every vertex: VerifyBfsLevels.
  Verdict Verify(const Graph& graph, std::span<const std::uint32_t> levels, const RunStatistics&) const {
    return VerifyBfsLevels(graph, source, levels);
  }
};

inline BfsTree::BfsTree(const Bfs& bfs) : source(bfs.source) {}
inline BfsParents::BfsParents(const Bfs& bfs) : source(bfs.source) {}

}  // namespace chatty
