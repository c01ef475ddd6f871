// The host's counter of equal messages against a map.
#include "chatty/framework/steps/host/count.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace chatty::test {
namespace {

using steps::host::MessageCounter;

template <class Message>
std::map<Message, std::uint64_t> Counted(const Counts<Message>& counts) {
  std::map<Message, std::uint64_t> result;
  for (const auto run : counts) EXPECT_TRUE(result.emplace(run.value, run.count).second) << "two runs of " << run.value;
  return result;
}

template <class Message>
void AgreesWithMap() {
  std::mt19937_64 random(7);
  MessageCounter<Message> counter;
  // Long ones between short ones: what a vertex left behind would be the next one's.
  for (const std::size_t messages : {3, 40, 100000, 5, 1000, 0, 300000, 17, 1024, 50000}) {
    for (const std::uint64_t different : {std::uint64_t{1}, std::uint64_t{50}, ~std::uint64_t{0}}) {
      std::vector<Message> all(messages);
      std::map<Message, std::uint64_t> expected;
      for (Message& message : all) {
        message = static_cast<Message>(random() % different - 1);
        ++expected[message];
      }
      counter.Begin(messages);
      const std::size_t half = messages / 2;
      ASSERT_TRUE(counter.Add(all.data(), half) && counter.Add(all.data() + half, messages - half));
      const Counts<Message> counts = counter.End();
      EXPECT_EQ(counts.size(), messages);
      EXPECT_EQ(Counted(counts), expected) << messages << " messages, " << different << " values";
    }
  }
}

TEST(Count, AgreesWithAMap) {
  AgreesWithMap<std::uint32_t>();
  AgreesWithMap<std::int32_t>();
  AgreesWithMap<std::uint64_t>();
}

TEST(Count, TooManyDifferentOnesLeaveNothingBehind) {
  std::vector<std::uint32_t> all(MessageCounter<std::uint32_t>::kMaxTable);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i * 7);
  MessageCounter<std::uint32_t> counter;
  counter.Begin(all.size());
  EXPECT_FALSE(counter.Add(all.data(), all.size()));
  for (const std::size_t messages : {std::size_t{3}, all.size() / 4}) {
    counter.Begin(messages);
    ASSERT_TRUE(counter.Add(all.data(), messages));
    const auto counted = Counted(counter.End());
    EXPECT_EQ(counted.size(), messages);
    EXPECT_EQ(counted.begin()->second, 1u);
  }
}

TEST(Count, CountsOfGroupedMessagesAndOfPlaces) {
  const std::uint32_t grouped[] = {5, 5, 2, 9, 9, 9};
  EXPECT_EQ(Counted(Counts<std::uint32_t>(grouped, 6)), (std::map<std::uint32_t, std::uint64_t>{{2, 1}, {5, 2}, {9, 3}}));
  EXPECT_TRUE(Counts<std::uint32_t>(grouped, 0).empty());
  const std::uint32_t values[] = {0, 5, 0, 9, 0}, counts[] = {0, 2, 0, 3, 0};
  EXPECT_EQ(Counted(Counts<std::uint32_t>(values, counts, 5, 5)), (std::map<std::uint32_t, std::uint64_t>{{5, 2}, {9, 3}}));
}

}  // namespace
}  // namespace chatty::test
