#include "session.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/core/gpu_memory.h"
#include "chatty/framework/run_by_name.h"
#include "process.h"
#include "runner.h"

namespace chatty::python {
namespace {

/// The parameters of a run, all of them: those that are not given have their defaults.
ParameterValues Complete(const RegisteredProgram& program, ParameterValues given, std::span<const VertexDataInfo> data) {
  for (const ParameterInfo& parameter : program.parameters()) {
    if (!IsReplaced(parameter.name, data)) given.try_emplace(parameter.name, parameter.default_value);
  }
  return given;
}

/// The parameters of a request that are no vertices.
ParameterValues GivenNumbers(const RegisteredProgram& program, const ParameterValues& parameters) {
  ParameterValues numbers = parameters;
  for (const ParameterInfo& parameter : program.parameters()) {
    if (parameter.is_vertex) numbers.erase(parameter.name);
  }
  return numbers;
}

/// Equal texts: the same program, value and options, and either both runs report rounds or neither does, as this decides
/// who drives rounds on a GPU (RunOptions::reports_each_round). The progress function is not part of it.
std::string KeyOf(const Request& request, const RegisteredProgram& program) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", static_cast<const void*>(request.registry.get()), program.name(), request.value,
                     request.on_round != nullptr, *request.options_key);
}

/// Calls work() and keeps the calling thread's current GPU: on another thread, where the current GPU has no context. There
/// only a new context would make it current again.
void KeepingCurrentGpu(const std::function<void()>& work) {
  if (!KeepCurrentGpu::IsPossible()) return RunElsewhere(work);
  const KeepCurrentGpu callers;
  work();
}

}  // namespace

KeptSession::KeptSession(std::shared_ptr<const Graph> graph, const std::string& devices, const SessionOptions& options)
    : graph_(std::move(graph)) {
  KeepingCurrentGpu([&] { session_ = std::make_unique<Session>(*graph_, devices, options); });
  for (const Device* device : session_->devices()) {
    labels_.push_back(device->label());
    has_gpus_ = has_gpus_ || device->kind() == DeviceKind::kCuda;
  }
}

KeptSession::~KeptSession() {
  if (OwnProcess() == ::getpid()) {
    // Their last owner takes Python's lock, which this thread may hold: they end here, after the jobs, on no other thread.
    std::vector<std::shared_ptr<const Registry>> registries;
    for (const std::unique_ptr<KeptJob>& job : jobs_) registries.push_back(job->registry);
    KeepingCurrentGpu([&] { Free(); });
    return;
  }
  // The devices' threads are not in this process, so nothing can wait for their end.
  static_cast<void>(session_.release());
  for (auto& [gpu, device] : others_) static_cast<void>(device.release());
  for (std::unique_ptr<KeptJob>& job : jobs_) static_cast<void>(job.release());
  static_cast<void>(new std::shared_ptr<const Graph>(graph_));
}

std::unique_ptr<KeptSession::KeptJob> KeptSession::TakeKept(const std::string& key, const ParameterValues& parameters) {
  for (auto kept = jobs_.begin(); kept != jobs_.end(); ++kept) {
    if ((*kept)->key != key) continue;
    const ParameterValues& old = (*kept)->parameters;
    const bool same_names = std::equal(old.begin(), old.end(), parameters.begin(), parameters.end(),
                                       [](const auto& a, const auto& b) { return a.first == b.first; });
    if (!same_names) continue;
    std::unique_ptr<KeptJob> found = std::move(*kept);
    jobs_.erase(kept);
    std::vector<std::string_view> changed;
    for (const auto& [name, value] : parameters) {
      if (found->parameters.find(name)->second != value) changed.push_back(name);
    }
    try {
      for (const std::string_view name : changed) found->job->Set(name, parameters.find(name)->second);
    } catch (const UsageError&) {
      if (changed.size() == 1) throw;
      return nullptr;  // checks see one change at a time, and some are valid together only
    }
    found->parameters = parameters;
    return found;
  }
  return nullptr;
}

Device& KeptSession::DeviceOf(int gpu) {
  for (Device* device : session_->devices()) {
    if (device->kind() == DeviceKind::kCuda && device->index() == gpu) return *device;
  }
  const auto found = others_.find(gpu);
  return found != others_.end() ? *found->second : *others_.emplace(gpu, MakeCudaDevice(gpu)).first->second;
}

HostCopies KeptSession::Copied() const {
  HostCopies all;
  for (const Device* device : session_->devices()) all += device->host_copies();
  for (const auto& [gpu, device] : others_) all += device->host_copies();
  return all;
}

void KeptSession::Free() {
  if (session_ != nullptr) {
    try {
      session_->device(0).MakeCurrent();
    } catch (const Error&) {  // of a context that is lost, whose memory is, too
    }
  }
  closed_ = true;
  jobs_.clear();
  session_.reset();
  others_.clear();
}

Outcome KeptSession::Run(Request request, std::stop_source& stop, bool waits) {
  CheckProcess();
  if (!has_gpus_ && !request.gpu) return RunHere(std::move(request), stop, waits);
  std::optional<Outcome> outcome;
  KeepingCurrentGpu([&] { outcome = RunHere(std::move(request), stop, waits); });
  return std::move(*outcome);
}

Outcome KeptSession::RunHere(Request request, std::stop_source& stop, bool waits) {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (waits) {
    lock.lock();
  } else if (!lock.try_lock()) {
    throw UsageError("this session runs a program in another thread; wait for it, or open a session for each thread");
  }
  if (session_ == nullptr) throw UsageError("this session is closed; open another one");
  session_->device(0).MakeCurrent();

  const DeviceKind kind = session_->device(0).kind();
  const RegisteredProgram& program = FindProgram(*request.registry, request.program, kind);
  NamedParameters named(program);
  for (const auto& [name, value] : request.parameters) named.Set(name, value);
  named.Check();
  std::vector<VertexDataInfo> data = program.vertex_data();
  std::erase_if(data, [&](const VertexDataInfo& info) { return !request.options.vertex_data.contains(info.name); });
  ResolvedParameters resolved = named.Resolve(*graph_, data);
  if (resolved.source) resolved.values["source"] = fmt::format("{}", resolved.source->Pick(*graph_, 0));

  Outcome outcome;
  Device* const target = request.gpu ? &DeviceOf(*request.gpu) : nullptr;
  const HostCopies before = Copied();
  if (target != nullptr) {  // before the run, which then sees the memory that is left
    const std::size_t bytes = graph_->vertices() * SizeOf(program.OutputShape(*graph_, request.value).type);
    try {
      outcome.placed = AllocateGpuMemory(*request.gpu, bytes);
    } catch (const OutOfMemoryError&) {  // it comes from no pool, so the pools have to give back what jobs have had
      jobs_.clear();
      for (Device* const device : session_->devices()) {
        if (device->kind() == DeviceKind::kCuda && device->index() == *request.gpu) {
          device->ReleaseKeptMemory({nullptr, request.options.timeout});
        }
      }
      outcome.placed = AllocateGpuMemory(*request.gpu, bytes);
    }
  }
  if (request.traced) outcome.trace = std::make_shared<Trace>();
  const bool keeps = request.options_key && !request.traced;
  std::unique_ptr<KeptJob> kept;
  ParameterValues complete;
  std::string key;
  if (keeps) {
    complete = Complete(program, resolved.values, data);
    key = KeyOf(request, program);
    kept = TakeKept(key, complete);
  }
  if (kept == nullptr) {
    kept = std::make_unique<KeptJob>();
    kept->key = key;
    kept->registry = request.registry;
    kept->parameters = std::move(complete);
    RunOptions options = request.options;
    options.stop = kept->stop.get_token();
    options.trace = outcome.trace.get();
    if (request.on_round) options.on_round = [job = kept.get()](const RoundProgress& progress) { job->on_round(progress); };
    const auto prepare = [&] { kept->job = program.Prepare(*session_, resolved.values, request.value, options); };
    try {
      prepare();
    } catch (const OutOfMemoryError&) {
      if (jobs_.empty()) throw;
      jobs_.clear();
      prepare();
    }
  }
  kept->given = GivenNumbers(program, request.parameters);
  kept->on_round = std::exchange(request.on_round, nullptr);
  const std::stop_callback forward(stop.get_token(), [&] { kept->stop.request_stop(); });
  outcome.statistics = kept->job->Execute();
  kept->last_ms = outcome.statistics.time_ms;
  const HostCopies ran = Copied();
  outcome.values = target != nullptr ? kept->job->OutputTo(*target, outcome.placed.get()) : kept->job->Output();
  outcome.copies = Copied() - before;
  outcome.value_copies = Copied() - ran;
  outcome.parameters = std::move(resolved.values);
  outcome.request = std::move(request);
  outcome.graph = graph_;
  outcome.kind = kind;
  if (keeps && !kept->stop.stop_requested()) {
    jobs_.push_front(std::move(kept));
    if (jobs_.size() > kJobs) jobs_.pop_back();
  }
  return outcome;
}

bool KeptSession::IsShort(const Request& request) const {
  constexpr double kShortMs = 5;
  constexpr EdgeIndex kFewEdges = EdgeIndex{1} << 20;
  if (!request.options_key || request.traced || request.on_round || graph_->edges() > kFewEdges ||
      graph_->vertices() > kFewEdges)
    return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || session_ == nullptr) return false;
  const RegisteredProgram& program = FindProgram(*request.registry, request.program, session_->device(0).kind());
  const std::string key = KeyOf(request, program);
  const ParameterValues given = GivenNumbers(program, request.parameters);
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const std::unique_ptr<KeptJob>& kept) {
    return kept->last_ms < kShortMs && kept->key == key && kept->given == given;
  });
}

void KeptSession::Close() {
  CheckProcess();
  KeepingCurrentGpu([&] {
    const std::scoped_lock lock(mutex_);
    Free();
  });
}

bool KeptSession::closed() const { return closed_.load(); }

}  // namespace chatty::python
