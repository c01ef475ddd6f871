/// \file
/// Programs by name: type-erased interfaces for the command line, the verifier and the benchmarks.
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

/// The scalar types of results.
enum class ScalarType : std::uint8_t { kUint32, kInt32, kUint64, kInt64, kFloat32, kFloat64 };
/// "uint32", "int32", "uint64", "int64", "float" or "double".
std::string_view NameOf(ScalarType type);
/// Bytes of one value.
std::size_t SizeOf(ScalarType type);

/// Calls body(T{}) with the type that `type` names, and returns what it returns. Throws InternalError for no type.
template <class Body>
auto WithType(ScalarType type, Body&& body) {
  switch (type) {
    case ScalarType::kUint32:
      return body(std::uint32_t{});
    case ScalarType::kInt32:
      return body(std::int32_t{});
    case ScalarType::kUint64:
      return body(std::uint64_t{});
    case ScalarType::kInt64:
      return body(std::int64_t{});
    case ScalarType::kFloat32:
      return body(float{});
    case ScalarType::kFloat64:
      return body(double{});
  }
  throw InternalError("an unknown scalar type");
}

/// A type-erased result: one scalar per vertex, in id order.
struct ErasedValues {
  /// The type of the values.
  ScalarType type = ScalarType::kUint32;
  bool is_vertex = false;        ///< values are vertex ids, from 0; the file's ids are applied in output
  std::string name;              ///< "level", "distance", "rank"
  bool may_be_unreached = true;  ///< Info::output_may_be_unreached
  /// The values.
  Array<std::byte> bytes;

  /// The values as T, which must match `type`.
  template <class T>
  std::span<const T> As() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// Number of values.
  std::size_t size() const { return bytes.size() / SizeOf(type); }
};

/// A parameter's description for the command line.
struct ParameterInfo {
  /// @{
  /// Name for `--set name=value`, and a one-line description.
  std::string name, help;
  /// @}
  /// The default as text.
  std::string default_value;
  bool is_vertex = false;  ///< a vertex id, numbered from 0
};

/// A vertex data array's description for the command line.
struct VertexDataInfo {
  /// @{
  /// Name for `--vertex-data name=FILE`, and a one-line description.
  std::string name, help;
  /// @}
  ScalarType type = ScalarType::kFloat32;  ///< type of its numbers
  bool required = false;                   ///< a run needs it
  bool complete = true;                    ///< every vertex must have a number
  std::vector<std::string> instead_of;     ///< parameters that are ignored if it is given
};

/// Parameters by name, as text. Missing names keep their defaults.
using ParameterValues = std::map<std::string, std::string, std::less<>>;

/// A program prepared on a session. It can execute any number of times.
class RegisteredJob {
 public:
  virtual ~RegisteredJob() = default;
  /// Runs the program, and the derived program if its value is requested. Throws the errors of a run.
  virtual RunStatistics Execute() = 0;
  /// Of the last run, including the derived program if that was started; after an exception, of the part until then.
  virtual RunStatistics statistics() const = 0;
  /// The decisions by which it runs.
  virtual const RunPlan& plan() const = 0;
  /// Results of the last run. Throws CapabilityError if one does not fit its type.
  virtual ErasedValues Output() = 0;
  /// As Output, to `out` in the memory of `target`, a GPU, which has room for a value of RegisteredProgram::OutputShape for
  /// each vertex. Jobs on GPUs copy no values to the host; between GPUs without a link the driver chooses the way. Other
  /// jobs copy the values once. `target` must outlive the job.
  /// Returns type and name without values.
  virtual ErasedValues OutputTo(Device& target, std::byte* out);
  /// Sets a parameter for the next Execute. Throws UsageError.
  virtual void Set(std::string_view name, std::string_view value) = 0;

 protected:
  /// OutputTo by a copy of Output's values. Waits for it as `wait` says.
  ErasedValues CopyOutputTo(Device& target, std::byte* out, const WaitContext& wait);
};

/// A named program, compiled for one kind of device.
class RegisteredProgram {
 public:
  virtual ~RegisteredProgram() = default;
  /// @{
  /// Name, description and parameters for the command line.
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;
  virtual std::vector<ParameterInfo> parameters() const = 0;
  /// @}
  /// Its vertex data arrays.
  virtual std::vector<VertexDataInfo> vertex_data() const { return {}; }
  /// The names for `--value`; the first is the default.
  virtual std::vector<std::string> values() const = 0;
  /// Whether asynchronous engines may run it, and how messages combine, as text for the list of programs.
  virtual std::string_view safety() const = 0;
  /// Whether its work moves over the graph as a frontier, in about as many rounds as the graph has levels; false for
  /// programs that read all edges in every round, and for residuals.
  virtual bool traverses() const = 0;
  /// How messages combine, as one word.
  virtual std::string_view reduction() const = 0;

  /// The reason for the end of a run that returned Next::kLimit, as in "ended by ... before it converged".
  virtual std::string LimitReason(const ParameterValues&) const { return "the program's own limit of rounds"; }

  /// Checks parameters as far as possible without a graph; vertex ids are numbered from 0. Throws UsageError.
  virtual void Check(const ParameterValues& parameters) const = 0;
  /// Checks a value and the options of a run on so many devices, as far as possible without a graph. Throws UsageError for
  /// an unknown value, or a direction or an execution that the program does not support there.
  virtual void CheckOptions(std::string_view value, const RunOptions& options, std::size_t devices) const {
    static_cast<void>(Memory(nullptr, value, options, devices));
  }
  /// Checks parameters and graph, and allocates memory. An empty `value` is the default. Throws UsageError, CapabilityError,
  /// OutOfMemoryError.
  virtual std::unique_ptr<RegisteredJob> Prepare(Session& session, const ParameterValues& parameters, std::string_view value,
                                                 const RunOptions& options) const = 0;
  /// The plan of the job that Prepare would make. Checks as Prepare does, and allocates nothing on the devices.
  virtual RunPlan Plan(Session& session, const ParameterValues& parameters, std::string_view value,
                       const RunOptions& options) const = 0;
  /// The memory facts of the programs in a run that computes `value`. With a graph, those of the programs that Prepare would
  /// choose; without, one list for each possible choice. Of a run on so many devices. Throws UsageError for an unknown value
  /// or a direction that the program does not support.
  virtual std::vector<std::vector<ProgramMemory>> Memory(const Graph* graph, std::string_view value,
                                                         const RunOptions& options, std::size_t devices = 1) const = 0;
  /// Checks a result with the program's verifier. `statistics` are those of the run, or null for a result of unknown origin;
  /// `data` is the run's vertex data. Throws UsageError for values of another type or number, invalid data, or a program
  /// without verifier.
  virtual Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                         const RunStatistics* statistics, const VertexData& data) const = 0;
  /// Verify for a run without vertex data.
  Verdict Verify(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                 const RunStatistics* statistics) const {
    return Verify(graph, parameters, values, statistics, {});
  }
  /// Whether `value` has a verifier; empty: the default. Throws UsageError for an unknown value.
  virtual bool has_verifier(std::string_view /*value*/) const { return true; }
  /// Whether VerifyAnswer uses a tolerance for `value`, for any graph: true for real values. Throws as has_verifier does.
  virtual bool takes_tolerance(std::string_view /*value*/) const { return false; }
  /// Checks a result of unknown origin. Real values may differ by the relative `tolerance`; 0: the program's own tolerance.
  /// Throws as Verify does.
  virtual Verdict VerifyAnswer(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                               double /*tolerance*/, const VertexData& data) const {
    return Verify(graph, parameters, values, nullptr, data);
  }
  /// VerifyAnswer without vertex data.
  Verdict VerifyAnswer(const Graph& graph, const ParameterValues& parameters, const ErasedValues& values,
                       double tolerance) const {
    return VerifyAnswer(graph, parameters, values, tolerance, {});
  }
  /// Whether the default values add up to one number for the graph, such as a count.
  virtual bool has_total() const { return false; }
  /// That number, for all values of a converged run. Throws UsageError if there is none.
  virtual std::uint64_t Total(const ErasedValues&) const { throw UsageError("the program has no total"); }
  /// The type of the values for this graph from Prepare's job, and for Verify.
  virtual ErasedValues OutputShape(const Graph& graph, std::string_view value) const = 0;
};

/// All programs of an executable. chatty_add_executable generates `RegisterPrograms`.
class Registry {
 public:
  /// Adds a program, compiled for devices of `kind`, under its name.
  void Add(DeviceKind kind, std::unique_ptr<RegisteredProgram> program);
  /// The program `name` for devices of `kind`. Throws UsageError with the list of names for an unknown one; CapabilityError
  /// if it was not compiled for `kind`.
  const RegisteredProgram& Find(std::string_view name, DeviceKind kind) const;
  std::vector<const RegisteredProgram*> All() const;  ///< by name, each once

 private:
  std::map<std::pair<std::string, DeviceKind>, std::unique_ptr<RegisteredProgram>> programs_;
};

/// Adds the programs of this executable.
void RegisterPrograms(Registry& registry);

}  // namespace chatty
