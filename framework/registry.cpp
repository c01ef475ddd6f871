#include "chatty/framework/registry.h"

#include <fmt/ranges.h>

#include "chatty/core/suggestion.h"

namespace chatty {

std::string_view NameOf(ScalarType type) {
  switch (type) {
    case ScalarType::kUint32:
      return "uint32";
    case ScalarType::kInt32:
      return "int32";
    case ScalarType::kUint64:
      return "uint64";
    case ScalarType::kInt64:
      return "int64";
    case ScalarType::kFloat32:
      return "float";
    case ScalarType::kFloat64:
      return "double";
  }
  throw InternalError("an unknown scalar type");
}

std::size_t SizeOf(ScalarType type) {
  return WithType(type, []<class T>(T) { return sizeof(T); });
}

ErasedValues RegisteredJob::OutputTo(Device& target, std::byte* out) { return CopyOutputTo(target, out, {}); }

ErasedValues RegisteredJob::CopyOutputTo(Device& target, std::byte* out, const WaitContext& wait) {
  ErasedValues values = Output();
  target.CopyIn(out, values.bytes.data(), values.bytes.size(), target.stream());
  target.stream().Synchronize(wait);
  values.bytes = {};
  return values;
}

void Registry::Add(DeviceKind kind, std::unique_ptr<RegisteredProgram> program) {
  std::string name(program->name());
  if (!programs_.emplace(std::pair(name, kind), std::move(program)).second) {
    Throw<InternalError>("program '{}' is registered twice for one kind of device", name);
  }
}

const RegisteredProgram& Registry::Find(std::string_view name, DeviceKind kind) const {
  const auto found = programs_.find(std::pair(std::string(name), kind));
  if (found != programs_.end()) return *found->second;
  std::vector<std::string_view> names;
  for (const RegisteredProgram* program : All()) {
    names.push_back(program->name());
    if (program->name() == name) {
      Throw<CapabilityError>("program '{}' was not compiled for {} devices in this build", name,
                             kind == DeviceKind::kCuda ? "CUDA" : "host");
    }
  }
  Throw<UsageError>("there is no program '{}'{}; choose one of {}", name, DidYouMean(name, names), fmt::join(names, ", "));
}

std::vector<const RegisteredProgram*> Registry::All() const {
  std::vector<const RegisteredProgram*> all;
  for (const auto& [key, program] : programs_) {
    if (all.empty() || all.back()->name() != program->name()) all.push_back(program.get());
  }
  return all;
}

}  // namespace chatty
