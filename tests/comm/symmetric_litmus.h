/// \file
/// Litmus tests of the operations on symmetric heaps: small programs of two to four roles that share a few words, and an
/// outcome that the table in comm/symmetric/ops.h forbids. A test runs many instances in batches. All devices meet after a
/// batch, and device 0 counts forbidden outcomes. On GPUs each thread of a role has its own instances; a host device has one
/// thread and one role.
///
/// Instance i of batch b writes values that depend on b, so words need not be cleared. Random delays shift the roles.
#pragma once

#include <cstdint>
#include <string>

#include "chatty/core/hash.h"
#include "symmetric_launch.h"

namespace chatty::test {

using Words = Symmetric<std::uint64_t>;

/// Where the words of an instance lie: in one line, or in lines of their own.
enum class Layout : std::uint8_t { kSameLine, kOtherLine };

inline constexpr unsigned kLocations = 4;  ///< words of an instance
inline constexpr unsigned kRegisters = 4;  ///< results of an instance

/// A delay of up to 2 us on a GPU, and of as many loops on a host, where most instances have none.
CHATTY_FN void Delay(std::uint64_t random) {
#if CHATTY_DEVICE_CODE
  __nanosleep(static_cast<unsigned>(random % 2000));
#else
  if (random % 8 != 0) return;
  for (std::uint64_t i = random / 8 % 128; i > 0; --i) std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// What one role of one instance sees.
struct Instance {
  const SymmetricRef& heap;
  Words words, registers;
  std::uint64_t index, instances;  ///< of a batch
  std::uint64_t batch;             ///< from 1
  Layout layout;

  /// Word `location`, and the device that has it.
  CHATTY_FN Words At(unsigned location) const {
    return words + (layout == Layout::kSameLine ? index * kLocations + location : location * instances + index);
  }
  CHATTY_FN std::uint32_t Home(unsigned role) const { return role % heap.size; }
  /// Keeps a result, on device 0, past any delay.
  CHATTY_FN void Keep(unsigned number, std::uint64_t value) const {
    const Words place = registers + (index * kRegisters + number);
    if (heap.base[0] == nullptr) {
      sym::AtomicSet(heap, place, value, 0);
    } else {
      detail::StoreRelaxed(heap.At(place, 0), value);
    }
  }
  /// Reads a word of this device as a kernel reads data: by a plain load on a GPU, which may come from its L1. On a host,
  /// where a wrong program would have undefined behaviour, by a relaxed one.
  CHATTY_FN std::uint64_t Read(Words word) const {
#if CHATTY_DEVICE_CODE
    return *heap.Own(word);
#else
    return detail::LoadRelaxed(heap.Own(word));
#endif
  }
  CHATTY_FN void Wait(std::uint64_t salt) const { Delay(Hash(index * 16 + salt, batch)); }
};

/// How a role hands data to another one.
enum class Handover : std::uint8_t { kPutSignal, kPutSignalAdd, kFence, kQuiet, kNothing };

/// Message passing: role 0 writes data and then a flag at role 1, which waits for the flag and reads the data.
/// Forbidden: old data. With kAnswered, role 0 waits until role 1 has read, so that each instance begins alone.
template <Handover kHow, bool kAnswered = false>
struct MessagePassing {
  static constexpr unsigned kRoles = 2;
  static std::string Name() {
    constexpr const char* kNames[] = {"PutSignal", "PutSignal, adding", "Put, Fence, AtomicSet", "Put, Quiet, AtomicSet",
                                      "Put, AtomicSet"};
    return std::string("message passing (") + kNames[static_cast<int>(kHow)] + ")";
  }
  CHATTY_FN static bool Act(unsigned role, const Instance& i) {
    const Words data = i.At(0), flag = i.At(1), answer = i.At(2);
    i.Wait(role);
    const std::uint32_t reader = i.Home(1), writer = i.Home(0);
    if (role == 0) {
      const std::uint64_t value = i.batch;
      if (kHow == Handover::kPutSignal) {
        sym::PutSignal(sym::Thread(), i.heap, data, &value, 1, flag, value, sym::SignalOp::kSet, reader);
      } else if (kHow == Handover::kPutSignalAdd) {
        sym::PutSignal(sym::Thread(), i.heap, data, &value, 1, flag, 1, sym::SignalOp::kAdd, reader);
      } else {
        sym::Put(sym::Thread(), i.heap, data, &value, 1, reader);
        if (kHow == Handover::kFence) sym::Fence(sym::Thread(), i.heap);
        if (kHow == Handover::kQuiet) sym::Quiet(sym::Thread(), i.heap);
        sym::AtomicSet(i.heap, flag, value, reader);
      }
      return !kAnswered || sym::WaitUntil(sym::Thread(), i.heap, answer, sym::Compare::kEqual, i.batch, reader);
    }
    if (!sym::WaitUntil(sym::Thread(), i.heap, flag, sym::Compare::kEqual, i.batch, writer)) return false;
    i.Keep(0, i.Read(data));
    if (kAnswered) sym::AtomicSet(i.heap, answer, i.batch, writer);
    return true;
  }
  CHATTY_FN static bool Forbidden(const std::uint64_t* registers, std::uint64_t batch) { return registers[0] != batch; }
};

/// Store buffering: each of two roles writes a word at the other one and then reads its own. Forbidden with Quiet between
/// the two, allowed with Fence: both read the old value.
template <bool kQuiet>
struct StoreBuffering {
  static constexpr unsigned kRoles = 2;
  static std::string Name() { return std::string("store buffering (") + (kQuiet ? "Quiet)" : "Fence)"); }
  CHATTY_FN static bool Act(unsigned role, const Instance& i) {
    i.Wait(role);
    sym::AtomicSet(i.heap, i.At(1 - role), i.batch, i.Home(1 - role));
    if (kQuiet) {
      sym::Quiet(sym::Thread(), i.heap);
    } else {
      sym::Fence(sym::Thread(), i.heap);
    }
    i.Keep(role, sym::AtomicFetch(i.heap, i.At(role), i.Home(role)));
    return true;
  }
  CHATTY_FN static bool Forbidden(const std::uint64_t* registers, std::uint64_t batch) {
    return registers[0] != batch && registers[1] != batch;
  }
};

/// ISA2: role 0 writes data at role 2 and then a flag at role 1; role 1 waits for it and sets a flag at role 2; role 2 waits
/// for that one and reads the data. Forbidden: old data. So a release is cumulative over devices.
struct Isa2 {
  static constexpr unsigned kRoles = 3;
  static std::string Name() { return "ISA2"; }
  CHATTY_FN static bool Act(unsigned role, const Instance& i) {
    const Words data = i.At(0), first = i.At(1), second = i.At(2);
    i.Wait(role);
    if (role == 0) {
      sym::Put(sym::Thread(), i.heap, data, &i.batch, 1, i.Home(2));
      sym::Fence(sym::Thread(), i.heap);
      sym::AtomicSet(i.heap, first, i.batch, i.Home(1));
      return true;
    }
    if (role == 1) {
      if (!sym::WaitUntil(sym::Thread(), i.heap, first, sym::Compare::kEqual, i.batch, i.Home(0))) return false;
      sym::Fence(sym::Thread(), i.heap);
      sym::AtomicSet(i.heap, second, i.batch, i.Home(2));
      return true;
    }
    if (!sym::WaitUntil(sym::Thread(), i.heap, second, sym::Compare::kEqual, i.batch, i.Home(1))) return false;
    i.Keep(0, i.Read(data));
    return true;
  }
  CHATTY_FN static bool Forbidden(const std::uint64_t* registers, std::uint64_t batch) { return registers[0] != batch; }
};

/// IRIW: two roles write a word each, and two others read both in opposite orders with a Quiet between. Forbidden: the
/// readers see the writes in different orders.
struct Iriw {
  static constexpr unsigned kRoles = 4;
  static std::string Name() { return "IRIW"; }
  CHATTY_FN static bool Act(unsigned role, const Instance& i) {
    i.Wait(role);
    if (role < 2) {
      sym::AtomicSet(i.heap, i.At(role), i.batch, i.Home(role));
      return true;
    }
    const unsigned first = role - 2, second = 1 - first;
    i.Keep(2 * first, sym::AtomicFetch(i.heap, i.At(first), i.Home(first)));
    sym::Quiet(sym::Thread(), i.heap);
    i.Keep(2 * first + 1, sym::AtomicFetch(i.heap, i.At(second), i.Home(second)));
    return true;
  }
  CHATTY_FN static bool Forbidden(const std::uint64_t* registers, std::uint64_t batch) {
    return registers[0] == batch && registers[1] != batch && registers[2] == batch && registers[3] != batch;
  }
};

/// Coherence of one word (CoRR): role 0 writes two values in turn, and role 1 reads twice. Forbidden: the word goes back.
struct Coherence {
  static constexpr unsigned kRoles = 2;
  static std::string Name() { return "coherence"; }
  CHATTY_FN static bool Act(unsigned role, const Instance& i) {
    i.Wait(role);
    if (role == 0) {
      sym::AtomicSet(i.heap, i.At(0), 2 * i.batch - 1, i.Home(1));
      sym::AtomicSet(i.heap, i.At(0), 2 * i.batch, i.Home(1));
    } else {
      i.Keep(0, sym::AtomicFetch(i.heap, i.At(0), i.Home(1)));
      i.Keep(1, sym::AtomicFetch(i.heap, i.At(0), i.Home(1)));
    }
    return true;
  }
  CHATTY_FN static bool Forbidden(const std::uint64_t* registers, std::uint64_t) { return registers[1] < registers[0]; }
};

/// Waits for two words in the order in which they are not written, and tests a third. Forbidden: an older value, once seen.
struct EitherOrder {
  static constexpr unsigned kRoles = 2;
  static std::string Name() { return "waits in either order"; }
  CHATTY_FN static bool Act(unsigned role, const Instance& i) {
    i.Wait(role);
    const std::uint32_t reader = i.Home(1);
    if (role == 0) {
      sym::AtomicSet(i.heap, i.At(0), i.batch, reader);
      sym::AtomicSet(i.heap, i.At(1), i.batch, reader);
      return true;
    }
    for (const unsigned word : {1u, 0u}) {
      if (!sym::WaitUntil(sym::Thread(), i.heap, i.At(word), sym::Compare::kGreaterEqual, i.batch, i.Home(0))) return false;
      i.Keep(word, sym::Test(sym::Thread(), i.heap, i.At(word), sym::Compare::kEqual, i.batch) ? 1 : 0);
    }
    return true;
  }
  CHATTY_FN static bool Forbidden(const std::uint64_t* registers, std::uint64_t) { return registers[0] + registers[1] != 2; }
};

/// The kernel of a litmus test.
template <class Litmus>
struct LitmusKernel {
  Words words, registers, forbidden;
  std::uint64_t instances, batches;
  Layout layout;

  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    sym::Team team(heap);
    const sym::Grid grid;
    // Where there are fewer devices than roles, blocks of a device take turns in its roles.
    const unsigned parts = (Litmus::kRoles + heap.size - 1) / heap.size;
    const unsigned role = grid.block() % parts * heap.size + heap.me, threads = sym::Block().threads();
    const std::uint64_t workers = std::uint64_t{grid.blocks() / parts} * threads;
    const std::uint64_t worker = std::uint64_t{grid.block() / parts} * threads + sym::Block().rank();
    for (std::uint64_t batch = 1; batch <= batches; ++batch) {
      if (role < Litmus::kRoles && worker < workers) {
        for (std::uint64_t i = worker; i < instances; i += workers) {
          if (!Litmus::Act(role, Instance{heap, words, registers, i, instances, batch, layout})) break;
        }
      }
      if (!sym::Barrier(team)) return;
      if (heap.me == 0) Judge(heap, batch);
      if (!sym::Barrier(team)) return;
    }
  }
  CHATTY_FN void Judge(const SymmetricRef& heap, std::uint64_t batch) const {
    const sym::Grid grid;
    std::uint64_t found = 0;
    for (std::uint64_t i = grid.rank(); i < instances; i += grid.threads()) {
      std::uint64_t results[kRegisters];
      for (unsigned r = 0; r < kRegisters; ++r) results[r] = detail::LoadRelaxed(heap.Own(registers + (i * kRegisters + r)));
      if (Litmus::Forbidden(results, batch)) ++found;
    }
    if (found > 0) sym::AtomicFetchAdd(heap, forbidden, found, 0);
  }
};

/// What a litmus test found.
struct LitmusResult {
  std::string name;
  std::uint64_t instances = 0, forbidden = 0;
  std::string Text() const {
    return name + ": " + std::to_string(forbidden) + " of " + std::to_string(instances) +
           " instances have the outcome that is looked for";
  }
};

/// Runs at least `instances` instances, `batch` at a time.
template <class Litmus>
LitmusResult RunLitmus(const std::string& place, std::uint64_t instances, std::uint64_t batch, Layout layout,
                       DelayedStores* delays = nullptr, GridShape shape = {}) {
  SymmetricOptions options;
  options.timeout = std::chrono::minutes(1);  // a hang
  options.delays = delays;
  const std::size_t words = batch * kLocations, registers = batch * kRegisters;
  Heap heap(place, (words + registers) * sizeof(std::uint64_t) + 4096, options);
  LitmusKernel<Litmus> kernel{heap->Allocate<std::uint64_t>(words), heap->Allocate<std::uint64_t>(registers),
                              heap->Allocate<std::uint64_t>(1),     batch,
                              (instances + batch - 1) / batch,      layout};
  RunOnAll(*heap, kernel, shape);
  heap->Check();
  return {Litmus::Name() + (layout == Layout::kSameLine ? ", same line" : ", other line"), kernel.batches * batch,
          heap.Read(kernel.forbidden, 0)[0]};
}

}  // namespace chatty::test
