#include "rounds_together_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, RoundsTogetherTest,
                         testing::Values(TogetherCase{"one_gpu", "cuda:0"}, TogetherCase{"two_on_a_gpu", "cuda:2@0"},
                                         TogetherCase{"three_on_a_gpu", "cuda:3@0", "random"},
                                         TogetherCase{"nine_on_a_gpu", "cuda:9@0"},  // lists are shorter beyond eight
                                         TogetherCase{"two_gpus", "cuda:0,1", "random"},
                                         TogetherCase{"two_gpus_in_bands", "cuda:0,1"},
                                         TogetherCase{"four_gpus", "cuda:0,1,2,3"}),
                         TogetherName);

}  // namespace
}  // namespace chatty::test
