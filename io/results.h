/// \file
/// Reads and writes a program's result, one value per vertex.
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

/// One value per vertex, entry v for vertex v. Not owned.
using ResultValues =
    std::variant<std::span<const std::uint32_t>, std::span<const std::int32_t>, std::span<const std::uint64_t>,
                 std::span<const std::int64_t>, std::span<const float>, std::span<const double>>;

/// The meaning of the values, which determines their text.
enum class ResultKind : std::uint8_t {
  kNumber,    ///< plain numbers: ranks, counts
  kDistance,  ///< kInfinity means unreached and is written `infinity`, for integers too
  kVertex,    ///< vertices, numbered from 0 in memory and written as the file's ids; kNoVertex, none, is written -1
  kLabel,     ///< for reading only: names of components, any integers; no value means unreached or none
};

/// A well-formed result contains a number that no correct answer can contain, such as 0.5 or 2^40 for a 32-bit level: a
/// wrong answer rather than a malformed file. Thrown only when the whole file is known to be well-formed.
class ImpossibleValueError : public InputError {
 public:
  using InputError::InputError;
};

/// Entries in which other programs represent a vertex that is unreached or has no parent: -1, inf, the largest values of
/// types, also as reals with four digits or more. Such an entry is also read as a number or vertex, if the type has that
/// value. The answer decides which meaning is right, so the caller chooses. The representations of WriteResult itself are
/// not marks.
struct ForeignMarks {
  Array<std::uint8_t> which;  ///< each vertex's mark, or 0 for none; empty if there are no marks

  /// The text of a mark: "2147483647".
  static std::string_view Text(std::uint8_t mark);
};

/// The ids of vertices in a file: numbers from `first_id`, or the ids of a graph, which may have gaps. Converts implicitly
/// from either. A view of the graph's ids.
class ResultIds {
 public:
  /// Ids that count from `first_id`, which is 0 or 1.
  ResultIds(int first_id) : first_id_(static_cast<std::uint64_t>(first_id)) {}  // NOLINT(google-explicit-constructor)
  /// The ids of `graph`, which must outlive this object.
  ResultIds(const Graph& graph)  // NOLINT(google-explicit-constructor)
      : first_id_(static_cast<std::uint64_t>(graph.first_id())), ids_(graph.ids().span()) {}

  /// The id of vertex v.
  std::uint64_t operator[](std::uint64_t v) const { return v < ids_.size() ? ids_[v] : v + first_id_; }
  /// The vertex with the id `id`, if it is below `vertices`.
  std::optional<std::uint64_t> find(std::uint64_t id, std::uint64_t vertices) const;
  /// A description of all ids for messages: "the graph's, which go from 1 to 5".
  std::string Describe(std::uint64_t vertices) const;
  std::uint64_t first_id() const { return first_id_; }          ///< 0 or 1; meaningless if there are gaps
  std::span<const std::uint64_t> gaps() const { return ids_; }  ///< all ids if they have gaps, otherwise empty

 private:
  std::uint64_t first_id_;
  std::span<const std::uint64_t> ids_;
};

/// The text format of values.
enum class ResultStyle : std::uint8_t {
  kShortest,  ///< floating point in the shortest form that reads back as the same value; `infinity`
  kLdbc,      ///< LDBC Graphalytics' conventions: reals as %.15e, `infinity`; unreached integers 9223372036854775807
};

/// Writes "id value" lines, vertex 0 first. Equal values give equal bytes. For kVertex the type's largest value means none.
/// `path` is "-" for standard output; .gz and .zst compress. Throws the errors of OutputFile.
void WriteResultText(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     ResultStyle style = ResultStyle::kShortest);

/// Writes the values as a NumPy array (format 1.0, one dimension, little-endian). Values are unchanged: unreached is the
/// type's infinity or largest value, and vertices are numbered from 0, as the array's indices are.
void WriteResultNpy(const std::string& path, const ResultValues& values);

/// Metadata of a result, for formats that can store it.
struct ResultNote {
  std::string program;  ///< "bfs"
  std::string value;    ///< "level"
};

/// Writes a JSON object: program and value, if `note` has them; first_id, or ids if they have gaps; and values, one per
/// line, vertex 0 first. Unreached and none are null. Other numbers that JSON lacks are the strings "infinity", "-infinity"
/// and "nan". Values that are vertices are ids.
void WriteResultJson(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     const ResultNote& note = {});

/// Whether a path ends in `suffix`, ignoring a further .gz or .zst.
bool HasResultSuffix(const std::string& path, std::string_view suffix);

/// Writes .npy or .json if `path` has that suffix, ignoring .gz and .zst, and otherwise text.
void WriteResult(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind);

/// Reads the output of WriteResultText, or another program's "id value" lines: in any order, with `#` and `%` comments.
/// Unreached distances may be `inf`, `infinity` (in any case, also with a +), -1 and 9223372036854775807; no vertex is -1.
/// Integers may be written as reals (1.0). A number other than 0 that is too small for a real T becomes the smallest T of
/// its sign; as a distance it is invalid. T is one of ResultValues' types. Throws InputError with file and line unless every
/// vertex has exactly one value; ImpossibleValueError for a number that is not a T, or an id that is not a vertex.
///
/// With `marks`, for kDistance and kVertex, the entries in ForeignMarks that are not a T or not a vertex also mean unreached
/// and none. All such entries are marked, including those that are a T.
template <class T>
Array<T> ReadResultText(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks = nullptr);

/// Reads a one-dimensional little-endian NumPy array (format 1.0 to 3.0) of `vertices` numbers: integers of any width, fp32
/// or fp64. Each must equal a T; a floating-point T is rounded, but not to 0. Unless `kind` is kNumber or kLabel, -1 and the
/// largest value of the array's integer type mean unreached or none; `marks` as in ReadResultText. Throws InputError for
/// another array, ImpossibleValueError for a value that is not a T.
template <class T>
Array<T> ReadResultNpy(const std::string& path, VertexId vertices, ResultKind kind = ResultKind::kDistance,
                       ForeignMarks* marks = nullptr);

/// Reads the output of WriteResultJson, or another program's JSON: an array of values, vertex 0 first; an object with such
/// an array as `values` and the vertices' ids as `ids`, in any order; or an object of ids and values, {"17": 0, "18": 1}.
/// Values are numbers, strings as in a text, or null for unreached or none. Marks and errors as in ReadResultText.
template <class T>
Array<T> ReadResultJson(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks = nullptr);

/// A number for each vertex, entry v for vertex v, or for some vertices.
template <class T>
struct VertexNumbers {
  /// Entries without a number are T{}.
  Array<T> values;
  Array<bool> present;  ///< which vertices have a number; empty: all
};

/// Reads numbers of vertices that are a program's input: lines "id value" in any order, with `#` and `%` comments; one value
/// per line, for vertices in the order of their ids; or a NumPy array as in ReadResultNpy, in that order. Lines "id value"
/// may omit vertices. T is one of ResultValues' types. Throws InputError with file and line for an unknown or repeated id,
/// too few or too many values, and a value that is not a T, such as 3.5 or `inf` for an integer; if all are `needed`, also
/// for a missing vertex. A value too small for a real T becomes 0, and a warning states the first place and the number of
/// such values.
template <class T>
VertexNumbers<T> ReadVertexNumbers(const std::string& path, VertexId vertices, const ResultIds& ids, bool needed);

/// Reads any of these formats, determined by the contents. Throws ImpossibleValueError for an array of vertices with a
/// number that has no id, if `ids` have gaps.
template <class T>
Array<T> ReadResult(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                    ForeignMarks* marks = nullptr);

}  // namespace chatty
