#include "chatty/core/parallel.h"

#include <omp.h>

namespace chatty {

int ThreadCount(int requested) { return requested > 0 ? requested : omp_get_max_threads(); }

}  // namespace chatty
