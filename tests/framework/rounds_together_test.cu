#include "rounds_together_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, RoundsTogetherTest,
                         testing::Values(TogetherCase{"one_gpu", "cuda:0"}, TogetherCase{"two_on_a_gpu", "cuda:2@0"},
                                         TogetherCase{"three_on_a_gpu", "cuda:3@0", "random"},
                                         // Lists are shorter beyond eight devices; a warp polls twice beyond 32.
                                         TogetherCase{"nine_on_a_gpu", "cuda:9@0"},
                                         TogetherCase{"thirty_four_on_a_gpu", "cuda:34@0"},
                                         TogetherCase{"two_gpus", "cuda:0,1", "random"},
                                         TogetherCase{"two_gpus_in_bands", "cuda:0,1"},
                                         TogetherCase{"four_gpus", "cuda:0,1,2,3"}),
                         TogetherName);

}  // namespace
}  // namespace chatty::test
