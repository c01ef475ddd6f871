// What is kept of a calibration. The first byte: whether the checksum is made right; then comes the text.

#include <string>

#include "chatty/comm/calibration.h"
#include "chatty/core/hash.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty;
  if (size < 1) return -1;
  constexpr std::string_view kFingerprint = "a machine\n";
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) == 0) {
    text.erase(std::min(text.rfind("checksum "), text.size()));
    std::uint64_t sum = Hash(text.size());
    for (const char c : text) sum = Hash(sum ^ static_cast<unsigned char>(c));
    text += fmt::format("checksum {:016x}\n", sum);
  }
  Calibration calibration;
  if (!fuzz::Attempt([&] { calibration = ParseCalibration(text, kFingerprint); })) return 0;
  const std::string written = CalibrationText(kFingerprint, calibration);
  const Calibration again = ParseCalibration(written, kFingerprint);
  fuzz::Expect(CalibrationText(kFingerprint, again) == written, "written again, it is another text");
  return 0;
}
