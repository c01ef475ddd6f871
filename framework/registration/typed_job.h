/// \file
/// The job of a registered program, and of the program derived from it.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/framework/derived.h"
#include "chatty/framework/registration/parameters.h"
#include "chatty/framework/registration/result.h"
#include "chatty/framework/scatter.h"

namespace chatty::registration {

/// The FusedWith of D, a derived program or void, if it is applicable; otherwise void.
template <class D, class Backends>
struct FusedWithOf {
  using type = void;
};
template <class D, class Backends>
requires(kHasHost<Backends>&& requires { typename D::FusedWith; }) struct FusedWithOf<D, Backends> {
  using type = std::conditional_t<fused::host::kRunsInPlace<typename D::FusedWith>, typename D::FusedWith, void>;
};
/// Whether FusedWith runs on so many devices of this kind.
inline bool RunsFused(DeviceKind kind, std::size_t devices, const RunOptions& options) {
  return kind == DeviceKind::kHost && devices == 1 && options.execution != Execution::kAsync;
}

/// The type of P's job.
template <class P, class Backends>
struct JobFor {
  using type = Job;
};
template <OperatorProgram P, class Backends>
struct JobFor<P, Backends> {
  using type = OperatorJob<P, Backends>;
};
template <SequenceProgram P, class Backends>
struct JobFor<P, Backends> {
  using type = SequenceJob<P, Backends>;
};

/// Executes P and, if it is not void, the program D derived from it. Plans both once, before either allocates, and keeps the
/// plan: jobs of turns and of D are prepared by it, and runs with other parameters do not plan again.
template <class P, class D, class Backends>
class TypedJob final : public RegisteredJob {
 public:
  using Final = std::conditional_t<std::is_void_v<D>, P, D>;
  using First = typename JobFor<P, Backends>::type;

  TypedJob(Session& session, const P& program, std::string value_name, const RunOptions& options)
      : session_(&session),
        program_(program),
        value_name_(std::move(value_name)),
        plan_(Plan(session, program, options)),
        options_(plan_.Fitted(options)) {
    Rebuild();
  }
  /// The plan of P, and of D after it.
  static RunPlan Plan(Session& session, const P& program, const RunOptions& options) {
    return PlanRun(session, options,
                   [&](const RunOptions& run, std::size_t devices) { return Programs(program, run, devices); });
  }
  /// P, and D after it. Throws UsageError for a direction or an execution that either does not support on so many devices.
  static std::vector<ProgramOfRun> Programs(const P& program, const RunOptions& options, std::size_t devices) {
    std::vector<ProgramOfRun> programs;
    if constexpr (OperatorProgram<P>) {
      static_cast<void>(PlanProgram(nullptr, options));
      programs.push_back({OutputName<P>(), nullptr, OperatorMemory<P>(), options});
    } else if constexpr (SequenceProgram<P>) {
      programs = ProgramsOfSequence<P, Backends>(options, devices);
    } else {
      auto typed = std::make_shared<TypedProgram<P, Backends>>(program);
      ProgramMemory memory = MemoryOf(typed, options, devices);
      programs.push_back({OutputName<P>(), std::move(typed), std::move(memory), options});
    }
    if constexpr (!std::is_void_v<D>) {
      auto typed = std::make_shared<TypedProgram<D, Backends>>(D(program));
      RunOptions derived = DerivedOptions(options);
      ProgramMemory memory = MemoryOf(typed, derived, devices);
      programs.push_back({OutputName<D>(), std::move(typed), std::move(memory), std::move(derived)});
    }
    return programs;
  }
  /// The memory facts of P, and of D after it.
  static std::vector<ProgramMemory> Memory(const P& program, const RunOptions& options, std::size_t devices) {
    std::vector<ProgramMemory> memory;
    for (ProgramOfRun& one : Programs(program, options, devices)) memory.push_back(std::move(one.memory));
    using A = typename FusedWithOf<D, Backends>::type;
    if constexpr (!std::is_void_v<A>) {
      const auto in_place_of = [&options](auto both, auto instead) {
        return [both = std::move(both), instead = std::move(instead), options](DeviceKind kind, int threads,
                                                                               const PartShape& part) {
          return RunsFused(kind, part.parts, options) ? instead(kind, threads, part) : both(kind, threads, part);
        };
      };
      const ProgramMemory alone = MemoryOf(std::make_shared<TypedProgram<A, Backends>>(A(program)), options);
      memory[0].state = in_place_of(std::move(memory[0].state), alone.state);
      memory[1].state =
          in_place_of(std::move(memory[1].state), [](DeviceKind, int, const PartShape&) { return std::uint64_t{0}; });
    }
    return memory;
  }
  RunStatistics Execute() override try {
    followed_ = false;
    RunStatistics statistics = first_->Execute();
    if constexpr (!std::is_void_v<D>) {
      followed_ = true;
      if constexpr (SequenceProgram<P>) {
        statistics += second_->Execute(first_->last());
      } else {
        statistics += second_->Execute(first_.get());
      }
    }
    return statistics;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("running a program");
  }
  const RunPlan& plan() const override { return plan_; }
  RunStatistics statistics() const override {
    RunStatistics statistics = first_->statistics();
    if (followed_) statistics += second_->statistics();
    return statistics;
  }
  ErasedValues Output() override try {
    ErasedValues values = Shape<Final>(value_name_);
    values.bytes = Array<std::byte>(session_->graph().vertices() * SizeOf(values.type));
    if constexpr (std::is_void_v<D>) {
      first_->CopyOutput(values.bytes.data());
    } else {
      second_->CopyOutput(values.bytes.data());
    }
    if constexpr (requires { Final::CheckOutput(values.As<ResultOf<Final>>()); })
      Final::CheckOutput(values.As<ResultOf<Final>>());
    return values;
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("copying out values");
  }
  ErasedValues OutputTo(Device& target, std::byte* out) override try {
    if constexpr (kHasCuda<Backends>) {
      if (session_->device(0).kind() == DeviceKind::kCuda) {
        if constexpr (std::is_void_v<D>) {
          first_->PlaceOutput(target, out);
        } else {
          second_->PlaceOutput(target, out);
        }
        if constexpr (requires { Final::CheckOutput(std::span<const ResultOf<Final>>()); }) CheckPlaced(target, out);
        return Shape<Final>(value_name_);
      }
    }
    return CopyOutputTo(target, out, {nullptr, options_.timeout});
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("placing values");
  }
  void Set(std::string_view name, std::string_view value) override try {
    P changed = program_;
    SetParameter(&changed, name, value);
    CheckProgramInput(session_->graph(), changed);
    program_ = changed;
    Rebuild();
  } catch (const std::bad_alloc&) {
    ThrowOutOfHostMemory("preparing a program");
  }

 private:
  /// Calls CheckOutput for values in the memory of `target`. They are copied to the host for it, unless the program says by
  /// kRefusedOutput which value it looks for, and that is not there.
  void CheckPlaced(Device& target, const std::byte* out) {
    using Value = ResultOf<Final>;
    const std::size_t count = session_->graph().vertices();
    const WaitContext wait{nullptr, options_.timeout};
    if constexpr (requires { Final::kRefusedOutput; }) {
      constexpr Value kRefused = Final::kRefusedOutput;
      const auto word = std::bit_cast<std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>>(kRefused);
      if (found_.empty() || found_on_ != &target) found_ = Pinned<std::uint32_t>(target, 1);
      found_on_ = &target;
      if (!ContainsValue(target, out, count, word, sizeof(Value), found_, wait)) return;
    }
    Array<Value> values(count);
    target.CopyOut(values.data(), out, count * sizeof(Value), target.stream());
    target.stream().Synchronize(wait);
    Final::CheckOutput(std::span<const Value>(values.data(), count));
  }
  /// Options for the derived program. A direction and an execution apply to the named program only, if the derived one does
  /// not support them.
  static RunOptions DerivedOptions(RunOptions options) {
    if constexpr (!std::is_void_v<D>) {
      if constexpr (!Traits<D>::kHasData) options.vertex_data.clear();
      if (!AsynchronousProgram<D> && options.execution == Execution::kAsync) options.execution = Execution::kAuto;
      if (!Traits<D>::kCanPush && options.direction == Direction::kPush) options.direction = Direction::kAuto;
    }
    return options;
  }
  void Rebuild() {
    if constexpr (OperatorProgram<P>) {
      if (first_ == nullptr) {
        first_ = std::make_unique<First>(*session_, program_, options_, plan_.programs.front());
      } else {
        first_->SetProgram(program_);
      }
    } else if constexpr (SequenceProgram<P>) {
      if (first_ == nullptr) {
        first_ = std::make_unique<First>(*session_, program_, options_, plan_);
      } else {
        first_->SetProgram(program_);
      }
    } else if (first_ == nullptr) {
      first_ = session_->Prepare(std::make_shared<TypedProgram<P, Backends>>(program_), options_, plan_.programs.front());
    } else {
      first_->SetProgram(std::make_shared<TypedProgram<P, Backends>>(program_));
    }
    if constexpr (!std::is_void_v<D>) {
      auto derived = std::make_shared<TypedProgram<D, Backends>>(D(program_));
      if (second_ == nullptr) {
        second_ = session_->Prepare(std::move(derived), DerivedOptions(options_), plan_.programs.back());
      } else {
        second_->SetProgram(std::move(derived));
      }
    }
  }
  struct None {};
  Session* session_;
  P program_;
  std::string value_name_;
  RunPlan plan_;
  RunOptions options_;
  std::unique_ptr<First> first_;
  std::unique_ptr<Job> second_;
  Pinned<std::uint32_t> found_;  // of CheckPlaced
  const Device* found_on_ = nullptr;
  bool followed_ = false;  // second_ was executed after first_
};

}  // namespace chatty::registration
