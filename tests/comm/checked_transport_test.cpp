// What breaks the contract of transports is found, and what keeps it is forwarded.
#include "chatty/comm/checked_transport.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/error.h"

namespace chatty {
namespace {

class Checked : public testing::TestWithParam<const char*> {
 protected:
  /// Three devices; 0 and 1 exchange 100 bytes either way, and 2 broadcasts 50.
  std::unique_ptr<CheckedTransport> Make(std::uint32_t slots, bool collectives) {
    if (devices_.empty()) devices_ = OpenDevices(ParseDevices("host:3"), 1);
    std::vector<Device*> pointers;
    for (const auto& device : devices_) pointers.push_back(device.get());
    const PairBytesTable capacities{{0, 100, 0}, {100, 0, 0}, {0, 0, 0}};
    TransportOptions options;
    options.broadcast = {0, 0, 50};
    options.slots = slots;
    options.collectives = collectives;
    return std::make_unique<CheckedTransport>(MakeTransport(GetParam(), pointers, capacities, options), capacities, options);
  }
  static void Send(Transport& transport, std::uint64_t epoch, std::size_t bytes = 7) {
    ASSERT_NE(transport.Outbox(0, 1, epoch), nullptr);
    transport.Post(0, 1, bytes, epoch);
  }
  template <class Call>
  static void ExpectFault(Call&& call, std::string_view says) {
    try {
      call();
      ADD_FAILURE() << "passed: " << says;
    } catch (const InternalError& error) {
      EXPECT_NE(std::string_view(error.what()).find(says), std::string_view::npos) << error.what();
    }
  }
  std::vector<std::unique_ptr<Device>> devices_;
};

INSTANTIATE_TEST_SUITE_P(Host, Checked, testing::Values("host", "staged", "ring"));

TEST_P(Checked, WhatKeepsTheContractPasses) {
  const auto transport = Make(3, /*collectives=*/true);
  EXPECT_EQ(transport->name(), GetParam());
  EXPECT_EQ(transport->slots(), 3u);
  for (int run = 0; run < 3; ++run) {
    for (std::uint64_t epoch = 0; epoch < 7; ++epoch) {
      Send(*transport, epoch);
      transport->BroadcastOutbox(2, epoch);
      transport->Broadcast(2, 20, epoch);
      const std::array<std::size_t, 3> none{}, from_0{7, 0, 0}, from_2{0, 0, 20};
      transport->BeginCollective(0, none, from_2, epoch);
      transport->BeginCollective(1, from_0, from_2, epoch);
      transport->BeginCollective(2, none, from_2, epoch);
      EXPECT_NE(transport->Receive(1, 0, 7, epoch), nullptr);
      EXPECT_NE(transport->ReceiveBroadcast(0, 2, 20, epoch), nullptr);
      EXPECT_NE(transport->ReceiveBroadcast(1, 2, 20, epoch), nullptr);
    }
  }
}

TEST_P(Checked, ASlotIsReceivedBeforeItIsWrittenAgain) {
  for (const std::uint32_t slots : {2u, 3u, kMaxSlots}) {
    const auto transport = Make(slots, /*collectives=*/false);
    for (std::uint64_t epoch = 0; epoch < slots; ++epoch) Send(*transport, epoch);
    ExpectFault([&] { transport->Outbox(0, 1, slots); }, "writes the slot of epoch 0 to device 1");
    transport->Receive(1, 0, 7, 0);
    Send(*transport, slots);
    // A run that was ended leaves messages behind; the next one counts from 0.
    Send(*transport, 0);
    EXPECT_NE(transport->Receive(1, 0, 7, 0), nullptr);
  }
}

TEST_P(Checked, ABroadcastIsReceivedByAll) {
  const auto transport = Make(2, /*collectives=*/false);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    transport->BroadcastOutbox(2, epoch);
    transport->Broadcast(2, 50, epoch);
  }
  transport->ReceiveBroadcast(0, 2, 50, 0);
  transport->ReceiveBroadcast(0, 2, 50, 0);
  ExpectFault([&] { transport->BroadcastOutbox(2, 2); }, "1 of its receivers");
  transport->ReceiveBroadcast(1, 2, 50, 0);
  EXPECT_NE(transport->BroadcastOutbox(2, 2), nullptr);
}

TEST_P(Checked, CallsComeInOrder) {
  const auto transport = Make(2, /*collectives=*/false);
  ExpectFault([&] { transport->Post(0, 1, 7, 0); }, "has not asked where to pack");
  ExpectFault([&] { transport->Receive(1, 0, 7, 0); }, "which were not posted");
  Send(*transport, 0);
  ExpectFault([&] { transport->Post(0, 1, 7, 0); }, "posts twice");
  ExpectFault([&] { transport->Post(0, 1, 7, 1); }, "has not asked where to pack");
  ExpectFault([&] { transport->Receive(1, 0, 7, 1); }, "which were not posted");
  if (!transport->IsZeroCopyReceive(0, 1)) {
    ExpectFault([&] { transport->Receive(1, 0, 8, 0); }, "7 were posted");
  }
  transport->Outbox(0, 1, 1);
  EXPECT_NE(transport->Outbox(0, 1, 1), nullptr) << "a sender may ask again before it posts";
  ExpectFault([&] { transport->Post(0, 1, 101, 1); }, "the capacity is 100");
  transport->Post(0, 1, 0, 1);
  ExpectFault([&] { transport->Outbox(1, 1, 0); }, "packs for itself");
  ExpectFault([&] { transport->Outbox(0, 3, 0); }, "names device 3");
}

TEST_P(Checked, CollectivesStateWhatIsPosted) {
  const std::array<std::size_t, 3> none{}, seven{7, 0, 0};
  const auto without = Make(2, /*collectives=*/false);
  ExpectFault([&] { without->BeginCollective(0, none, {}, 0); }, "without collectives");
  const auto transport = Make(2, /*collectives=*/true);
  Send(*transport, 0);
  if (!transport->IsZeroCopyReceive(0, 1)) {
    ExpectFault([&] { transport->BeginCollective(1, none, {}, 0); }, "states 0 bytes from 0; 7 were posted");
  }
  transport->BeginCollective(0, none, {}, 0);
  ExpectFault([&] { transport->Receive(1, 0, 7, 0); }, "before its BeginCollective");
  transport->BeginCollective(1, seven, {}, 0);
  EXPECT_NE(transport->Receive(1, 0, 7, 0), nullptr);
}

/// Has none of the optional functions.
class PairsOnly final : public Transport {
 public:
  std::string_view name() const override { return "pairs-only"; }
  std::byte* Outbox(PartId, PartId, std::uint64_t) override { return nullptr; }
  void Post(PartId, PartId, std::size_t, std::uint64_t) override {}
  const std::byte* Receive(PartId, PartId, std::size_t, std::uint64_t) override { return nullptr; }
};

TEST(TransportDefaults, ATransportNeedsPairsAlone) {
  PairsOnly transport;
  EXPECT_EQ(transport.slots(), kMinTransportSlots);
  EXPECT_FALSE(transport.has_broadcasts());
  EXPECT_THROW(transport.BroadcastOutbox(0, 0), CapabilityError);
  EXPECT_THROW(transport.Broadcast(0, 1, 0), CapabilityError);
  EXPECT_THROW(transport.ReceiveBroadcast(1, 0, 1, 0), CapabilityError);
  EXPECT_FALSE(transport.receives_on_streams());
  const std::unique_ptr<Device> device = MakeHostDevice(0, 1);
  EXPECT_THROW(transport.ReceiveOn(device->stream(), 1, 0, 1, 0), CapabilityError);
}

}  // namespace
}  // namespace chatty
