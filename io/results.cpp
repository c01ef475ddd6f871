#include "chatty/io/results.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace {

static_assert(std::endian::native == std::endian::little, "results are written little-endian");

constexpr std::string_view kNpyMagic{"\x93NUMPY", 6};

/// NumPy's name of a type: "<u4", and "|u1" where there is no byte order.
template <class T>
std::string NpyType() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return fmt::format("{}{}{}", sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
}

bool EqualsIgnoringCase(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

/// A number as a T, rounded where T is floating point; none if it is out of T's range or no integer for an integer T.
template <class T, class From>
std::optional<T> ConvertNumber(From number) {
  if constexpr (std::is_integral_v<From>) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(number)) return std::nullopt;
    }
  } else if constexpr (std::is_integral_v<T>) {
    if (number == kInfinity<From>) return kInfinity<T>;
    const From limit = std::ldexp(From{1}, std::numeric_limits<T>::digits);  // the first that is too large
    if (!(number >= static_cast<From>(std::numeric_limits<T>::min()) && number < limit)) return std::nullopt;
    if (std::trunc(number) != number) return std::nullopt;
  } else if (std::isfinite(number) && std::abs(number) > std::numeric_limits<T>::max()) {
    return std::nullopt;
  }
  return static_cast<T>(number);
}

/// As above, but for what stands for unreached or none.
template <class T, class From>
std::optional<T> ConvertValue(From number, ResultKind kind) {
  if (kind != ResultKind::kNumber) {
    const bool largest = std::is_integral_v<From> && number == std::numeric_limits<From>::max();
    const bool minus_one = std::is_signed_v<From> && number == static_cast<From>(-1);
    if (largest || minus_one) return kInfinity<T>;
  }
  return ConvertNumber<T>(number);
}

enum class Field : std::uint8_t { kValue, kImpossible, kMalformed };

/// The value that a field of a text stands for.
template <class T>
Field ParseValue(std::string_view field, int first_id, ResultKind kind, T* value) {
  const bool infinity = EqualsIgnoringCase(field, "infinity") || EqualsIgnoringCase(field, "inf") ||
                        (kind == ResultKind::kDistance && field == "9223372036854775807");  // LDBC Graphalytics' way
  const bool none = kind != ResultKind::kNumber && field == "-1";
  if (infinity && kind == ResultKind::kVertex) return Field::kMalformed;
  if (infinity || none) {
    *value = kInfinity<T>;
    return Field::kValue;
  }
  const char* const end = field.data() + field.size();
  const auto [next, error] = std::from_chars(field.data(), end, *value);
  if (error != std::errc() || next != end) {  // an integer written as a real, out of range, or no number
    double real = 0;
    const auto [real_next, real_error] = std::from_chars(field.data(), end, real);
    if (real_next != end || real_error == std::errc::invalid_argument) return Field::kMalformed;
    if (std::is_integral_v<T> && !std::isfinite(real)) return Field::kMalformed;
    const std::optional<T> converted =
        real_error == std::errc() ? ConvertValue<T>(real, kind) : std::optional<T>(std::nullopt);
    if (!converted) return Field::kImpossible;
    *value = *converted;
    if (kind != ResultKind::kNumber && *value == kInfinity<T>) return Field::kValue;
  }
  if (kind == ResultKind::kVertex) {
    if (*value < static_cast<T>(first_id)) return Field::kImpossible;
    *value -= static_cast<T>(first_id);
  }
  return Field::kValue;
}

struct NpyHeader {
  std::string type;  // with byte order: "<u4"
  std::uint64_t size = 0;
};

/// The value behind 'key' in the dictionary of an .npy header; empty where it is missing.
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
  const auto broken = [&] { Throw<InputError>("{}: is no complete .npy file; write it again", name); };
  unsigned char fixed[8];
  if (input.Read(fixed, sizeof fixed) != sizeof fixed) broken();
  if (std::memcmp(fixed, kNpyMagic.data(), kNpyMagic.size()) != 0) Throw<InputError>("{}: is no .npy file", name);
  const unsigned version = fixed[6];
  if (version < 1 || version > 3) Throw<InputError>("{}: has .npy format {}, of which nothing is known", name, version);
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
    Throw<InputError>("{}: has shape ({}); a result has one dimension", name, shape);
  }
  return header;
}

}  // namespace

void WriteResultText(const std::string& path, int first_id, const ResultValues& values, ResultKind kind) {
  OutputFile output(path);
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        const auto first = static_cast<std::uint64_t>(first_id);
        for (std::size_t v = 0; v < span.size(); ++v) {
          const T value = span[v];
          output.Number(v + first);
          output.Letter(' ');
          if constexpr (std::is_integral_v<T>) {
            if (kind != ResultKind::kNumber && value == std::numeric_limits<T>::max()) {
              output.Write(kind == ResultKind::kDistance ? "infinity" : "-1");
            } else if (kind == ResultKind::kVertex) {
              output.Number(static_cast<std::uint64_t>(value) + first);
            } else {
              output.Number(value);
            }
          } else {
            output.Number(value);
          }
          output.Letter('\n');
        }
      },
      values);
  output.Commit();
}

void WriteResultNpy(const std::string& path, const ResultValues& values) {
  OutputFile output(path);
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        std::string dictionary =
            fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", NpyType<T>(), span.size());
        constexpr std::size_t kAlign = 64, kFixed = 10;  // the data is aligned, as the format asks
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

void WriteResult(const std::string& path, int first_id, const ResultValues& values, ResultKind kind) try {
  if (path.ends_with(".npy")) {
    WriteResultNpy(path, values);
  } else {
    WriteResultText(path, first_id, values, kind);
  }
} catch (const std::bad_alloc&) {
  ThrowOutOfHostMemory("writing results");
}

namespace {

template <class T>
Array<T> ReadText(Input& input, VertexId vertices, int first_id, ResultKind kind) {
  const std::string& name = input.name();
  Array<T> values(vertices);
  Array<bool> seen(vertices, false);
  std::uint64_t lines = 0;
  VertexId found = 0;
  std::string impossible;  // the first such value; what is malformed comes before it
  Chunk chunk;
  while (input.Next(&chunk)) {
    io::LineCursor cursor(chunk.text);
    try {
      while (cursor.NextLine<'#', '%'>()) {
        const std::uint64_t id = cursor.Unsigned("vertex id");
        const std::uint64_t v = id - static_cast<std::uint64_t>(first_id);  // an id below first_id wraps around
        if (v >= vertices) {
          cursor.Fail("vertex id {} is none of the graph's, which go from {} to {}", id, first_id,
                      std::uint64_t{vertices} + static_cast<std::uint64_t>(first_id) - 1);
        }
        if (seen[v]) cursor.Fail("vertex {} has a value already", id);
        if (cursor.Peek() == '\n') cursor.Fail("vertex {} has no value", id);
        const Field field = ParseValue<T>(cursor.Field(), first_id, kind, &values[v]);
        if (field == Field::kMalformed) {
          cursor.Fail("{} is no value of the kind that is expected here", io::Quote(cursor.Field()));
        }
        if (field == Field::kImpossible && impossible.empty()) {
          impossible = fmt::format("{}:{}: vertex {} has the value {}, which no right answer holds", name,
                                   lines + cursor.lines() + 1, id, io::Quote(cursor.Field()));
        }
        seen[v] = true;
        ++found;
        cursor.SkipField();
        cursor.FinishLine();
      }
    } catch (const io::LineError& error) {
      io::FailAt(name, lines + error.line() + 1, error.what());
    }
    lines += cursor.lines();
  }
  if (found != vertices) {
    const auto missing = static_cast<std::uint64_t>(std::find(seen.begin(), seen.end(), false) - seen.begin());
    Throw<InputError>("{}:{}: ends with {} of {} vertices; the first without a value is {}", name, lines, found, vertices,
                      missing + static_cast<std::uint64_t>(first_id));
  }
  if (!impossible.empty()) throw ImpossibleValueError(impossible);
  return values;
}

/// Fills `values` if the array's elements are of type From.
template <class From, class T>
bool ReadNpyAs(Input& input, const std::string& type, ResultKind kind, Array<T>& values) {
  if (type != NpyType<From>()) return false;
  Array<From> raw(values.size());
  if (input.Read(raw.data(), raw.bytes()) != raw.bytes()) {
    Throw<InputError>("{}: ends before its last value: the file is truncated; write it again", input.name());
  }
  char extra = 0;
  if (input.Read(&extra, 1) != 0) {
    Throw<InputError>("{}: is longer than its header says; write it again", input.name());
  }
  for (std::size_t v = 0; v < raw.size(); ++v) {
    const std::optional<T> value = ConvertValue<T>(raw[v], kind);
    if (!value) {
      Throw<ImpossibleValueError>("{}: entry {} is {}, which no right answer holds: values are of type {}", input.name(), v,
                                  raw[v], NpyType<T>());
    }
    values[v] = *value;
  }
  return true;
}

template <class T>
Array<T> ReadNpy(Input& input, VertexId vertices, ResultKind kind) {
  const NpyHeader header = ReadNpyHeader(input);
  const std::string& name = input.name();
  if (header.size != vertices)
    Throw<InputError>("{}: holds {} values for a graph of {} vertices", name, header.size, vertices);
  Array<T> values(vertices);
  const auto read_any = [&]<class... From>(std::type_identity<From>...) {
    return (ReadNpyAs<From>(input, header.type, kind, values) || ...);
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

}  // namespace

template <class T>
Array<T> ReadResultText(const std::string& path, VertexId vertices, int first_id, ResultKind kind) {
  Input input(path);
  return ReadText<T>(input, vertices, first_id, kind);
}

template <class T>
Array<T> ReadResultNpy(const std::string& path, VertexId vertices, ResultKind kind) {
  Input input(path);
  return ReadNpy<T>(input, vertices, kind);
}

template <class T>
Array<T> ReadResult(const std::string& path, VertexId vertices, int first_id, ResultKind kind) {
  Input input(path);
  if (input.Peek(kNpyMagic.size()) == kNpyMagic) return ReadNpy<T>(input, vertices, kind);
  return ReadText<T>(input, vertices, first_id, kind);
}

#define CHATTY_RESULT_READERS(T)                                                      \
  template Array<T> ReadResultText<T>(const std::string&, VertexId, int, ResultKind); \
  template Array<T> ReadResultNpy<T>(const std::string&, VertexId, ResultKind);       \
  template Array<T> ReadResult<T>(const std::string&, VertexId, int, ResultKind);
CHATTY_RESULT_READERS(std::uint32_t)
CHATTY_RESULT_READERS(std::int32_t)
CHATTY_RESULT_READERS(std::uint64_t)
CHATTY_RESULT_READERS(std::int64_t)
CHATTY_RESULT_READERS(float)
CHATTY_RESULT_READERS(double)
#undef CHATTY_RESULT_READERS

}  // namespace chatty
