/// \file
/// What a program computed, one value a vertex, to a file and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/graph.h"
#include "chatty/core/types.h"

namespace chatty {

/// A value of each vertex, entry v for vertex v. Not owned.
using ResultValues =
    std::variant<std::span<const std::uint32_t>, std::span<const std::int32_t>, std::span<const std::uint64_t>,
                 std::span<const std::int64_t>, std::span<const float>, std::span<const double>>;

/// What the values are, which decides how a text shows them.
enum class ResultKind : std::uint8_t {
  kNumber,    ///< as they are: ranks, counts
  kDistance,  ///< kInfinity, "unreached", is written `infinity` for integers too
  kVertex,    ///< vertices, counted from 0 in memory: written in the file's own ids; kNoVertex, "none", is written -1
  kLabel,     ///< read only: names of components, any integers; nothing stands for unreached or none
};

/// A well-formed result holds a number that no right answer can hold, such as 0.5 or 2^40 for a 32-bit level: a wrong
/// answer rather than a broken file. Only thrown once all of the file is known to be well-formed.
class ImpossibleValueError : public InputError {
 public:
  using InputError::InputError;
};

/// Entries of a result as other tools write them where a vertex is not reached or has no parent: -1, inf, the largest values
/// of types, also as reals with four digits and more. Such an entry is read as the number or vertex that it is too, if the
/// type has that; which of both is meant depends on the answer, and whoever knows that says so. What WriteResult itself
/// writes for these is no such entry.
struct ForeignMarks {
  Array<std::uint8_t> which;  ///< of each vertex the mark that stands there, or 0 for none; empty where none has any

  /// How a mark is written: "2147483647".
  static std::string_view Text(std::uint8_t mark);
};

/// How a file calls vertices: by ids that count from `first_id`, or by those of a graph, which may leave gaps. Made of
/// either where a function takes it. Views the graph's ids.
class ResultIds {
 public:
  /// Ids that count from `first_id`, which is 0 or 1.
  ResultIds(int first_id) : first_id_(static_cast<std::uint64_t>(first_id)) {}  // NOLINT(google-explicit-constructor)
  /// The ids of `graph`, which outlives this.
  ResultIds(const Graph& graph)  // NOLINT(google-explicit-constructor)
      : first_id_(static_cast<std::uint64_t>(graph.first_id())), ids_(graph.ids().span()) {}

  /// How vertex v is called.
  std::uint64_t operator[](std::uint64_t v) const { return v < ids_.size() ? ids_[v] : v + first_id_; }
  /// The vertex that is called `id`, if it is one of `vertices`.
  std::optional<std::uint64_t> find(std::uint64_t id, std::uint64_t vertices) const;
  /// All of them, for messages: "the graph's, which go from 1 to 5".
  std::string Describe(std::uint64_t vertices) const;
  std::uint64_t first_id() const { return first_id_; }          ///< 0 or 1; without meaning where there are gaps
  std::span<const std::uint64_t> gaps() const { return ids_; }  ///< all ids, where they leave gaps; else empty

 private:
  std::uint64_t first_id_;
  std::span<const std::uint64_t> ids_;
};

/// How a text shows values.
enum class ResultStyle : std::uint8_t {
  kShortest,  ///< floating point in the shortest form that reads back as the same value; `infinity`
  kLdbc,  ///< LDBC Graphalytics' conventions: reals as %.15e, `infinity`; integers that are unreached 9223372036854775807
};

/// Writes "id value" lines, vertex 0 first. Equal values give equal bytes. For kVertex the largest value of the type means
/// none. `path` is "-" for standard output; .gz and .zst compress. Throws as OutputFile does.
void WriteResultText(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     ResultStyle style = ResultStyle::kShortest);

/// Writes the values as a NumPy array (format 1.0, one dimension, little-endian). Nothing is translated: unreached is
/// the type's infinity or largest value, and vertices count from 0, as the array's own indices do.
void WriteResultNpy(const std::string& path, const ResultValues& values);

/// What a result tells of itself where its form has room for that.
struct ResultNote {
  std::string program;  ///< "bfs"
  std::string value;    ///< "level"
};

/// Writes a JSON object: program and value, if `note` names them; first_id, or ids where they leave gaps; and values, vertex
/// 0 first, one a line. Unreached and none are null; other numbers that JSON has not are the strings "infinity", "-infinity"
/// and "nan". Values that are vertices are ids.
void WriteResultJson(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     const ResultNote& note = {});

/// Whether a name ends in this, before .gz or .zst.
bool HasResultSuffix(const std::string& path, std::string_view suffix);

/// Writes .npy or .json if `path` ends so, .gz and .zst aside, and text otherwise.
void WriteResult(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind);

/// Reads what WriteResultText wrote, or another program's "id value" lines: in any order, `#` and `%` comments, and
/// `inf`, `infinity` (in any case, also with a +), -1 and 9223372036854775807 for unreached distances, -1 for no vertex.
/// Integers may be written as reals (1.0). A number that is not 0 but too small for a real T is the least T of its sign, and
/// no T as a distance. T is one of ResultValues' types. Throws InputError, with file and line, unless each of the vertices
/// has one value; ImpossibleValueError for a number that is no T, or a vertex that is none.
///
/// With `marks`, which is for kDistance and kVertex, more stands for unreached and none: what ForeignMarks says, where it
/// is no T or no vertex. These are marked, and so are those that are one.
template <class T>
Array<T> ReadResultText(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks = nullptr);

/// Reads a one-dimensional NumPy array (format 1.0 to 3.0) of `vertices` integers of any width or fp32 or fp64 numbers,
/// little-endian, each of which must equal a T; where T is floating point, it is rounded to one, but not to 0. Unless `kind`
/// is kNumber or kLabel, -1 and the largest value of the array's own integer type stand for unreached or none; with `marks`
/// as ReadResultText says. Throws InputError for another array, ImpossibleValueError for a value that is no T.
template <class T>
Array<T> ReadResultNpy(const std::string& path, VertexId vertices, ResultKind kind = ResultKind::kDistance,
                       ForeignMarks* marks = nullptr);

/// Reads what WriteResultJson wrote, or another program's JSON: an array of values, vertex 0 first; an object with such an
/// array as `values`, and in `ids` whose they are, in any order; or an object of ids and values, {"17": 0, "18": 1}. Values
/// are numbers, strings of what a text may hold, or null for unreached or none. Marks and throws as ReadResultText does.
template <class T>
Array<T> ReadResultJson(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks = nullptr);

/// A number of each vertex, entry v for vertex v, or of some.
template <class T>
struct VertexNumbers {
  /// Entries without a number are T{}.
  Array<T> values;
  Array<bool> present;  ///< which vertices have one; empty: all
};

/// Reads numbers that a program is given of vertices: lines "id value" in any order, with `#` and `%` comments; a value a
/// line, for vertices in the order of their ids; or a NumPy array as ReadResultNpy has it, in that order. A vertex may be
/// missing among lines "id value". T is one of ResultValues' types. Throws InputError, with file and line, for an id that is
/// none of `ids` or stands there twice, for too few or too many values, and for what is no T: 3.5 or `inf` for an integer;
/// and where all are `needed`, for a vertex that is missing. What is too small for a real T becomes 0; a warning tells the
/// first place and how many there are.
template <class T>
VertexNumbers<T> ReadVertexNumbers(const std::string& path, VertexId vertices, const ResultIds& ids, bool needed);

/// Reads any of them, as the content says. An array that holds vertices holds none that `ids` with gaps do not have:
/// ImpossibleValueError.
template <class T>
Array<T> ReadResult(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                    ForeignMarks* marks = nullptr);

}  // namespace chatty
