// Results as NumPy arrays (format 1.0 written, 1.0 to 3.0 read).
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/result_values.h"
#include "chatty/io/results.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace io {
namespace {

static_assert(std::endian::native == std::endian::little, "results are written little-endian");

/// NumPy's name of a type: "<u4", or "|u1" for one byte.
template <class T>
std::string NpyType() {
  const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
  return fmt::format("{}{}{}", sizeof(T) == 1 ? '|' : '<', kind, sizeof(T));
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
    Throw<InputError>("{}: has shape {}; a result has one dimension", name, Quote(shape));
  }
  return header;
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
                      Quote(header.type));
  }
  return values;
}

}  // namespace

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

}  // namespace io

void WriteResultNpy(const std::string& path, const ResultValues& values) {
  OutputFile output(path);
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        std::string dictionary =
            fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", io::NpyType<T>(), span.size());
        constexpr std::size_t kAlign = 64, kFixed = 10;  // the format requires aligned data
        dictionary.append(kAlign - 1 - (kFixed + dictionary.size()) % kAlign, ' ').push_back('\n');
        output.Write(io::kNpyMagic);
        output.Write({"\x01\x00", 2});
        output.Letter(static_cast<char>(dictionary.size() & 0xff));
        output.Letter(static_cast<char>(dictionary.size() >> 8));
        output.Write(dictionary);
        output.Write({reinterpret_cast<const char*>(span.data()), span.size_bytes()});
      },
      values);
  output.Commit();
}

template <class T>
Array<T> ReadResultNpy(const std::string& path, VertexId vertices, ResultKind kind, ForeignMarks* marks) {
  Input input(path);
  return io::ReadNpy<T>(input, vertices, kind, marks);
}

#define CHATTY_RESULT_READERS(T)                                                               \
  template Array<T> io::ReadNpy<T>(Input&, VertexId, ResultKind, ForeignMarks*);               \
  template Array<T> ReadResultNpy<T>(const std::string&, VertexId, ResultKind, ForeignMarks*); \
  template VertexNumbers<T> io::ReadNumbersOfNpy<T>(Input&, VertexId);
CHATTY_RESULT_READERS(std::uint32_t)
CHATTY_RESULT_READERS(std::int32_t)
CHATTY_RESULT_READERS(std::uint64_t)
CHATTY_RESULT_READERS(std::int64_t)
CHATTY_RESULT_READERS(float)
CHATTY_RESULT_READERS(double)
#undef CHATTY_RESULT_READERS

}  // namespace chatty
