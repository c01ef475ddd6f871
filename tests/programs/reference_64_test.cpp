// The same tests with 64-bit vertex ids.
#include "reference_test.cpp"
