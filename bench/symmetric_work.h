/// \file
/// What is measured of symmetric memory: functions that all devices of a run execute between two barriers, each of which
/// counts what is wrong. For the heaps of one process (symmetric_body.h), and of several (nvshmem.cu).
#pragma once

#include <cstdint>

#include "chatty/comm/symmetric/team.h"

namespace chatty::bench {
namespace {

namespace sym = chatty::symmetric;
using Word = std::uint64_t;

/// A function on all devices, timed by each of them. `Work` returns false if a wait ended in vain, and counts what is wrong.
template <class Work>
struct Timed {
  Work work;
  Symmetric<Word> ns, wrong;

  CHATTY_FN void operator()(const SymmetricRef& heap) const {
    sym::Team team(heap);
    if (!sym::Barrier(team)) return;
    const std::uint64_t begin = detail::Nanoseconds();
    Word bad = 0;
    if (!work(heap, team, bad) || !sym::Barrier(team)) return;
    if (sym::Grid().rank() == 0) *heap.Own(ns) = detail::Nanoseconds() - begin;
    if (bad != 0) sym::AtomicFetchAdd(heap, wrong, bad, heap.me);
  }
};

/// Barriers of all blocks of all devices. Before each, every device stores `words` words to each peer, a part by each block;
/// behind it, all read what came. Inboxes alternate: one is read while the other is written.
struct Barriers {
  std::uint64_t repetitions;
  std::uint32_t words;
  Symmetric<Word> inbox;  ///< [2][devices][words]

  CHATTY_FN static Word Entry(std::uint64_t i, std::uint32_t word) { return (i + 1) << 32 | word; }
  CHATTY_FN bool operator()(const SymmetricRef& heap, sym::Team& team, Word& bad) const {
    const sym::Grid grid;
    const sym::Block block;
    const std::uint32_t peers = heap.size - 1, part = (words + grid.blocks() - 1) / grid.blocks();
    for (std::uint64_t i = 0; i < repetitions; ++i) {
      const std::uint32_t half = i % 2 == 0 ? 0 : heap.size * words;
      for (std::uint32_t k = block.rank(); k < part * peers; k += block.threads()) {
        const std::uint32_t word = grid.block() * part + k / peers, to = (heap.me + 1 + k % peers) % heap.size;
        if (word < words) sym::AtomicSet(heap, inbox + (half + heap.me * words + word), Entry(i, word), to);
      }
      if (!sym::Barrier(team)) return false;
      for (std::uint32_t k = grid.rank(); k < words * peers; k += grid.threads()) {
        const std::uint32_t word = k / peers, from = (heap.me + 1 + k % peers) % heap.size;
        bad += *heap.Own(inbox + (half + from * words + word)) != Entry(i, word) ? 1 : 0;
      }
    }
    return true;
  }
};

/// A thread of device 0 and one of device 1 answer each other by PutSignal of one word.
struct PingPong {
  static constexpr std::uint64_t kValues = 64;
  std::uint64_t repetitions;
  bool reads;            ///< whether a thread reads the word before it answers, or the last one only
  Symmetric<Word> from;  ///< kValues words, all different
  Symmetric<Word> to, signal;

  CHATTY_FN static Word Value(std::uint64_t i, std::uint32_t device) { return i % kValues * 2 + device + 1; }
  CHATTY_FN bool operator()(const SymmetricRef& heap, sym::Team&, Word& bad) const {
    if (heap.me > 1 || sym::Grid().rank() != 0) return true;
    const std::uint32_t peer = 1 - heap.me;
    for (std::uint64_t i = 0; i < kValues; ++i) *heap.Own(from + i) = Value(i, heap.me);
    for (std::uint64_t i = 1; i <= repetitions; ++i) {
      if (heap.me == 0) Send(heap, i, peer);
      if (!sym::WaitUntil(sym::Thread(), heap, signal, sym::Compare::kGreaterEqual, i, peer)) return false;
      if (reads || i == repetitions) bad += *heap.Own(to) != Value(i, peer) ? 1 : 0;
      if (heap.me == 1) Send(heap, i, peer);
    }
    return true;
  }
  CHATTY_FN void Send(const SymmetricRef& heap, std::uint64_t i, std::uint32_t peer) const {
    sym::PutSignal(sym::Thread(), heap, to, heap.Own(from + i % kValues), 1, signal, i, sym::SignalOp::kSet, peer);
  }
};

/// Puts of device 0 to device 1, by one block or by all, to a number of places in turn.
struct Puts {
  std::uint64_t repetitions, bytes, places;
  bool quiet;  ///< whether each put is completed before the next begins; else the last barrier completes all
  Symmetric<std::uint8_t> from, to;

  CHATTY_FN bool operator()(const SymmetricRef& heap, sym::Team&, Word&) const {
    if (heap.me != 0) return true;
    const sym::Grid grid;
    const sym::Block block;
    // Each block's part is a multiple of a line.
    const std::uint64_t part = (bytes + grid.blocks() * sym::kLine - 1) / (grid.blocks() * sym::kLine) * sym::kLine;
    const std::uint64_t begin = grid.block() * part;
    if (begin >= bytes) return true;
    const std::uint64_t size = bytes - begin < part ? bytes - begin : part;
    for (std::uint64_t i = 0, place = 0; i < repetitions; ++i) {
      const std::uint64_t at = place * bytes + begin;
      sym::PutNbi(block, heap, to + at, heap.Own(from + at), size, 1);
      if (quiet) sym::Quiet(block, heap);
      place = place + 1 < places ? place + 1 : 0;
    }
    return true;
  }
};

/// Fetch-adds of device 0 at device 1: all threads add to one word, or each to a word of its own.
struct FetchAdds {
  std::uint64_t repetitions;  ///< of each thread
  std::uint64_t stride;       ///< words from one thread's word to the next one's; 0: one word
  Symmetric<Word> counters;

  CHATTY_FN bool operator()(const SymmetricRef& heap, sym::Team&, Word& bad) const {
    if (heap.me != 0) return true;
    const Symmetric<Word> at = counters + sym::Grid().rank() * stride;
    for (std::uint64_t i = 0, least = 0; i < repetitions; ++i) {
      const Word before = sym::AtomicFetchAdd(heap, at, 1, 1);
      bad += before < least ? 1 : 0;  // a counter only grows
      least = before + 1;
    }
    return true;
  }
};

}  // namespace
}  // namespace chatty::bench
