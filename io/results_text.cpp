// Results as lines "id value".
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/result_values.h"
#include "chatty/io/results.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace io {

template <class T>
Array<T> ReadText(Input& input, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks) {
  const std::string& name = input.name();
  Gathered<T> gathered(vertices, ids, kind, marks);
  std::uint64_t lines = 0;
  std::string impossible;  // the first impossible value; a malformed field is reported before it
  Chunk chunk;
  while (input.Next(&chunk)) {
    LineCursor cursor(chunk.text);
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
          cursor.Fail("{} is {}", Quote(cursor.Field()), DescribeMalformed(kind));
        }
        if (field == Field::kImpossible && impossible.empty()) {
          impossible = fmt::format("{}:{}: vertex {} has the value {}, which no correct answer contains", name,
                                   lines + cursor.lines() + 1, id, Quote(cursor.Field()));
        }
        cursor.SkipField();
        cursor.FinishLine();
      }
    } catch (const LineError& error) {
      FailAt(name, lines + error.line() + 1, error.what());
    }
    lines += cursor.lines();
  }
  Array<T> values = gathered.Take(lines > 0 ? fmt::format("{}:{}", name, lines) : name);
  if (!impossible.empty()) throw ImpossibleValueError(impossible);
  return values;
}

template <class T>
VertexNumbers<T> ReadNumbersOfText(Input& input, VertexId vertices, const ResultIds& ids, bool needed) {
  const std::string& name = input.name();
  Gathered<T> gathered(vertices, ids, ResultKind::kNumber, nullptr);
  std::uint64_t lines = 0;
  std::optional<bool> with_ids;  // determined by the first line
  BecameZero<T> became_zero;
  Chunk chunk;
  while (input.Next(&chunk)) {
    LineCursor cursor(chunk.text);
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
            cursor.Fail("{} is not a vertex id; a line has an id and a value, or a value alone", Quote(first));
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
            return fmt::format("{}:{}: vertex {} has the value {}", name, lines + cursor.lines() + 1, ids[v], Quote(field));
          });
        } else if (parsed != Field::kValue) {
          cursor.Fail("vertex {} has the value {}, which is not of type {}", ids[v], Quote(field), NumberName<T>());
        }
        cursor.FinishLine();
      }
    } catch (const LineError& error) {
      FailAt(name, lines + error.line() + 1, error.what());
    }
    lines += cursor.lines();
  }
  const bool all = needed || !with_ids.value_or(true);
  VertexNumbers<T> numbers =
      all ? VertexNumbers<T>{gathered.Take(lines > 0 ? fmt::format("{}:{}", name, lines) : name), {}} : gathered.TakeSome();
  became_zero.Warn();
  return numbers;
}

}  // namespace io

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
              output.Write(kind == ResultKind::kVertex ? "-1" : ldbc ? io::kLdbcUnreached : "infinity");
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

template <class T>
Array<T> ReadResultText(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks) {
  Input input(path);
  input.SkipByteOrderMark();
  return io::ReadText<T>(input, vertices, ids, kind, marks);
}

#define CHATTY_RESULT_READERS(T)                                                                                  \
  template Array<T> io::ReadText<T>(Input&, VertexId, const ResultIds&, ResultKind, ForeignMarks*);               \
  template Array<T> ReadResultText<T>(const std::string&, VertexId, const ResultIds&, ResultKind, ForeignMarks*); \
  template VertexNumbers<T> io::ReadNumbersOfText<T>(Input&, VertexId, const ResultIds&, bool);
CHATTY_RESULT_READERS(std::uint32_t)
CHATTY_RESULT_READERS(std::int32_t)
CHATTY_RESULT_READERS(std::uint64_t)
CHATTY_RESULT_READERS(std::int64_t)
CHATTY_RESULT_READERS(float)
CHATTY_RESULT_READERS(double)
#undef CHATTY_RESULT_READERS

}  // namespace chatty
