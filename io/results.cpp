#include "chatty/io/results.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/logging.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

static_assert(std::endian::native == std::endian::little, "results are written little-endian");

constexpr std::string_view kLdbcUnreached = "9223372036854775807";  // LDBC Graphalytics' convention
constexpr std::string_view kNpyMagic{"\x93NUMPY", 6};

/// NumPy's name of a type: "<u4", or "|u1" for one byte.
template <class T>
std::string NpyType() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return fmt::format("{}{}{}", sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

bool EqualsIgnoringCase(std::string_view a, std::string_view lower) {
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
bool MayBeNone(ResultKind kind) { return kind == ResultKind::kDistance || kind == ResultKind::kVertex; }

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
std::string_view DescribeMalformed(ResultKind kind) {
  return kind == ResultKind::kLabel    ? "not the name of a component: expected a whole number for every vertex"
         : kind == ResultKind::kVertex ? "not a vertex id: expected a whole number"
                                       : "not a value of the expected kind";
}

/// A notation of other programs for unreached or none. For a number also its value, and its value in fp32.
struct ForeignMark {
  std::string_view text;
  long double value = 0, rounded = 0;
};
constexpr ForeignMark kForeignMarks[] = {
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
constexpr std::uint8_t kMinusOneMark = 1, kInfinityMark = 2, kLastTextMark = 8;

/// The mark that a field equals, or 0. A real may be rounded or truncated to at least four digits.
std::uint8_t FindMark(std::string_view field) {
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

void Mark(ForeignMarks& marks, std::size_t vertices, std::uint64_t v, std::uint8_t mark) {
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

struct NpyHeader {
  std::string type;  // with byte order: "<u4"
  std::uint64_t size = 0;
};

/// The value of 'key' in the dictionary of an .npy header; empty if missing.
std::string_view NpyField(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find(fmt::format("'{}'", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = dictionary.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  const char close = rest.starts_with('\'') ? '\'' : rest.starts_with('(') ? ')' : ',';
  const std::size_t skip = close == ',' ? 0 : 1;
  const std::size_t end = rest.find(close, skip);
  return end == std::string_view::npos ? std::string_view{} : rest.substr(skip, end - skip);
}

NpyHeader ReadNpyHeader(Input& input) {
  const std::string& name = input.name();
  const auto broken = [&] { Throw<InputError>("{}: is not a complete .npy file; write it again", name); };
  unsigned char fixed[8];
  if (input.Read(fixed, sizeof fixed) != sizeof fixed) broken();
  if (std::memcmp(fixed, kNpyMagic.data(), kNpyMagic.size()) != 0) Throw<InputError>("{}: is not a .npy file", name);
  const unsigned version = fixed[6];
  if (version < 1 || version > 3) Throw<InputError>("{}: has the unknown .npy format {}", name, version);
  unsigned char length[4] = {};
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  if (input.Read(length, length_bytes) != length_bytes) broken();
  const std::size_t size = length[0] | length[1] << 8 | length[2] << 16 | std::size_t{length[3]} << 24;
  if (size > kMaxLineBytes) broken();
  std::string dictionary(size, ' ');
  if (input.Read(dictionary.data(), size) != size) broken();

  NpyHeader header;
  header.type = NpyField(dictionary, "descr");
  const std::string_view shape = NpyField(dictionary, "shape");
  const auto [next, error] = std::from_chars(shape.data(), shape.data() + shape.size(), header.size);
  const std::string_view after(next, static_cast<std::size_t>(shape.data() + shape.size() - next));
  if (error != std::errc() || after.empty() || after.find_first_not_of(", ") != std::string_view::npos) {
    Throw<InputError>("{}: has shape {}; a result has one dimension", name, io::Quote(shape));
  }
  return header;
}

}  // namespace

std::string_view ForeignMarks::Text(std::uint8_t mark) { return kForeignMarks[mark - 1].text; }

std::optional<std::uint64_t> ResultIds::find(std::uint64_t id, std::uint64_t vertices) const {
  if (ids_.empty()) {
    const std::uint64_t v = id - first_id_;  // an id below first_id_ wraps to a large value
    return v < vertices ? std::optional(v) : std::nullopt;
  }
  const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
  if (found == ids_.end() || *found != id) return std::nullopt;
  return static_cast<std::uint64_t>(found - ids_.begin());
}

std::string ResultIds::Describe(std::uint64_t vertices) const {
  if (vertices == 0) return "the graph's, which has no vertices";
  return fmt::format("the graph's, which go from {} to {}{}", (*this)[0], (*this)[vertices - 1],
                     ids_.empty() ? "" : " with gaps");
}

void WriteResultText(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     ResultStyle style) {
  OutputFile output(path);
  const bool ldbc = style == ResultStyle::kLdbc;
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        for (std::size_t v = 0; v < span.size(); ++v) {
          const T value = span[v];
          output.Number(ids[v]);
          output.Letter(' ');
          if constexpr (std::is_integral_v<T>) {
            if (kind != ResultKind::kNumber && value == std::numeric_limits<T>::max()) {
              output.Write(kind == ResultKind::kVertex ? "-1" : ldbc ? kLdbcUnreached : "infinity");
            } else if (kind == ResultKind::kVertex) {
              output.Number(ids[static_cast<std::uint64_t>(value)]);
            } else {
              output.Number(value);
            }
          } else if (ldbc) {
            output.Scientific(value);
          } else {
            output.Number(value);
          }
          output.Letter('\n');
        }
      },
      values);
  output.Commit();
}

void WriteResultJson(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     const ResultNote& note) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  OutputFile output(path);
  output.Write("{\n");
  if (!note.program.empty()) output.Write(fmt::format("\"program\": {},\n", quoted(note.program)));
  if (!note.value.empty()) output.Write(fmt::format("\"value\": {},\n", quoted(note.value)));
  if (ids.gaps().empty()) {
    output.Write(fmt::format("\"first_id\": {},\n", ids.first_id()));
  } else {
    output.Write("\"ids\": [");
    for (std::size_t v = 0; v < ids.gaps().size(); ++v) {
      output.Write(v == 0 ? "\n" : ",\n");
      output.Number(ids.gaps()[v]);
    }
    output.Write("\n],\n");
  }
  output.Write("\"values\": [");
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        for (std::size_t v = 0; v < span.size(); ++v) {
          const T value = span[v];
          output.Write(v == 0 ? "\n" : ",\n");
          if (kind != ResultKind::kNumber && value == kInfinity<T>) {
            output.Write("null");
          } else if constexpr (std::is_integral_v<T>) {
            if (kind == ResultKind::kVertex) {
              output.Number(ids[static_cast<std::uint64_t>(value)]);
            } else {
              output.Number(value);
            }
          } else {
            if (!std::isfinite(value)) output.Letter('"');
            output.Number(value);
            if (!std::isfinite(value)) output.Letter('"');
          }
        }
      },
      values);
  output.Write("\n]\n}\n");
  output.Commit();
}

bool HasResultSuffix(const std::string& path, std::string_view suffix) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  return name.ends_with(suffix);
}

void WriteResultNpy(const std::string& path, const ResultValues& values) {
  OutputFile output(path);
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        std::string dictionary =
            fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", NpyType<T>(), span.size());
        constexpr std::size_t kAlign = 64, kFixed = 10;  // the format requires aligned data
        dictionary.append(kAlign - 1 - (kFixed + dictionary.size()) % kAlign, ' ').push_back('\n');
        output.Write(kNpyMagic);
        output.Write({"\x01\x00", 2});
        output.Letter(static_cast<char>(dictionary.size() & 0xff));
        output.Letter(static_cast<char>(dictionary.size() >> 8));
        output.Write(dictionary);
        output.Write({reinterpret_cast<const char*>(span.data()), span.size_bytes()});
      },
      values);
  output.Commit();
}

void WriteResult(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind) try {
  if (HasResultSuffix(path, ".npy")) {
    WriteResultNpy(path, values);
  } else if (HasResultSuffix(path, ".json")) {
    WriteResultJson(path, ids, values, kind);
  } else {
    WriteResultText(path, ids, values, kind);
  }
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing results");
}

namespace {

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

template <class T>
Array<T> ReadText(Input& input, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks) {
  const std::string& name = input.name();
  Gathered<T> gathered(vertices, ids, kind, marks);
  std::uint64_t lines = 0;
  std::string impossible;  // the first impossible value; a malformed field is reported before it
  Chunk chunk;
  while (input.Next(&chunk)) {
    io::LineCursor cursor(chunk.text);
    try {
      while (cursor.NextLine<'#', '%'>()) {
        const std::uint64_t id = cursor.Unsigned("vertex id");
        const std::optional<std::uint64_t> v = gathered.Find(id);
        if (!v) cursor.Fail("vertex id {} is not one of {}", id, gathered.DescribeIds());
        if (gathered.has(*v)) cursor.Fail("vertex {} has a value already", id);
        cursor.SkipSeparator();
        if (cursor.Peek() == '\n') cursor.Fail("vertex {} has no value", id);
        const Field field = gathered.SetAnswer(*v, cursor.Field());
        if (field == Field::kMalformed) {
          cursor.Fail("{} is {}", io::Quote(cursor.Field()), DescribeMalformed(kind));
        }
        if (field == Field::kImpossible && impossible.empty()) {
          impossible = fmt::format("{}:{}: vertex {} has the value {}, which no correct answer contains", name,
                                   lines + cursor.lines() + 1, id, io::Quote(cursor.Field()));
        }
        cursor.SkipField();
        cursor.FinishLine();
      }
    } catch (const io::LineError& error) {
      io::FailAt(name, lines + error.line() + 1, error.what());
    }
    lines += cursor.lines();
  }
  Array<T> values = gathered.Take(lines > 0 ? fmt::format("{}:{}", name, lines) : name);
  if (!impossible.empty()) throw ImpossibleValueError(impossible);
  return values;
}

/// The characters of an input, one after another, for the JSON parser. Throws if there are more than a result can have. Puts
/// quotes around Infinity, -Infinity and NaN, which are not JSON but common in place of numbers.
class JsonCharacters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  JsonCharacters() = default;
  JsonCharacters(Input& input, std::uint64_t most) : shared_(std::make_shared<Shared>(Shared{&input, {}, most})) {
    Fill();
    Look();
  }

  reference operator*() const {
    static constexpr char kQuote = '"';
    return shared_->at == At::kOpening || shared_->at == At::kClosing ? kQuote : shared_->ahead.front();
  }
  JsonCharacters& operator++() {
    Shared& shared = *shared_;
    if (shared.at == At::kOpening) {
      shared.at = At::kWord;
      return *this;
    }
    if (shared.at != At::kClosing) {
      shared.ahead.remove_prefix(1);
      if (shared.ahead.empty()) Fill();
      if (shared.at == At::kWord) {
        if (!AtEnd() && !IsLetter(shared.ahead.front())) shared.at = At::kClosing;
        return *this;
      }
    }
    Look();
    return *this;
  }
  JsonCharacters operator++(int) = delete;
  bool operator==(const JsonCharacters& other) const { return AtEnd() == other.AtEnd(); }

 private:
  enum class At : std::uint8_t { kPlain, kString, kEscaped, kOpening, kWord, kClosing };
  struct Shared {
    Input* input;
    std::string_view ahead;
    std::uint64_t most;
    std::size_t shown = 0;
    At at = At::kPlain;  ///< the token of the next character, or a quote before or after a word
  };
  static bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  /// Whether the character after the next one is an I.
  bool InfinityFollows() {
    Shared& shared = *shared_;
    if (shared.ahead.size() == 1) {
      shared.input->Consume(shared.shown - 1);
      shared.ahead = shared.input->Peek(std::size_t{1} << 16);
      shared.shown = shared.ahead.size();
    }
    return shared.ahead.size() > 1 && shared.ahead[1] == 'I';
  }
  /// Sets the token of the next character; strings stay unchanged.
  void Look() {
    if (AtEnd()) return;
    Shared& shared = *shared_;
    const char c = shared.ahead.front();
    if (shared.at == At::kEscaped) {
      shared.at = At::kString;
    } else if (shared.at == At::kString) {
      shared.at = c == '\\' ? At::kEscaped : c == '"' ? At::kPlain : At::kString;
    } else {
      shared.at = c == '"'                                                  ? At::kString
                  : c == 'I' || c == 'N' || (c == '-' && InfinityFollows()) ? At::kOpening
                                                                            : At::kPlain;
    }
  }
  bool AtEnd() const { return shared_ == nullptr || shared_->ahead.empty(); }
  void Fill() {
    Input& input = *shared_->input;
    input.Consume(shared_->shown);
    if (input.bytes_delivered() > shared_->most) {
      Throw<InputError>("{}: is longer than {} bytes and still no result of this graph: it holds something else",
                        input.name(), shared_->most);
    }
    shared_->ahead = input.Peek(std::size_t{1} << 16);
    shared_->shown = shared_->ahead.size();
  }
  std::shared_ptr<Shared> shared_;
};

/// Extracts a result from the JSON parser's events. An exception stops the parser.
template <class T>
class JsonResult final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonResult(const std::string& name, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks)
      : name_(name), vertices_(vertices), graph_ids_(ids), gathered_(vertices, ids, kind, marks), kind_(kind) {}

  bool null() override {
    return Scalar(kind_ == ResultKind::kVertex ? "-1" : kind_ == ResultKind::kDistance ? "infinity" : "null");
  }
  bool boolean(bool value) override { return Scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Scalar(Decimal(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(Decimal(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return Scalar(text); }
  bool string(string_t& value) override { return Scalar(value); }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return Open(/*array=*/false); }
  bool key(string_t& value) override {
    if (depth_ == 1) key_ = std::move(value);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t /*size*/) override { return Open(/*array=*/true); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    Throw<InputError>("{}: is not JSON from byte {} on; write it again", name_, position);
  }

  Array<T> Take() {
    if (!in_order_ && pairs_ == 0 && vertices_ > 0) {
      Throw<InputError>("{}: holds no result: an array, an object with an array \"values\", or one of ids and values",
                        name_);
    }
    if (in_order_ && pairs_ > 0) Throw<InputError>("{}: holds values twice: in \"values\", and by ids", name_);
    if (in_order_) Place();
    Array<T> values = gathered_.Take(name_);
    if (!impossible_.empty()) throw ImpossibleValueError(impossible_);
    return values;
  }

 private:
  template <class Integer>
  std::string_view Decimal(Integer value) {
    const auto [end, error] = std::to_chars(digits_, digits_ + sizeof digits_, value);
    return {digits_, static_cast<std::size_t>(end - digits_)};
  }
  bool Open(bool array) {
    if (taking_ != Taking::kNothing || (depth_ == 1 && IsId(key_))) {
      Throw<InputError>("{}: holds something other than a number where a value belongs", name_);
    }
    if (array && (depth_ == 0 || (depth_ == 1 && key_ == "values"))) {
      if (in_order_) Throw<InputError>("{}: holds \"values\" twice", name_);
      taking_ = Taking::kValues;
      in_order_ = true;
    } else if (array && depth_ == 1 && key_ == "ids") {
      if (!order_.empty()) Throw<InputError>("{}: holds \"ids\" twice", name_);
      taking_ = Taking::kIds;
    }
    ++depth_;
    return true;
  }
  bool Close() {
    --depth_;
    taking_ = Taking::kNothing;
    return true;
  }
  bool IsId(std::string_view key) const {
    return !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
  }
  bool Scalar(std::string_view text) {
    if (depth_ == 1 && key_ == "first_id") {  // WriteResultJson writes the id of vertex 0
      const std::uint64_t first = Id(text);
      if (vertices_ > 0 && graph_ids_[0] != first) {
        Throw<InputError>("{}: its first vertex is {}, that of the graph is {}", name_, first, graph_ids_[0]);
      }
    } else if (taking_ == Taking::kIds) {
      order_.push_back(Id(text));
      CheckCount(order_.size(), "ids");
    } else if (taking_ == Taking::kValues) {
      CheckCount(++count_, "values");
      Set(count_ - 1, text, "entry", count_ - 1);
    } else if (depth_ == 1 && IsId(key_)) {
      const std::uint64_t id = Id(key_);
      const std::optional<std::uint64_t> v = gathered_.Find(id);
      if (!v) Throw<InputError>("{}: vertex id {} is not one of {}", name_, id, gathered_.DescribeIds());
      if (gathered_.has(*v)) Throw<InputError>("{}: vertex {} has a value already", name_, id);
      ++pairs_;
      Set(*v, text, "vertex", id);
    }
    return true;
  }
  void CheckCount(std::uint64_t count, std::string_view what) const {
    if (count > vertices_) Throw<InputError>("{}: holds more {} than the graph has vertices, {}", name_, what, vertices_);
  }
  std::uint64_t Id(std::string_view text) const {
    std::uint64_t id = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || next != text.data() + text.size()) {
      Throw<InputError>("{}: {} is not a vertex id: expected a whole number", name_, io::Quote(text));
    }
    return id;
  }
  void Set(std::uint64_t v, std::string_view text, std::string_view what, std::uint64_t which) {
    const Field field = gathered_.SetAnswer(v, text);
    if (field == Field::kMalformed) {
      Throw<InputError>("{}: {} {} is {}, {}", name_, what, which, io::Quote(text), DescribeMalformed(kind_));
    }
    if (field == Field::kImpossible && impossible_.empty()) {
      impossible_ =
          fmt::format("{}: {} {} has the value {}, which no correct answer contains", name_, what, which, io::Quote(text));
    }
  }
  /// Puts values in the order of vertices, if "ids" has another order.
  void Place() {
    if (order_.empty()) return;
    if (order_.size() != count_) Throw<InputError>("{}: holds {} ids and {} values", name_, order_.size(), count_);
    std::vector<std::uint64_t> places(order_.size());
    std::vector<bool> taken(vertices_, false);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::optional<std::uint64_t> v = graph_ids_.find(order_[i], vertices_);
      if (!v) Throw<InputError>("{}: vertex id {} is not one of {}", name_, order_[i], gathered_.DescribeIds());
      if (taken[*v]) Throw<InputError>("{}: vertex {} has a value already", name_, order_[i]);
      taken[*v] = true;
      places[i] = *v;
    }
    gathered_.Permute(places);
  }

  enum class Taking : std::uint8_t { kNothing, kValues, kIds };
  const std::string& name_;
  const VertexId vertices_;
  const ResultIds& graph_ids_;
  Gathered<T> gathered_;
  const ResultKind kind_;
  Taking taking_ = Taking::kNothing;
  std::size_t depth_ = 0;
  std::string key_;  // in the outermost object
  bool in_order_ = false;
  std::uint64_t count_ = 0, pairs_ = 0;  // number of values in order, and by id
  std::vector<std::uint64_t> order_;     // "ids"
  std::string impossible_;
  char digits_[24];
};

template <class T>
Array<T> ReadJson(Input& input, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks) {
  const std::uint64_t most = (std::uint64_t{1} << 20) + std::uint64_t{vertices} * 256;
  JsonResult<T> result(input.name(), vertices, ids, kind, marks);
  nlohmann::json::sax_parse(JsonCharacters(input, most), JsonCharacters(), &result);
  return result.Take();
}

bool LooksLikeJson(Input& input) {
  const std::string_view head = input.Peek(4096);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

/// Fills `values` if the array's elements are of type From: `convert` makes a T of entry v, or throws.
template <class From, class T, class Convert>
bool ReadNpyAs(Input& input, const std::string& type, Array<T>& values, Convert&& convert) {
  if (type != NpyType<From>()) return false;
  Array<From> raw(values.size());
  if (input.Read(raw.data(), raw.bytes()) != raw.bytes()) {
    Throw<InputError>("{}: ends before its last value: the file is truncated; write it again", input.name());
  }
  char extra = 0;
  if (input.Read(&extra, 1) != 0) {
    Throw<InputError>("{}: is longer than its header says; write it again", input.name());
  }
  for (std::size_t v = 0; v < raw.size(); ++v) values[v] = convert(raw[v], v);
  return true;
}

template <class T, class Convert>
Array<T> ReadNpyBy(Input& input, VertexId vertices, Convert&& convert) {
  const NpyHeader header = ReadNpyHeader(input);
  const std::string& name = input.name();
  if (header.size != vertices)
    Throw<InputError>("{}: holds {} values for a graph of {} vertices", name, header.size, vertices);
  Array<T> values(vertices);
  const auto read_any = [&]<class... From>(std::type_identity<From>...) {
    return (ReadNpyAs<From>(input, header.type, values, convert) || ...);
  };
  if (!read_any(std::type_identity<std::int8_t>(), std::type_identity<std::uint8_t>(), std::type_identity<std::int16_t>(),
                std::type_identity<std::uint16_t>(), std::type_identity<std::int32_t>(), std::type_identity<std::uint32_t>(),
                std::type_identity<std::int64_t>(), std::type_identity<std::uint64_t>(), std::type_identity<float>(),
                std::type_identity<double>())) {
    Throw<InputError>("{}: holds values of NumPy type {}; convert them to one of {{i,u}}{{1,2,4,8}}, <f4 or <f8", name,
                      io::Quote(header.type));
  }
  return values;
}

template <class T>
Array<T> ReadNpy(Input& input, VertexId vertices, ResultKind kind, ForeignMarks* marks) {
  return ReadNpyBy<T>(input, vertices, [&](auto raw, std::size_t v) {
    const std::uint8_t mark = marks != nullptr && MayBeNone(kind) ? FindMark<T>(raw) : 0;
    std::optional<T> value;
    if constexpr (std::is_floating_point_v<decltype(raw)>) {
      if (kind == ResultKind::kLabel && !std::isfinite(raw)) {
        Throw<InputError>("{}: entry {} is {}, {}", input.name(), v, raw, DescribeMalformed(kind));
      }
    }
    if (mark == 0) {
      value = Underflows<T>(raw) ? LeastNumber<T>(raw < 0, kind) : ConvertValue<T>(raw, kind);
    } else {
      value = mark == kMinusOneMark ? std::nullopt : ConvertNumber<T>(raw);
      if (!value) value = kInfinity<T>;
      Mark(*marks, vertices, v, mark);
    }
    if (!value) {
      Throw<ImpossibleValueError>("{}: entry {} is {}, which no correct answer contains: values are of type {}",
                                  input.name(), v, raw, NpyType<T>());
    }
    return *value;
  });
}

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

template <class T>
VertexNumbers<T> ReadNumbersOfText(Input& input, VertexId vertices, const ResultIds& ids, bool needed) {
  const std::string& name = input.name();
  Gathered<T> gathered(vertices, ids, ResultKind::kNumber, nullptr);
  std::uint64_t lines = 0;
  std::optional<bool> with_ids;  // determined by the first line
  BecameZero<T> became_zero;
  Chunk chunk;
  while (input.Next(&chunk)) {
    io::LineCursor cursor(chunk.text);
    try {
      while (cursor.NextLine<'#', '%'>()) {
        std::string_view field = cursor.Field();
        const std::string_view first = field;
        cursor.SkipField();
        cursor.SkipSeparator();
        const bool has_id = cursor.Peek() != '\n';
        if (with_ids.value_or(has_id) != has_id) {
          cursor.Fail("{} where the lines before have {}", has_id ? "a second number" : "one number",
                      has_id ? "one" : "an id and a value");
        }
        with_ids = has_id;
        std::uint64_t v = gathered.found();
        if (has_id) {
          field = cursor.Field();
          std::uint64_t id = 0;
          const auto [end, error] = std::from_chars(first.data(), first.data() + first.size(), id);
          if (error != std::errc() || end != first.data() + first.size()) {
            cursor.Fail("{} is not a vertex id; a line has an id and a value, or a value alone", io::Quote(first));
          }
          const std::optional<std::uint64_t> found = gathered.Find(id);
          if (!found) cursor.Fail("vertex id {} is not one of {}", id, gathered.DescribeIds());
          if (gathered.has(*found)) cursor.Fail("vertex {} has a value already", id);
          v = *found;
          cursor.SkipField();
        } else if (v >= vertices) {
          cursor.Fail("there are more values than the graph has vertices, {}", vertices);
        }
        // `inf` does not represent an integer here.
        const bool letters = std::is_integral_v<T> && field.find_first_of("iInN") != std::string_view::npos;
        const Field parsed = letters ? Field::kMalformed : gathered.Set(v, field);
        if (parsed == Field::kUnderflow) {
          became_zero.Add([&] {
            return fmt::format("{}:{}: vertex {} has the value {}", name, lines + cursor.lines() + 1, ids[v],
                               io::Quote(field));
          });
        } else if (parsed != Field::kValue) {
          cursor.Fail("vertex {} has the value {}, which is not of type {}", ids[v], io::Quote(field), NumberName<T>());
        }
        cursor.FinishLine();
      }
    } catch (const io::LineError& error) {
      io::FailAt(name, lines + error.line() + 1, error.what());
    }
    lines += cursor.lines();
  }
  const bool all = needed || !with_ids.value_or(true);
  VertexNumbers<T> numbers =
      all ? VertexNumbers<T>{gathered.Take(lines > 0 ? fmt::format("{}:{}", name, lines) : name), {}} : gathered.TakeSome();
  became_zero.Warn();
  return numbers;
}

template <class T>
VertexNumbers<T> ReadNumbersOfNpy(Input& input, VertexId vertices) {
  BecameZero<T> became_zero;
  Array<T> values = ReadNpyBy<T>(input, vertices, [&](auto raw, std::size_t v) {
    std::optional<T> value = ConvertNumber<T>(raw);
    if constexpr (std::is_integral_v<T> && std::is_floating_point_v<decltype(raw)>) {
      if (std::isinf(raw)) value = std::nullopt;  // in results it stands for the largest integer
    }
    if (!value) {
      Throw<InputError>("{}: entry {} is {}, which is not of type {}", input.name(), v, raw, NumberName<T>());
    }
    if (Underflows<T>(raw)) {
      became_zero.Add([&] { return fmt::format("{}: entry {} is {}", input.name(), v, raw); });
    }
    return *value;
  });
  became_zero.Warn();
  return {std::move(values), {}};
}

/// If ids have gaps, a number that is not a vertex has no id to name it in a message, and could be another vertex's id.
template <class T>
void CheckVertices(const std::string& name, const Array<T>& values) {
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v] == kInfinity<T> || static_cast<double>(values[v]) < static_cast<double>(values.size())) continue;
    Throw<ImpossibleValueError>("{}: entry {} is {}, which no correct answer contains: the graph has {} vertices", name, v,
                                values[v], values.size());
  }
}

}  // namespace

template <class T>
Array<T> ReadResultText(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks) {
  Input input(path);
  input.SkipByteOrderMark();
  return ReadText<T>(input, vertices, ids, kind, marks);
}

template <class T>
Array<T> ReadResultNpy(const std::string& path, VertexId vertices, ResultKind kind, ForeignMarks* marks) {
  Input input(path);
  return ReadNpy<T>(input, vertices, kind, marks);
}

template <class T>
Array<T> ReadResultJson(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks) {
  Input input(path);
  input.SkipByteOrderMark();
  return ReadJson<T>(input, vertices, ids, kind, marks);
}

template <class T>
Array<T> ReadResult(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks) {
  Input input(path);
  if (input.Peek(kNpyMagic.size()) == kNpyMagic) {
    Array<T> values = ReadNpy<T>(input, vertices, kind, marks);
    if (kind == ResultKind::kVertex && !ids.gaps().empty()) CheckVertices(input.name(), values);
    return values;
  }
  input.SkipByteOrderMark();
  if (LooksLikeJson(input)) return ReadJson<T>(input, vertices, ids, kind, marks);
  return ReadText<T>(input, vertices, ids, kind, marks);
}

template <class T>
VertexNumbers<T> ReadVertexNumbers(const std::string& path, VertexId vertices, const ResultIds& ids, bool needed) {
  Input input(path);
  if (input.Peek(kNpyMagic.size()) == kNpyMagic) return ReadNumbersOfNpy<T>(input, vertices);
  input.SkipByteOrderMark();
  if (LooksLikeJson(input)) {
    Throw<InputError>("{}: is JSON; vertex data are lines \"id value\", a value a line, or a NumPy array", input.name());
  }
  return ReadNumbersOfText<T>(input, vertices, ids, needed);
}

#define CHATTY_RESULT_READERS(T)                                                                                  \
  template Array<T> ReadResultText<T>(const std::string&, VertexId, const ResultIds&, ResultKind, ForeignMarks*); \
  template Array<T> ReadResultNpy<T>(const std::string&, VertexId, ResultKind, ForeignMarks*);                    \
  template Array<T> ReadResultJson<T>(const std::string&, VertexId, const ResultIds&, ResultKind, ForeignMarks*); \
  template Array<T> ReadResult<T>(const std::string&, VertexId, const ResultIds&, ResultKind, ForeignMarks*);     \
  template VertexNumbers<T> ReadVertexNumbers<T>(const std::string&, VertexId, const ResultIds&, bool);
CHATTY_RESULT_READERS(std::uint32_t)
CHATTY_RESULT_READERS(std::int32_t)
CHATTY_RESULT_READERS(std::uint64_t)
CHATTY_RESULT_READERS(std::int64_t)
CHATTY_RESULT_READERS(float)
CHATTY_RESULT_READERS(double)
#undef CHATTY_RESULT_READERS

}  // namespace chatty
