#include "symmetric_body.h"  // host devices alone
