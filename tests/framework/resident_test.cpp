#include "resident_test_body.h"

namespace chatty::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, ResidentTest,
                         testing::Values(ResidentCase{"team_1", DeviceKind::kHost, 1, resident::Extent::kGrid},
                                         ResidentCase{"team_2", DeviceKind::kHost, 2, resident::Extent::kGrid},
                                         ResidentCase{"team_5", DeviceKind::kHost, 5, resident::Extent::kGrid}),
                         ResidentName);

}  // namespace
}  // namespace chatty::test
