#include "chatty/io/text_parser.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/parse_chunks.h"
#include "chatty/io/rows.h"

namespace chatty::io {

namespace {

/// Length of the UTF-8 character at the begin of a text; 0 if it is invalid, or a control character.
std::size_t PrintableBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  std::uint32_t character = byte(0) & (0x7fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kMin[] = {0xa0, 0x800, 0x10000};  // U+0080 to U+009F are control characters
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  // Embeddings, overrides and isolates change the order of the text after them.
  const bool turns = (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
  if (byte(0) < 0xc0 || byte(0) > 0xf7 || character < kMin[bytes - 2] || character > 0x10ffff) return 0;
  return surrogate || turns ? 0 : bytes;
}

/// The value of "5.0" or "1e3", written with a point or an exponent; nothing for any other text.
std::optional<std::uint64_t> WholeOf(std::string_view field) {
  constexpr double kExact = 0x1p53;
  double value = 0;
  const auto [next, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool number = !field.empty() && error == std::errc() && next == field.data() + field.size();
  if (!number || field.find_first_of(".eE") == std::string_view::npos || !(value >= 0 && value < kExact))
    return std::nullopt;
  if (std::trunc(value) != value) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

/// Whether a number outside the range of double is too small rather than too large.
bool IsTiny(std::string_view number) {
  long double value = 0;
  const auto [next, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc()) return std::abs(value) < 1;
  const std::size_t exponent = number.find_first_of("eE");
  return exponent != std::string_view::npos && number.substr(exponent + 1).starts_with('-');
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const std::size_t bytes = PrintableBytes(text);
    if (bytes > 0) {
      printable += text.substr(0, bytes);
    } else {
      printable += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return printable;
}

std::string Quote(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return "'" + Printable(text.substr(0, kShown)) + (text.size() > kShown ? "...'" : "'");
}

std::vector<std::string> Words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    std::string& word = words.emplace_back(line.substr(at, end - at));
    for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    at = end;
  }
  return words;
}

std::string_view WithoutComment(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of("%# \t"), line.size()));
}

void FailAt(const std::string& name, std::uint64_t line, std::string_view text) {
  Throw<InputError>("{}:{}: {}", Abbreviated(name), line, text);
}

std::string_view LineCursor::Field() const {
  const char* end = at_;
  while (end != end_ && !IsFieldEnd(*end)) ++end;
  return {at_, static_cast<std::size_t>(end - at_)};
}

void LineCursor::BadUnsigned(const char* what) const {
  FailIfLong();
  const char* const article = std::string_view("aeiou").find(what[0]) != std::string_view::npos ? "an" : "a";
  if (at_ == end_ || *at_ == '\n') Fail("the line ends where {} {} belongs", article, what);
  FailIfCarriageReturn();
  const std::string_view field = *at_ == ',' ? std::string_view(at_, 1) : Field();
  const bool digits = std::all_of(field.begin(), field.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) Fail("{} {} is beyond 64 bits", what, Quote(field));
  if (field.size() > 1 && field[0] == '-') Fail("{} {} is negative", what, Quote(field));
  if (const auto whole = WholeOf(field)) {
    Fail("{} is not {} {}: write it without point and exponent, {} (numpy.savetxt has fmt=\"%d\")", Quote(field), article,
         what, *whole);
  }
  Fail("{} is not {} {}: expected a whole number", Quote(field), article, what);
}

void LineCursor::FailIfLong() const {
  const auto seen = std::min(static_cast<std::size_t>(end_ - line_begin_), kMaxLineBytes + 2);
  if (seen == kMaxLineBytes + 2 && std::memchr(line_begin_, '\n', seen) == nullptr) LongLine();
}

void LineCursor::FailIfCarriageReturn() const {
  if (at_ != end_ && *at_ == '\r') Fail("a carriage return alone does not end a line; convert line ends to LF or CR LF");
}

void LineCursor::BadLineEnd() const {
  FailIfLong();
  FailIfCarriageReturn();
  Fail("{} follows where the line should end", Quote(*at_ == ',' ? std::string_view(at_, 1) : Field()));
}

void LineCursor::LongLine() const {
  Fail("the line is longer than {} bytes: this is not a text file of a known graph format", kMaxLineBytes);
}

std::string_view LineCursor::Line() const {
  constexpr std::size_t kShown = 1000;
  const std::string_view rest(line_begin_, std::min(static_cast<std::size_t>(end_ - line_begin_), kShown));
  return rest.substr(0, rest.find('\n'));
}

std::uint64_t LineCursor::Whole(const char* what) {
  SkipBlanks();
  const std::string_view field = at_ == end_ || *at_ == '\n' ? std::string_view() : Field();
  if (const std::optional<std::uint64_t> value = WholeOf(field)) {
    at_ += field.size();
    return *value;
  }
  return Unsigned(what);
}

LineCursor::OddNumber LineCursor::OddWeight(bool integers_only) {
  FailIfLong();
  if (at_ == end_ || *at_ == '\n') Fail("the line ends where a weight belongs");
  FailIfCarriageReturn();
  const std::string_view field = Field();
  std::string_view number = field;
  if (number.size() > 1 && number[0] == '+' && number[1] != '-') number.remove_prefix(1);
  double value = 0;
  auto [next, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (number.empty() || error == std::errc::invalid_argument || next != number.data() + number.size()) {
    Fail("{} is not a weight: expected a number", Quote(field));
  }
  const bool tiny = error != std::errc() && IsTiny(number);
  if (!tiny && error == std::errc() && !std::isfinite(value))
    Fail("weight {} is not finite; remove the edge or give it a number", Quote(field));
  if (!tiny && (error != std::errc() || !std::isfinite(static_cast<float>(value)))) {
    Fail("weight {} is beyond the range of 32-bit floating point", Quote(field));
  }
  const std::string_view digits = number.substr(number[0] == '-' ? 1 : 0);
  // "5.0" makes weights real, unless the header declares integers.
  const bool whole = integers_only ? !tiny && std::trunc(value) == value
                                   : std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  reals_ = reals_ || !whole;
  if (integers_only && !whole) Fail("weight {} is not an integer, but the header declares integer weights", Quote(field));
  if (tiny || (value != 0 && static_cast<float>(value) == 0)) {
    if (underflow_.count++ == 0) {
      underflow_.line = lines_;
      underflow_.first = Quote(field);
    }
  }
  at_ += field.size();
  return {value,
          whole && value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()};
}

template <bool kWide>
void BasicEdgeSink<kWide>::Begin(std::size_t text_bytes, WeightText weights) {
  const std::size_t capacity = text_bytes / 4 + 1;  // "0 1" and a line end
  if (sources_.size() < capacity) {
    sources_ = Array<Id>(capacity);
    targets_ = Array<Id>(capacity);
    if (weights != WeightText::kNone) {
      integers_ = Array<std::int32_t>(capacity);
      reals_ = Array<float>(capacity);
    }
  }
  text_ = weights;
  real_ = weights == WeightText::kReal;
  size_ = 0;
  largest_ = 0;
}

template <bool kWide>
void BasicEdgeSink<kWide>::TurnReal() {
  for (std::size_t i = 0; i < size_; ++i) reals_[i] = static_cast<float>(integers_[i]);
  real_ = true;
}

template <bool kWide>
auto BasicEdgeSink<kWide>::Take() const -> Edges {
  Edges list;
  list.sources = Array<Id>(sources_.span().first(size_));
  list.targets = Array<Id>(targets_.span().first(size_));
  if (text_ != WeightText::kNone) {
    if (real_) {
      list.weights = Array<float>(reals_.span().first(size_));
    } else {
      list.weights = Array<std::int32_t>(integers_.span().first(size_));
    }
  }
  return list;
}

template class BasicEdgeSink<false>;
template class BasicEdgeSink<true>;
template ParsedEdges ParseChunksInto(Input&, WeightText, int, const std::function<void(LineCursor&, EdgeSink&)>&);
template ParsedWideEdges ParseChunksInto(Input&, WeightText, int, const std::function<void(LineCursor&, WideEdgeSink&)>&);

void PromisedCount::Fail(std::uint64_t found) const {
  FailAt(name_, line_,
         fmt::format("promises {} {}, but the file holds {} and more: correct the number, or fetch the file again",
                     promised_, what_, found));
}

namespace {

template <class Edges>
std::uint64_t HeldBytesOf(const Edges& edges) {
  const std::size_t weights = KindOf(edges.weights) == WeightKind::kNone ? 0 : edges.sources.size();
  return edges.sources.bytes() + edges.targets.bytes() + weights * sizeof(float);
}

}  // namespace

std::uint64_t HeldBytes(const EdgeList& edges) { return HeldBytesOf(edges); }
std::uint64_t HeldBytes(const WideEdges& edges) { return HeldBytesOf(edges); }

void WarnOfUnderflow(const std::string& name, std::uint64_t lines, const LineCursor::Underflow& underflow) {
  if (underflow.count == 0) return;
  Log().warn("{}:{}: weight {} is too small for 32-bit floating point and becomes 0{}", name, lines + underflow.line + 1,
             underflow.first,
             underflow.count > 1 ? fmt::format(", as do {} more of the file", underflow.count - 1) : std::string());
}

void WarnOfRoundedIntegers(const std::string& name, const std::vector<EdgeList>& pieces, bool reals) {
  if (reals) return;
  float extreme = 0;
  for (const EdgeList& piece : pieces) {
    const auto* floats = std::get_if<Array<float>>(&piece.weights);
    if (floats == nullptr) continue;
    for (const float weight : *floats) {
      if (std::trunc(weight) != weight) return;  // real weights, or a NaN
      if (std::abs(weight) > std::abs(extreme)) extreme = weight;
    }
  }
  if (extreme >= -0x1p31f && extreme < 0x1p31f) return;
  WarnOfRoundedWeights(name, extreme);
}

void CheckVertexCount(const std::string& name, std::uint64_t vertices) {
  if (vertices > kNoVertex) {
    Throw<CapabilityError>("{}: {} vertices are more than {}-bit ids can name; use a build with CHATTY_VERTEX_BITS=64", name,
                           vertices, 8 * sizeof(VertexId));
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return;
  const auto memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  if (vertices >= memory / sizeof(EdgeIndex)) {
    Throw<CapabilityError>(
        "{}: states {} vertices, whose offsets alone take {:.1f} GB of the {:.1f} GB of memory that this machine has; if "
        "most ids are unused, renumber them from 0 without gaps",
        name, vertices, static_cast<double>(vertices) * sizeof(EdgeIndex) / 1e9, static_cast<double>(memory) / 1e9);
  }
}

void CheckVertexCount(const std::string& name, std::uint64_t vertices, std::uint64_t max_edges, std::uint64_t line) {
  constexpr std::uint64_t kOrdinary = std::uint64_t{1} << 26;  // offsets of 512 MiB
  constexpr std::uint64_t kSparsest = 4096;                    // vertices per edge
  if (vertices > kOrdinary && vertices / kSparsest > max_edges) {
    const double gigabytes = static_cast<double>(vertices) * sizeof(EdgeIndex) / 1e9;
    if (line > 0) {
      FailAt(name, line,
             fmt::format("the header states {} vertices, whose offsets take {:.1f} GB, but the file has {} edges at most: "
                         "correct the number",
                         vertices, gigabytes, max_edges));
    }
    Throw<InputError>(
        "{}: its largest id, {}, makes for {} vertices, whose offsets take {:.1f} GB, but it has {} edges: correct the id, "
        "or "
        "renumber the vertices without gaps (--compact-ids)",
        name, vertices - 1, vertices, gigabytes, max_edges);
  }
  CheckVertexCount(name, vertices);
}

}  // namespace chatty::io
