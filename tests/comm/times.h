// Whether times mean anything in this build: not where it is not optimised, and not under a sanitizer.
#pragma once

#if defined(__has_feature)
#define CHATTY_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHATTY_TEST_SANITIZED 1
#else
#define CHATTY_TEST_SANITIZED 0
#endif
#if defined(__OPTIMIZE__) && !CHATTY_TEST_SANITIZED
#define CHATTY_TEST_TIMES 1
#else
#define CHATTY_TEST_TIMES 0
#endif
