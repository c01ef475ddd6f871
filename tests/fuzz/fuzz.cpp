#include "fuzz.h"

#include <omp.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "chatty/core/logging.h"
#include "chatty/core/progress.h"

namespace chatty::fuzz {
namespace {

namespace fs = std::filesystem;

fs::path MemoryFolder() {
  std::error_code error;
  const fs::path shared = "/dev/shm";
  if (fs::is_directory(shared, error) && ::access(shared.c_str(), W_OK | X_OK) == 0) return shared;
  return fs::temp_directory_path();
}

}  // namespace

Scratch::Scratch() {
  std::string pattern = (MemoryFolder() / fmt::format("chatty-fuzz-{}-XXXXXX", ::getpid())).string();
  if (::mkdtemp(pattern.data()) == nullptr) Report("no folder for files can be made");
  folder_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Scratch::Write(std::string_view name, std::string_view content) const {
  std::string path = Path(name);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  if (!file.flush()) Report("a file could not be written: " + path);
  return path;
}

void Scratch::Clear() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) fs::remove_all(entry.path());
}

const Scratch& Files() {
  static const Scratch files;
  return files;
}

void Report(std::string_view what) {
  std::fprintf(stderr, "FUZZ: %.*s\n", static_cast<int>(what.size()), what.data());
  std::fflush(stderr);
  std::abort();
}

void CheckText(std::string_view text) {
  Expect(!text.empty(), "an error without a text");
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    Expect(byte >= 0x20 && byte != 0x7f, "an error with the character {:#x} in it: {}", byte, text);
  }
}

std::string Packed(std::string_view content) {
  std::string packed(ZSTD_compressBound(content.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), 1));
  return packed;
}

}  // namespace chatty::fuzz

// A machine of little memory: what a header may claim at most is then little enough to be tried. Linked with --wrap=sysconf.
extern "C" long __real_sysconf(int name);   // NOLINT(bugprone-reserved-identifier): the linker calls it so
extern "C" long __wrap_sysconf(int name) {  // NOLINT(bugprone-reserved-identifier)
  constexpr long kMemory = 8l << 20;
  return name == _SC_PHYS_PAGES ? kMemory / __real_sysconf(_SC_PAGESIZE) : __real_sysconf(name);
}

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  omp_set_num_threads(2);
  chatty::SetLogLevel("off");
  chatty::Progress::SetEnabled(false);
  return 0;
}
