// Whether this build is under a sanitizer, and so many times slower: gcc tells of sanitizers by macros, clang by features.
#pragma once

#if defined(__has_feature)
#define CHATTY_TEST_ADDRESS_SANITIZED __has_feature(address_sanitizer)
#define CHATTY_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__)
#define CHATTY_TEST_ADDRESS_SANITIZED 1
#define CHATTY_TEST_SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define CHATTY_TEST_ADDRESS_SANITIZED 0
#define CHATTY_TEST_SANITIZED 1
#else
#define CHATTY_TEST_ADDRESS_SANITIZED 0
#define CHATTY_TEST_SANITIZED 0
#endif
