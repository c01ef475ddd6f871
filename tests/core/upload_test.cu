#include <memory>

#include "upload_test_body.h"

namespace chatty::test {
namespace {

TEST(UploadCuda, Gpus) { ExpectUploads(*MakeCudaDevice(0)); }
TEST(UploadCuda, AFailedOneOnAGpu) { ExpectAFailedUploadEnds(*MakeCudaDevice(0)); }

}  // namespace
}  // namespace chatty::test
