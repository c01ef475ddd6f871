// The prebuilt programs, of which an executable of tests has the code from chatty::program_NAME: it is not compiled again in
// each source that runs one. Only where the executable carries them all (chatty_test() in CMakeLists.txt).
#pragma once

#include "chatty/framework/typed_program.h"
#include "chatty/programs/bfs.h"
#include "chatty/programs/label_propagation.h"
#include "chatty/programs/pagerank.h"
#include "chatty/programs/personalised_pagerank.h"
#include "chatty/programs/sssp.h"

namespace chatty {

// What nvcc compiles for host devices has no library.
#if CHATTY_CUDA_COMPILER
#define CHATTY_TEST_BACKENDS CudaOnly
#else
#define CHATTY_TEST_BACKENDS HostOnly
#endif
extern template class TypedProgram<Bfs, CHATTY_TEST_BACKENDS>;
extern template class TypedProgram<BfsParents, CHATTY_TEST_BACKENDS>;
extern template class TypedProgram<LabelPropagation, CHATTY_TEST_BACKENDS>;
extern template class TypedProgram<PageRank, CHATTY_TEST_BACKENDS>;
extern template class TypedProgram<PersonalisedPageRank, CHATTY_TEST_BACKENDS>;
extern template class TypedProgram<SsspOf<std::int32_t>, CHATTY_TEST_BACKENDS>;
extern template class TypedProgram<SsspOf<float>, CHATTY_TEST_BACKENDS>;
#undef CHATTY_TEST_BACKENDS

}  // namespace chatty
