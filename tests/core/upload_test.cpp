#include <memory>

#include "upload_test_body.h"

namespace chatty::test {
namespace {

TEST(Upload, HostDevices) { ExpectUploads(*MakeHostDevice(0, 2)); }
TEST(Upload, AFailedOneOnAHostDevice) { ExpectAFailedUploadEnds(*MakeHostDevice(0, 2)); }

}  // namespace
}  // namespace chatty::test
