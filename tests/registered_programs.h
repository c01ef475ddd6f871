// The programs that this test's executable carries.
#pragma once

#include "chatty/framework/registry.h"

namespace chatty::test {

/// Lives as long as the process, so that what tests do as it ends finds it there.
inline const Registry& Programs() {
  static const Registry& registry = *[] {
    auto* const made = new Registry;
    RegisterPrograms(*made);
    return made;
  }();
  return registry;
}

/// Whether a run of it has to be given vertex data.
inline bool NeedsData(const RegisteredProgram& program) {
  for (const VertexDataInfo& data : program.vertex_data()) {
    if (data.required) return true;
  }
  return false;
}

}  // namespace chatty::test
