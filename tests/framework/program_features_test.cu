#define CHATTY_TEST_REDUCTIONS 0  // in program_test.cu, which also instantiates the suite
#include "program_test_body.h"
