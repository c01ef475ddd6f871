#include "symmetric_body.h"  // GPUs, and host devices
