#include "resident_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, ResidentTest,
                         testing::Values(ResidentCase{"grid", DeviceKind::kCuda, 0, resident::Extent::kGrid},
                                         ResidentCase{"block", DeviceKind::kCuda, 0, resident::Extent::kBlock},
                                         ResidentCase{"host_team_of_3", DeviceKind::kHost, 3, resident::Extent::kGrid}),
                         ResidentName);

}  // namespace
}  // namespace chatty::test
