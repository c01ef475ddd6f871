#include "chatty/io/array_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "chatty/core/error.h"
#include "test_files.h"

namespace chatty::io {
namespace {

class ArrayFileTest : public test::WithFiles {
 protected:
  using Bytes = std::vector<std::byte>;

  std::string Save(const std::string& note, const std::vector<Bytes>& arrays) const {
    std::vector<std::span<const std::byte>> spans(arrays.begin(), arrays.end());
    OutputFile output(Path("a.arrays"));
    WriteArrayFile(output, note, spans);
    output.Commit();
    return Slurp(Path("a.arrays"));
  }
  std::optional<std::vector<Bytes>> Load(const std::string& note) const {
    Input input(Path("a.arrays"), 1);
    const std::optional<KeptArrays> kept = ReadArrayFile(input, note, 2);
    if (!kept) return std::nullopt;
    std::vector<Bytes> arrays;
    for (const std::span<std::byte> array : kept->arrays) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
      arrays.emplace_back(array.begin(), array.end());
    }
    return arrays;
  }
  static Bytes Counted(std::size_t size, unsigned from) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(from + i * 7);
    return bytes;
  }
};

TEST_F(ArrayFileTest, WhatIsWrittenIsRead) {
  std::vector<std::vector<Bytes>> all{{}, {{}}, {{}, {}}};
  std::vector<Bytes> sizes;
  for (const std::size_t size : {0, 1, 63, 64, 65, 0, 8, 3'000'000}) sizes.push_back(Counted(size, 3));
  all.push_back(sizes);
  for (const std::vector<Bytes>& arrays : all) {
    for (const std::string note : {"", "n", "a note of eight and more"}) {
      Save(note, arrays);
      EXPECT_EQ(Load(note), arrays) << arrays.size();
      EXPECT_EQ(Load(note + "x"), std::nullopt);
      EXPECT_EQ(Load("m" + note.substr(std::min<std::size_t>(1, note.size()))), std::nullopt);
      EXPECT_EQ(Load(std::string(note.size() + 8, '?')), std::nullopt);
    }
  }
}

TEST_F(ArrayFileTest, WhatIsReadMayBeWrittenAndTheFileStays) {
  const std::string before = Save("note", {Counted(100, 1)});
  Input input(Path("a.arrays"), 1);
  const std::optional<KeptArrays> kept = ReadArrayFile(input, "note", 1);
  ASSERT_TRUE(kept);
  kept->arrays[0][50] = std::byte{99};
  EXPECT_EQ(kept->arrays[0][50], std::byte{99});
  EXPECT_EQ(Slurp(Path("a.arrays")), before);
}

TEST_F(ArrayFileTest, DamageIsNoticed) {
  const std::vector<Bytes> arrays{Counted(70, 1), Counted(5, 9)};
  const std::string good = Save("a note", arrays);
  const auto plant = [&](const std::string& content) {
    std::ofstream(Path("a.arrays"), std::ios::binary | std::ios::trunc) << content;
  };
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    plant(flipped);
    try {
      EXPECT_EQ(Load("a note"), arrays) << "only zeros between arrays may be others: byte " << at;
      EXPECT_EQ(good[at], '\0') << "byte " << at;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("a.arrays"), std::string::npos) << error.what();
    }
    plant(good.substr(0, at));
    EXPECT_THROW(Load("a note"), InputError) << "the first " << at << " bytes";
  }
  plant(good + "x");
  EXPECT_THROW(Load("a note"), InputError);
}

}  // namespace
}  // namespace chatty::io
