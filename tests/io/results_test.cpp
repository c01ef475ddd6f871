#include "chatty/io/results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "chatty/core/error.h"
#include "test_files.h"

namespace chatty {
namespace {

using test::ErrorOf;
using test::Gzip;

class ResultsTest : public test::WithFiles {
 protected:
  template <class T>
  std::string Text(std::vector<T> values, ResultKind kind, int first_id = 0) {
    WriteResultText(Path("values.txt"), first_id, std::span<const T>(values), kind);
    return Slurp(Path("values.txt"));
  }
  std::string Fault(const std::string& text, ResultKind kind = ResultKind::kNumber) {
    const std::string path = Write("values.txt", text);
    const std::string error = ErrorOf<InputError>([&] { ReadResultText<std::int32_t>(path, 3, 1, kind); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
};

template <class T>
std::vector<T> Copy(const Array<T>& array) {
  return {array.begin(), array.end()};
}

TEST_F(ResultsTest, LinesAreInIdOrderFromTheFirstId) {
  EXPECT_EQ(Text<std::uint32_t>({7, 0, 9}, ResultKind::kNumber), "0 7\n1 0\n2 9\n");
  EXPECT_EQ(Text<std::int64_t>({-7, 0}, ResultKind::kNumber, 1), "1 -7\n2 0\n");
  EXPECT_EQ(Text<double>({}, ResultKind::kNumber), "");
}

TEST_F(ResultsTest, UnreachedIsInfinity) {
  EXPECT_EQ(Text<std::uint32_t>({1, kInfinity<std::uint32_t>}, ResultKind::kDistance), "0 1\n1 infinity\n");
  EXPECT_EQ(Text<std::int32_t>({kInfinity<std::int32_t>}, ResultKind::kDistance), "0 infinity\n");
  EXPECT_EQ(Text<std::uint64_t>({kInfinity<std::uint64_t>}, ResultKind::kDistance), "0 infinity\n");
  EXPECT_EQ(Text<float>({1.5f, kInfinity<float>}, ResultKind::kDistance), "0 1.5\n1 infinity\n");
  EXPECT_EQ(Text<std::uint32_t>({4294967295u}, ResultKind::kNumber), "0 4294967295\n") << "a number is no marker";
}

TEST_F(ResultsTest, VerticesAreInTheFilesOwnIds) {
  EXPECT_EQ(Text<std::uint32_t>({0, 4, kInfinity<std::uint32_t>}, ResultKind::kVertex, 1), "1 1\n2 5\n3 -1\n");
  EXPECT_EQ(Text<std::uint64_t>({0, kInfinity<std::uint64_t>}, ResultKind::kVertex, 0), "0 0\n1 -1\n");
  EXPECT_EQ(Text<std::uint32_t>({4294967294u}, ResultKind::kVertex, 1), "1 4294967295\n") << "shifted without wrapping";
}

TEST_F(ResultsTest, FloatsAreShortest) {
  EXPECT_EQ(Text<double>({0.1, 1.0 / 3, 1, 1e-7}, ResultKind::kNumber), "0 0.1\n1 0.3333333333333333\n2 1\n3 1e-07\n");
  EXPECT_EQ(Text<float>({0.1f, 1.0f / 3}, ResultKind::kNumber), "0 0.1\n1 0.33333334\n");
}

template <class T>
class ResultRoundTripTest : public test::WithFiles {};
using Types = ::testing::Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(ResultRoundTripTest, Types);

TYPED_TEST(ResultRoundTripTest, TextAndNumPy) {
  std::mt19937_64 random(2);
  std::vector<TypeParam> values(5000);
  for (auto& value : values) {
    const std::uint64_t bits = random() >> 1;  // as a distance or vertex has no sign
    if constexpr (std::is_integral_v<TypeParam>) {
      value = static_cast<TypeParam>(bits) & (std::numeric_limits<TypeParam>::max() >> 1);
    } else {
      do {
        const std::uint64_t pattern = random() >> 1;
        std::memcpy(&value, &pattern, sizeof value);
      } while (!std::isfinite(value));
    }
  }
  values[17] = kInfinity<TypeParam>;
  const auto n = static_cast<VertexId>(values.size());
  for (const std::string name : {"v.txt", "v.txt.gz", "v.txt.zst", "v.npy"}) {
    for (const ResultKind kind : {ResultKind::kDistance, ResultKind::kVertex}) {
      if (std::is_floating_point_v<TypeParam> && kind == ResultKind::kVertex) continue;
      WriteResult(this->Path(name), 1, std::span<const TypeParam>(values), kind);
      EXPECT_EQ(Copy(ReadResult<TypeParam>(this->Path(name), n, 1, kind)), values) << name;
    }
  }
}

TEST_F(ResultsTest, NumPyBytes) {
  const std::vector<std::int32_t> values = {1, -2, 3};
  WriteResultNpy(Path("v.npy"), std::span<const std::int32_t>(values));
  const std::string bytes = Slurp(Path("v.npy"));
  ASSERT_EQ(bytes.size(), 128u + 12u);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 60), "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }   ");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(std::memcmp(bytes.data() + 128, values.data(), 12), 0);
}

TEST_F(ResultsTest, NumPyConvertsOnlyWithoutLoss) {
  const std::vector<std::uint32_t> values = {1, 2, kInfinity<std::uint32_t>};
  WriteResultNpy(Path("v.npy"), std::span<const std::uint32_t>(values));
  EXPECT_EQ(Copy(ReadResultNpy<std::uint64_t>(Path("v.npy"), 3)),
            (std::vector<std::uint64_t>{1, 2, kInfinity<std::uint64_t>}));
  EXPECT_THROW(ReadResultNpy<std::int32_t>(Path("v.npy"), 3), InputError);
  EXPECT_THROW(ReadResultNpy<float>(Path("v.npy"), 3), InputError);
  EXPECT_THROW(ReadResultNpy<std::uint32_t>(Path("v.npy"), 4), InputError);
}

TEST_F(ResultsTest, DamagedNumPyIsRefused) {
  const std::vector<double> values = {1, 2, 3};
  WriteResultNpy(Path("v.npy"), std::span<const double>(values));
  const std::string good = Slurp(Path("v.npy"));
  for (const std::size_t kept : {0u, 5u, 8u, 9u, 60u, 128u, 150u}) {
    EXPECT_THROW(ReadResultNpy<double>(Write("bad.npy", good.substr(0, kept)), 3), InputError) << kept;
  }
  EXPECT_THROW(ReadResultNpy<double>(Write("bad.npy", good + "x"), 3), InputError);
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    return Write("bad.npy", bad);
  };
  EXPECT_THROW(ReadResultNpy<double>(with("(3,), ", "(3, 1)"), 3), InputError);
  EXPECT_THROW(ReadResultNpy<double>(with("(3,)", "(  )"), 3), InputError);
  EXPECT_THROW(ReadResultNpy<double>(with("'shape'", "'shade'"), 3), InputError);
  EXPECT_THROW(ReadResultNpy<double>(with("<f8", ">f8"), 3), InputError);
  EXPECT_THROW(ReadResultNpy<double>(with("\x01", "\x09"), 3), InputError);
  EXPECT_NO_THROW(ReadResultNpy<double>(with("(3,), }", "(3, ) }"), 3)) << "blanks are free";
}

TEST_F(ResultsTest, OtherProgramsTextIsRead) {
  const std::string text = "# from elsewhere\r\n3 9223372036854775807\r\n1 0\r\n\n2 Infinity";
  for (const std::string& content : {text, Gzip(text)}) {
    const auto values = ReadResultText<std::int32_t>(Write("values.txt", content), 3, 1, ResultKind::kDistance);
    EXPECT_EQ(Copy(values), (std::vector<std::int32_t>{0, kInfinity<std::int32_t>, kInfinity<std::int32_t>}));
  }
  EXPECT_EQ(Copy(ReadResultText<double>(Write("values.txt", "0 1.0e+00\n1 INF\n"), 2, 0, ResultKind::kDistance)),
            (std::vector<double>{1, kInfinity<double>}));
}

TEST_F(ResultsTest, IncompleteAndWrongTextIsRefusedWithItsLine) {
  EXPECT_TRUE(Fault("1 0\n2 0\n").starts_with(":2: ends with 2 of 3 vertices; the first without a value is 3"));
  EXPECT_TRUE(Fault("").starts_with(":0: ends with 0 of 3"));
  EXPECT_TRUE(Fault("1 0\n2 0\n2 0\n3 0\n").starts_with(":3: vertex 2 has a value already"));
  EXPECT_TRUE(Fault("1 0\n0 0\n").starts_with(":2: vertex id 0 is none of the graph's, which go from 1 to 3"));
  EXPECT_TRUE(Fault("1 0\n4 0\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("1 0\n-2 0\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("1 0\n2\n").starts_with(":2: vertex 2 has no value"));
  EXPECT_TRUE(Fault("1 0\n2 x\n").starts_with(":2: 'x'"));
  EXPECT_TRUE(Fault("1 0\n2 0.5\n").starts_with(":2: '0.5'"));
  EXPECT_TRUE(Fault("1 0\n2 5000000000\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("1 0\n2 infinity\n").starts_with(":2:")) << "a number has no infinity in an integer";
  EXPECT_TRUE(Fault("1 1\n2 0\n", ResultKind::kVertex).starts_with(":2:")) << "vertex 0 in a file that numbers from 1";
  EXPECT_TRUE(Fault("1 0 0\n").starts_with(":1:"));
}

}  // namespace
}  // namespace chatty
