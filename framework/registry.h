/// \file
/// Programs by name: what the command line, the verifier and the benches see of a program, whatever its type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chatty/core/array.h"
#include "chatty/core/error.h"
#include "chatty/core/verdict.h"
#include "chatty/framework/session.h"

namespace chatty {

/// Scalar types that results come in.
enum class ScalarType : std::uint8_t { kUint32, kInt32, kUint64, kInt64, kFloat32, kFloat64 };
/// "uint32", "int32", "uint64", "int64", "float" or "double".
std::string_view NameOf(ScalarType type);
/// Bytes of one value.
std::size_t SizeOf(ScalarType type);

/// A result without its type: one scalar a vertex, in id order.
struct ErasedValues {
  /// What the bytes are.
  ScalarType type = ScalarType::kUint32;
  bool is_vertex = false;  ///< values are vertex ids (0-based; a file's numbering is applied when printed)
  std::string name;        ///< "level", "distance", "rank"
  /// The values.
  Array<std::byte> bytes;

  /// The values as T, which must be what `type` says.
  template <class T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// How many values there are.
  std::size_t size() const { return bytes.size() / SizeOf(type); }
};

/// A parameter as the command line shows it.
struct ParameterInfo {
  /// @{
  /// As in `--set name=value`, and one line about it.
  std::string name, help;
  /// @}
  /// As text.
  std::string default_value;
  bool is_vertex = false;  ///< a vertex id, to be given 0-based here
};

/// An array with a number for each vertex that a program takes, as the command line shows it.
struct VertexDataInfo {
  /// @{
  /// As in `--vertex-data name=FILE`, and one line about it.
  std::string name, help;
  /// @}
  ScalarType type = ScalarType::kFloat32;  ///< of its numbers
  bool required = false;                   ///< a run without it is refused
  bool complete = true;                    ///< it has a number for every vertex
  std::vector<std::string> instead_of;     ///< parameters that have no meaning where it is given
};

/// Parameters by name, as text. Names not given keep their defaults.
using ParameterValues = std::map<std::string, std::string, std::less<>>;

/// A program prepared on a session: executable any number of times.
class RegisteredJob {
 public:
  virtual ~RegisteredJob() = default;
  /// Runs the program, and the one derived from it if its value was asked for. Throws what a run throws.
  virtual RunStatistics Execute() = 0;
  /// Of the last run, and of the program derived from it, if that was begun; of one that threw, what it did until then.
  virtual RunStatistics statistics() const = 0;
  /// Results of the last run. Throws CapabilityError if one does not fit its type.
  virtual ErasedValues Output() = 0;
  /// Changes a parameter between runs; the next Execute uses it. Throws UsageError.
  virtual void Set(std::string_view name, std::string_view value) = 0;
};

/// A program under its name, for one kind of device.
class RegisteredProgram {
 public:
  virtual ~RegisteredProgram() = default;
  /// @{
  /// How the command line calls the program, describes it and sets it.
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual std::vector<ParameterInfo> parameters() const = 0;
  /// @}
  /// Arrays that it takes.
  virtual std::vector<VertexDataInfo> vertex_data() const { return {}; }
  /// What `--value` may name; the first is the default.
  virtual std::vector<std::string> values() const = 0;
  /// Whether asynchronous engines may run it, and how messages combine, in words for the list of programs.
  virtual std::string_view safety() const = 0;
  /// Its work moves over the graph as a frontier does; false for programs that look at all edges every round.
  virtual bool traverses() const = 0;
  /// How messages combine, in a word.
  virtual std::string_view reduction() const = 0;

  /// What ended a run that said Next::kLimit, as in "ended by ... before it converged".
  virtual std::string LimitReason(const ParameterValues&) const { return "the program's own limit of rounds"; }

  /// Checks parameters as far as that is possible without a graph; ids of vertices are 0-based. Throws UsageError.
  virtual void Check(const ParameterValues& parameters) const = 0;
  /// Checks parameters and graph and allocates. `value` empty: the default. Throws UsageError, CapabilityError,
  /// OutOfMemoryError.
  virtual std::unique_ptr<RegisteredJob> Prepare(Session& session, const ParameterValues& parameters, std::string_view value,
                                                 const RunOptions& options) const = 0;
  /// What memory depends on: the programs of a run that computes `value`, one after the other. With a graph those that
  /// Prepare would choose for it; without, a list for each choice that there is. Throws UsageError for an unknown value or a
  /// direction that the program cannot take.
  virtual std::vector<std::vector<ProgramMemory>> Memory(const Graph* graph, std::string_view value,
                                                         const RunOptions& options) const = 0;
  /// Checks an answer, wherever it comes from, by the program's verifier. `statistics` are those of the run, or null for an
  /// answer of unknown origin; `data` is what the run was given. Throws UsageError for values of another type or count, data
  /// that do not fit, and if there is no verifier.
  virtual Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                         const RunStatistics* statistics, const VertexData& data) const = 0;
  /// The same of a run that was given no vertex data.
  Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                 const RunStatistics* statistics) const {
    return Verify(graph, parameters, values, statistics, {});
  }
  /// Whether `value` has a verifier; empty: the default. Throws UsageError for an unknown value.
  virtual bool has_verifier(std::string_view /*value*/) const { return true; }
  /// Whether VerifyAnswer heeds a tolerance for `value`, with some graph: of real values. Throws as has_verifier does.
  virtual bool takes_tolerance(std::string_view /*value*/) const { return false; }
  /// Checks an answer of unknown origin, whose real values may be off by `tolerance`, relative to the right ones; 0: by what
  /// the program allows. Throws as Verify does.
  virtual Verdict VerifyAnswer(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                               double /*tolerance*/, const VertexData& data) const {
    return Verify(graph, parameters, values, nullptr, data);
  }
  /// The same without vertex data.
  Verdict VerifyAnswer(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                       double tolerance) const {
    return VerifyAnswer(graph, parameters, values, tolerance, {});
  }
  /// Whether the values that it computes by default make one number together, as counts at vertices make one of the graph.
  virtual bool has_total() const { return false; }
  /// That number, of all values of a run that converged. Throws UsageError if there is none.
  virtual std::uint64_t Total(const ErasedValues&) const { throw UsageError("the program has no total"); }
  /// The type that Prepare's job will output for this graph, and Verify expects.
  virtual ErasedValues OutputShape(const Graph& graph, std::string_view value) const = 0;
};

/// All programs of an executable. `RegisterPrograms` is generated by chatty_add_executable.
class Registry {
 public:
  /// Adds a program as compiled for devices of `kind`, under its own name.
  void Add(DeviceKind kind, std::unique_ptr<RegisteredProgram> program);
  /// Throws UsageError, naming the choices, for an unknown name; CapabilityError if it was not compiled for `kind`.
  const RegisteredProgram& Find(std::string_view name, DeviceKind kind) const;
  std::vector<const RegisteredProgram*> All() const;  ///< by name, each once

 private:
  std::map<std::pair<std::string, DeviceKind>, std::unique_ptr<RegisteredProgram>> programs_;
};

/// Adds the programs that this executable was built with.
void RegisterPrograms(Registry& registry);

}  // namespace chatty
