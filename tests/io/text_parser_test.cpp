// Numbers in text, read several digits at a time.
#include "chatty/io/text_parser.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "chatty/core/error.h"

namespace chatty::io {
namespace {

/// What a cursor reads at the begin of `text`, which has nothing behind it.
std::uint64_t Read(const std::string& text) {
  const std::string exact(text.data(), text.size());
  LineCursor cursor(exact);
  return cursor.Unsigned("number");
}

TEST(LineCursor, ReadsNumbersOfAnyLengthWhateverFollows) {
  std::uint64_t value = 0;
  for (int digits = 1; digits <= 19; ++digits) {
    value = value * 10 + static_cast<std::uint64_t>(digits * 7 % 10);
    const std::string number = std::to_string(value);
    for (const std::string after : {"", "\n", "\r\n", " 3\n", "\t12345678\n", ",9", "\n\xff\xff\xff\xff\xff\xff\xff\xff"}) {
      EXPECT_EQ(Read(number + after), value) << number << " before " << after;
      EXPECT_EQ(Read("000" + number + after), value) << "zeros in front";
    }
    for (const std::string after : {"x", "\xb0 ", ".5 ", "-1", "/", ":", "\x01"}) {
      EXPECT_THROW(Read(number + after), std::exception) << number << " before " << after;
      EXPECT_THROW(Read(number + after + " 12345678"), std::exception) << number << " before " << after;
    }
  }
  EXPECT_EQ(Read("18446744073709551615 "), std::numeric_limits<std::uint64_t>::max());
  for (const std::string none : {"", " ", "-1 ", "+1 2345678", "x1234567", "\xb1\xb2\xb3 5678", "18446744073709551616 "}) {
    EXPECT_THROW(Read(none), std::exception) << none;
  }
}

TEST(LineCursor, ReadsEveryNumberOfUpToFiveDigits) {
  for (std::uint64_t value = 0; value < 100000; ++value) {
    ASSERT_EQ(Read(std::to_string(value) + " 1234567"), value);
  }
}

}  // namespace
}  // namespace chatty::io
