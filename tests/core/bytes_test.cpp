// Amounts of memory as text, and what the host has left.
#include "chatty/core/bytes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "chatty/core/error.h"
#include "chatty/core/host_memory.h"

namespace chatty {
namespace {

TEST(Bytes, AreRead) {
  EXPECT_EQ(ParseBytes("1"), 1u);
  EXPECT_EQ(ParseBytes("4096"), 4096u);
  EXPECT_EQ(ParseBytes("17 B"), 17u);
  EXPECT_EQ(ParseBytes("500M"), 500u << 20);
  EXPECT_EQ(ParseBytes("2G"), std::uint64_t{2} << 30);
  EXPECT_EQ(ParseBytes("1.5GiB"), std::uint64_t{3} << 29);
  EXPECT_EQ(ParseBytes("1.5 gib"), std::uint64_t{3} << 29);
  EXPECT_EQ(ParseBytes("3kB"), 3000u);
  EXPECT_EQ(ParseBytes("3K"), 3072u);
  EXPECT_EQ(ParseBytes("2TB"), 2000000000000u);
  EXPECT_EQ(ParseBytes("0.5K"), 512u);
  for (const char* text : {"", " ", "0", "0M", "-1", "-1G", "M", "1X", "1GG", "1GiBs", "1 M B", "nan", "inf", "1e3", "0x10",
                           "1G ", "99999999999G", "18446744073709551616"}) {
    EXPECT_FALSE(ParseBytes(text).has_value()) << text;
  }
}

TEST(Bytes, AreWritten) {
  EXPECT_EQ(FormatBytes(0), "0 bytes");
  EXPECT_EQ(FormatBytes(1023), "1023 bytes");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(12345678), "11.8 MiB");
  EXPECT_EQ(FormatBytes(std::uint64_t{200} << 40), "200 TiB");
  EXPECT_EQ(ExactBytes(7), "7 bytes");
  EXPECT_EQ(ExactBytes(1289748), "1,289,748 bytes (1.23 MiB)");
}

class HostMemory : public testing::Test {
 protected:
  HostMemory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "chatty-core-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    Put("/proc/meminfo", "MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:    4000 kB\n");
  }
  ~HostMemory() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::uint64_t Available() const { return AvailableHostMemory(root_); }
  std::string root_;
};

TEST_F(HostMemory, IsTheKernelsEstimateWithoutCgroups) {
  EXPECT_EQ(Available(), 4000u * 1024);
  std::filesystem::remove(root_ + "/proc/meminfo");
  EXPECT_EQ(Available(), 0u) << "unknown";
}

TEST_F(HostMemory, RespectsVersion2AndWhatIsAbove) {
  Put("/proc/self/cgroup", "0::/a/b\n");
  Put("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Put("/sys/fs/cgroup/a/b/memory.current", "500\n");
  EXPECT_EQ(Available(), 4000u * 1024);
  Put("/sys/fs/cgroup/a/memory.max", "1000000\n");
  Put("/sys/fs/cgroup/a/memory.current", "700000\n");
  EXPECT_EQ(Available(), 300000u);
  Put("/sys/fs/cgroup/a/memory.stat", "anon 600000\ninactive_file 100000\nactive_file 5\n");
  EXPECT_EQ(Available(), 400000u) << "cache that can go counts as free";
  Put("/sys/fs/cgroup/a/b/memory.max", "600\n");
  EXPECT_EQ(Available(), 100u);
  Put("/sys/fs/cgroup/a/b/memory.current", "700\n");
  EXPECT_EQ(Available(), 1u) << "known, and nothing left";
}

TEST_F(HostMemory, RespectsVersion1InAContainer) {
  Put("/proc/self/cgroup", "12:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n0::/docker/x\n");
  Put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");  // the mount shows the container's own group as root
  Put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n");
  Put("/sys/fs/cgroup/memory/memory.stat", "cache 7\ntotal_inactive_file 50000\n");
  EXPECT_EQ(Available(), 150000u);
}

TEST_F(HostMemory, TheLimitOfThreadsIsNamed) {
  const auto named = [&](std::uint64_t wanted) { return DescribeThreadLimit(ReadThreadLimits(root_), wanted); };
  Put("/proc/sys/kernel/threads-max", "63000\n");
  EXPECT_EQ(ReadThreadLimits(root_).of_system, 63000u);
  Put("/proc/self/cgroup", "7:pids:/x\n0::/a/b\n");
  Put("/sys/fs/cgroup/a/b/pids.max", "max\n");
  Put("/sys/fs/cgroup/a/pids.max", "64\n");
  Put("/sys/fs/cgroup/a/pids.current", "60\n");
  const std::string group = "the limit is the control group's, 64 with 60 in use (/sys/fs/cgroup/a/pids.max)";
  EXPECT_EQ(named(5), group);
  EXPECT_NE(named(4), group) << "so many were left";
  Put("/sys/fs/cgroup/pids/pids.max", "9\n");
  Put("/sys/fs/cgroup/pids/pids.current", "9\n");
  EXPECT_EQ(named(1), "the limit is the control group's, 9 with 9 in use (/sys/fs/cgroup/pids/pids.max)");

  ThreadLimits limits;
  EXPECT_EQ(DescribeThreadLimit(limits, 1), "which limit that is, is not known");
  limits.of_system = 63000;
  EXPECT_NE(DescribeThreadLimit(limits, 1).find("kernel.threads-max is 63000"), std::string::npos);
  limits.of_memory = std::uint64_t{1} << 30;
  EXPECT_NE(DescribeThreadLimit(limits, 1).find("RLIMIT_AS, 1.00 GiB"), std::string::npos) << DescribeThreadLimit(limits, 1);
  limits.of_user = 10;
  limits.user_used = 8;
  EXPECT_EQ(DescribeThreadLimit(limits, 3), "the limit is RLIMIT_NPROC, 10 for this user, with 8 in use (ulimit -u)");
  EXPECT_NE(DescribeThreadLimit(limits, 2).find("RLIMIT_AS"), std::string::npos);
}

class ThreadVariables : public testing::Test {
 protected:
  ~ThreadVariables() override {
    ::unsetenv("OMP_NUM_THREADS");
    ::unsetenv("OMP_THREAD_LIMIT");
  }
};

TEST_F(ThreadVariables, AreBoundedAndWellFormed) {
  for (const char* good : {"1", " 4 ", "4096", "4,2", "4, 20000"}) {
    ::setenv("OMP_NUM_THREADS", good, 1);
    EXPECT_NO_THROW(CheckThreadVariables()) << good;
  }
  for (const char* bad : {"", " ", "0", "-1", "four", "4x", "4,", ",4", "4097", "20000", "99999999999999999999999"}) {
    ::setenv("OMP_NUM_THREADS", bad, 1);
    EXPECT_THROW(CheckThreadVariables(), UsageError) << bad;
  }
  ::unsetenv("OMP_NUM_THREADS");
  for (const char* bad : {"", "0", "1,2", "many"}) {
    ::setenv("OMP_THREAD_LIMIT", bad, 1);
    EXPECT_THROW(CheckThreadVariables(), UsageError) << bad;
  }
  ::setenv("OMP_THREAD_LIMIT", "20000", 1);
  EXPECT_NO_THROW(CheckThreadVariables()) << "more may run than anybody asks for";
}

TEST(HostMemoryHere, IsKnown) { EXPECT_GT(AvailableHostMemory(), 1u << 20); }

}  // namespace
}  // namespace chatty
