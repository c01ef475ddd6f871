#include "chatty/comm/transport.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "../core/waits.h"
#include "chatty/comm/checked_transport.h"
#include "chatty/core/config.h"
#include "chatty/core/memory_resources.h"
#include "chatty/core/sync.h"

namespace chatty {
namespace {

std::uint64_t Hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;  // splitmix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

std::uint64_t Key(PartId from, PartId to, std::uint64_t epoch) { return Hash((epoch * 64 + from) * 64 + to); }

/// Bytes that `from` sends `to` in an epoch: both can compute the number, so that a byte out of place is noticed.
std::size_t BytesToSend(PartId from, PartId to, std::uint64_t epoch, std::size_t capacity) {
  const std::uint64_t key = Key(from, to, epoch);
  if (key % 8 == 0) return 0;
  if (key % 8 == 1) return capacity;
  return (key >> 8) % (capacity + 1);
}
void FillPattern(std::vector<std::byte>& data, PartId from, PartId to, std::uint64_t epoch, std::size_t bytes) {
  data.resize(bytes);
  std::uint64_t word = Key(from, to, epoch);
  for (std::size_t i = 0; i < bytes; i += sizeof(word)) {
    word = word * 6364136223846793005ull + 1442695040888963407ull;
    std::memcpy(data.data() + i, &word, std::min(sizeof(word), bytes - i));
  }
}

/// The number of the receiver under which what is told to all is worked out.
constexpr PartId kAll = 63;

/// A transport's name, and the devices to try it on.
using Case = std::tuple<const char*, const char*>;

class TransportTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string selection = std::get<1>(GetParam());
    if (selection.starts_with("cuda")) {
      const auto wanted = 1 + std::count(selection.begin(), selection.end(), ',');
      if (CudaDeviceCount() < wanted)
        GTEST_SKIP() << selection << " needs " << wanted << " GPUs; this machine has " << CudaDeviceCount();
    }
    devices_ = OpenDevices(ParseDevices(selection), 1);
    for (const auto& device : devices_) pointers_.push_back(device.get());
  }

  std::string_view name() const { return std::get<0>(GetParam()); }
  PartId parts() const { return static_cast<PartId>(devices_.size()); }

  /// Unequal capacities, none among them; one pair gets a mebibyte.
  PairBytesTable Capacities(std::uint64_t seed) const {
    static constexpr std::size_t kChoices[] = {0, 1, 3, 64, 1000, 4096, 40000};
    PairBytesTable capacities(parts(), std::vector<std::size_t>(parts(), 0));
    for (PartId from = 0; from < parts(); ++from) {
      for (PartId to = 0; to < parts(); ++to) {
        if (from != to) capacities[from][to] = kChoices[Hash(seed * 4096 + from * 64 + to) % std::size(kChoices)];
      }
    }
    capacities[parts() - 1][0] = 1 << 20;
    capacities[0][parts() - 1] = std::max<std::size_t>(capacities[0][parts() - 1], 1);
    return capacities;
  }

  /// Bytes that each device may broadcast: one of them nothing, one half a mebibyte.
  std::vector<std::size_t> Broadcasts(std::uint64_t seed) const {
    static constexpr std::size_t kChoices[] = {1, 5, 64, 1000, 50000};
    std::vector<std::size_t> bytes(parts());
    for (PartId from = 0; from < parts(); ++from) bytes[from] = kChoices[Hash(seed * 64 + from) % std::size(kChoices)];
    bytes[seed % parts()] = 1 << 19;
    if (parts() > 2) bytes[(seed + 1) % parts()] = 0;
    return bytes;
  }
  TransportOptions Telling(std::uint64_t seed) const {
    TransportOptions options;
    options.broadcast = Broadcasts(seed);
    return options;
  }

  /// Every device runs on its own thread, as in a run: packs and posts, synchronises once, receives and reads. One
  /// synchronisation per epoch is the minimum that the interface requires: a fast device packs the next epoch while a slow
  /// one still reads this one. `blind`: zero-copy receivers do not get the lengths. With
  /// `on_streams_`, devices read messages on a further stream.
  void Converse(Transport& transport, const PairBytesTable& capacities, const TransportOptions& options,
                std::uint64_t first_epoch, std::uint64_t epochs, bool delays, bool blind = false) {
    const auto length = [&](PartId from, PartId to, std::size_t bytes) {
      if (!blind || !transport.IsZeroCopyReceive(from, to)) return bytes;
      return from == to ? options.broadcast[from] : capacities[from][to];
    };
    const auto told = [&](PartId from, std::uint64_t epoch) -> std::size_t {
      if (options.broadcast.empty() || options.broadcast[from] == 0) return 0;
      return BytesToSend(from, kAll, epoch, options.broadcast[from]);
    };
    AllGatherBarrier<int> meeting(static_cast<int>(parts()));
    AbortToken abort;
    std::atomic<std::uint64_t> wrong{0}, compared{0};
    const auto drive = [&](PartId me) {
      Device& device = *devices_[me];
      device.MakeCurrent();
      const std::unique_ptr<Stream> reader = on_streams_ ? device.NewStream() : nullptr;
      std::mt19937 random(static_cast<std::uint32_t>(me * 1000 + first_epoch));
      const auto dawdle = [&] {
        if (delays && random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      };
      std::vector<std::vector<std::byte>> out(parts()), in(parts()), heard(parts());
      std::vector<std::byte> to_all, expected;
      std::vector<std::size_t> incoming(parts()), broadcast(parts());
      for (std::uint64_t epoch = first_epoch; epoch < first_epoch + epochs; ++epoch) {
        for (PartId to = 0; to < parts(); ++to) {
          if (to == me || capacities[me][to] == 0) continue;
          FillPattern(out[to], me, to, epoch, BytesToSend(me, to, epoch, capacities[me][to]));
          dawdle();
          // Enqueued, not awaited: Post has to order itself after it.
          device.CopyIn(transport.Outbox(me, to, epoch), out[to].data(), out[to].size(), device.stream());
          transport.Post(me, to, length(me, to, out[to].size()), epoch);
        }
        if (const std::size_t bytes = told(me, epoch); bytes > 0) {
          FillPattern(to_all, me, kAll, epoch, bytes);
          device.CopyIn(transport.BroadcastOutbox(me, epoch), to_all.data(), bytes, device.stream());
          transport.Broadcast(me, length(me, me, bytes), epoch);
        }
        dawdle();
        meeting.Exchange(static_cast<int>(me), epoch, 0, {&abort, std::chrono::milliseconds(60000)}, "the others",
                         [](int, int) {});
        dawdle();
        if (options.collectives) {
          for (PartId from = 0; from < parts(); ++from) {
            const std::size_t capacity = from == me ? 0 : capacities[from][me];
            incoming[from] = capacity == 0 ? 0 : BytesToSend(from, me, epoch, capacity);
            broadcast[from] = told(from, epoch);
          }
          transport.BeginCollective(me, incoming, broadcast, epoch);
        }
        for (PartId i = 1; i < parts(); ++i) {
          const PartId from = (me + i) % parts();
          if (capacities[from][me] == 0) continue;
          in[from].assign(BytesToSend(from, me, epoch, capacities[from][me]), std::byte{0});
          const std::size_t bytes = length(from, me, in[from].size());
          const std::byte* const inbox = reader != nullptr ? transport.ReceiveOn(*reader, me, from, bytes, epoch)
                                                           : transport.Receive(me, from, bytes, epoch);
          device.CopyOut(in[from].data(), inbox, in[from].size(), reader != nullptr ? *reader : device.stream());
          dawdle();
        }
        for (PartId i = 1; i < parts(); ++i) {
          const PartId from = (me + i) % parts();
          heard[from].assign(told(from, epoch), std::byte{0});
          if (heard[from].empty()) continue;
          const std::byte* const buffer =
              transport.ReceiveBroadcast(me, from, length(from, from, heard[from].size()), epoch);
          device.CopyOut(heard[from].data(), buffer, heard[from].size(), device.stream());
          dawdle();
        }
        device.stream().Synchronize({&abort, std::chrono::milliseconds(60000)});
        if (reader != nullptr) reader->Synchronize({&abort, std::chrono::milliseconds(60000)});
        for (PartId from = 0; from < parts(); ++from) {
          if (from == me) continue;
          if (capacities[from][me] != 0) {
            FillPattern(expected, from, me, epoch, in[from].size());
            wrong += in[from] != expected;
          }
          FillPattern(expected, from, kAll, epoch, heard[from].size());
          wrong += heard[from] != expected;
          compared += in[from].size() + heard[from].size();
        }
      }
    };
    std::vector<std::thread> threads;
    for (PartId me = 0; me < parts(); ++me) {
      threads.emplace_back([&, me] {
        try {
          drive(me);
        } catch (...) {
          abort.Fail(std::current_exception());
          meeting.Poison();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    abort.RethrowFirst();
    EXPECT_EQ(wrong, 0u) << "buffers that arrived with other bytes than were sent";
    EXPECT_GT(compared, 0u);
  }

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
  bool on_streams_ = false;  // of Converse
};

TEST_P(TransportTest, SaysItsName) { EXPECT_EQ(MakeTransport(name(), pointers_, Capacities(1))->name(), name()); }

TEST_P(TransportTest, EveryByteArrives) {
  for (const std::uint64_t seed : {1, 2}) {
    const PairBytesTable capacities = Capacities(seed);
    const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities);
    Converse(*transport, capacities, {}, 0, 12, /*delays=*/false);
  }
}

TEST_P(TransportTest, WhatIsToldToAllArrivesEverywhere) {
  const PairBytesTable silent(parts(), std::vector<std::size_t>(parts(), 0));
  for (const std::uint64_t seed : {1, 2}) {
    const TransportOptions options = Telling(seed);
    const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, silent, options);
    Converse(*transport, silent, options, 0, 6, /*delays=*/false);
    const std::unique_ptr<Transport> both = MakeTransport(name(), pointers_, Capacities(seed), options);
    Converse(*both, Capacities(seed), options, 0, 6, /*delays=*/true);
  }
}

TEST_P(TransportTest, EveryByteArrivesAtAnyPace) {
  const PairBytesTable capacities = Capacities(4);
  const TransportOptions options = Telling(4);
  const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
  Converse(*transport, capacities, options, 0, 30, /*delays=*/true);
}

TEST_P(TransportTest, WhatIsReadInPlaceNeedsNoLengths) {
  for (const char* links : {"all", "none"}) {
    if (name() == "nccl" && links == std::string_view("none")) continue;  // once a process
    SCOPED_TRACE(links);
    const PairBytesTable capacities = Capacities(4);
    TransportOptions options = Telling(4);
    options.links = LinkMask::Parse(links, parts());
    const auto transport = MakeTransport(name(), pointers_, capacities, options);
    const bool in_place = name() == "host" || name() == "p2p-direct" || name() == "uva";
    for (PartId from = 0; from < parts(); ++from) {
      for (PartId to = 0; to < parts(); ++to) {
        const bool talks = from == to ? options.broadcast[from] > 0 : capacities[from][to] > 0;
        // What some read in the sender's memory and others in host memory is copied: between hosts and with no links all do
        // alike.
        const bool alike = links == std::string_view("none") || devices_[0]->kind() == DeviceKind::kHost;
        if (from == to && name() == "p2p-direct" && !alike) continue;
        EXPECT_EQ(transport->IsZeroCopyReceive(from, to), in_place && talks) << from << " to " << to;
      }
    }
    Converse(*transport, capacities, options, 0, 12, /*delays=*/true, /*blind=*/true);
  }
}

TEST_P(TransportTest, WithoutSomeLinksToo) {
  const PairBytesTable capacities = Capacities(7);
  for (const char* mask : {"none", "pairs {0,1}", "pairs {0,1}{2,3}"}) {
    SCOPED_TRACE(mask);
    if (parts() < 4 && std::string(mask).find('3') != std::string::npos) continue;
    TransportOptions options = Telling(7);
    options.links = LinkMask::Parse(mask, parts());
    try {
      const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
      Converse(*transport, capacities, options, 0, 6, /*delays=*/true);
    } catch (const CapabilityError& error) {  // what joined the first communicator of the process joins all
      EXPECT_EQ(name(), "nccl") << error.what();
    }
  }
}

TEST_P(TransportTest, InPacketsOfAnySize) {
  const PairBytesTable capacities = Capacities(8);
  for (const std::size_t packet : {std::size_t{4096}, std::size_t{65000}, std::size_t{1} << 30}) {
    SCOPED_TRACE(packet);
    TransportOptions options = Telling(8);
    options.packet = packet;
    const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
    Converse(*transport, capacities, options, 0, 4, /*delays=*/true);
  }
}

TEST_P(TransportTest, WithoutMeetings) {
  const PairBytesTable capacities = Capacities(9);
  TransportOptions options = Telling(9);
  options.collectives = false;
  const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
  Converse(*transport, capacities, options, 0, 6, /*delays=*/true);
}

TEST_P(TransportTest, EveryByteArrivesForAnotherStream) {
  on_streams_ = true;
  const PairBytesTable capacities = Capacities(11);
  for (const bool collectives : {true, false}) {
    SCOPED_TRACE(collectives);
    TransportOptions options = Telling(11);
    options.collectives = collectives;
    CheckedTransport transport(MakeTransport(name(), pointers_, capacities, options), capacities, options);
    EXPECT_TRUE(transport.receives_on_streams());
    Converse(transport, capacities, options, 0, 12, /*delays=*/true);
  }
}

TEST_P(TransportTest, ServesRunAfterRun) {
  // Every run counts its epochs from zero, wherever the one before stopped.
  const PairBytesTable capacities = Capacities(5);
  const TransportOptions options = Telling(5);
  const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
  for (const std::uint64_t epochs : {1, 2, 3, 1, 4}) Converse(*transport, capacities, options, 0, epochs, true);
  Converse(*transport, capacities, options, (std::uint64_t{1} << 40) - 2, 5, true);
  EXPECT_TRUE(transport->reusable());
}

TEST_P(TransportTest, EndsAfterAnAbort) {
  const PairBytesTable capacities = Capacities(5);
  const TransportOptions options = Telling(5);
  const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
  Converse(*transport, capacities, options, 0, 2, false);
  std::thread other([&] { transport->Abort(); });
  transport->Abort();
  other.join();
  if (transport->reusable()) Converse(*transport, capacities, options, 0, 2, false);
}

TEST_P(TransportTest, AnAbortEndsWhatWaitsForAnotherDevice) {
  const PairBytesTable capacities = Capacities(5);
  TransportOptions options;
  options.timeout = std::chrono::milliseconds(60000);
  const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
  // One device meets and the others never come.
  std::vector<std::size_t> incoming(parts());
  incoming[parts() - 1] = 100;
  std::atomic<bool> over{false};
  std::thread waiting([&] {
    try {
      pointers_[0]->MakeCurrent();
      transport->BeginCollective(0, incoming, {}, 0);
      if (FindTransport(name())->collective) {
        transport->Receive(0, parts() - 1, 100, 0);
        pointers_[0]->stream().Synchronize({nullptr, std::chrono::milliseconds(60000)});
      }
    } catch (const AbortedError&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    over = true;
  });
  if (FindTransport(name())->collective) {
    if (pointers_[0]->kind() == DeviceKind::kHost) {
      EXPECT_TRUE(test::waits::AwaitQuiet());
    } else {  // who waits for a GPU polls; should it not wait yet, this finds less
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_FALSE(over) << "goes on without what it waits for";
    transport->Abort();
  }
  waiting.join();
}

TEST_P(TransportTest, EpochsTakeTheSlotsInTurn) {
  for (const std::uint32_t slots : {2u, 3u, kMaxSlots}) {
    const PairBytesTable capacities = Capacities(1);
    TransportOptions options = Telling(1);
    options.slots = slots;
    const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
    EXPECT_EQ(transport->slots(), slots);
    const PartId last = parts() - 1, teller = 1 % parts();
    const auto check = [&](const auto& buffer, std::ptrdiff_t bytes) {
      for (std::uint64_t epoch = 0; epoch < slots; ++epoch) {
        ASSERT_NE(buffer(epoch), nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer(epoch)) % 256, 0u);
        for (std::uint64_t other = 0; other < epoch; ++other) {
          EXPECT_GE(std::abs(buffer(epoch) - buffer(other)), bytes) << "two slots overlap";
        }
        EXPECT_EQ(buffer(epoch + slots), buffer(epoch));
        EXPECT_EQ(buffer(epoch + 7 * slots), buffer(epoch));
      }
    };
    check([&](std::uint64_t epoch) { return transport->Outbox(last, 0, epoch); }, 1 << 20);
    check([&](std::uint64_t epoch) { return transport->BroadcastOutbox(teller, epoch); }, 1 << 19);
  }
}

TEST_P(TransportTest, TheseConversationsKeepTheContract) {
  const PairBytesTable capacities = Capacities(3);
  for (const bool collectives : {true, false}) {
    TransportOptions options = Telling(3);
    options.collectives = collectives;
    CheckedTransport transport(MakeTransport(name(), pointers_, capacities, options), capacities, options);
    for (const std::uint64_t epochs : {1, 1, 5, 2}) Converse(transport, capacities, options, 0, epochs, /*delays=*/true);
    Converse(transport, capacities, options, 0, 4, /*delays=*/true, /*blind=*/true);
  }
}

TEST_P(TransportTest, MoreSlotsCarryTheSame) {
  const PairBytesTable capacities = Capacities(3);
  for (const std::uint32_t slots : {3u, 5u}) {
    TransportOptions options = Telling(3);
    options.slots = slots;
    const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
    Converse(*transport, capacities, options, 0, 3 * slots, /*delays=*/true);
    Converse(*transport, capacities, options, 0, slots + 1, /*delays=*/false);
  }
}

// A sender fills all slots before the receiver reads the first: no slot overwrites another one.
TEST_P(TransportTest, ASenderMayBeAsManyEpochsAheadAsThereAreSlots) {
  const PairBytesTable capacities = Capacities(3);
  const PartId from = parts() - 1, to = 0;
  for (const std::uint32_t slots : {2u, 3u, kMaxSlots}) {
    TransportOptions options;
    options.slots = slots;
    options.collectives = false;
    const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
    for (std::uint64_t first = 0; first < 3 * slots; first += slots) {
      std::vector<std::vector<std::byte>> sent(slots), arrived(slots);
      Device& sender = *devices_[from];
      sender.MakeCurrent();
      for (std::uint64_t i = 0; i < slots; ++i) {
        FillPattern(sent[i], from, to, first + i, 5000 + 100 * i);
        sender.CopyIn(transport->Outbox(from, to, first + i), sent[i].data(), sent[i].size(), sender.stream());
        transport->Post(from, to, sent[i].size(), first + i);
      }
      Device& receiver = *devices_[to];
      receiver.MakeCurrent();
      for (std::uint64_t i = 0; i < slots; ++i) {
        arrived[i].resize(sent[i].size());
        const std::byte* const inbox = transport->Receive(to, from, sent[i].size(), first + i);
        receiver.CopyOut(arrived[i].data(), inbox, arrived[i].size(), receiver.stream());
      }
      receiver.stream().Synchronize({nullptr, std::chrono::milliseconds(60000)});
      EXPECT_EQ(arrived, sent) << slots << " slots";
    }
  }
}

TEST_P(TransportTest, AnImpossibleNumberOfSlotsIsRefused) {
  for (const std::uint32_t slots : {0u, 1u, kMaxSlots + 1}) {
    TransportOptions options;
    options.slots = slots;
    EXPECT_THROW(MakeTransport(name(), pointers_, Capacities(1), options), UsageError) << slots;
  }
}

TEST_P(TransportTest, MoreBytesThanABufferHoldsAreABug) {
  PairBytesTable capacities(parts(), std::vector<std::size_t>(parts(), 0));
  capacities[0][1] = 8;
  TransportOptions options;
  options.broadcast.assign(parts(), 8);
  const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
  transport->Outbox(0, 1, 0);
  EXPECT_THROW(transport->Post(0, 1, 9, 0), InternalError);
  EXPECT_THROW(transport->Broadcast(0, 9, 0), InternalError);
}

TEST_P(TransportTest, AllMemoryIsTheDevicesOwnAsMeasuredAndGoesBack) {
  const PairBytesTable capacities = Capacities(6);
  struct Source {  // of device memory, or of pinned
    explicit Source(MemoryResource& upstream) : counting(upstream), failing(counting) {}
    CountingMemory counting;
    FailingMemory failing;
  };
  std::vector<std::unique_ptr<Source>> sources;
  for (Device* device : pointers_) {
    sources.push_back(std::make_unique<Source>(device->memory()));
    device->set_memory(&sources.back()->failing);
    sources.push_back(std::make_unique<Source>(device->pinned_memory()));
    device->set_pinned_memory(&sources.back()->failing);
  }
  for (const char* mask : {"all", "none", "pairs {0,1}"}) {
    for (const bool tells : {false, true}) {
      SCOPED_TRACE(fmt::format("links {}, broadcasts {}", mask, tells));
      TransportOptions options = tells ? Telling(6) : TransportOptions{};
      options.links = LinkMask::Parse(mask, parts());
      const TransportMemory measured = MeasureTransport(name(), pointers_[0]->kind(), capacities, options);
      try {
        const std::unique_ptr<Transport> transport = MakeTransport(name(), pointers_, capacities, options);
        ASSERT_EQ(measured.devices.size(), parts());
        const auto pinned = [&] {
          std::uint64_t bytes = 0;
          for (std::size_t i = 1; i < sources.size(); i += 2) bytes += sources[i]->counting.live_bytes();
          return bytes;
        };
        EXPECT_EQ(pinned(), 0u) << "nothing has been sent";
        if (measured.host > 0) Converse(*transport, capacities, options, 0, 12, /*delays=*/false);
        EXPECT_EQ(pinned(), measured.host);
        for (std::size_t i = 0; i < parts(); ++i) {
          EXPECT_EQ(sources[2 * i]->counting.live_bytes(), measured.devices[i]) << "of device " << i;
        }
      } catch (const CapabilityError& error) {
        EXPECT_EQ(name(), "nccl") << error.what();
      }
      for (const auto& source : sources) EXPECT_EQ(source->counting.live(), 0);
    }
  }
  for (const auto& source : sources) {
    const std::uint64_t before = source->counting.allocations();
    { const auto transport = MakeTransport(name(), pointers_, capacities, Telling(6)); }
    const std::uint64_t asked = source->counting.allocations() - before;
    for (std::uint64_t nth = 1; nth <= asked; ++nth) {
      source->failing.FailAt(nth);
      EXPECT_THROW(MakeTransport(name(), pointers_, capacities, Telling(6)), OutOfMemoryError) << nth;
      for (const auto& any : sources) ASSERT_EQ(any->counting.live(), 0) << "leaks when allocation " << nth << " fails";
    }
    source->failing.FailAt(0);
  }
  for (Device* device : pointers_) {
    device->set_memory(nullptr);
    device->set_pinned_memory(nullptr);
  }
}

TEST_P(TransportTest, HostMemoryThatIsNotThereEndsASendAndIsAskedForAgain) {
  const PairBytesTable capacities = Capacities(6);
  const TransportOptions options = Telling(6);
  if (MeasureTransport(name(), pointers_[0]->kind(), capacities, options).host == 0) {
    GTEST_SKIP() << name() << " has no buffer in host memory here";
  }
  std::vector<std::unique_ptr<FailingMemory>> memories;
  for (Device* device : pointers_) {
    memories.push_back(std::make_unique<FailingMemory>(device->pinned_memory()));
    device->set_pinned_memory(memories.back().get());
  }
  {
    const auto transport = MakeTransport(name(), pointers_, capacities, options);
    for (const auto& memory : memories) memory->FailAt(1);
    EXPECT_THROW(Converse(*transport, capacities, options, 0, 12, /*delays=*/false), OutOfMemoryError);
    for (Device* device : pointers_) device->stream().Synchronize();
    for (const auto& memory : memories) memory->FailAt(2, /*only_once=*/true);
    EXPECT_THROW(Converse(*transport, capacities, options, 100, 12, /*delays=*/false), OutOfMemoryError);
    for (Device* device : pointers_) device->stream().Synchronize();
    for (const auto& memory : memories) memory->FailAt(0);
    Converse(*transport, capacities, options, 200, 12, /*delays=*/true);
  }
  for (Device* device : pointers_) device->set_pinned_memory(nullptr);
}

std::string TransportCaseName(const testing::TestParamInfo<Case>& info) {
  std::string name = std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}
/// The transports of this build that join devices of a kind: one that is added is tried without a word here.
std::vector<const char*> Joining(bool TransportInfo::*kind) {
  std::vector<const char*> names;
  for (const TransportInfo& info : Transports()) {
    if (info.*kind) names.push_back(info.name.data());
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Host, TransportTest,
                         testing::Combine(testing::ValuesIn(Joining(&TransportInfo::host)),
                                          testing::Values("host:2", "host:3", "host:8")),
                         TransportCaseName);
#if CHATTY_WITH_CUDA
INSTANTIATE_TEST_SUITE_P(Cuda, TransportTest,
                         testing::Combine(testing::ValuesIn(Joining(&TransportInfo::cuda)),
                                          testing::Values("cuda:0,1", "cuda:0,1,2", "cuda:0,1,2,3", "cuda:0,1,2,3,4,5,6,7")),
                         TransportCaseName);
#endif

}  // namespace
}  // namespace chatty
