#include "chatty/comm/calibration.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../sanitized.h"
#include "chatty/comm/calibration/probes.h"
#include "chatty/comm/transport.h"
#include "chatty/core/config.h"
#include "chatty/core/error.h"
#include "chatty/core/hash.h"
#include "machines.h"

namespace chatty {
namespace {

namespace fs = std::filesystem;

/// A cache folder of the test's own.
class CacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / fmt::format("chatty_{}_{}", test.name(), ::getpid());
    fs::remove_all(folder_);
    if (const char* const before = std::getenv("CHATTY_CACHE_DIR")) before_ = before;
    setenv("CHATTY_CACHE_DIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    if (before_) {
      setenv("CHATTY_CACHE_DIR", before_->c_str(), 1);
    } else {
      unsetenv("CHATTY_CACHE_DIR");
    }
    fs::permissions(folder_, fs::perms::owner_all, ignored_);
    fs::remove_all(folder_, ignored_);
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  fs::path folder_;
  std::optional<std::string> before_;
  std::error_code ignored_;
};

Calibration Example() {
  Calibration calibration;
  Cost cost{12.25, 1.0 / 3, 1e-9, 1e-10, 1.5, 0.01, 524288};
  CostModel model({"staged", "p2p-copy"}, 3);
  model.set_cost(0, 0, 1, MeasuredLoad::kAlone, cost);
  cost.beta_us_per_byte = 2.5e-6;
  model.set_cost(1, 2, 0, MeasuredLoad::kAllToAll, cost);
  cost.largest += 1;
  model.set_cost(0, 1, 2, MeasuredLoad::kAlone, cost);
  model.set_cost(1, 2, 2, MeasuredLoad::kAllToAll, cost);
  model.set_measured(true);
  calibration.model = model;
  calibration.quick = true;
  calibration.seconds = 1.5;
  calibration.notes = {"nccl is not measured: it is not there"};
  return calibration;
}

std::string WithChecksum(const std::string& text) {
  std::uint64_t sum = Hash(text.size());
  for (const char c : text) sum = Hash(sum ^ static_cast<unsigned char>(c));
  return text + fmt::format("checksum {:016x}\n", sum);
}

TEST_F(CacheTest, WhatIsKeptComesBack) {
  const std::string fingerprint = MachineFingerprint(machines::NvSwitch(4));
  LoadedCalibration loaded = LoadCalibration(fingerprint);
  EXPECT_FALSE(loaded.calibration);
  EXPECT_EQ(loaded.why, "") << "nothing was kept";
  SaveCalibration(fingerprint, Example());
  EXPECT_EQ(CalibrationFile(fingerprint).rfind(folder_.string(), 0), 0u);
  loaded = LoadCalibration(fingerprint);
  ASSERT_TRUE(loaded.calibration) << loaded.why;
  EXPECT_EQ(*loaded.calibration, Example());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing is left beside it";
  Calibration other = Example();
  other.quick = false;
  SaveCalibration(fingerprint, other);
  EXPECT_EQ(*LoadCalibration(fingerprint).calibration, other);
}

TEST_F(CacheTest, SeedsOfTheFuzzerAreOfThisVersion) {
  for (const char* seed : {"cost", "broadcast"}) {
    const std::string text = Read(std::string(CHATTY_SOURCE_DIR "/tests/fuzz/corpus/costs/") + seed).substr(1);
    const Calibration calibration = ParseCalibration(WithChecksum(text), "a machine\n");
    const CostModel& model = calibration.model;
    EXPECT_EQ(model.cost(0, 0, 1).exists(), seed == std::string_view("cost"));
    EXPECT_EQ(calibration.notes.size(), seed == std::string_view("cost") ? 1u : 0u);
    EXPECT_EQ(model.cost(0, 1, 1, MeasuredLoad::kAllToAll).exists(), seed == std::string_view("broadcast"));
  }
}

TEST_F(CacheTest, EveryDamageIsNoticed) {
  const std::string fingerprint = "a machine\nof two lines\n";
  SaveCalibration(fingerprint, Example());
  const std::string path = CalibrationFile(fingerprint), text = Read(path);
  ASSERT_EQ(text, CalibrationText(fingerprint, Example()));
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_THROW(ParseCalibration(text.substr(0, length), fingerprint), InputError) << "cut after " << length;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THROW(ParseCalibration(damaged, fingerprint), InputError) << "byte " << i << " flipped";
  }
  EXPECT_THROW(ParseCalibration(text + "\n", fingerprint), InputError);
  EXPECT_THROW(ParseCalibration(text, "another machine\nof two lines\n"), InputError);

  Write(path, text.substr(0, text.size() / 2));
  LoadedCalibration loaded = LoadCalibration(fingerprint);
  EXPECT_FALSE(loaded.calibration);
  EXPECT_NE(loaded.why.find("damaged"), std::string::npos) << loaded.why;
  EXPECT_NE(loaded.why.find(path), std::string::npos) << loaded.why;
  SaveCalibration(fingerprint, Example());
  EXPECT_TRUE(LoadCalibration(fingerprint).calibration);
}

/// The text with another figure in its first cost and a checksum that is right.
std::string WithFigure(std::string text, std::size_t word, std::string_view figure) {
  std::size_t at = text.find("[[0,0,1,") + 2;
  for (; word > 0; --word) at = text.find(',', at) + 1;
  text.replace(at, text.find_first_of(",]", at) - at, figure);
  return WithChecksum(text.substr(0, text.rfind("checksum ")));
}

TEST_F(CacheTest, FiguresThatNoMachineHasAreRefused) {
  const std::string fingerprint = "machine\n", text = CalibrationText(fingerprint, Example());
  for (std::size_t word = 0; word <= 10; ++word) {  // indices, and the figures of a cost
    EXPECT_NO_THROW(ParseCalibration(WithFigure(text, word, "1"), fingerprint));
    for (const std::string_view figure : {"1e308", "-1", "inf", "nan", "much"}) {
      EXPECT_THROW(ParseCalibration(WithFigure(text, word, figure), fingerprint), InputError) << word << ": " << figure;
    }
  }
  for (const std::size_t word :
       {5u, 8u, 10u}) {  // time per byte, factor of bitmaps, largest block: others are divided by them
    for (const std::string_view figure : {"0", "-0.0", "1e-300"}) {
      EXPECT_THROW(ParseCalibration(WithFigure(text, word, figure), fingerprint), InputError) << word << ": " << figure;
    }
  }
  fs::create_directories(folder_);
  Write(CalibrationFile(fingerprint), WithFigure(text, 5, "0"));
  const LoadedCalibration loaded = LoadCalibration(fingerprint);
  EXPECT_FALSE(loaded.calibration);
  EXPECT_NE(loaded.why.find("is damaged"), std::string::npos) << loaded.why;
}

TEST_F(CacheTest, OtherVersionsAreNotTrusted) {
  const std::string fingerprint = "machine\n";
  std::string text = CalibrationText(fingerprint, Example());
  text = WithChecksum("chatty-calibration 9" + text.substr(21, text.rfind("checksum ") - 21));
  fs::create_directories(folder_);
  Write(CalibrationFile(fingerprint), text);
  const LoadedCalibration loaded = LoadCalibration(fingerprint);
  EXPECT_FALSE(loaded.calibration);
  EXPECT_NE(loaded.why.find("another version"), std::string::npos) << loaded.why;
}

TEST_F(CacheTest, CostsOfNothingOrOfOtherDevicesAreNotTrusted) {
  const std::string fingerprint = "machine\n";
  const Calibration example = Example();
  const std::size_t devices = example.model.devices();
  SaveCalibration(fingerprint, example);
  EXPECT_TRUE(LoadCalibration(fingerprint, devices).calibration);
  const LoadedCalibration loaded = LoadCalibration(fingerprint, devices + 1);
  EXPECT_FALSE(loaded.calibration);
  EXPECT_NE(loaded.why.find("it has costs of"), std::string::npos) << loaded.why;
  Calibration of_no_paths = example;
  of_no_paths.model = CostModel(std::vector<std::string>{}, devices);
  EXPECT_THROW(ParseCalibration(CalibrationText(fingerprint, of_no_paths), fingerprint), InputError);
  Calibration of_no_time = example;
  of_no_time.seconds = -1;
  EXPECT_THROW(ParseCalibration(CalibrationText(fingerprint, of_no_time), fingerprint), InputError);
}

TEST_F(CacheTest, WhatIsNoFileIsCalledWhatItIs) {
  fs::create_directories(CalibrationFile("machine\n"));
  const LoadedCalibration loaded = LoadCalibration("machine\n");
  EXPECT_FALSE(loaded.calibration);
  EXPECT_TRUE(loaded.why.ends_with(" is no file that can be read")) << loaded.why;
  fs::remove(CalibrationFile("machine\n"));
  ASSERT_EQ(::mkfifo(CalibrationFile("machine\n").c_str(), 0600), 0);
  EXPECT_TRUE(LoadCalibration("machine\n").why.ends_with(" is no file that can be read")) << "and nobody waits for a writer";
}

TEST_F(CacheTest, FoldersThatCannotBeWritten) {
  Write(folder_.string(), "a file");
  EXPECT_THROW(SaveCalibration("machine\n", Example()), InputError);
  EXPECT_FALSE(LoadCalibration("machine\n").calibration);
  fs::remove(folder_);
  unsetenv("CHATTY_CACHE_DIR");
  const char* const home = std::getenv("HOME");
  const std::string kept = home == nullptr ? "" : home;
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(CacheFolder(), "/home/somebody/.cache/chatty");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(CacheFolder(), "/cache/chatty");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(CacheFolder(), "");
  EXPECT_THROW(SaveCalibration("machine\n", Example()), InputError);
  EXPECT_FALSE(LoadCalibration("machine\n").calibration);
  if (home != nullptr) setenv("HOME", kept.c_str(), 1);
}

TEST_F(CacheTest, KnownCostsAreKeptOnesElseNominal) {
  const Topology topology = machines::NvSwitch(4);
  EXPECT_EQ(KnownCosts(topology), CostModel::Nominal(topology));
  Calibration calibration = Example();
  calibration.model = CostModel::Nominal(topology);
  EXPECT_FALSE(calibration.model.Joins(0, 0, 1)) << "'host' joins no GPUs";
  calibration.model = CostModel({"p2p-copy"}, 4);
  const Cost cost{.alpha_us = 7, .beta_us_per_byte = 1, .largest = 1};
  calibration.model.set_cost(0, 0, 1, MeasuredLoad::kAlone, cost);
  calibration.model.set_measured(true);
  SaveCalibration(MachineFingerprint(topology), calibration);
  CostModel expected = calibration.model;
  expected.SetMachine(topology);
  EXPECT_TRUE(expected.links_apart());
  EXPECT_GT(expected.engine_us(), 0);
  EXPECT_EQ(KnownCosts(topology), expected);
  const std::string fingerprint = MachineFingerprint(topology);
  Write(CalibrationFile(fingerprint), WithFigure(CalibrationText(fingerprint, calibration), 5, "0"));
  EXPECT_EQ(KnownCosts(topology), CostModel::Nominal(topology)) << "no time per byte is 0";
  const LinkMask none = LinkMask::Parse("none", 4);
  EXPECT_EQ(KnownCosts(topology, none), CostModel::Nominal(Masked(topology, none))) << "another mask, other costs";
}

TEST(MachineFingerprint, TellsMachinesApart) {
  std::set<std::string> seen;
  for (const auto& [file, topology] : machines::All()) {
    EXPECT_TRUE(seen.insert(MachineFingerprint(topology)).second) << file;
    EXPECT_TRUE(seen.insert(MachineFingerprint(topology, LinkMask::Parse("none", topology.size()))).second) << file;
    EXPECT_EQ(MachineFingerprint(topology), MachineFingerprint(topology));
  }
  Topology changed = machines::NvSwitch(2);
  const std::string before = MachineFingerprint(changed);
  changed.link(0, 1).nvlinks = changed.link(1, 0).nvlinks = 17;
  EXPECT_NE(MachineFingerprint(changed), before);
  EXPECT_NE(MachineFingerprint(machines::NvSwitch(2), LinkMask::Parse("none", 2)), before);
}

TEST(MachineFingerprint, MasksThatLeaveTheSameLinksAreOne) {
  const auto of = [](std::string_view mask, std::size_t devices) {
    return MachineFingerprint(machines::NvSwitch(devices), LinkMask::Parse(mask, devices));
  };
  for (const char* all : {"pairs {0,1}", "pairs {1,0}", "pairs {0,1}{0,1}"}) EXPECT_EQ(of(all, 2), of("all", 2)) << all;
  EXPECT_EQ(of("pairs {2,3}{1,0}", 4), of("pairs {0,1}{2,3}", 4));
  EXPECT_EQ(of("pairs {0,1,2}", 4), of("pairs {0,1}{1,2}{2,0}", 4));
  EXPECT_EQ(of("pairs {0,1,2,3}", 4), of("all", 4));
  EXPECT_NE(of("pairs {0,1}", 4), of("all", 4));
  EXPECT_NE(of("pairs {0,1}", 4), of("none", 4));
  EXPECT_NE(of("pairs {0,1}{2,3}", 4), of("pairs {0,2}{1,3}", 4));
  EXPECT_EQ(LinkMask::Parse("pairs {2,3}{1,0}", 4).CanonicalText(4), "pairs {0,1}{2,3}");
}

using probes::ProbeBuffer;

TEST(Probes, BuffersAreAsLargeAsMayBe) {
  for (const ProbeBuffer& buffer :
       {ProbeBuffer::Dense(100000), ProbeBuffer::Sparse(100000, 16), ProbeBuffer::Bitmap(100000, 0, 22),
        ProbeBuffer::Bitmap(100000, 1, 22), ProbeBuffer::Bitmap(100000, 5, 22)}) {
    SCOPED_TRACE(testing::Message() << EncodingName(buffer.encoding) << ", " << buffer.shift);
    EXPECT_LE(buffer.bytes(), 100000u);
    EXPECT_GT(buffer.bytes(), 100000u - 140);
    EXPECT_EQ(buffer.entries(), buffer.encoding == Encoding::kDense ? 0 : buffer.items);
  }
  EXPECT_EQ(ProbeBuffer::Dense(0).bytes(), sizeof(probes::Block)) << "one at least";
  EXPECT_EQ(ProbeBuffer::Bitmap(100000, 5, 16).items, 65536u) << "no more places than values";
}

TEST(Probes, WhatIsPackedIsUnpacked) {
  const auto sender = MakeHostDevice(0, 2), receiver = MakeHostDevice(1, 1);
  constexpr unsigned kBits = 16;
  constexpr std::size_t kSize = std::size_t{1} << kBits;
  std::vector<probes::Block> values_a(kSize / 4), values_b(kSize / 4);
  std::vector<std::uint32_t> vertices(kSize), marks_a(kSize / 32, ~0u), marks_b(kSize / 32, ~0u);
  const probes::State a{values_a.front().value, vertices.data(), marks_a.data(), kBits};
  const probes::State b{values_b.front().value, vertices.data(), marks_b.data(), kBits};
  for (const ProbeBuffer& shape :
       {ProbeBuffer::Dense(160000), ProbeBuffer::Sparse(320000, kBits), ProbeBuffer::Sparse(8, kBits),
        ProbeBuffer::Sparse(56000, kBits), ProbeBuffer::Bitmap(150000, 0, kBits), ProbeBuffer::Bitmap(80000, 1, kBits),
        ProbeBuffer::Bitmap(10000, 5, kBits), ProbeBuffer::Bitmap(kSize, 5, kBits)}) {
    SCOPED_TRACE(testing::Message() << EncodingName(shape.encoding) << ", " << shape.items << ", " << shape.shift);
    std::vector<probes::Block> buffer(shape.bytes() / sizeof(probes::Block) + 1);
    auto* const bytes = reinterpret_cast<std::byte*>(buffer.data());
    probes::Run(*sender, {.state = a});
    probes::Run(*receiver, {.state = b});
    probes::Run(*sender, {.state = a, .shape = shape, .packed = bytes});
    probes::Run(*receiver, {.state = b, .shape = shape, .received = bytes});
    std::vector<bool> held(kSize, false);
    for (std::size_t i = 0; i < shape.items; ++i) {
      if (shape.encoding == Encoding::kDense) std::fill_n(held.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, true);
      if (shape.encoding == Encoding::kSparse) held[i * shape.apart] = true;
      if (shape.encoding == Encoding::kBitmap) held[i] = i % (std::size_t{1} << shape.shift) == 0;
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(b.values[i], a.values[i] - (held[i] ? 1 : 0)) << i;
      ASSERT_EQ(marks_b[i / 32] >> (i % 32) & 1u, held[i] && shape.encoding != Encoding::kDense ? 1u : 0u) << i;
    }
  }
}

/// Quick calibrations of these devices: once for all that is asked of them.
class CalibrateTest : public testing::TestWithParam<const char*> {
 protected:
  struct Measured {
    Calibration calibration;
    double seconds;
    std::set<std::string> announced;
  };
  void SetUp() override {
    const std::string selection = GetParam();
    const auto wanted = 1 + std::count(selection.begin(), selection.end(), ',');
    if (selection.starts_with("cuda") && CudaDeviceCount() < wanted) {
      GTEST_SKIP() << selection << " needs " << wanted << " GPUs; this machine has " << CudaDeviceCount();
    }
  }
  static bool OnGpus() { return std::string_view(GetParam()).starts_with("cuda"); }
  static const Measured& Result() {
    static std::map<std::string, Measured> results;
    const auto found = results.find(GetParam());
    if (found != results.end()) return found->second;
    const auto devices = OpenDevices(ParseDevices(GetParam()), 1);
    std::vector<Device*> pointers;
    for (const auto& device : devices) pointers.push_back(device.get());
    Measured measured;
    CalibrationOptions options;
    options.quick = true;
    options.progress = [&](std::string_view what) { measured.announced.emplace(what); };
    const auto start = std::chrono::steady_clock::now();
    measured.calibration = Calibrate(pointers, options);
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return results.emplace(GetParam(), std::move(measured)).first->second;
  }
};

TEST_P(CalibrateTest, CoversEveryPathPairAndLoad) {
  const Calibration& calibration = Result().calibration;
  const CostModel& model = calibration.model;
  const std::size_t n = model.devices();
  EXPECT_TRUE(model.measured());
  EXPECT_TRUE(calibration.notes.empty()) << calibration.notes.front();
  for (const TransportInfo& info : Transports()) {
    const bool joins = AutoMayTake(info.name, OnGpus() ? DeviceKind::kCuda : DeviceKind::kHost);
    EXPECT_EQ(model.Find(info.name) != CostModel::kNoPath, joins) << info.name;
    EXPECT_EQ(Result().announced.count(std::string(info.name)) > 0, joins) << info.name;
  }
  for (std::size_t path = 0; path < model.paths().size(); ++path) {
    for (std::size_t from = 0; from < n; ++from) {
      for (std::size_t to = 0; to < n; ++to) {
        EXPECT_TRUE(model.Joins(path, from, to)) << model.paths()[path];
        for (const MeasuredLoad load : kAllLoads) {
          SCOPED_TRACE(testing::Message() << model.paths()[path] << ", " << LoadName(load) << ", " << from << " to " << to);
          const Cost& cost = model.cost(path, from, to, load);
          ASSERT_TRUE(cost.exists());
          EXPECT_GT(cost.largest, 60 << 10);
          EXPECT_LE(cost.largest, OnGpus() ? 16 << 20 : 1 << 20);
          EXPECT_GE(cost.bitmap_factor, 1);
          EXPECT_TRUE(std::isfinite(cost.error));
          for (const Encoding encoding : kAllEncodings) {
            for (const double bytes : {4.0, 65536.0, 4194304.0}) {
              const double us = cost.Us(encoding, bytes, encoding == Encoding::kDense ? 0 : bytes / 8);
              EXPECT_GT(us, 0);
              EXPECT_TRUE(std::isfinite(us));
            }
          }
          EXPECT_GT(cost.Us(Encoding::kDense, 4 << 20, 0), 1) << "no memory does four terabytes a second twice";
        }
      }
    }
  }
}

TEST_P(CalibrateTest, TellsHowLongItTook) {
  EXPECT_GT(Result().calibration.seconds, 0);
  EXPECT_LE(Result().calibration.seconds, Result().seconds);
}

TEST_P(CalibrateTest, SurvivesBeingKept) {
  const Calibration& calibration = Result().calibration;
  EXPECT_EQ(ParseCalibration(CalibrationText("m\n", calibration), "m\n"), calibration);
}

std::string CaseName(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Host, CalibrateTest, testing::Values("host:2", "host:3", "host:5"), CaseName);
#if CHATTY_WITH_CUDA
INSTANTIATE_TEST_SUITE_P(Cuda, CalibrateTest, testing::Values("cuda:0,1", "cuda:0,1,2,3"), CaseName);
#endif

TEST(Calibrate, RefusesWhatCannotBeMeasured) {
  const auto devices = OpenDevices(ParseDevices("host:2"), 1);
  const std::vector<Device*> pointers{devices[0].get(), devices[1].get()};
  EXPECT_THROW(Calibrate(std::span(pointers).first(1)), UsageError);
}

TEST(Calibrate, LinksThatAreMaskedJoinNobody) {
  const auto devices = OpenDevices(ParseDevices("host:2"), 1);
  const std::vector<Device*> pointers{devices[0].get(), devices[1].get()};
  CalibrationOptions options;
  options.quick = true;
  options.links = LinkMask::Parse("none", 2);
  const CostModel model = Calibrate(pointers, options).model;
  EXPECT_TRUE(model.Joins(model.Find("host"), 0, 1));
  EXPECT_FALSE(model.Joins(model.Find("p2p-direct"), 0, 1));
}

}  // namespace
}  // namespace chatty
