/// \file
/// What a program computed, one value a vertex, to a file and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
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
};

/// A well-formed result holds a number that no right answer can hold, such as 0.5 or 2^40 for a 32-bit level: a wrong
/// answer rather than a broken file. Only thrown once all of the file is known to be well-formed.
class ImpossibleValueError : public InputError {
 public:
  using InputError::InputError;
};

/// Writes "id value" lines, vertex 0 first, with ids from `first_id`. Floating point is written in the shortest form
/// that reads back as the same value, and infinity as `infinity`, so equal values give equal bytes. For kVertex the
/// largest value of the type means none. `path` is "-" for standard output; .gz and .zst compress. Throws as OutputFile
/// does.
void WriteResultText(const std::string& path, int first_id, const ResultValues& values, ResultKind kind);

/// Writes the values as a NumPy array (format 1.0, one dimension, little-endian). Nothing is translated: unreached is
/// the type's infinity or largest value, and vertices count from 0, as the array's own indices do.
void WriteResultNpy(const std::string& path, const ResultValues& values);

/// Writes .npy if `path` ends so, text otherwise.
void WriteResult(const std::string& path, int first_id, const ResultValues& values, ResultKind kind);

/// Reads what WriteResultText wrote, or another program's "id value" lines: in any order, `#` and `%` comments, and
/// `inf`, `infinity` (in any case), -1 and 9223372036854775807 for unreached distances, -1 for no vertex. Integers may
/// be written as reals (1.0). T is one of ResultValues' types. Throws InputError, with file and line, unless every id
/// from `first_id` to first_id + vertices - 1 has one value; ImpossibleValueError for a number that is no T, or a
/// vertex below first_id.
template <class T>
Array<T> ReadResultText(const std::string& path, VertexId vertices, int first_id, ResultKind kind);

/// Reads a one-dimensional NumPy array (format 1.0 to 3.0) of `vertices` integers of any width or fp32 or fp64 numbers,
/// little-endian, each of which must equal a T; where T is floating point, it is rounded to one. Unless `kind` is
/// kNumber, -1 and the largest value of the array's own integer type stand for unreached or none. Throws InputError for
/// another array, ImpossibleValueError for a value that is no T.
template <class T>
Array<T> ReadResultNpy(const std::string& path, VertexId vertices, ResultKind kind = ResultKind::kDistance);

/// Reads either, as the content says.
template <class T>
Array<T> ReadResult(const std::string& path, VertexId vertices, int first_id, ResultKind kind);

}  // namespace chatty
