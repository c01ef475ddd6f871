/// \file
/// The kernel's side of backend `proxy`: communication that a kernel starts and a thread of the host performs (intra-kernel
/// networking with a helper thread: K. Hamidouche and M. LeBeane, GPU Initiated OpenSHMEM, PPoPP 2020, and NVSHMEM's proxy).
/// It is the baseline for kernels that address other devices' memory, and the way where they cannot.
///
/// Each device has a ring of descriptors in page-locked host memory. A thread takes a ticket, the next value of a counter of
/// its device, which selects the descriptor. It writes the words of the descriptor that its operation needs, and then stores
/// the ticket there with release. The host's thread (comm/symmetric/proxy_server.h) polls the rings and makes each operation
/// a copy on the stream of the requesting device. Then it copies the last ticket into the device's memory: the count of
/// complete requests. Kernels poll that count and never the ring, because polling host memory by many threads takes
/// milliseconds.
///
/// Orders. The requests of a device take effect in the order of their tickets, each with all bytes before the next one
/// begins: copies of one stream do. A request's release makes what its thread has seen visible to its copies; who acquires
/// the count sees what they brought. Changes of words (AtomicSet, signals, fetch-add) are one step each because one thread
/// makes those of all devices one after the other. That holds only if it makes them all, so a change of a device's own word
/// is a request, too. Plain stores and puts into a device's own memory are stores, as elsewhere.
///
/// Data of up to 24 bytes travels in the descriptor. So does, in pieces, a source that only its own thread addresses (a
/// local variable), or a block's shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "chatty/comm/symmetric/access.h"
#include "chatty/comm/symmetric/ref.h"
#include "chatty/comm/symmetric/wait.h"
#include "chatty/core/macros.h"

namespace chatty::symmetric {

/// The operation of a request.
enum class ProxyOp : std::uint8_t {
  kPut,        ///< a copy from `local` to `offset`
  kPutValues,  ///< a copy from the descriptor to `offset`
  kGet,        ///< a copy from `offset` to `local`
  kFetch,      ///< a word, or bytes of one, into a reply cell; so do those below that change a word
  kSet,
  kSwap,
  kCompareSwap,
  kAdd,
  kAnd,
  kOr,
  kXor,
  kMin,
  kMax
};

/// How a word is read by kAdd, kMin and kMax.
enum class ProxyType : std::uint8_t { kUnsigned, kSigned, kReal };

/// A descriptor: one line of the host's memory, which a kernel writes and the proxy reads.
struct alignas(64) ProxyRequest {
  static constexpr std::size_t kValues = 3;        ///< words of data
  static constexpr std::uint64_t kNoCell = ~0ull;  ///< of `local`: nobody waits for a reply
  std::uint64_t ready;                             ///< the ticket, from 1 on, written last
  std::uint64_t head;                              ///< Head()
  std::uint64_t offset;                            ///< bytes from the begin of the device's block
  std::uint64_t bytes;                             ///< of the copy or the word
  std::uint64_t local;                             ///< an address of the requesting device, or the number of its reply cell
  std::uint64_t values[kValues];                   ///< data; or the value and the one that kCompareSwap expects

  /// Operation, type of the word and device in one word.
  static constexpr CHATTY_HD std::uint64_t Head(ProxyOp op, ProxyType type, std::uint32_t device) {
    return static_cast<std::uint64_t>(op) | static_cast<std::uint64_t>(type) << 8 | std::uint64_t{device} << 32;
  }
  constexpr ProxyOp op() const { return static_cast<ProxyOp>(head & 0xff); }                 ///< of `head`
  constexpr ProxyType type() const { return static_cast<ProxyType>(head >> 8 & 0xff); }      ///< of `head`
  constexpr std::uint32_t device() const { return static_cast<std::uint32_t>(head >> 32); }  ///< of `head`
};

/// A device's side of its ring, in its own memory.
struct ProxyPort {
  static constexpr std::uint64_t kCapacity = 1024;  ///< descriptors of the ring
  static constexpr std::uint64_t kCells = 1024;     ///< replies that threads wait for at once
  /// Where a reply goes.
  struct Cell {
    std::uint64_t value;  ///< the reply, written before its request is complete
    std::uint64_t taken;  ///< 1 while a thread uses the cell
  };
  ProxyRequest* requests;                  ///< kCapacity of them, in host memory
  alignas(kLine) std::uint64_t posted;     ///< the last ticket that was taken
  alignas(kLine) std::uint64_t complete;   ///< requests that are complete, in their order; written by the proxy
  alignas(kLine) std::uint64_t own;        ///< the last ticket of a request that changes a word of this device
  alignas(kLine) std::uint64_t next_cell;  ///< where the next thread looks first for a cell
  alignas(kLine) Cell cells[kCells];       ///< of the device's threads
};

}  // namespace chatty::symmetric

namespace chatty::detail {

/// Whether a pointer of this thread names memory that other processors address by the same number.
CHATTY_FN bool IsGlobal([[maybe_unused]] const void* pointer) {
#if CHATTY_DEVICE_CODE
  return __isGlobal(pointer) != 0;
#else
  return true;
#endif
}

/// Up to 8 bytes as a word, in the order of memory.
CHATTY_FN std::uint64_t LoadBytes(const unsigned char* from, std::size_t bytes) {
  std::uint64_t value = 0;
  if (bytes >= 8 && reinterpret_cast<std::uintptr_t>(from) % 8 == 0) {
    value = *reinterpret_cast<const std::uint64_t*>(from);
  } else {
    for (unsigned i = 0; i < 8 && i < bytes; ++i) value |= static_cast<std::uint64_t>(from[i]) << 8 * i;
  }
  return value;
}

/// Returns once `count` requests of the device are complete, or false if the wait ended before.
CHATTY_FN bool ProxyAwait(const SymmetricRef& heap, std::uint64_t count) {
  return Await(heap, Awaited<std::uint64_t>{&heap.proxy->complete, symmetric::Compare::kGreaterEqual, count,
                                            symmetric::WaitKind::kProxy, heap.me});
}

/// As ProxyAwait, until a reply cell is free.
CHATTY_FN bool ProxyAwaitCell(const SymmetricRef& heap, std::uint64_t index) {
  return Await(heap, Awaited<std::uint64_t>{&heap.proxy->cells[index].taken, symmetric::Compare::kEqual, 0,
                                            symmetric::WaitKind::kReplyCell, heap.me});
}

/// Takes a ticket, by one thread, and waits until its descriptor is free. Returns 0 if the wait ended before. The request is
/// complete once the count of complete requests reaches the ticket. Nothing else is held in registers: the words follow.
CHATTY_FN std::uint64_t ProxyReserve(const SymmetricRef& heap) {
  const std::uint64_t at = SystemAtomic<std::uint64_t>(heap.proxy->posted).fetch_add(1, order::kRelaxed);
  constexpr std::uint64_t kCapacity = symmetric::ProxyPort::kCapacity;
  if (at >= kCapacity && !ProxyAwait(heap, at - kCapacity + 1)) return 0;
  return at + 1;
}

/// The descriptor of a ticket.
CHATTY_FN symmetric::ProxyRequest& ProxyRequestOf(const SymmetricRef& heap, std::uint64_t ticket) {
  return heap.proxy->requests[(ticket - 1) % symmetric::ProxyPort::kCapacity];
}

/// Writes a descriptor, but for its data.
CHATTY_FN void ProxyWrite(symmetric::ProxyRequest& request, std::uint64_t head, std::uint64_t offset, std::uint64_t bytes,
                          std::uint64_t local) {
  StoreRelaxed(&request.head, head);
  StoreRelaxed(&request.offset, offset);
  StoreRelaxed(&request.bytes, bytes);
  StoreRelaxed(&request.local, local);
}

/// Requests a copy to another device. Returns the ticket at whose completion the source may change: 0 if it may at once.
CHATTY_FN std::uint64_t ProxyPut(const SymmetricRef& heap, std::uint64_t offset, const void* from, std::size_t bytes,
                                 std::uint32_t device) {
  using symmetric::ProxyOp;
  using symmetric::ProxyRequest;
  constexpr std::size_t kPiece = ProxyRequest::kValues * 8;
  const bool whole = bytes > kPiece && IsGlobal(from);  // else by value, in pieces
  const ProxyOp op = whole ? ProxyOp::kPut : ProxyOp::kPutValues;
  std::uint64_t ticket = 0;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t left = bytes - done, piece = whole || left < kPiece ? left : kPiece;
    ticket = ProxyReserve(heap);
    if (ticket == 0) return 0;
    ProxyRequest& request = ProxyRequestOf(heap, ticket);
    const auto* const source = static_cast<const unsigned char*>(from) + done;
    ProxyWrite(request, ProxyRequest::Head(op, {}, device), offset + done, piece, reinterpret_cast<std::uintptr_t>(source));
    for (std::size_t i = 0; !whole && i < piece; i += 8) {
      StoreRelaxed(&request.values[i / 8], LoadBytes(source + i, piece - i));
    }
    StoreRelease(&request.ready, ticket);
    done += piece;
  }
  return whole ? ticket : 0;
}

/// Posts a request with a reply, and returns the reply: 0 if a wait for it ended in vain. The cell is then lost until the
/// next run.
CHATTY_FN std::uint64_t ProxyFetch(const SymmetricRef& heap, std::uint64_t head, std::uint64_t offset, std::size_t bytes,
                                   std::uint64_t value, std::uint64_t expected) {
  symmetric::ProxyPort& port = *heap.proxy;
  const std::uint64_t index =
      SystemAtomic<std::uint64_t>(port.next_cell).fetch_add(1, order::kRelaxed) % symmetric::ProxyPort::kCells;
  symmetric::ProxyPort::Cell& cell = port.cells[index];
  for (std::uint64_t free = 0;
       !SystemAtomic<std::uint64_t>(cell.taken).compare_exchange_strong(free, 1, order::kAcquire, order::kRelaxedLoad);
       free = 0) {
    if (!ProxyAwaitCell(heap, index)) return 0;
  }
  const std::uint64_t ticket = ProxyReserve(heap);
  if (ticket == 0) return 0;
  symmetric::ProxyRequest& request = ProxyRequestOf(heap, ticket);
  ProxyWrite(request, head, offset, bytes, index);
  StoreRelaxed(&request.values[0], value);
  StoreRelaxed(&request.values[1], expected);
  StoreRelease(&request.ready, ticket);
  if (!ProxyAwait(heap, ticket)) return 0;
  const std::uint64_t reply = LoadRelaxed(&cell.value);
  StoreRelease(&cell.taken, std::uint64_t{0});
  return reply;
}

/// Requests a copy from another device. Returns the ticket at whose completion the data is there: 0 if it is already.
CHATTY_FN std::uint64_t ProxyGet(const SymmetricRef& heap, void* to, std::uint64_t offset, std::size_t bytes,
                                 std::uint32_t device) {
  using symmetric::ProxyOp;
  using symmetric::ProxyRequest;
  if (bytes > 8 && IsGlobal(to)) {
    const std::uint64_t ticket = ProxyReserve(heap);
    if (ticket == 0) return 0;
    ProxyRequest& request = ProxyRequestOf(heap, ticket);
    ProxyWrite(request, ProxyRequest::Head(ProxyOp::kGet, {}, device), offset, bytes, reinterpret_cast<std::uintptr_t>(to));
    StoreRelease(&request.ready, ticket);
    return ticket;
  }
  auto* const target = static_cast<unsigned char*>(to);
  for (std::size_t done = 0; done < bytes; done += 8) {
    const std::size_t left = bytes - done, piece = left < 8 ? left : 8;
    const std::uint64_t value =
        ProxyFetch(heap, ProxyRequest::Head(ProxyOp::kFetch, {}, device), offset + done, piece, 0, 0);
    for (unsigned i = 0; i < piece; ++i) target[done + i] = static_cast<unsigned char>(value >> 8 * i);
  }
  return 0;
}

/// Requests a change of a word that nobody waits for.
CHATTY_FN void ProxyUpdate(const SymmetricRef& heap, std::uint64_t head, std::uint64_t offset, std::size_t bytes,
                           std::uint64_t value, bool own) {
  const std::uint64_t ticket = ProxyReserve(heap);
  if (ticket == 0) return;
  symmetric::ProxyRequest& request = ProxyRequestOf(heap, ticket);
  ProxyWrite(request, head, offset, bytes, symmetric::ProxyRequest::kNoCell);
  StoreRelaxed(&request.values[0], value);
  StoreRelease(&request.ready, ticket);
  if (!own) return;
#if CHATTY_DEVICE_CODE
  SystemAtomic<std::uint64_t>(heap.proxy->own).fetch_max(ticket, order::kRelaxed);
#else
  FetchChange(&heap.proxy->own, [ticket](std::uint64_t last) { return last < ticket ? ticket : last; });
#endif
}

/// Returns once all requests of the device that were posted before are complete.
CHATTY_FN void ProxyQuiet(const SymmetricRef& heap) {
  const std::uint64_t posted = LoadRelaxed(&heap.proxy->posted);
  if (posted != 0) (void)ProxyAwait(heap, posted);
}

/// Returns once the device's requests for words of its own are complete: a load of such a word is behind them.
CHATTY_FN void ProxyAwaitOwn(const SymmetricRef& heap) {
  const std::uint64_t own = LoadRelaxed(&heap.proxy->own);
  if (own != 0) (void)ProxyAwait(heap, own);
}

/// The type by which the proxy reads a word.
template <class T>
inline constexpr symmetric::ProxyType kProxyType = std::is_floating_point_v<T> ? symmetric::ProxyType::kReal
                                                   : std::is_signed_v<T>       ? symmetric::ProxyType::kSigned
                                                                               : symmetric::ProxyType::kUnsigned;

template <class T>
CHATTY_FN std::uint64_t ProxyBits(T value) {
  static_assert(kIsWord<T>, "an operation is on a word of 4 or 8 bytes");
  std::uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// A change of a word by `op` that nobody waits for.
template <class T>
CHATTY_FN void ProxyUpdateWord(const SymmetricRef& heap, symmetric::ProxyOp op, Symmetric<T> at, T value,
                               std::uint32_t device) {
  ProxyUpdate(heap, symmetric::ProxyRequest::Head(op, kProxyType<T>, device), at.offset, sizeof(T), ProxyBits(value),
              device == heap.me);
}

/// The signal of a PutSignal, behind its data.
CHATTY_FN void ProxySignal(const SymmetricRef& heap, bool adds, Symmetric<std::uint64_t> signal, std::uint64_t value,
                           std::uint32_t device) {
  const symmetric::ProxyOp op = adds ? symmetric::ProxyOp::kAdd : symmetric::ProxyOp::kSet;
  ProxyUpdate(heap, symmetric::ProxyRequest::Head(op, {}, device), signal.offset, sizeof(value), value, device == heap.me);
}

/// An operation on a word that returns its value before.
template <class T>
CHATTY_FN T ProxyFetchUpdate(const SymmetricRef& heap, symmetric::ProxyOp op, Symmetric<T> at, T value, std::uint32_t device,
                             T expected = T{}) {
  const std::uint64_t bits = ProxyFetch(heap, symmetric::ProxyRequest::Head(op, kProxyType<T>, device), at.offset, sizeof(T),
                                        ProxyBits(value), ProxyBits(expected));
  T before;
  memcpy(&before, &bits, sizeof(T));
  return before;
}

}  // namespace chatty::detail
