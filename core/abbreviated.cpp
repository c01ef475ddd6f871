#include "chatty/core/abbreviated.h"

#include <fmt/format.h>

namespace chatty {

std::string Abbreviated(std::string_view text) {
  if (text.size() <= kMaxRepeated) return std::string(text);
  const auto splits = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };  // a byte within a UTF-8 character
  std::size_t head = kMaxRepeated / 2, tail = text.size() - kMaxRepeated / 3;
  for (int i = 0; i < 3 && splits(head); ++i) --head;
  for (int i = 0; i < 3 && tail < text.size() && splits(tail); ++i) ++tail;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(tail));
}

}  // namespace chatty
