// Transports by name: what there is, what joins which devices, what memory it takes, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "chatty/comm/cost_model.h"
#include "chatty/comm/nccl_state.h"
#include "chatty/comm/selector.h"
#include "chatty/comm/transport.h"
#include "chatty/core/config.h"
#include "chatty/core/sync.h"

namespace chatty {
namespace {

TEST(Transports, AreFoundByName) {
  for (const char* name : {"host", "uva", "uva-hub", "p2p-direct", "staged", "ring"}) {
    ASSERT_NE(FindTransport(name), nullptr) << name;
    EXPECT_TRUE(FindTransport(name)->host) << name;
  }
  EXPECT_EQ(FindTransport("auto"), nullptr);
  for (const TransportInfo& info : Transports()) {
    EXPECT_FALSE(info.description.empty()) << info.name;
    EXPECT_TRUE(info.host || info.cuda) << info.name;
  }
}

TEST(MeasureTransport, CountsWhatItIsMadeFor) {
  const PairBytesTable capacities{{0, 10, 0}, {0, 0, 100}, {1000, 0, 0}};
  const auto measure = [&](std::string_view name, const char* mask, std::vector<std::size_t> broadcast = {}) {
    TransportOptions options;
    options.links = LinkMask::Parse(mask, 3);
    options.broadcast = std::move(broadcast);
    const TransportMemory memory = MeasureTransport(name, DeviceKind::kHost, capacities, options);
    std::vector<std::uint64_t> all = memory.devices;
    all.push_back(memory.host);
    return all;
  };
  using Bytes = std::vector<std::uint64_t>;
  EXPECT_EQ(measure("host", "none"), (Bytes{2000, 20, 200, 0}));
  EXPECT_EQ(measure("uva", "all"), (Bytes{0, 0, 0, 2220}));
  EXPECT_EQ(measure("staged", "all"), (Bytes{2020, 220, 2200, 2220}));
  EXPECT_EQ(measure("p2p-direct", "pairs {0,1}"), (Bytes{0, 20, 0, 2200}));
  EXPECT_EQ(measure("host", "all", {0, 7, 0}), (Bytes{2000, 34, 200, 0}));
  EXPECT_EQ(measure("uva-hub", "all", {0, 7, 0}), (Bytes{20, 214, 2000, 2234}));
  EXPECT_EQ(measure("p2p-direct", "pairs {0,1}", {0, 7, 0}), (Bytes{0, 34, 0, 2214}));
  EXPECT_EQ(measure("ring", "all"), (Bytes{2020, 220, 2200, 0}));
  EXPECT_EQ(measure("ring", "pairs {0,1}", {0, 0, 7}), (Bytes{2034, 234, 2214, 2200 + 14}));
}

TEST(MeasureTransport, CountsEverySlot) {
  const PairBytesTable capacities{{0, 10, 0}, {0, 0, 100}, {1000, 0, 0}};
  for (const char* name : {"host", "uva", "uva-hub", "staged", "p2p-direct", "ring"}) {
    const auto measure = [&](std::uint32_t slots) {
      TransportOptions options;
      options.broadcast = {0, 7, 0};
      options.slots = slots;
      return MeasureTransport(name, DeviceKind::kHost, capacities, options);
    };
    const TransportMemory two = measure(2);
    for (const std::uint32_t slots : {3u, 8u}) {
      const TransportMemory memory = measure(slots);
      EXPECT_EQ(memory.host * 2, two.host * slots) << name;
      for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(memory.devices[d] * 2, two.devices[d] * slots) << name;
    }
    for (const std::uint32_t slots : {0u, 1u, 9u}) EXPECT_THROW(measure(slots), UsageError) << name;
  }
}

TEST(RingTransport, GoesTheOrderThatItIsTold) {
  const auto devices = OpenDevices(ParseDevices("host:3"), 1);
  std::vector<Device*> pointers;
  for (const auto& device : devices) pointers.push_back(device.get());
  const PairBytesTable capacities{{0, 10, 0}, {0, 0, 100}, {1000, 0, 0}};
  TransportOptions options;
  options.ring = {0, 2, 1};  // every pair is two hops apart
  const TransportMemory memory = MeasureTransport("ring", DeviceKind::kHost, capacities, options);
  EXPECT_EQ(memory.devices, (std::vector<std::uint64_t>{2220, 2220, 2220}));
  const std::unique_ptr<Transport> transport = MakeTransport("ring", pointers, capacities, options);
  *transport->Outbox(0, 1, 0) = std::byte{7};
  transport->Post(0, 1, 1, 0);
  EXPECT_EQ(*transport->Receive(1, 0, 1, 0), std::byte{7});
  for (const std::vector<PartId>& wrong : {std::vector<PartId>{0, 1}, {0, 1, 1}, {0, 1, 3}}) {
    options.ring = wrong;
    EXPECT_THROW(MakeTransport("ring", pointers, capacities, options), UsageError);
  }
}

#if CHATTY_WITH_NCCL
TEST(NcclState, SumsCounters) {
  const int gpus = std::min(CudaDeviceCount(), 8);
  if (gpus < 2) GTEST_SKIP() << "needs 2 GPUs; this machine has " << gpus;
  const auto devices = OpenDevices(ParseDevices("cuda"), 1);
  std::vector<Device*> pointers;
  for (const auto& device : devices) pointers.push_back(device.get());
  const std::unique_ptr<NcclState> state = MakeNcclState(pointers, 5, {});
  AbortToken abort;
  std::atomic<int> wrong{0}, compared{0};
  std::vector<std::thread> threads;
  const auto term = [](PartId part, std::uint64_t i) { return (i * 64 + part) * 0x9e3779b97f4a7c15u; };  // wraps around
  for (PartId me = 0; me < pointers.size(); ++me) {
    threads.emplace_back([&, me] {
      try {
        pointers[me]->MakeCurrent();
        for (std::uint64_t round = 0; round < 20; ++round) {
          std::vector<std::uint64_t> values(round % 6), sums(values.size());
          for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = term(me, round * 8 + i);
            for (PartId part = 0; part < pointers.size(); ++part) sums[i] += term(part, round * 8 + i);
          }
          state->Sum(me, values, {&abort, std::chrono::milliseconds(60000)});
          wrong += values != sums;
          compared += static_cast<int>(values.size());
        }
      } catch (...) {
        abort.Fail(std::current_exception());
        state->Abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  abort.RethrowFirst();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(compared, 0);
}
#endif

TEST(CanJoin, GoesByKindAndByGpusThatAreThereTwice) {
  const DeviceSelection host{DeviceKind::kHost, {0, 1}}, two{DeviceKind::kCuda, {0, 1}}, again{DeviceKind::kCuda, {0, 1, 0}};
  const TransportInfo both{.name = "both", .host = true, .cuda = true, .description = ""};
  const TransportInfo distinct{.name = "distinct", .cuda = true, .distinct = true, .description = ""};
  for (const DeviceSelection& any : {host, two, again}) EXPECT_TRUE(CanJoin(both, any));
  EXPECT_FALSE(CanJoin(distinct, host));
  EXPECT_TRUE(CanJoin(distinct, two));
  EXPECT_TRUE(CanJoin(distinct, {DeviceKind::kCuda, {3, 2, 1, 0}}));
  EXPECT_FALSE(CanJoin(distinct, again));
  EXPECT_FALSE(CanJoin(distinct, {DeviceKind::kCuda, {5, 5}}));
  const TransportInfo hosts{.name = "hosts", .host = true, .distinct = true, .description = ""};
  EXPECT_TRUE(CanJoin(hosts, {DeviceKind::kHost, {0, 0}})) << "only GPUs are told apart";

  for (const DeviceSelection& any : {host, two, again}) {
    std::vector<std::string_view> expected;
    for (const TransportInfo& info : Transports()) {
      if (CanJoin(info, any)) {
        EXPECT_NO_THROW(CheckTransport(info.name, any)) << info.name;
        expected.push_back(info.name);
      } else {
        EXPECT_THROW(CheckTransport(info.name, any), Error) << info.name;
      }
    }
    EXPECT_EQ(TransportsFor(any), expected);
    EXPECT_NO_THROW(CheckTransport("auto", any));
  }
}

#if CHATTY_WITH_NCCL
TEST(CanJoin, NcclJoinsEachGpuOnce) {
  const DeviceSelection again{DeviceKind::kCuda, {0, 1, 0}}, two{DeviceKind::kCuda, {0, 1}};
  for (const char* const comm : {"nccl", "chattygraph", "state=nccl", "data=uva,state=nccl", "data=nccl,state=uva"}) {
    EXPECT_NO_THROW(CheckComm(ParseCommSpec(comm), two)) << comm;
    EXPECT_NO_THROW(CheckComm(ParseCommSpec(comm), {DeviceKind::kCuda, {0}})) << comm;
    try {
      CheckComm(ParseCommSpec(comm), again);
      ADD_FAILURE() << "nccl joins cuda:0 with itself for " << comm;
    } catch (const CapabilityError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("several devices share cuda:0"), std::string::npos) << text;
      EXPECT_NE(text.find("staged"), std::string::npos) << "what to take instead: " << text;
      EXPECT_EQ(text.find("nccl,"), std::string::npos) << text;
    }
  }
  for (const char* const comm : {"auto", "uva", "data=staged,state=uva"})
    EXPECT_NO_THROW(CheckComm(ParseCommSpec(comm), again)) << comm;

  // Costs by which NCCL is the fastest by far.
  std::vector<TopologyDevice> devices(3);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].kind = DeviceKind::kCuda;
    devices[d].label = "gpu " + std::to_string(d);
  }
  const Topology unknown("", std::move(devices));
  const auto chosen = [&](std::span<const std::string_view> among) {
    bool nccl = false;
    CostModel model = CostModel::Nominal(unknown).Of(among);
    const std::size_t path = model.Find("nccl");
    for (std::size_t pair = 0; path != CostModel::kNoPath && pair < 9; ++pair) {
      for (const MeasuredLoad load : kAllLoads) {
        if (pair / 3 != pair % 3) model.set_cost(path, pair / 3, pair % 3, load, {1});
      }
    }
    for (std::size_t bytes = 1 << 10; bytes <= 1 << 26; bytes *= 2) {
      const PairBytesTable all(3, std::vector<std::size_t>(3, bytes));
      const auto paths = SelectPaths({}, DeviceKind::kCuda, model, all, /*collectives=*/true);
      EXPECT_NE(paths.front(), "auto") << "nothing was chosen";
      nccl = nccl || std::find(paths.begin(), paths.end(), "nccl") != paths.end();
    }
    return nccl;
  };
  EXPECT_TRUE(chosen(TransportsFor(two)));
  EXPECT_FALSE(chosen(TransportsFor(again)));
}
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
