#include <dlfcn.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "chatty/core/error.h"
#include "chatty/framework/registry.h"
#include "chatty/framework/run_by_name.h"
#include "run.h"

namespace chatty::python {
namespace {

using nb::literals::operator""_a;

/// What a program says of itself.
nb::dict DescriptionOf(const RegisteredProgram& program) {
  nb::dict all;
  all["name"] = std::string(program.name());
  all["summary"] = std::string(program.summary());
  nb::list parameters, data;
  for (const ParameterInfo& parameter : program.parameters()) {
    nb::dict one;
    one["name"] = parameter.name;
    one["help"] = parameter.help;
    one["default"] = parameter.default_value;
    one["is_vertex"] = parameter.is_vertex;
    parameters.append(one);
  }
  for (const VertexDataInfo& datum : program.vertex_data()) {
    nb::dict one;
    one["name"] = datum.name;
    one["help"] = datum.help;
    std::string type(NameOf(datum.type));
    one["dtype"] = type == "float" ? "float32" : type == "double" ? "float64" : type;
    one["required"] = datum.required;
    data.append(one);
  }
  all["parameters"] = parameters;
  all["vertex_data"] = data;
  all["values"] = program.values();
  all["safety"] = std::string(program.safety());
  all["reduction"] = std::string(program.reduction());
  all["has_total"] = program.has_total();
  return all;
}

/// The registry of a shared object that defines `chatty_register`. The object stays loaded: its types and functions may be
/// anywhere.
std::shared_ptr<Registry> Load(const std::string& path) {
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) Throw<CapabilityError>("a compiled program cannot be loaded: {}", ::dlerror());
  void* const found = ::dlsym(object, "chatty_register");
  if (found == nullptr) Throw<CapabilityError>("{} is no compiled program: it lacks chatty_register", path);
  auto registry = std::make_shared<Registry>();
  reinterpret_cast<void (*)(Registry*)>(found)(registry.get());
  return registry;
}

}  // namespace

void BindPrograms(nb::module_& module) {
  nb::class_<Registry>(module, "Registry", "Programs by name.")
      .def(
          "programs",
          [](const Registry& self) {
            nb::list all;
            for (const RegisteredProgram* program : self.All()) all.append(DescriptionOf(*program));
            return all;
          },
          nb::sig("def programs(self) -> list[dict[str, typing.Any]]"), "What each program says of itself, by name.")
      .def(
          "full_name",
          [](const Registry& self, const std::string& name) { return std::string(FullProgramName(self, name)); }, "name"_a,
          "The name that a program is registered under, for a second name of it.");
  module.def(
      "registry",
      [] {
        static const std::shared_ptr<Registry> prebuilt = [] {
          auto registry = std::make_shared<Registry>();
          RegisterPrograms(*registry);
          return registry;
        }();
        return prebuilt;
      },
      "The prebuilt programs.");
  module.def("load", &Load, "path"_a, "The programs of a shared object that was compiled for this library.");
}

}  // namespace chatty::python
