// The same tests with 64-bit vertex ids.
#include "verify_ranks_test.cpp"
#include "verify_sssp_test.cpp"
#include "verify_test.cpp"
