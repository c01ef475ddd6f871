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

}  // namespace chatty::test
