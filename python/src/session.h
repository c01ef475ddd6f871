/// \file
/// A graph on its devices, for runs by name from any thread of a Python process. Knows nothing of Python's objects.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "chatty/core/device.h"
#include "chatty/core/graph.h"
#include "chatty/core/trace.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/session.h"

namespace chatty::python {

/// What to run. `options` are without trace, stop and on_round.
struct Request {
  std::shared_ptr<const Registry> registry;  ///< has the program
  std::string program;                       ///< its name, or a second one
  std::string value;                         ///< one of its values; empty: the first
  ParameterValues parameters;                ///< as NamedParameters takes them
  RunOptions options;
  /// Equal texts stand for equal options; none: the job is not kept for the next run.
  std::optional<std::string> options_key;
  bool traced = false;          ///< record a trace
  std::optional<int> gpu = {};  ///< the GPU in whose memory the values are to be; none: the host
  /// As RunOptions::on_round, for this run alone; a job that is kept calls the next run's.
  std::function<void(const RoundProgress&)> on_round{};
};

/// The answer of a run, and what verifying it takes.
struct Outcome {
  Request request;                     ///< as asked for
  std::shared_ptr<const Graph> graph;  ///< that the program ran on
  DeviceKind kind = DeviceKind::kHost;
  ErasedValues values;  ///< one for each vertex; without bytes if they are in placed
  /// The values in the memory of request.gpu, if that is given.
  std::shared_ptr<std::byte> placed;
  HostCopies copies;             ///< between GPUs and the host, from the request to the values
  HostCopies value_copies;       ///< those of them after the run: of the values
  ParameterValues parameters;    ///< in the registry's form
  RunStatistics statistics;      ///< of the run
  std::shared_ptr<Trace> trace;  ///< null unless it was asked for
};

/// Owner of a session on a graph. Keeps the jobs of the last programs, so that a run with another source prepares nothing.
/// One run at a time; a second thread waits or is refused. Keeps the caller's current GPU, and creates contexts on the
/// session's GPUs alone. A forked child leaves devices and jobs in memory.
class KeptSession {
 public:
  KeptSession(std::shared_ptr<const Graph> graph, const std::string& devices, const SessionOptions& options);
  ~KeptSession();
  KeptSession(const KeptSession&) = delete;
  KeptSession& operator=(const KeptSession&) = delete;

  /// Runs the request. Ends after the current round once `stop` is requested, with Ended::kStopped. `waits`: waits for a run
  /// of another thread, instead of throwing UsageError. Throws UsageError after Close and for a wrong program, parameter,
  /// value or option, and what a run throws.
  Outcome Run(Request request, std::stop_source& stop, bool waits);
  /// Whether the request repeats a run of a few milliseconds on a small graph, perhaps from another vertex: so that nobody
  /// will want to stop it.
  bool IsShort(const Request& request) const;
  /// Frees devices and jobs, after the current run.
  void Close();
  /// Whether Close was called.
  bool closed() const;
  /// The graph.
  const std::shared_ptr<const Graph>& graph() const { return graph_; }
  /// Number and labels of the devices, as "host:0".
  const std::vector<std::string>& devices() const { return labels_; }

 private:
  /// Jobs that are kept. More would hold memory of devices that the next program may need.
  static constexpr std::size_t kJobs = 4;
  /// A prepared program with its parameters.
  struct KeptJob {
    std::string key;
    std::shared_ptr<const Registry> registry;  // keeps the program's code
    ParameterValues given;                     // the caller's, without vertices
    ParameterValues parameters;                // all of them
    double last_ms = 0;                        // time of the last run
    std::stop_source stop;
    std::function<void(const RoundProgress&)> on_round;  // the current run's
    std::unique_ptr<RegisteredJob> job;
  };
  /// The first kept job that has this key, changed to `parameters`; null if there is none, or several parameters differ and
  /// are valid together only.
  std::unique_ptr<KeptJob> TakeKept(const std::string& key, const ParameterValues& parameters);
  /// As Run, on a thread whose current GPU may change.
  Outcome RunHere(Request request, std::stop_source& stop, bool waits);
  /// Frees devices and jobs. Of a thread without a current GPU, the session's is made current: what frees memory would else
  /// create a context on device 0.
  void Free();
  /// The device of a GPU: the session's, or one that is opened and kept for values.
  Device& DeviceOf(int gpu);
  /// What the session's devices and those for values have copied so far.
  HostCopies Copied() const;

  std::shared_ptr<const Graph> graph_;
  std::vector<std::string> labels_;
  bool has_gpus_ = false;  // among the session's devices
  std::atomic<bool> closed_{false};
  mutable std::mutex mutex_;                       // held during a run; guards the members below
  std::map<int, std::unique_ptr<Device>> others_;  // by GPU, beside the session's; jobs use them
  std::unique_ptr<Session> session_;
  std::list<std::unique_ptr<KeptJob>> jobs_;  // the last used first
};

}  // namespace chatty::python
