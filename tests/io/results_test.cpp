#include "chatty/io/results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

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
  template <class T>
  static std::string NpyName() {
    return fmt::format("{}{}{}", sizeof(T) == 1 ? '|' : '<',
                       std::is_floating_point_v<T> ? 'f'
                       : std::is_signed_v<T>       ? 'i'
                                                   : 'u',
                       sizeof(T));
  }
  /// An array as NumPy writes it.
  template <class T>
  std::string Npy(const std::vector<T>& values) {
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", NpyName<T>(), values.size());
    header.resize(118, ' ');
    header.back() = '\n';
    std::string bytes("\x93NUMPY\x01\x00\x76\x00", 10);
    bytes += header;
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return Write("values.npy", bytes);
  }
  std::string Fault(const std::string& text, ResultKind kind = ResultKind::kNumber) {
    const std::string path = Write("values.txt", text);
    const std::string error = ErrorOf<InputError>([&] { ReadResultText<std::int32_t>(path, 3, 1, kind); });
    EXPECT_TRUE(error.starts_with(path)) << error;
    return error.size() > path.size() ? error.substr(path.size()) : "";
  }
};

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
      EXPECT_EQ(test::Copy(ReadResult<TypeParam>(this->Path(name), n, 1, kind)), values) << name;
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

TEST_F(ResultsTest, NumPyArraysOfEveryTypeAreRead) {
  const std::vector<std::uint32_t> levels = {1, 2, kInfinity<std::uint32_t>};
  const auto expect = [&](const std::string& path) {
    EXPECT_EQ(test::Copy(ReadResultNpy<std::uint32_t>(path, 3)), levels);
    EXPECT_EQ(test::Copy(ReadResultNpy<std::int32_t>(path, 3)), (std::vector<std::int32_t>{1, 2, kInfinity<std::int32_t>}));
    EXPECT_EQ(test::Copy(ReadResultNpy<std::uint64_t>(path, 3)),
              (std::vector<std::uint64_t>{1, 2, kInfinity<std::uint64_t>}));
    EXPECT_EQ(test::Copy(ReadResultNpy<float>(path, 3)), (std::vector<float>{1, 2, kInfinity<float>}));
    EXPECT_THROW(ReadResultNpy<std::uint32_t>(path, 4), InputError);
  };
  const auto each = [&]<class... T>(T...) {
    (([&] {
       SCOPED_TRACE(NpyName<T>());
       expect(Npy<T>({1, 2, std::is_floating_point_v<T> ? kInfinity<T> : std::numeric_limits<T>::max()}));
       if (std::is_signed_v<T>) expect(Npy<T>({1, 2, static_cast<T>(-1)}));
     }()),
     ...);
  };
  each(std::int8_t{}, std::uint8_t{}, std::int16_t{}, std::uint16_t{}, std::int32_t{}, std::uint32_t{}, std::int64_t{},
       std::uint64_t{}, float{}, double{});
  EXPECT_EQ(test::Copy(ReadResultNpy<float>(Npy<double>({0.1, 1e-60}), 2)), (std::vector<float>{0.1f, 0.0f})) << "rounded";
  EXPECT_EQ(test::Copy(ReadResultNpy<std::int32_t>(Npy<std::int64_t>({-1}), 1, ResultKind::kNumber)),
            (std::vector<std::int32_t>{-1}))
      << "a number is no marker";
}

TEST_F(ResultsTest, ImpossibleNumbersAreToldFromBrokenFiles) {
  const auto npy = [&](const std::string& path) {
    return ErrorOf<ImpossibleValueError>([&] { ReadResultNpy<std::uint32_t>(path, 2); });
  };
  EXPECT_NE(npy(Npy<std::int64_t>({0, 4294967296})).find("entry 1 is 4294967296"), std::string::npos);
  EXPECT_NE(npy(Npy<std::int8_t>({0, -2})).find("entry 1 is -2"), std::string::npos);
  EXPECT_NE(npy(Npy<double>({0, 0.5})).find("entry 1 is 0.5"), std::string::npos);
  EXPECT_NE(npy(Npy<double>({0, std::nan("")})).find("entry 1 is nan"), std::string::npos);
  EXPECT_THROW(ReadResultNpy<float>(Npy<double>({1e300}), 1), ImpossibleValueError) << "not taken for unreached";
  EXPECT_EQ(test::Copy(ReadResultNpy<std::uint32_t>(Npy<std::int64_t>({4294967294}), 1)),
            (std::vector<std::uint32_t>{4294967294u}));

  const auto text = [&](const std::string& value, ResultKind kind) {
    const std::string path = Write("values.txt", "1 1\n2 " + value + "\n");
    const std::string error = ErrorOf<ImpossibleValueError>([&] { ReadResultText<std::uint32_t>(path, 2, 1, kind); });
    EXPECT_TRUE(error.starts_with(path + ":2: vertex 2 has the value '" + value + "'")) << error;
  };
  for (const char* value : {"-2", "-2.0", "0.5", "4294967296", "99999999999999999999999", "1e400"}) {
    text(value, ResultKind::kDistance);
  }
  for (const char* value : {"0", "-2", "0.0"}) text(value, ResultKind::kVertex);
  // What is malformed further down is the worse fault.
  EXPECT_TRUE(Fault("1 5000000000\n2 x\n3 0\n").starts_with(":2: 'x'"));
  EXPECT_TRUE(Fault("1 5000000000\n2 0\n").starts_with(":2: ends with 2 of 3"));
}

TEST_F(ResultsTest, TextIntegersMayBeWrittenAsReals) {
  const std::string path = Write("values.txt", "0 0.0\n1 1e1\n2 -1\n3 -1.0\n4 inf\n");
  constexpr auto kNone = kInfinity<std::uint32_t>;
  EXPECT_EQ(test::Copy(ReadResultText<std::uint32_t>(path, 5, 0, ResultKind::kDistance)),
            (std::vector<std::uint32_t>{0, 10, kNone, kNone, kNone}));
  EXPECT_EQ(test::Copy(ReadResultText<std::int32_t>(path, 5, 0, ResultKind::kNumber)),
            (std::vector<std::int32_t>{0, 10, -1, -1, kInfinity<std::int32_t>}));
  const std::string parents = Write("parents.txt", "1 1.0\n2 1.000\n3 -1.0\n");
  EXPECT_EQ(test::Copy(ReadResultText<std::uint32_t>(parents, 3, 1, ResultKind::kVertex)),
            (std::vector<std::uint32_t>{0, 0, kNone}));
  EXPECT_EQ(test::Copy(ReadResultText<float>(Write("values.txt", "0 -1\n1 1e-60\n"), 2, 0, ResultKind::kDistance)),
            (std::vector<float>{kInfinity<float>, 0}));
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
    EXPECT_EQ(test::Copy(values), (std::vector<std::int32_t>{0, kInfinity<std::int32_t>, kInfinity<std::int32_t>}));
  }
  EXPECT_EQ(test::Copy(ReadResultText<double>(Write("values.txt", "0 1.0e+00\n1 INF\n"), 2, 0, ResultKind::kDistance)),
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
  EXPECT_TRUE(Fault("1 1\n2 infinity\n", ResultKind::kVertex).starts_with(":2: 'infinity'")) << "no vertex is";
  EXPECT_TRUE(Fault("1 0\n2 nan\n").starts_with(":2: 'nan'")) << "in an integer";
  EXPECT_TRUE(Fault("1 0\n2 0x1\n").starts_with(":2: '0x1'"));
  EXPECT_TRUE(Fault("1 0 0\n").starts_with(":1:"));
}

}  // namespace
}  // namespace chatty
