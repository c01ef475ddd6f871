#include "chatty/framework/engines/message_log.h"

#include <utility>

#include "chatty/framework/spans.h"

namespace chatty {

void MessageLog::CountBytes(Clock::time_point start) {
  std::uint64_t sent = 0;
  for (const PairStatistics& pair : pairs_) sent += pair.bytes;
  run_.track->AddCounter(spans::kBytesSent, start, sent - counted_bytes_);
  counted_bytes_ = sent;
}

void MessageLog::SetPosted(PartId to, std::size_t bytes, std::size_t count) const {
  if (run_.track != nullptr) [[unlikely]]
    run_.track->SetArguments(spans::kPost, {to, bytes, count});
}

void MessageLog::ReportKept(std::uint32_t round) {
  for (LoggedBuffer& buffer : received_) {
    if (buffer.has_header) {
      const auto contents = run_.control.Get<BufferHeader>(buffer.from, buffer.epoch);
      buffer.encoding = contents.encoding;
      buffer.count = contents.count;
    }
    if (buffer.has_header && run_.track != nullptr) {
      run_.track->SetArguments(spans::kReceive, {buffer.from, buffer.bytes(), buffer.count});
      run_.track->SetArguments(spans::kUnpack, {buffer.from, buffer.count});
    }
    if (explains() && buffer.count != 0) Record(round, buffer);
  }
  received_.clear();
}

void MessageLog::Record(std::uint32_t round, const LoggedBuffer& buffer) {
  const TransportSelector& paths = *run_.paths;
  BufferRecord& record = records_.emplace_back();
  record.round = round;
  record.from = buffer.from;
  record.to = buffer.to;
  record.broadcast = buffer.broadcast;
  record.path = paths.path_name(buffer.path);
  record.encoding = EncodingName(buffer.encoding);
  record.entries = buffer.count;
  record.bytes = buffer.bytes();
  record.expected_bytes = buffer.expected_bytes;
  const BufferShape shape = BufferShapeOf(buffer.encoding, record.bytes, buffer.count, buffer.size);
  record.predicted_us =
      paths.Predict(buffer.path, buffer.from, buffer.broadcast ? buffer.from : buffer.to, shape, buffer.load).us;
  record.measured_us = buffer.measured_us;
}

void MessageLog::MoveInto(DeviceReport& report) noexcept {
  report.pairs = std::move(pairs_);
  report.buffers = std::move(records_);
}

}  // namespace chatty
