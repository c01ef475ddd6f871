#include <charconv>
#include <cstdio>
#include <cstring>

#include "symmetric_ring_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, SymmetricRingTest, testing::Values("host:1", "host:2", "host:3", "host:8"));

TEST(SymmetricRings, NeedLinksThatMoveAnEntryAtOnce) {
  Unlinked first(MakeHostDevice(0, 1), /*addressable=*/true), second(MakeHostDevice(1, 1), /*addressable=*/true);
  Device* const both[] = {&first, &second};
  SymmetricHeap heap(both, 1 << 16);
  try {
    sym::MakeRings(heap, 64);
    ADD_FAILURE() << "a link may divide entries";
  } catch (const CapabilityError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "rings between devices need links that move 16 bytes at once, as NVLink does, and host:0 has another to a device");
  }
}

/// A long run among eight devices. CHATTY_STRESS_ITEMS sets the number of items: 100000000 is the size for a change of
/// ring.h.
TEST(SymmetricRingStress, NoItemIsLostOrTakenTwice) {
  std::uint64_t items = CHATTY_TEST_SANITIZED ? 20'000 : 1'000'000;
  if (const char* const asked = std::getenv("CHATTY_STRESS_ITEMS")) {
    const auto [end, error] = std::from_chars(asked, asked + std::strlen(asked), items);
    ASSERT_TRUE(error == std::errc() && *end == 0) << "CHATTY_STRESS_ITEMS is " << asked << ", not a number of items";
  }
  const std::uint64_t of_pair = (items + 63) / 64;
  const std::uint64_t fulls = ExchangeAll("host:8", {.items = of_pair, .capacity = 64, .burst = 32, .delays = true}, 2);
  EXPECT_GT(fulls, 0u) << "no ring was ever full";
  std::printf("[  COUNTED ] %llu items, each once; rings were full %llu times\n",
              static_cast<unsigned long long>(64 * of_pair), static_cast<unsigned long long>(fulls));
}

}  // namespace
}  // namespace chatty::test
