// The same tests with 64-bit vertex ids.
#include "verify_test.cpp"
