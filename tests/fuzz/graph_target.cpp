// Graphs of one file. The first byte names a format, '0' none; the second has the options; then comes the file.

#include <zlib.h>

#include <cstring>
#include <string>

#include "chatty/io/formats.h"
#include "fuzz.h"
#include "graph_checks.h"

namespace chatty::fuzz {
namespace {

constexpr std::uint8_t kTwoThreads = 0x20, kRepair = 0x40, kPack = 0x80;

/// Makes the checksums of a binary file right, as far as its header leads to them: else no fuzzer gets past them.
void Repair(std::string& file) {
  constexpr std::size_t kHeader = 96, kSums = 64, kHeaderSum = 92;  // io/binary.cpp has the layout
  if (file.size() < kHeader || !std::string_view(file).starts_with(io::kBinaryMagic)) return;
  const auto at = [&]<class T>(std::size_t offset, T) {
    T value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
  };
  const auto sum = [&](std::size_t begin, std::size_t bytes) {
    return static_cast<std::uint32_t>(
        crc32_z(crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(file.data()) + begin, bytes));
  };
  const auto set = [&](std::size_t offset, std::uint32_t value) { std::memcpy(file.data() + offset, &value, sizeof value); };
  const auto id_bytes = at(16, std::uint32_t{}), weight_kind = at(20, std::uint32_t{}), flags = at(24, std::uint32_t{});
  const auto vertices = at(32, std::uint64_t{}), edges = at(40, std::uint64_t{}), label_bytes = at(48, std::uint64_t{}),
             note_bytes = at(56, std::uint64_t{});
  if (std::max({vertices, edges, label_bytes, note_bytes}) < file.size()) {
    const std::size_t sections[] = {(vertices + 1) * 8, edges * id_bytes, weight_kind == 0 ? 0 : edges * 4,
                                    (flags & 4) != 0 ? vertices * 8 : 0, (flags & 2) != 0 ? label_bytes : 0};
    std::size_t begin = kHeader + note_bytes;
    if (begin <= file.size()) set(kSums + 20, sum(kHeader, note_bytes));
    for (std::size_t i = 0; i < std::size(sections); ++i) {
      if (begin + sections[i] > file.size()) break;
      set(kSums + 4 * i, sum(begin, sections[i]));
      begin += sections[i];
    }
  }
  set(kHeaderSum, sum(0, kHeaderSum));
}

}  // namespace
}  // namespace chatty::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty;
  if (size < 2) return -1;
  ReadOptions options = fuzz::OptionsOf(data[1]);
  if ((data[1] & fuzz::kTwoThreads) != 0) options.threads = 2;
  const int named = (data[0] & 0xf) - 1;
  for (const io::FormatEntry& entry : io::Formats()) {
    if (static_cast<int>(entry.format) == named) options.format = entry.name;
  }
  std::string file(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[1] & fuzz::kRepair) != 0) fuzz::Repair(file);
  if ((data[1] & fuzz::kPack) != 0) file = fuzz::Packed(file);
  fuzz::CheckGraph(fuzz::Files().Write("graph", file), options);
  return 0;
}
