// Whether times mean anything in this build: not where it is not optimised, and not under a sanitizer.
#pragma once

#include "../sanitized.h"

#if defined(__OPTIMIZE__) && !CHATTY_TEST_SANITIZED
#define CHATTY_TEST_TIMES 1
#else
#define CHATTY_TEST_TIMES 0
#endif
