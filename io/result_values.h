/// \file
/// What readers of results share: from a field of a text, or a number of an array, to the value of a vertex; marks of other
/// tools for unreached and none; and the values that have been read so far.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/input.h"
#include "chatty/io/results.h"

namespace chatty::io {

inline constexpr std::string_view kLdbcUnreached = "9223372036854775807";  ///< LDBC Graphalytics' convention
inline constexpr std::string_view kNpyMagic{"\x93NUMPY", 6};               ///< what a NumPy array begins with

inline bool EqualsIgnoringCase(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

/// Converts a number to T; rounds if T is floating point. Nothing if it is out of T's range, or not an integer for an
/// integer T.
template <class T, class From>
std::optional<T> ConvertNumber(From number) {
  if constexpr (std::is_integral_v<From>) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(number)) return std::nullopt;
    }
  } else if constexpr (std::is_integral_v<T>) {
    if (number == kInfinity<From>) return kInfinity<T>;
    const From limit = std::ldexp(From{1}, std::numeric_limits<T>::digits);  // the smallest value that is too large
    if (!(number >= static_cast<From>(std::numeric_limits<T>::min()) && number < limit)) return std::nullopt;
    if (std::trunc(number) != number) return std::nullopt;
  } else if (std::isfinite(number) && std::abs(number) > std::numeric_limits<T>::max()) {
    return std::nullopt;
  }
  return static_cast<T>(number);
}

/// Whether values of that kind may be unreached or none.
inline bool MayBeNone(ResultKind kind) { return kind == ResultKind::kDistance || kind == ResultKind::kVertex; }

/// As ConvertNumber, and also converts the numbers that mean unreached or none.
template <class T, class From>
std::optional<T> ConvertValue(From number, ResultKind kind) {
  if (MayBeNone(kind)) {
    const bool largest = std::is_integral_v<From> && number == std::numeric_limits<From>::max();
    const bool minus_one = std::is_signed_v<From> && number == static_cast<From>(-1);
    if (largest || minus_one) return kInfinity<T>;
    if (kind == ResultKind::kVertex && number < 0) return std::nullopt;  // regardless of T's sign
  }
  return ConvertNumber<T>(number);
}

/// Whether a number other than 0 becomes 0 as a T.
template <class T, class From>
bool Underflows(From number) {
  if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<From>) {
    return number != 0 && static_cast<T>(number) == 0;
  } else {
    return false;
  }
}

/// For comparison of an answer, the value of a number that underflows: the smallest T of its sign, which is not 0. Nothing
/// for distances: a sum of float weights is 0 or at least the smallest float.
template <class T>
std::optional<T> LeastNumber(bool negative, ResultKind kind) {
  if (kind == ResultKind::kDistance) return std::nullopt;
  const T least = std::numeric_limits<T>::denorm_min();
  return negative ? static_cast<T>(-least) : least;
}

enum class Field : std::uint8_t {
  kValue,
  kUnderflow,  ///< not 0, but its value as a T is 0
  kImpossible,
  kMalformed,
};

/// Parses a field of a text. A vertex's value is its id in the file.
template <class T>
Field ParseNumber(std::string_view field, ResultKind kind, T* value) {
  const std::string_view plain = field.starts_with('+') ? field.substr(1) : field;
  const bool infinity = EqualsIgnoringCase(plain, "infinity") || EqualsIgnoringCase(plain, "inf") ||
                        (kind == ResultKind::kDistance && field == kLdbcUnreached);
  const bool none = MayBeNone(kind) && field == "-1";
  if (infinity && (kind == ResultKind::kVertex || kind == ResultKind::kLabel)) return Field::kMalformed;
  if (infinity || none) {
    *value = kInfinity<T>;
    return Field::kValue;
  }
  const char* const end = field.data() + field.size();
  const auto [next, error] = std::from_chars(field.data(), end, *value);
  if (error != std::errc() || next != end) {  // an integer in floating notation, out of range, or not a number
    double real = 0;
    const auto [real_next, real_error] = std::from_chars(field.data(), end, real);
    if (real_next != end || real_error == std::errc::invalid_argument) return Field::kMalformed;
    if (std::is_integral_v<T> && !std::isfinite(real)) return Field::kMalformed;
    const bool in_range = real_error == std::errc();
    const bool no_double =
        !in_range && std::strtod(std::string(field).c_str(), nullptr) == 0;  // too small even for a double
    if (std::is_floating_point_v<T> && (no_double || (in_range && Underflows<T>(real)))) {
      *value = T{0};
      return Field::kUnderflow;
    }
    const std::optional<T> converted = in_range ? ConvertValue<T>(real, kind) : std::optional<T>(std::nullopt);
    if (!converted) return Field::kImpossible;
    *value = *converted;
  }
  return Field::kValue;
}

/// Parses a field of a text; a vertex's id becomes its number.
template <class T>
Field ParseValue(std::string_view field, const ResultIds& ids, VertexId vertices, ResultKind kind, T* value) {
  if (kind != ResultKind::kVertex) return ParseNumber(field, kind, value);
  std::uint64_t id = 0;  // may be wider than T
  const Field parsed = ParseNumber(field, kind, &id);
  if (parsed != Field::kValue) return parsed;
  if (id == kInfinity<std::uint64_t>) {
    *value = kInfinity<T>;
    return Field::kValue;
  }
  // Without gaps, an id that is too large also has a number: the verifier reports it.
  const std::optional<std::uint64_t> v = ids.find(id, ids.gaps().empty() ? kInfinity<T> : vertices);
  if (!v) return Field::kImpossible;
  *value = static_cast<T>(*v);
  return Field::kValue;
}

/// The error text for a kMalformed field.
inline std::string_view DescribeMalformed(ResultKind kind) {
  return kind == ResultKind::kLabel    ? "not the name of a component: expected a whole number for every vertex"
         : kind == ResultKind::kVertex ? "not a vertex id: expected a whole number"
                                       : "not a value of the expected kind";
}

/// A notation of other programs for unreached or none. For a number also its value, and its value in fp32.
struct ForeignMark {
  std::string_view text;
  long double value = 0, rounded = 0;
};
inline constexpr ForeignMark kForeignMarks[] = {
    {"-1", -1.0L, -1.0L},
    {"inf"},
    {"2147483647", 2147483647.0L, 2147483648.0L},
    {"4294967295", 4294967295.0L, 4294967296.0L},
    {"9223372036854775807", 9223372036854775807.0L, 9223372036854775808.0L},
    {"18446744073709551615", 18446744073709551615.0L, 18446744073709551616.0L},
    {"3.40282e+38", std::numeric_limits<float>::max(), std::numeric_limits<float>::max()},
    {"1.79769e+308", std::numeric_limits<double>::max(), std::numeric_limits<double>::max()},
    {"127", 127.0L, 127.0L},  // from here on only in arrays of the corresponding type
    {"255", 255.0L, 255.0L},
    {"32767", 32767.0L, 32767.0L},
    {"65535", 65535.0L, 65535.0L},
};
inline constexpr std::uint8_t kMinusOneMark = 1, kInfinityMark = 2, kLastTextMark = 8;

/// The mark that a field equals, or 0. A real may be rounded or truncated to at least four digits.
inline std::uint8_t FindMark(std::string_view field) {
  if (field.starts_with('+')) field.remove_prefix(1);
  if (EqualsIgnoringCase(field, "inf")) return kInfinityMark;
  const bool negative = field.starts_with("-1");
  std::string first;  // its first digits, which suffice for most fields
  int digits = 0;
  for (const char c : field.substr(negative ? 1 : 0)) {
    if (c != '.' && (c < '0' || c > '9')) break;
    digits += c != '.';
    if (c != '.' && first.size() < 3) first += c;
  }
  constexpr std::string_view kFirst[] = {"214", "429", "922", "184", "340", "179"};
  constexpr int kShown = 4;
  if (!negative && (digits < kShown || std::find(std::begin(kFirst), std::end(kFirst), first) == std::end(kFirst))) return 0;
  const std::string text(field);
  char* end = nullptr;
  const long double number = std::strtold(text.c_str(), &end);
  if (*end != '\0') return 0;
  if (negative) return number == -1 ? kMinusOneMark : 0;
  const bool whole = field.find_first_not_of("0123456789") == std::string_view::npos;
  for (std::uint8_t mark = kInfinityMark + 1; mark <= kLastTextMark; ++mark) {
    const auto& [name, value, rounded] = kForeignMarks[mark - 1];
    const long double last =
        std::pow(10.0L, std::floor(std::log10(value)) + 1 - digits);  // one unit of the last digit shown
    if (number == value || (!whole && (number == rounded || std::abs(number - value) < last))) return mark;
  }
  return 0;
}

/// The mark that an array's entry of type From represents for values of type T, or 0.
template <class T, class From>
std::uint8_t FindMark(From number) {
  if constexpr (std::is_floating_point_v<From>) {
    if (number == kInfinity<From>) return std::is_floating_point_v<T> ? 0 : kInfinityMark;
    constexpr auto kLargest = static_cast<From>(1e38);  // from here on a text may truncate marks to four digits
    if (number > kLargest) return FindMark(std::string_view(fmt::format("{}", number)));
    for (std::uint8_t mark = kMinusOneMark; mark <= kLastTextMark; ++mark) {
      const auto& [name, value, rounded] = kForeignMarks[mark - 1];
      if (mark != kInfinityMark && (number == value || number == rounded)) return mark;
    }
  } else {
    // As in WriteResult, except for the type in which vertices are read.
    if (std::is_same_v<T, From> && !std::is_same_v<T, std::int64_t> && number == kInfinity<From>) return 0;
    if (std::is_signed_v<From> && number == static_cast<From>(-1)) return kMinusOneMark;
    for (std::size_t place = kInfinityMark + 1; place <= std::size(kForeignMarks); ++place) {
      const auto mark = static_cast<std::uint8_t>(place);
      const ForeignMark& known = kForeignMarks[mark - 1];
      const bool fits = mark <= kLastTextMark || number == std::numeric_limits<From>::max();
      if (fits && known.value == static_cast<long double>(number)) return mark;
    }
  }
  return 0;
}

/// Notes that a mark stands at vertex v.
inline void Mark(ForeignMarks& marks, std::size_t vertices, std::uint64_t v, std::uint8_t mark) {
  if (marks.which.empty()) marks.which = Array<std::uint8_t>(vertices, std::uint8_t{0});
  marks.which[v] = mark;
}

/// The literal value of a field that is a mark; unreached or none if T or the graph has no such value.
template <class T>
T ParseMarked(std::string_view field, std::uint8_t mark, const ResultIds& ids, VertexId vertices, ResultKind kind) {
  if (mark == kMinusOneMark || mark == kInfinityMark) return kInfinity<T>;
  if (kind == ResultKind::kVertex) {
    std::uint64_t id = 0;
    if (ParseNumber(field, ResultKind::kNumber, &id) != Field::kValue) return kInfinity<T>;
    const std::optional<std::uint64_t> v = ids.find(id, vertices);
    return v ? static_cast<T>(*v) : kInfinity<T>;
  }
  T value{};
  return ParseNumber(field, ResultKind::kNumber, &value) == Field::kValue ? value : kInfinity<T>;
}

/// Collects one value per vertex.
template <class T>
class Gathered {
 public:
  Gathered(VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks)
      : ids_(ids), kind_(kind), values_(vertices), seen_(vertices, false), marks_(marks) {}

  /// The vertex with that id, most often the next one.
  std::optional<std::uint64_t> Find(std::uint64_t id) {
    if (next_ < values_.size() && ids_[next_] == id) return next_;
    return ids_.find(id, values_.size());
  }
  bool has(std::uint64_t v) const { return seen_[v]; }
  /// Returns kUnderflow as ParseNumber does.
  Field Set(std::uint64_t v, std::string_view field) {
    const auto vertices = static_cast<VertexId>(values_.size());
    const bool none = kind_ == ResultKind::kVertex && field == "-1";  // as WriteResult writes it
    const std::uint8_t mark = marks_ != nullptr && MayBeNone(kind_) && !none ? FindMark(field) : 0;
    Field parsed = Field::kValue;
    if (mark != 0) {
      values_[v] = ParseMarked<T>(field, mark, ids_, vertices, kind_);
      Mark(*marks_, vertices, v, mark);
    } else {
      parsed = ParseValue<T>(field, ids_, vertices, kind_, &values_[v]);
    }
    seen_[v] = true;
    next_ = v + 1;
    ++found_;
    return parsed;
  }
  /// As Set for an answer's value, but never returns kUnderflow.
  Field SetAnswer(std::uint64_t v, std::string_view field) {
    const Field parsed = Set(v, field);
    if (parsed != Field::kUnderflow) return parsed;
    const std::optional<T> least = LeastNumber<T>(field.starts_with('-'), kind_);
    if (!least) return Field::kImpossible;
    values_[v] = *least;
    return Field::kValue;
  }
  /// The values; throws unless every vertex has one.
  Array<T> Take(const std::string& where) {
    if (found_ != values_.size()) {
      const auto missing = static_cast<std::uint64_t>(std::find(seen_.begin(), seen_.end(), false) - seen_.begin());
      Throw<InputError>("{}: ends with {} of {} vertices; the first without a value is {}", where, found_, values_.size(),
                        ids_[missing]);
    }
    return std::move(values_);
  }
  /// The values that were found.
  VertexNumbers<T> TakeSome() {
    if (found_ == values_.size()) return {std::move(values_), {}};
    for (std::size_t v = 0; v < values_.size(); ++v) {
      if (!seen_[v]) values_[v] = T{};
    }
    return {std::move(values_), std::move(seen_)};
  }
  /// Number of values found.
  std::uint64_t found() const { return found_; }
  std::string DescribeIds() const { return ids_.Describe(values_.size()); }
  /// Moves value i to vertex places[i], a permutation.
  void Permute(const std::vector<std::uint64_t>& places) {
    Array<T> placed(values_.size());
    for (std::size_t i = 0; i < places.size(); ++i) placed[places[i]] = values_[i];
    if (places.size() != values_.size()) return;  // too few values; Take reports it
    values_ = std::move(placed);
    if (marks_ == nullptr || marks_->which.empty()) return;
    Array<std::uint8_t> which(values_.size());
    for (std::size_t i = 0; i < places.size(); ++i) which[places[i]] = marks_->which[i];
    marks_->which = std::move(which);
  }

 private:
  const ResultIds& ids_;
  ResultKind kind_;
  Array<T> values_;
  Array<bool> seen_;
  ForeignMarks* marks_;
  std::uint64_t next_ = 0, found_ = 0;
};

/// "int32", "uint64", "float".
template <class T>
std::string NumberName() {
  if (std::is_floating_point_v<T>) return sizeof(T) == 4 ? "float" : "double";
  return fmt::format("{}int{}", std::is_signed_v<T> ? "" : "u", 8 * sizeof(T));
}

/// Numbers other than 0 that are too small for a T and became 0.
template <class T>
class BecameZero {
 public:
  /// Counts a number; `describe` returns its place: "data:7: vertex 3 has the value 1e-60".
  template <class Describe>
  void Add(Describe&& describe) {
    if (count_++ == 0) first_ = describe();
  }
  /// Logs one warning for all of them.
  void Warn() const {
    if (count_ == 0) return;
    Log().warn("{}, which is too small for {}-bit floating point and becomes 0{}", first_, 8 * sizeof(T),
               count_ > 1 ? fmt::format(", as do {} more of the file", count_ - 1) : std::string());
  }

 private:
  std::uint64_t count_ = 0;
  std::string first_;
};

/// @{
/// The readers of each form, after the part of the file that identified the form. Defined for the types of ResultValues.
template <class T>
Array<T> ReadText(Input& input, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks);
template <class T>
Array<T> ReadJson(Input& input, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks);
template <class T>
Array<T> ReadNpy(Input& input, VertexId vertices, ResultKind kind, ForeignMarks* marks);
/// As of ReadVertexNumbers.
template <class T>
VertexNumbers<T> ReadNumbersOfText(Input& input, VertexId vertices, const ResultIds& ids, bool needed);
template <class T>
VertexNumbers<T> ReadNumbersOfNpy(Input& input, VertexId vertices);
/// Whether the first character that is no space opens an object or an array.
bool LooksLikeJson(Input& input);
/// @}

}  // namespace chatty::io
