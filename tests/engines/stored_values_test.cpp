// Threads of a host device that store values instead of swapping them (framework/fused/host/relax.h): what a store has
// overwritten is restored. Here and not with the other tests of that engine, because ThreadSanitizer sees these for each
// change.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>

#include "../framework/test_inputs.h"
#include "chatty/framework/fused/host/relax.h"
#include "chatty/framework/run.h"
#include "chatty/io/generators.h"
#include "chatty/programs/reference.h"

namespace chatty::test {
namespace {

/// Levels or distances whose updates wait between the load of a value and its store, which overwrites what others have
/// stored meanwhile.
template <bool kOrdered>
struct WaitsInUpdates {
  using Weight = std::conditional_t<kOrdered, std::int32_t, None>;
  using Value = std::uint32_t;
  using Message = std::uint32_t;
  static constexpr auto kReduction = Reduction::kMin;
  static constexpr auto kSafety = Safety::kMonotone;
  static constexpr Hints kHints{.update_is_reduction = true};
  static inline std::atomic<unsigned> updates{0};

  Value InitVertex(Vertex v) const { return v.id == 0 ? 0 : kInfinity<Value>; }
  bool IsActive(const Value& v) const { return v != kInfinity<Value>; }
  Message ComputeScatter(const Value& v, Edge<Weight> e) const {
    if constexpr (kOrdered) {
      return v + static_cast<std::uint32_t>(e.weight);
    } else {
      return v + 1;
    }
  }
  bool UpdateStatus(Value& v, Message m, Vertex) const {
    if (m >= v) return false;
    if (updates.fetch_add(1, std::memory_order_relaxed) % 16 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    v = m;
    return true;
  }
};
struct OrderedWaitsInUpdates : WaitsInUpdates<true> {
  double Priority(const Value& v) const { return v; }
};

TEST(StoredValues, ABetterValueThatIsOverwrittenIsRestored) {
  static_assert(fused::host::detail::kStoresValues<WaitsInUpdates<false>>);
  static_assert(fused::host::detail::kStoresValues<OrderedWaitsInUpdates>);
  GeneratorSpec spec;
  spec.family = "grid";
  spec.width = spec.height = 40;
  spec.weights = WeightKind::kInt32;
  const Graph graph = Generate(spec);
  for (const int threads : {2, 3}) {
    Session session(graph, OpenDevices(ParseDevices("host:1"), threads));
    for (const std::uint32_t list_items : {0u, 8u}) {  // short rings put most items into lists
      RunOptions options;
      options.execution = Execution::kAsync;
      options.list_items = list_items;
      for (int run = 0; run < 4; ++run) {
        EXPECT_EQ(ToVector(chatty::Run(session, WaitsInUpdates<false>{}, options).values), ToVector(SerialBfs(graph, 0)));
        for (const double delta : {kAutoDelta, 2.0}) {  // narrow buckets put most items into far lists
          options.delta = delta;
          EXPECT_EQ(ToVector(chatty::Run(session, OrderedWaitsInUpdates{}, options).values),
                    ToVector(SerialSssp<std::uint32_t>(graph, 0)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace chatty::test
