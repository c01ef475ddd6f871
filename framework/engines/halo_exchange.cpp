#include "chatty/framework/engines/halo_exchange.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "chatty/framework/engines/bsp.h"
#include "chatty/framework/spans.h"

namespace chatty {
namespace {

/// The time as a plain number, which may cross to another process.
std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

double MicrosecondsSince(std::int64_t begin_ns) { return static_cast<double>(NowNs() - begin_ns) / 1000; }

}  // namespace

HaloExchange::HaloExchange(const DeviceRun& run, MessageLog& log)
    : run_(run), traits_(run.program.traits()), steps_(*run.me.steps), log_(log) {}

/// All border values travel, not only changed ones.
bool HaloExchange::SharesAll(const ExchangeRound& round) const {
  return traits_.every_round && (!round.changed_only || traits_.consumes);
}

/// Expected entries of a buffer, before packing. Assumes that active vertices are on the border as often as other vertices,
/// and that their edges cross it as often as in the last round.
std::size_t HaloExchange::Expected(const ExchangeRound& round, PartId to, std::size_t entries) const {
  const auto owned = static_cast<double>(std::max<std::size_t>(1, run_.me.graph->ref().owned));
  double share = 1;
  if (sent_.traffic == Traffic::kShared) {
    if (!SharesAll(round)) share = static_cast<double>(round.active_vertices) / owned;
  } else if (last_edges_ > 0 && last_sent_[to] > 0) {
    share = static_cast<double>(last_sent_[to]) / static_cast<double>(entries) * static_cast<double>(round.active_edges) /
            static_cast<double>(last_edges_);
  } else {
    share = static_cast<double>(round.active_edges) / owned;
  }
  return static_cast<std::size_t>(std::min(1.0, share) * static_cast<double>(entries));
}

std::uint32_t HaloExchange::Senders(const ExchangeRound& round) const {
  return static_cast<std::uint32_t>(std::count(round.senders.begin(), round.senders.begin() + run_.parts, true));
}

/// A device with an empty frontier sends nothing, as all know from the last all-reduce. Devices that share no vertex
/// exchange nothing. No device waits for an empty sender, which need not pack. Where a broadcast is possible, all listen.
void HaloExchange::Begin(Traffic traffic, const ExchangeRound& round) {
  sent_.traffic = traffic;
  sent_.active_edges = round.active_edges;
  sent_.for_all = sent_.has_header = false;
  sent_.count.fill(0);
  all_listen_ = run_.paths->broadcasts() == Broadcasts::kAlways ||
                (run_.paths->broadcasts() == Broadcasts::kChosen && traffic == Traffic::kShared);
}

std::size_t HaloExchange::Exchange(Traffic traffic, const ExchangeRound& round, bool queue_out) {
  Begin(traffic, round);
  const PartId rank = run_.rank;
  if (round.senders[rank]) {
    Send(round, queue_out);
    SignalNeighbours(round);
  }
  AwaitNeighbours(round, "all neighbours to pack");
  Span span = run_.Timed(spans::kReceiveAll);
  if (run_.paths->collective()) BeginCollective(round);
  std::size_t arrived = 0;
  for (PartId i = 1; i < run_.parts; ++i) {
    const PartId from = (rank + i) % run_.parts;  // devices start at different senders
    if (!Talks(round, from, rank)) continue;
    const ExchangeHeader& header = headers_[from];
    const PartId numbering = header.for_all ? from : rank;
    if (header.has_header ? Entries(from, numbering) == 0 : header.count == 0) continue;
    // The size of a buffer with a header is unknown.
    const std::size_t bytes =
        header.has_header ? Capacity(from, numbering) : Bytes(from, numbering, header.encoding, header.count);
    span.Next(spans::kReceive,
              header.has_header ? SpanArguments{from, kUnknownYet, kUnknownYet} : SpanArguments{from, bytes, header.count});
    const InboxRef inbox = Receive(from, bytes);
    span.Next(spans::kUnpack, {from, header.has_header ? kUnknownYet : header.count});
    if (traffic == Traffic::kMessages) {
      steps_.UnpackMessages(inbox, from, queue_out);
    } else {
      steps_.UnpackShared(inbox, from, header.for_all ? run_.me.unions->to_halo(from) : nullptr);
    }
    LogReceived(round, from);
    arrived += header.has_header ? std::min<std::size_t>(inbox.last - inbox.first, 2 * std::size_t{header.count} + kHeadroom)
                                 : header.count;
  }
  ++epoch_;
  return arrived;
}

/// Where the bytes from a device are, and what they are.
InboxRef HaloExchange::Receive(PartId from, std::size_t bytes) const {
  const ExchangeHeader& header = headers_[from];
  Transport& path = (*run_.paths)[header.path];
  InboxRef inbox;
  inbox.encoding = header.encoding;
  inbox.count = header.count;
  inbox.has_header = header.has_header;
  inbox.size = static_cast<std::uint32_t>(Entries(from, header.for_all ? from : run_.rank));
  inbox.last = inbox.size;
  if (header.for_all && sent_.traffic == Traffic::kMessages) {  // this device's range of the sender's halo
    inbox.first = run_.peers.HaloBegin(from, run_.rank);
    inbox.last = run_.peers.HaloBegin(from, run_.rank + 1);
  }
  inbox.buffer =
      header.for_all ? path.ReceiveBroadcast(run_.rank, from, bytes, epoch_) : path.Receive(run_.rank, from, bytes, epoch_);
  return inbox;
}

/// Packs this device's data for others and posts it, each buffer on the path with the least expected time.
void HaloExchange::Send(const ExchangeRound& round, bool queue_out) {
  OutboxRef outbox;
  SharedPlan plan;
  Choose(round, plan);
  if (sent_.for_all && Entries(run_.rank, run_.rank) == 0) return;
  // Without copies, no device waits for lengths: buffers contain headers.
  sent_.has_header = uncounted_ = AllInPlace();
  if (sent_.for_all) {
    outbox.for_all = (*run_.paths)[sent_.path[run_.rank]].BroadcastOutbox(run_.rank, epoch_);
    plan.union_vertices = run_.me.unions->vertices();
    plan.union_size = run_.me.unions->size();
  } else {
    for (PartId q = 0; q < run_.parts; ++q) {
      if (Sends(q)) outbox.buffer[q] = (*run_.paths)[sent_.path[q]].Outbox(run_.rank, q, epoch_);
    }
  }
  outbox.has_header = sent_.has_header;
  if (log_.explains()) [[unlikely]] {
    run_.me.device->stream().Synchronize(run_.control.wait());
    sent_.begun_ns = NowNs();
  }
  Span span = run_.Timed(spans::kPack);
  if (sent_.traffic == Traffic::kMessages) {
    steps_.PackMessages(outbox, queue_out, static_cast<std::size_t>(round.active_edges));
  } else {
    steps_.PackShared(outbox, plan);
  }
  if (!sent_.has_header) {
    if (log_.explains()) [[unlikely]] {
      run_.me.device->stream().Synchronize(run_.control.wait());
      sent_.pack_us = MicrosecondsSince(sent_.begun_ns);
    }
    span.Next(spans::kReadLengths);
    CountSent(steps_.Read(run_.control.wait(), /*clear=*/false));
    if (log_.explains()) [[unlikely]]
      sent_.posted_ns = NowNs();
  }
  Post(span);
}

/// Chooses the encodings, paths and expected counts of this device's buffers. One broadcast replaces all other buffers if
/// all devices listen and it is expected to be faster, or is the only choice.
void HaloExchange::Choose(const ExchangeRound& round, SharedPlan& plan) {
  const PartId rank = run_.rank;
  const TransportSelector& paths = *run_.paths;
  const std::size_t payload = Payload();
  plan.all = SharesAll(round);
  const auto expect = [&](PartId to) {
    const std::size_t entries = Entries(rank, to), expected = Expected(round, to, entries);
    plan.encoding[to] = plan.all              ? ShortestEncoding(entries, entries, payload)
                        : expected == entries ? Encoding::kBitmap  // perhaps all entries, perhaps fewer
                                              : ShortestEncoding(entries, expected, payload);
    sent_.expected_bytes[to] = BufferBytes(plan.encoding[to], entries, expected, payload);
    sent_.encoding[to] = plan.encoding[to];
    sent_.count[to] = static_cast<std::uint32_t>(expected);
    return BufferShapeOf(plan.encoding[to], sent_.expected_bytes[to], expected, entries);
  };
  const std::uint32_t senders = Senders(round);
  const bool always = paths.broadcasts() == Broadcasts::kAlways;
  std::array<PartId, kMaxDevices> receivers{};
  std::array<BufferShape, kMaxDevices> shapes{};
  std::array<TransportSelector::Choice, kMaxDevices> choices{};
  std::size_t buffers = 0;
  for (PartId q = 0; q < run_.parts && !always; ++q) {
    if (q == rank || Entries(rank, q) == 0) continue;
    shapes[buffers] = expect(q);
    receivers[buffers++] = q;
  }
  paths.ChooseAll(rank, {receivers.data(), buffers}, {shapes.data(), buffers}, senders, choices);
  TransportSelector::Choice slowest;
  for (std::size_t i = 0; i < buffers; ++i) {
    sent_.path[receivers[i]] = choices[i].path;
    sent_.contending[receivers[i]] = choices[i].load.buffers;
    if (choices[i].us > slowest.us) slowest = choices[i];
  }
  sent_.for_all = always;
  if (!all_listen_ || Entries(rank, rank) == 0) return;
  const TransportSelector::Choice choice = paths.ChooseBroadcast(rank, expect(rank), senders);
  sent_.path[rank] = choice.path;
  sent_.contending[rank] = choice.load.buffers;
  sent_.for_all = always || TransportSelector::BroadcastPays(choice, slowest);
}

/// Whether all receivers read these buffers where they are packed.
bool HaloExchange::AllInPlace() const {
  for (PartId q = 0; q < run_.parts; ++q) {
    if (Sends(q) && !(*run_.paths)[sent_.path[q]].IsZeroCopyReceive(run_.rank, q)) return false;
  }
  return true;
}

void HaloExchange::Post(Span& span) {
  for (PartId q = 0; q < run_.parts; ++q) {
    if (!Sends(q) || (!sent_.has_header && sent_.count[q] == 0)) continue;
    std::size_t bytes;
    if (sent_.has_header) {
      bytes = Capacity(run_.rank, q);
      span.Next(spans::kPost, {q, kUnknownYet, kUnknownYet});
    } else {
      bytes = Bytes(run_.rank, q, sent_.encoding[q], sent_.count[q]);
      span.Next(spans::kPost, {q, bytes, sent_.count[q]});
    }
    Transport& path = (*run_.paths)[sent_.path[q]];
    if (sent_.for_all) {
      path.Broadcast(run_.rank, bytes, epoch_);
    } else {
      path.Post(run_.rank, q, bytes, epoch_);
    }
  }
}

/// Takes the contents of this device's buffers from the counters after packing, and counts them.
void HaloExchange::CountSent(const Control& control) {
  const bool messages = sent_.traffic == Traffic::kMessages;
  for (PartId q = 0; q < run_.parts; ++q) {
    sent_.count[q] = control.buffer_count[q];
    sent_.encoding[q] = static_cast<Encoding>(control.buffer_encoding[q]);
    if (!Sends(q)) continue;
    const std::uint32_t count = sent_.count[q];
    const std::size_t bytes = count == 0 ? 0 : Bytes(run_.rank, q, sent_.encoding[q], count);
    if (sent_.has_header) log_.SetPosted(q, bytes, count);
    if (count == 0) continue;
    for (PartId to = sent_.for_all ? 0 : q; to < (sent_.for_all ? run_.parts : q + 1); ++to) {
      if (to == run_.rank) continue;
      // Of broadcast messages, those for this receiver.
      const std::uint64_t entries = sent_.for_all && messages ? control.halo_count[to] : count;
      log_.CountSent(to, entries, /*before=*/messages ? 0 : entries, bytes);
    }
  }
  if (!messages) return;
  last_edges_ = sent_.active_edges;
  last_sent_ = sent_.count;
}

void HaloExchange::CountBuffersWithHeaders(const Control& control) {
  if (!std::exchange(uncounted_, false)) return;
  CountSent(control);
  if (!log_.needs_contents()) return;
  for (PartId to = 0; to < run_.parts; ++to) {
    const PartId q = sent_.for_all ? run_.rank : to;
    if (to != run_.rank && Sends(q)) {
      run_.control.Put(to, epoch_ - 1, BufferHeader{.count = sent_.count[q], .encoding = sent_.encoding[q]});
    }
  }
}

void HaloExchange::SignalNeighbours(const ExchangeRound& round) const {
  for (PartId to = 0; to < run_.parts; ++to) {
    if (!Talks(round, run_.rank, to)) continue;
    const PartId q = sent_.for_all ? run_.rank : to;
    ExchangeHeader header;
    header.for_all = sent_.for_all;
    header.has_header = sent_.has_header;
    header.encoding = sent_.encoding[q];
    header.path = sent_.path[q];
    header.count = sent_.count[q];
    if (log_.explains()) [[unlikely]] {
      header.contending = sent_.contending[q];
      header.expected_bytes = sent_.expected_bytes[q];
      header.begun_ns = sent_.begun_ns;
      header.posted_ns = sent_.posted_ns;
      header.pack_us = sent_.pack_us;
    }
    run_.control.Signal(to, epoch_, header);
  }
}

/// Waits for all neighbours that send, and takes their headers.
void HaloExchange::AwaitNeighbours(const ExchangeRound& round, std::string_view what) {
  const Span span = run_.Timed(spans::kWaitForNeighbours);
  std::uint32_t senders = 0;
  for (PartId q = 0; q < run_.parts; ++q) senders += Talks(round, q, run_.rank) ? 1 : 0;
  run_.control.Wait(senders, what);
  for (PartId q = 0; q < run_.parts; ++q) {
    if (Talks(round, q, run_.rank)) headers_[q] = run_.control.Header<ExchangeHeader>(q, epoch_);
  }
}

/// Gives collective paths the byte counts of all buffers that this device sends or receives.
void HaloExchange::BeginCollective(const ExchangeRound& round) const {
  const PartId rank = run_.rank, parts = run_.parts;
  std::array<std::size_t, kMaxDevices> incoming{}, broadcast{};
  std::array<std::uint8_t, kMaxDevices> path{};
  const auto add = [&](PartId from, bool for_all, bool has_header, std::uint8_t its_path, Encoding encoding,
                       std::uint32_t count) {
    if (count > 0 && !has_header) {  // with a header: no collective path
      (for_all ? broadcast : incoming)[from] = Bytes(from, for_all ? from : rank, encoding, count);
    }
    path[from] = its_path;
  };
  if (round.senders[rank] && sent_.for_all) {
    add(rank, true, sent_.has_header, sent_.path[rank], sent_.encoding[rank], sent_.count[rank]);
  }
  for (PartId from = 0; from < parts; ++from) {
    if (!Talks(round, from, rank)) continue;
    const ExchangeHeader& header = headers_[from];
    add(from, header.for_all, header.has_header, header.path, header.encoding, header.count);
  }
  const std::span<const std::size_t> to_all(broadcast.data(), run_.paths->broadcasts() == Broadcasts::kNever ? 0 : parts);
  run_.paths->BeginCollective(rank, {incoming.data(), parts}, to_all, {path.data(), parts}, epoch_);
}

/// Logs a buffer that has been unpacked, if the run records buffers or does not know its contents yet.
void HaloExchange::LogReceived(const ExchangeRound& round, PartId from) {
  const ExchangeHeader& header = headers_[from];
  if (!log_.explains() && (run_.track == nullptr || !header.has_header)) [[likely]]
    return;
  const PartId numbering = header.for_all ? from : run_.rank;
  log_.AddReceived({.from = from,
                    .to = run_.rank,
                    .broadcast = header.for_all,
                    .messages = sent_.traffic == Traffic::kMessages,
                    .size = Entries(from, numbering),
                    .payload = Payload(),
                    .path = header.path,
                    .encoding = header.encoding,
                    .count = header.count,
                    .expected_bytes = header.expected_bytes,
                    .load = {.buffers = header.contending, .senders = Senders(round)},
                    .measured_us = log_.explains() ? MeasuredUs(round, header) : 0,
                    .has_header = header.has_header,
                    .epoch = epoch_});
}

/// Time of a buffer, after unpacking.
double HaloExchange::MeasuredUs(const ExchangeRound& round, const ExchangeHeader& header) const {
  run_.me.device->stream().Synchronize(run_.control.wait());
  std::int64_t begin = header.has_header ? header.begun_ns : header.posted_ns;
  if (round.senders[run_.rank]) {
    begin = std::max(begin, header.has_header || sent_.has_header ? sent_.begun_ns : sent_.posted_ns);
  }
  return (header.has_header ? 0 : header.pack_us) + MicrosecondsSince(begin);
}

}  // namespace chatty
