/// \file
/// What a vertex program is given, and the words that it declares itself by.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "chatty/core/types.h"

namespace chatty {

/// A vertex as a program sees it: global id and degrees, whatever device it lives on.
struct Vertex {
  /// Its id in the whole graph.
  VertexId id;
  /// @{
  /// Edges that leave and enter it, in the whole graph.
  EdgeIndex out_degree, in_degree;
  /// @}
  EdgeIndex degree = 0;  ///< edges along kBoth: out and in together, those of a symmetric graph once
};

/// An edge as a program sees it: `source` sends and `target` receives, for each direction of kEdges. Both are global ids.
template <class W = None>
struct Edge {
  /// @{
  /// Ids in the whole graph.
  VertexId source, target;
  /// @}
  /// The edge's weight; 1 in a graph without weights.
  [[no_unique_address]] W weight;
};

/// Where a run stands. The same on every device.
template <class G = None>
struct Round {
  std::uint32_t index = 0;    ///< rounds completed, over all phases: 0 in the first one; EndRound counts the one just run: 1
  std::uint32_t phase = 0;    ///< 0 at first; another when EndRound says kNextPhase
  VertexId vertices = 0;      ///< of the whole graph
  std::uint64_t active = 0;   ///< vertices that the last UpdateStatus sweep changed, on all devices; in EndRound
  bool gauss_seidel = false;  ///< messages may come from values of this very round: AllowsGaussSeidel
  std::array<double, 5> kept{};  ///< what EndRound left there last, for itself and all that sees later rounds
  /// Measure of all vertices after the last sweep (before round 0: after InitVertex). With Hints::measure_when_quiet G{} as
  /// long as any is active. It has an address of its own where G is empty: see CheckParameters in core/launch.cuh.
  G global{};
};

/// How messages to one vertex combine. A message equal to the reduction's identity has no effect: UpdateStatus may or may
/// not be called for it alone.
enum class Reduction : std::uint8_t {
  kMin,
  kMax,
  kSum,
  kOr,       ///< bitwise, integers only
  kCustom,   ///< ComputeReduce, which must be associative and commutative; needs kIdentity
  kCount,    ///< not pairwise: UpdateStatus sees each different message, in no order, and how often it came; pull only
  kAny,      ///< error: of earlier versions; CheckProgram says to write kMin and a hint
  kCollect,  ///< error: likewise; CheckProgram says to write kCount
};

/// In which order a program's updates may run and still be right.
enum class Safety : std::uint8_t {
  kSynchronous,   ///< rounds only
  kMonotone,      ///< values move one way and late or repeated messages do no harm: the engine `async` runs it
  kAccumulative,  ///< Consume takes a residual exactly once, and sums commute: right in any order; `async` runs it on
                  ///< several devices, and in rounds on one device
};

/// Which vertices take part in a round.
enum class Activity : std::uint8_t {
  kOnMessage,   ///< vertices whose last UpdateStatus returned true send; vertices that receive are updated
  kEveryRound,  ///< every vertex sends and every vertex is updated, whether or not a message came; what UpdateStatus
                ///< returns does not matter, for a vertex counts as changed when its value's bytes are others
};

/// What EndRound decides.
enum class Next : std::uint8_t {
  kContinue,  ///< go on while any vertex is active
  kStop,
  kLimit,      ///< stop, though not converged: a limit of the program's own is reached
  kNextPhase,  ///< activate where IsActive holds, in the phase that EndRound wrote to Round::phase, or else the next
};

/// A program's `static constexpr chatty::Hints kHints{…};`: promises by which engines do less work, with the same answer.
/// Each is false unless the program makes it.
struct Hints {
  /// In one synchronous round all messages to a vertex are equal: a pull may stop at the first.
  bool any_message_suffices = false;
  /// The message with the least source, of those that pass the vertex's filter, is what all of them reduce to. A pull that
  /// visits sources in this order may stop at the first.
  bool first_in_row_suffices = false;
  /// UpdateStatus replaces the value by the reduction of value and message, and returns whether that is another value:
  /// hardware may update the value in one operation.
  bool update_is_reduction = false;
  /// EndRound and Output need Round::global only after rounds that leave no vertex active. After other rounds it is
  /// Global{}, and Measure is not called.
  bool measure_when_quiet = false;
  /// EndRound returns kContinue while a vertex is active: it is called only after rounds that leave none.
  bool continues_while_active = false;
  /// Within a phase, the same values of a vertex's in-neighbours give it the same messages, and the same messages change
  /// nothing. A vertex whose in-neighbours have the values of the round before may be skipped.
  bool stationary = false;
};

/// A program's `static constexpr chatty::Info kInfo{…};`: what the command line and the comparison say of it.
struct Info {
  const char* summary = "";           ///< one line
  const char* output_name = "value";  ///< what a vertex's result is, in a word
  bool output_is_vertex = false;      ///< results are vertices, which files may number from 1
  /// The type's largest value means unreached, and files say so. False for results that have this value, say sets of bits.
  bool output_may_be_unreached = true;
};

/// One entry of a program's kParameters: a data member that the command line and the comparison may set.
template <class Program, class T>
struct Parameter {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>,
                "kParameters names data members that are numbers (not bool, not a function, not a struct): a parameter is "
                "set from the text of --set name=value");
  /// What `member` is.
  using Member = T Program::*;
  const char* name;  ///< as in --set name=value
  /// The data member to set.
  Member member;
  const char* help;  ///< one line, with the unit
};
/// Program and T follow from the member.
template <class Program, class T>
Parameter(const char*, T Program::*, const char*) -> Parameter<Program, T>;

/// Whether a run has to be given an array of vertex data.
enum class Presence : std::uint8_t {
  kOptional,  ///< without it every vertex keeps what Data{} has
  kRequired,  ///< a run without it is refused
};

/// What becomes of a vertex for which an array has no entry.
enum class Missing : std::uint8_t {
  kRefused,  ///< an array has an entry for every vertex
  kDefault,  ///< the vertex keeps what Data{} has
};

/// One entry of a program's kVertexData: a data member of its Data that is filled from an array with one entry per vertex.
template <class Data, class T>
struct VertexDatum {
  /// What `member` is.
  using Member = T Data::*;
  const char* name;  ///< as in --vertex-data name=FILE
  Member member;     ///< the data member to fill
  const char* help;  ///< one line, with the unit
  /// Whether a run without the array is refused.
  Presence presence = Presence::kOptional;
  Missing missing = Missing::kRefused;  ///< whether an array without an entry for a vertex is refused
  /// Names of parameters that the array replaces, separated by blanks; "": none.
  const char* instead_of = "";
};
/// Data and T follow from the member.
template <class Data, class T, class... Rest>
VertexDatum(const char*, T Data::*, const char*, Rest...) -> VertexDatum<Data, T>;

}  // namespace chatty
