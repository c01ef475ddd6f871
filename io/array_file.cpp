// Layout of a file of arrays:
//
//   header   (below)
//   note     note_bytes bytes
//   table    arrays x {bytes, checksum}, aligned to 8
//   arrays   each aligned to 64 bytes in the file, hence also in memory if the file is mapped
//
// Gaps are zeros. Checksums cover everything except the gaps.

#include "chatty/io/array_file.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/io/checksum.h"
#include "chatty/io/rows.h"

namespace chatty::io {
namespace {

constexpr std::uint32_t kArrayFileVersion = 1;
constexpr std::uint64_t kAlign = 64;

struct ArrayFileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t table_crc;
  std::uint64_t note_bytes;
  std::uint64_t arrays;
  std::uint32_t note_crc;
  std::uint32_t header_crc;  // of all preceding bytes
};
static_assert(sizeof(ArrayFileHeader) == 40 && offsetof(ArrayFileHeader, header_crc) == 36, "the layout is the format");

struct ArrayEntry {
  std::uint64_t bytes;
  std::uint64_t crc;
};

/// Number of zeros that pad `bytes` to a multiple of `align`.
std::uint64_t Gap(std::uint64_t bytes, std::uint64_t align) { return (align - bytes % align) % align; }

[[noreturn]] void ThrowDamaged(const Input& input, std::string_view what) {
  Throw<InputError>("{}: the checksum of its {} is wrong: the file is damaged", input.name(), what);
}

}  // namespace

void WriteArrayFile(OutputFile& output, std::string_view note, std::span<const std::span<const std::byte>> arrays) {
  std::vector<ArrayEntry> table;
  for (const std::span<const std::byte> array : arrays) {
    table.push_back({array.size(), Checksum(array.data(), array.size(), /*threads=*/0)});
  }
  ArrayFileHeader header{};
  std::memcpy(header.magic, kArrayFileMagic.data(), sizeof header.magic);
  header.version = kArrayFileVersion;
  header.note_bytes = note.size();
  header.arrays = arrays.size();
  header.note_crc = Checksum(note.data(), note.size(), 1);
  header.table_crc = Checksum(table.data(), table.size() * sizeof(ArrayEntry), 1);
  header.header_crc = Checksum(&header, offsetof(ArrayFileHeader, header_crc), 1);

  std::uint64_t at = 0;
  const auto write = [&](const void* data, std::size_t bytes) {
    output.Write({static_cast<const char*>(data), bytes});
    at += bytes;
  };
  const auto align = [&](std::uint64_t to) {
    constexpr char kZeros[kAlign] = {};
    write(kZeros, Gap(at, to));
  };
  write(&header, sizeof header);
  write(note.data(), note.size());
  align(alignof(ArrayEntry));
  write(table.data(), table.size() * sizeof(ArrayEntry));
  for (const std::span<const std::byte> array : arrays) {
    align(kAlign);
    write(array.data(), array.size());
  }
}

std::optional<KeptArrays> ReadArrayFile(Input& input, std::string_view note, int threads) {
  ArrayReader reader(input, threads);
  const auto header = reader.ReadOne<ArrayFileHeader>();
  if (std::string_view(header.magic, sizeof header.magic) != kArrayFileMagic) {
    Throw<InputError>("{}: is not a file of arrays", input.name());
  }
  if (Checksum(&header, offsetof(ArrayFileHeader, header_crc), 1) != header.header_crc) ThrowDamaged(input, "header");
  if (header.version != kArrayFileVersion || header.note_bytes != note.size()) return std::nullopt;
  std::uint64_t at = sizeof header;
  const auto skip = [&](std::uint64_t align) {
    reader.Skip(Gap(at, align));
    at += Gap(at, align);
  };
  const Array<char> found = reader.Read<char>(header.note_bytes);
  at += header.note_bytes;
  if (Checksum(found.data(), found.size(), 1) != header.note_crc) ThrowDamaged(input, "note");
  if (std::string_view(found.data(), found.size()) != note) return std::nullopt;
  skip(alignof(ArrayEntry));
  const auto table = reader.Read<ArrayEntry>(header.arrays);
  at += table.bytes();
  if (Checksum(table.data(), table.bytes(), 1) != header.table_crc) ThrowDamaged(input, "table");

  auto held = std::make_shared<std::vector<Array<std::byte>>>();
  KeptArrays kept;
  for (const ArrayEntry& entry : table) {
    skip(kAlign);
    std::optional<Array<std::byte>> view = reader.ViewMapped<std::byte>(entry.bytes);
    Array<std::byte> array = view ? *std::move(view) : reader.Read<std::byte>(entry.bytes);
    at += entry.bytes;
    if (Checksum(array.data(), array.bytes(), threads) != entry.crc) ThrowDamaged(input, "arrays");
    kept.arrays.push_back(array.span());
    held->push_back(std::move(array));
  }
  reader.ExpectEnd();
  kept.owner = std::move(held);
  return kept;
}

}  // namespace chatty::io
