/// \file
/// The loop that parses the chunks of a text on several threads. Internal to io/. text_parser.cpp instantiates it for most
/// readers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/parallel.h"
#include "chatty/core/progress.h"
#include "chatty/io/input.h"
#include "chatty/io/text_parser.h"

namespace chatty::io {

/// A parsed chunk.
template <class Sink>
struct Piece {
  typename Sink::Edges list;
  typename Sink::Id largest = 0;
  std::uint64_t lines = 0;
  LineCursor::Underflow underflow;
  bool reals = false;
};

/// The first error in a chunk.
struct Fault {
  std::size_t chunk;
  std::uint64_t line;
  std::string text;
};

template <class Sink>
BasicParsedEdges<Sink> ParseChunksInto(Input& input, WeightText weights, int threads,
                                       const std::function<void(LineCursor&, Sink&)>& parse) {
  auto workers = static_cast<std::size_t>(ThreadCount(threads));
  if (const auto left = input.remaining()) {  // a small file takes less time to read than threads take to start
    workers = std::min(workers, static_cast<std::size_t>(*left / Input::kDefaultChunkBytes) + 1);
  }
  std::mutex mutex;
  std::vector<Piece<Sink>> pieces;
  std::optional<Fault> fault;     // the first one in the file so far
  std::exception_ptr unreadable;  // the input failed; all chunks delivered before precede the failure
  std::atomic<bool> stop{false};
  Progress progress("Reading " + input.name(), input.remaining().value_or(0));
  ParallelChunks(workers, static_cast<int>(workers), 1, [&](std::size_t, std::size_t) {
    Chunk chunk;
    Sink sink;
    while (!stop.load(std::memory_order_relaxed)) {
      try {
        if (!input.Next(&chunk)) break;
      } catch (const InputError&) {
        const std::scoped_lock lock(mutex);
        unreadable = std::current_exception();
        stop = true;
        break;
      }
      LineCursor cursor(chunk.text);
      Piece<Sink> piece;
      try {
        sink.Begin(chunk.text.size(), weights);
        parse(cursor, sink);
        piece = {sink.Take(), sink.largest(), cursor.lines(), cursor.underflow(), cursor.reals()};
        input.Claim(HeldBytes(piece.list));
      } catch (const LineError& error) {
        const std::scoped_lock lock(mutex);
        if (!fault || chunk.index < fault->chunk) fault = Fault{chunk.index, error.line(), error.what()};
        stop = true;
        break;
      } catch (...) {
        stop = true;
        throw;
      }
      progress.Advance(chunk.text.size());
      const std::scoped_lock lock(mutex);
      if (pieces.size() <= chunk.index) pieces.resize(chunk.index + 1);
      pieces[chunk.index] = std::move(piece);
    }
  });

  if (fault) {  // chunks are handed out in order, so all chunks before the faulty one are parsed
    std::uint64_t line = input.lines_skipped() + fault->line + 1;
    for (std::size_t i = 0; i < std::min(fault->chunk, pieces.size()); ++i) line += pieces[i].lines;
    FailAt(input.name(), line, fault->text);
  }
  if (unreadable) std::rethrow_exception(unreadable);

  BasicParsedEdges<Sink> parsed;
  parsed.lines = input.lines_skipped();
  parsed.pieces.reserve(pieces.size());
  LineCursor::Underflow underflow;
  for (Piece<Sink>& piece : pieces) {
    if (underflow.count == 0) {
      underflow = piece.underflow;
      underflow.line += parsed.lines;
    } else {
      underflow.count += piece.underflow.count;
    }
    parsed.lines += piece.lines;
    parsed.reals = parsed.reals || piece.reals;
    parsed.largest = std::max(parsed.largest, piece.largest);
    parsed.pieces.push_back(std::move(piece.list));
  }
  WarnOfUnderflow(input.name(), 0, underflow);
  return parsed;
}

}  // namespace chatty::io
