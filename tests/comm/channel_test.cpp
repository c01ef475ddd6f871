// Channels: order, credits, slots in turn, and a sender and a receiver that run at the same time.
#include "chatty/comm/channel.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <thread>

#include "../sanitized.h"

namespace chatty {
namespace {

/// A number and its complement: a torn or mixed header would not fit together.
struct TestHeader {
  std::uint64_t value = 0, complement = 0;
};
TestHeader HeaderOf(std::uint64_t value) { return {value, ~value}; }
using TestChannel = MessageChannel<TestHeader>;

class Channels : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::uint32_t slots() const { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Slots, Channels, testing::Values(1, 2, 3, 5, kMaxSlots));

TEST_P(Channels, AnEmptyChannelHasAllCreditsAndNoMessage) {
  TestChannel channel(slots());
  EXPECT_EQ(channel.slots(), slots());
  EXPECT_TRUE(channel.HasCredit());
  EXPECT_FALSE(channel.HasMessage());
  EXPECT_EQ(channel.InFlight(), 0u);
  EXPECT_EQ(channel.Unreleased(), 0u);
  EXPECT_FALSE(channel.Poll().has_value());
  EXPECT_EQ(channel.Acquire(), 0u);
  EXPECT_EQ(channel.Acquire(), 0u) << "acquired and not committed: the same message";
}

TEST_P(Channels, ASenderWithoutCreditWaitsForARelease) {
  TestChannel channel(slots());
  for (std::uint64_t i = 0; i < slots(); ++i) {
    ASSERT_EQ(channel.Acquire(), i);
    channel.Commit(HeaderOf(i));
    EXPECT_EQ(channel.InFlight(), i + 1);
  }
  EXPECT_FALSE(channel.HasCredit());
  EXPECT_FALSE(channel.Acquire().has_value());
  ASSERT_TRUE(channel.Poll().has_value());
  EXPECT_FALSE(channel.HasCredit()) << "polled is not released: the receiver still reads the slot";
  EXPECT_EQ(channel.Unreleased(), 1u);
  channel.Release();
  EXPECT_EQ(channel.Unreleased(), 0u);
  EXPECT_EQ(channel.Acquire(), slots());
}

TEST_P(Channels, OneReleaseReturnsAllPolledSlots) {
  TestChannel channel(slots());
  for (std::uint64_t i = 0; i < slots(); ++i) channel.Commit(HeaderOf(i));
  for (std::uint64_t i = 0; i < slots(); ++i) ASSERT_EQ(channel.Poll()->number, i);
  EXPECT_FALSE(channel.HasMessage());
  EXPECT_EQ(channel.InFlight(), slots());
  channel.Release();
  EXPECT_EQ(channel.InFlight(), 0u);
  channel.Release();
  EXPECT_EQ(channel.InFlight(), 0u) << "nothing was polled since";
}

// Every fill of the channel, from every first slot: numbers and headers come in order, and slots in turn.
TEST_P(Channels, OrderHoldsAroundTheEnd) {
  TestChannel channel(slots());
  std::uint64_t sent = 0, received = 0;
  for (std::uint64_t round = 0; round < 20 * slots(); ++round) {
    for (std::uint64_t i = 0; i <= round % slots(); ++i) {
      ASSERT_EQ(channel.Acquire(), sent);
      channel.Commit(HeaderOf(sent++));
    }
    while (const auto message = channel.Poll()) {
      EXPECT_EQ(message->number, received);
      EXPECT_EQ(message->header.value, received);
      EXPECT_EQ(SlotOf(message->number, slots()), received % slots());
      ++received;
    }
    channel.Release();
    ASSERT_EQ(received, sent);
  }
}

// Two threads: each value arrives once and in order, with the payload that the sender has put into the slot. The payload is
// plain memory, so ThreadSanitizer checks the memory order.
TEST_P(Channels, TwoThreadsPassEachValueOnceAndInOrder) {
  constexpr std::uint64_t kMessages = CHATTY_TEST_SANITIZED ? 50'000 : 300'000;
  TestChannel channel(slots());
  std::array<std::uint64_t, kMaxSlots> payload{};
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kMessages; ++i) {
      std::optional<std::uint64_t> number;
      while (!(number = channel.Acquire())) std::this_thread::yield();
      payload[SlotOf(*number, slots())] = i * 3;
      channel.Commit(HeaderOf(i));
    }
  });
  std::uint64_t received = 0, wrong = 0;
  std::minstd_rand random(slots());
  while (received < kMessages) {
    const auto message = channel.Poll();
    if (!message) {
      std::this_thread::yield();
      continue;
    }
    wrong += message->number != received;
    wrong += message->header.value != received || message->header.complement != ~received;
    wrong += payload[SlotOf(message->number, slots())] != received * 3;
    ++received;
    if (channel.Unreleased() == slots() || random() % 3 == 0) channel.Release();
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_FALSE(channel.HasMessage());
  channel.Release();
  EXPECT_EQ(channel.InFlight(), 0u);
}

TEST(ChannelSlots, OneToTheMost) {
  EXPECT_THROW(TestChannel(0), InternalError);
  EXPECT_THROW(TestChannel(kMaxSlots + 1), InternalError);
}

}  // namespace
}  // namespace chatty
