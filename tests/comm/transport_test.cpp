#include "chatty/comm/transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

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

/// What `from` tells `to` in an epoch: both can work it out, so that a byte out of place is noticed.
std::size_t BytesToSend(PartId from, PartId to, std::uint64_t epoch, std::size_t capacity) {
  const std::uint64_t key = Key(from, to, epoch);
  if (key % 8 == 0) return 0;
  if (key % 8 == 1) return capacity;
  return (key >> 8) % (capacity + 1);
}
void FillPattern(std::vector<std::byte>& data, PartId from, PartId to, std::uint64_t epoch, std::size_t bytes) {
  data.resize(bytes);
  std::uint64_t word = Key(from, to, epoch);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (i % 8 == 0) word = word * 6364136223846793005ull + 1442695040888963407ull;
    data[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
  }
}

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

  /// Every device on its own thread, as in a run: pack and post, meet once, receive and read. The one meeting an epoch is
  /// the least that the interface asks for: a fast device packs the next epoch while a slow one still reads this one.
  void Converse(Transport& transport, const PairBytesTable& capacities, std::uint64_t first_epoch, std::uint64_t epochs,
                bool delays) {
    Rendezvous<int> meeting(static_cast<int>(parts()));
    AbortToken abort;
    std::atomic<std::uint64_t> wrong{0}, compared{0};
    const auto drive = [&](PartId me) {
      Device& device = *devices_[me];
      device.MakeCurrent();
      std::mt19937 random(static_cast<std::uint32_t>(me * 1000 + first_epoch));
      const auto dawdle = [&] {
        if (delays && random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      };
      std::vector<std::vector<std::byte>> out(parts()), in(parts());
      std::vector<std::byte> expected;
      for (std::uint64_t epoch = first_epoch; epoch < first_epoch + epochs; ++epoch) {
        for (PartId to = 0; to < parts(); ++to) {
          if (to == me || capacities[me][to] == 0) continue;
          FillPattern(out[to], me, to, epoch, BytesToSend(me, to, epoch, capacities[me][to]));
          dawdle();
          // Enqueued, not awaited: Post has to order itself after it.
          device.CopyIn(transport.Outbox(me, to, epoch), out[to].data(), out[to].size(), device.stream());
          transport.Post(me, to, out[to].size(), epoch);
        }
        dawdle();
        meeting.Exchange(static_cast<int>(me), epoch, 0, {&abort, std::chrono::milliseconds(60000)}, "the others",
                         [](int, int) {});
        dawdle();
        for (PartId i = 1; i < parts(); ++i) {
          const PartId from = (me + i) % parts();
          if (capacities[from][me] == 0) continue;
          in[from].assign(BytesToSend(from, me, epoch, capacities[from][me]), std::byte{0});
          const std::byte* const inbox = transport.Receive(me, from, in[from].size(), epoch);
          device.CopyOut(in[from].data(), inbox, in[from].size(), device.stream());
          dawdle();
        }
        device.stream().Synchronize({&abort, std::chrono::milliseconds(60000)});
        for (PartId from = 0; from < parts(); ++from) {
          if (from == me || capacities[from][me] == 0) continue;
          FillPattern(expected, from, me, epoch, in[from].size());
          wrong += in[from] != expected;
          compared += in[from].size();
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
    EXPECT_EQ(wrong, 0u) << "boxes that arrived with other bytes than were sent";
    EXPECT_GT(compared, 0u);
  }

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Device*> pointers_;
};

TEST_P(TransportTest, SaysItsName) {
  const std::unique_ptr<Transport> transport = MakeTransport(std::get<0>(GetParam()), pointers_, Capacities(1));
  EXPECT_EQ(transport->name(), std::get<0>(GetParam()));
}

TEST_P(TransportTest, EveryByteArrives) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const PairBytesTable capacities = Capacities(seed);
    const std::unique_ptr<Transport> transport = MakeTransport(std::get<0>(GetParam()), pointers_, capacities);
    Converse(*transport, capacities, 0, 12, /*delays=*/false);
  }
}

TEST_P(TransportTest, EveryByteArrivesAtAnyPace) {
  const PairBytesTable capacities = Capacities(4);
  const std::unique_ptr<Transport> transport = MakeTransport(std::get<0>(GetParam()), pointers_, capacities);
  Converse(*transport, capacities, 0, 30, /*delays=*/true);
}

TEST_P(TransportTest, ServesRunAfterRun) {
  // Every run counts its epochs from zero, wherever the one before stopped.
  const PairBytesTable capacities = Capacities(5);
  const std::unique_ptr<Transport> transport = MakeTransport(std::get<0>(GetParam()), pointers_, capacities);
  for (const std::uint64_t epochs : {1, 2, 3, 1, 4}) Converse(*transport, capacities, 0, epochs, true);
  Converse(*transport, capacities, (std::uint64_t{1} << 40) - 2, 5, true);
}

TEST_P(TransportTest, BoxesOfAPairAlternate) {
  const PairBytesTable capacities = Capacities(1);
  const std::unique_ptr<Transport> transport = MakeTransport(std::get<0>(GetParam()), pointers_, capacities);
  const PartId last = parts() - 1;
  std::byte* const even = transport->Outbox(last, 0, 0);
  std::byte* const odd = transport->Outbox(last, 0, 1);
  ASSERT_NE(even, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(even) % 16, 0u) << "payloads of 16 bytes are read in place";
  EXPECT_GE(std::abs(odd - even), 1 << 20) << "the two boxes overlap";
  EXPECT_EQ(transport->Outbox(last, 0, 2), even);
  EXPECT_EQ(transport->Outbox(last, 0, 3), odd);
}

TEST_P(TransportTest, AllMemoryIsTheDevicesOwnAndGoesBack) {
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
  { const std::unique_ptr<Transport> transport = MakeTransport(std::get<0>(GetParam()), pointers_, capacities); }
  std::uint64_t pinned = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (i % 2 == 0) {
      EXPECT_GT(sources[i]->counting.allocations(), 0u);
    } else {
      pinned += sources[i]->counting.allocations();
    }
    EXPECT_EQ(sources[i]->counting.live(), 0);
  }
  EXPECT_TRUE(pinned > 0 || std::get<0>(GetParam()) != std::string("staged"));
  std::vector<std::uint64_t> asked;  // of each, by one transport
  for (const auto& source : sources) asked.push_back(source->counting.allocations());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto& source = sources[i];
    for (std::uint64_t nth = 1; nth <= asked[i]; ++nth) {
      source->failing.FailAt(nth);
      EXPECT_THROW(MakeTransport(std::get<0>(GetParam()), pointers_, capacities), OutOfMemoryError) << nth;
      for (const auto& any : sources) ASSERT_EQ(any->counting.live(), 0) << "leaks when allocation " << nth << " fails";
    }
    source->failing.FailAt(0);
  }
  for (Device* device : pointers_) {
    device->set_memory(nullptr);
    device->set_pinned_memory(nullptr);
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  std::string name = std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Host, TransportTest,
                         testing::Combine(testing::Values("host", "staged"), testing::Values("host:2", "host:3", "host:8")),
                         CaseName);
#if CHATTY_WITH_CUDA
INSTANTIATE_TEST_SUITE_P(Cuda, TransportTest,
                         testing::Combine(testing::Values("p2p-copy", "staged"),
                                          testing::Values("cuda:0,1", "cuda:0,1,2", "cuda:0,1,2,3,4,5,6,7")),
                         CaseName);
#endif

TEST(MakeTransport, ChoosesAndRefuses) {
  const auto devices = OpenDevices(ParseDevices("host:2"), 1);
  const std::vector<Device*> pointers{devices[0].get(), devices[1].get()};
  const PairBytesTable capacities{{0, 16}, {16, 0}};
  EXPECT_EQ(MakeTransport("auto", pointers, capacities)->name(), "host");
  for (const char* name : {"", "Host", "nccl-of-tomorrow"}) {
    try {
      MakeTransport(name, pointers, capacities);
      ADD_FAILURE() << "there is a transport '" << name << "'";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("staged"), std::string::npos) << "names the choices: " << error.what();
    }
  }
  EXPECT_THROW(MakeTransport("p2p-copy", pointers, capacities), UsageError) << "host devices have no peers";
}

TEST(MakeTransport, EveryNameListedExists) {
  const auto devices = OpenDevices(ParseDevices("host:2"), 1);
  const std::vector<Device*> pointers{devices[0].get(), devices[1].get()};
  const PairBytesTable capacities{{0, 16}, {16, 0}};
  for (const std::string_view name : TransportNames()) {
    try {
      EXPECT_NE(MakeTransport(name, pointers, capacities), nullptr);
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find("there is no transport"), std::string::npos) << error.what();
    }
  }
}

TEST(MakeTransport, HostTransportRefusesGpus) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no GPU on this machine";
  const auto device = MakeCudaDevice(0);
  const auto host = MakeHostDevice(0, 1);
  const std::vector<Device*> pointers{device.get(), host.get()};
  EXPECT_THROW(MakeTransport("host", pointers, {{0, 16}, {16, 0}}), UsageError);
  const std::vector<Device*> other{host.get(), device.get()};
  EXPECT_THROW(MakeTransport("p2p-copy", other, {{0, 16}, {16, 0}}), UsageError);
}

}  // namespace
}  // namespace chatty
