#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "chatty/framework/engines/message_log.h"
#include "chatty/framework/steps/host/pack.h"
#include "chatty/framework/steps/host/unpack.h"

namespace chatty {
namespace {

template <class T>
Slot<T> PayloadOf(std::size_t i);

/// Ways to pack: one.
enum class Way { kAny };

/// A team of three.
struct Backend {
  static constexpr std::pair<Encoding, Way> kWays[] = {
      {Encoding::kBitmap, Way::kAny}, {Encoding::kSparse, Way::kAny}, {Encoding::kDense, Way::kAny}};

  static bool Available() { return true; }

  template <class Body>
  static void OnTeam(Body&& body) {
    WorkerTeam team(3);
    steps::host::Cursors cursors;
    team.Run(3, [&](TeamMember& member) {
      steps::host::Group group(member, cursors, 0);
      body(group);
    });
  }

  /// How many entries were packed, and the buffer with what lies behind it.
  template <class T>
  static std::pair<std::uint32_t, std::vector<std::byte>> Pack(Encoding encoding, Way, std::size_t size,
                                                               const std::vector<std::uint32_t>& set, std::size_t room) {
    using namespace steps::host::detail;
    std::vector<std::byte> buffer(room, std::byte{0xa5});
    std::uint32_t count = 0;
    const auto bit = [&](std::size_t i) { return bits::Test(set.data(), static_cast<LocalId>(i)); };
    OnTeam([&](steps::host::Group& group) {
      if (encoding == Encoding::kBitmap) return PackBitmap<Slot<T>>(group, buffer.data(), &count, size, bit, PayloadOf<T>);
      if (encoding == Encoding::kDense) return PackDense<Slot<T>>(group, buffer.data(), &count, size, PayloadOf<T>);
      group.Sweep(size, steps::host::kVertexGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          if (bit(i)) PackRecord(&count, buffer.data(), static_cast<std::uint32_t>(i), PayloadOf<T>(i));
        }
      });
    });
    return {count, std::move(buffer)};
  }

  /// How often each entry was seen, and with which payload.
  template <class T>
  static std::pair<std::vector<std::uint32_t>, std::vector<Slot<T>>> Unpack(InboxRef inbox,
                                                                            const std::vector<std::byte>& buffer) {
    inbox.buffer = buffer.data();
    std::vector<std::uint32_t> seen(inbox.size + 1, 0);
    std::vector<Slot<T>> values(inbox.size + 1);
    OnTeam([&](steps::host::Group& group) {
      steps::host::detail::ForEachEntry<Slot<T>>(group, inbox, [&](std::uint32_t index, const Slot<T>& payload) {
        atomics::Add<true>(&seen[index], 1u);
        values[index] = payload;
      });
    });
    return {std::move(seen), std::move(values)};
  }
};

}  // namespace
}  // namespace chatty

#include "buffers_test_body.h"

namespace chatty {
namespace {

TEST(BufferShapes, CountWhatPackingAndUnpackingVisit) {
  for (const Encoding encoding : {Encoding::kSparse, Encoding::kBitmap, Encoding::kDense}) {
    const BufferShape buffer = BufferShapeOf(encoding, /*bytes=*/5000, /*count=*/700, /*size=*/32000);
    EXPECT_EQ(buffer.encoding, encoding);
    EXPECT_EQ(buffer.bytes, 5000u);
    EXPECT_EQ(buffer.entries, encoding == Encoding::kSparse ? 700u : encoding == Encoding::kBitmap ? 32000u : 0u);
    EXPECT_FALSE(buffer.payload);
  }
}

}  // namespace
}  // namespace chatty
