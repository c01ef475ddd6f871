#include "chatty/io/results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>

#include "chatty/core/error.h"
#include "chatty/core/graph.h"
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
  EXPECT_EQ(test::Copy(ReadResultNpy<float>(Npy<double>({0.1, 0.0}), 2)), (std::vector<float>{0.1f, 0.0f})) << "rounded";
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
  const std::string negative = Npy<std::int64_t>({0, -265});  // no vertex, though the type holds it
  EXPECT_THROW(ReadResultNpy<std::int64_t>(negative, 2, ResultKind::kVertex), ImpossibleValueError);
  EXPECT_EQ(ReadResultNpy<std::int64_t>(negative, 2)[1], -265);
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
  EXPECT_EQ(test::Copy(ReadResultText<float>(Write("values.txt", "0 -1\n1 0e-60\n"), 2, 0, ResultKind::kDistance)),
            (std::vector<float>{kInfinity<float>, 0}));
}

TEST_F(ResultsTest, WhatIsNotZeroDoesNotBecomeZero) {
  const auto impossible = [&](auto read, const std::string& says) {
    const std::string error = ErrorOf<ImpossibleValueError>(read);
    EXPECT_NE(error.find(says), std::string::npos) << error;
  };
  constexpr float kMin = std::numeric_limits<float>::denorm_min();
  const std::vector<float> least{kMin, -kMin, 0.0f};
  const auto text = [&](const char* value) { return Write("values.txt", fmt::format("0 {0}\n1 -{0}\n2 0e9\n", value)); };
  for (const char* value : {"1e-320", "1e-46", "1e-400"}) {  // the last is no double either
    const std::string path = text(value);
    const std::string says = fmt::format(":1: vertex 0 has the value '{}', which no correct answer contains", value);
    impossible([&] { ReadResultText<float>(path, 3, 0, ResultKind::kDistance); }, says);
    EXPECT_EQ(test::Copy(ReadResultText<float>(path, 3, 0, ResultKind::kNumber)), least) << value;
    const std::string json = Write("values.json", fmt::format("[{0}, -{0}, 0]", value));
    impossible([&] { ReadResultJson<float>(json, 3, 0, ResultKind::kDistance, nullptr); }, value);
    EXPECT_EQ(test::Copy(ReadResultJson<float>(json, 3, 0, ResultKind::kNumber)), least) << value;
  }
  const std::string wide = text("1e-400");
  impossible([&] { ReadResultText<double>(wide, 3, 0, ResultKind::kDistance); }, "'1e-400'");
  EXPECT_EQ(ReadResultText<double>(wide, 3, 0, ResultKind::kNumber)[1], -std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(ReadResultText<double>(text("1e-320"), 3, 0, ResultKind::kDistance)[0], 1e-320);
  const std::string npy = Npy<double>({1e-320, -1e-320, 0});
  impossible([&] { ReadResultNpy<float>(npy, 3); }, "entry 0 is 1e-320, which no correct answer contains");
  EXPECT_EQ(test::Copy(ReadResultNpy<float>(npy, 3, ResultKind::kNumber)), least);
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
  const std::string escape = ErrorOf<InputError>([&] { ReadResultNpy<double>(with("(3,)", "(3\x1b)"), 3); });
  EXPECT_NE(escape.find("has shape '3\\x1b'"), std::string::npos) << escape;
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

TEST_F(ResultsTest, AByteOrderMarkIsSkipped) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string text = Write("v.txt", mark + "0 5\r\n1 6\r\n"), json = Write("v.json", mark + "[5, 6]");
  for (const std::string& path : {text, json}) {
    EXPECT_EQ(test::Copy(ReadResult<std::int32_t>(path, 2, 0, ResultKind::kNumber)), (std::vector<std::int32_t>{5, 6}));
  }
}

TEST_F(ResultsTest, IncompleteAndWrongTextIsRefusedWithItsLine) {
  EXPECT_TRUE(Fault("1 0\n2 0\n").starts_with(":2: ends with 2 of 3 vertices; the first without a value is 3"));
  EXPECT_TRUE(Fault("").starts_with(": ends with 0 of 3"));
  EXPECT_TRUE(Fault("1 0\n2 0\n2 0\n3 0\n").starts_with(":3: vertex 2 has a value already"));
  EXPECT_TRUE(Fault("1 0\n0 0\n").starts_with(":2: vertex id 0 is not one of the graph's, which go from 1 to 3"));
  EXPECT_TRUE(Fault("1 0\n4 0\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("1 0\n-2 0\n").starts_with(":2:"));
  EXPECT_TRUE(Fault("1 0\n2\n").starts_with(":2: vertex 2 has no value"));
  EXPECT_TRUE(Fault("1 0\n2 x\n").starts_with(":2: 'x'"));
  EXPECT_TRUE(Fault("1 1\n2 infinity\n", ResultKind::kVertex).starts_with(":2: 'infinity'")) << "no vertex is";
  EXPECT_TRUE(Fault("1 0\n2 nan\n").starts_with(":2: 'nan'")) << "in an integer";
  EXPECT_TRUE(Fault("1 0\n2 0x1\n").starts_with(":2: '0x1'"));
  EXPECT_TRUE(Fault("1 0 0\n").starts_with(":1:"));
  EXPECT_TRUE(Fault("1,0\n2,\n").starts_with(":2: vertex 2 has no value"));
  EXPECT_TRUE(Fault("1,,0\n").starts_with(":1:"));
}

/// A graph that calls its vertices 3, 10 and 2^63.
Graph GraphWithGaps() {
  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(4, EdgeIndex{0});
  Graph graph(std::move(rows), /*symmetric=*/false);
  Array<std::uint64_t> ids(3);
  ids[0] = 3;
  ids[1] = 10;
  ids[2] = std::uint64_t{1} << 63;
  graph.set_ids(std::move(ids));
  return graph;
}

TEST_F(ResultsTest, IdsWithGapsAreWrittenAndRead) {
  const Graph graph = GraphWithGaps();
  const std::vector<std::uint32_t> values{2, kInfinity<std::uint32_t>, 0};
  const std::span<const std::uint32_t> span(values);
  WriteResultText(Path("v.txt"), graph, span, ResultKind::kDistance);
  EXPECT_EQ(Slurp(Path("v.txt")), "3 2\n10 infinity\n9223372036854775808 0\n");
  WriteResultText(Path("p.txt"), graph, span, ResultKind::kVertex);
  EXPECT_EQ(Slurp(Path("p.txt")), "3 9223372036854775808\n10 -1\n9223372036854775808 3\n");
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(Path("v.txt"), 3, graph, ResultKind::kDistance)), values);
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(Path("p.txt"), 3, graph, ResultKind::kVertex)), values);
  const std::string shuffled = Write("v.txt", "9223372036854775808 0\n3 2\n10 -1\n");
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(shuffled, 3, graph, ResultKind::kDistance)), values);
  const auto fault = [&](const std::string& text, ResultKind kind) {
    const std::string path = Write("v.txt", text);
    return ErrorOf<InputError>([&] { ReadResult<std::uint32_t>(path, 3, graph, kind); }).substr(path.size());
  };
  EXPECT_EQ(fault("3 0\n4 0\n", ResultKind::kDistance),
            ":2: vertex id 4 is not one of the graph's, which go from 3 to 9223372036854775808 with gaps");
  EXPECT_EQ(fault("3 0\n10 0\n", ResultKind::kDistance),
            ":2: ends with 2 of 3 vertices; the first without a value is 9223372036854775808");
  const std::string other = Write("v.txt", "3 3\n10 11\n9223372036854775808 3\n");
  EXPECT_THROW(ReadResult<std::uint32_t>(other, 3, graph, ResultKind::kVertex), ImpossibleValueError);
}

TEST_F(ResultsTest, ArraysHoldNoVertexThatHasNoId) {
  const Graph graph = GraphWithGaps();
  const std::vector<std::uint32_t> right{2, kInfinity<std::uint32_t>, 0}, wrong{2, 0, 3};
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(Npy(right), 3, graph, ResultKind::kVertex)), right);
  const std::string path = Npy(wrong);  // vertex 3 as a text would be "3", vertex 0
  EXPECT_EQ(ErrorOf<ImpossibleValueError>([&] { ReadResult<std::uint32_t>(path, 3, graph, ResultKind::kVertex); }),
            path + ": entry 2 is 3, which no correct answer contains: the graph has 3 vertices");
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(path, 3, graph, ResultKind::kDistance)), wrong);
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(path, 3, 1, ResultKind::kVertex)), wrong)
      << "the verifier says what is wrong";
}

TEST_F(ResultsTest, LdbcStyleIsThatOfItsReferenceOutputs) {
  const auto text = [&]<class T>(const std::vector<T>& values, ResultKind kind) {
    WriteResultText(Path("v.txt"), 2, std::span<const T>(values), kind, ResultStyle::kLdbc);
    return Slurp(Path("v.txt"));
  };
  EXPECT_EQ(text(std::vector<std::uint32_t>{0, kInfinity<std::uint32_t>}, ResultKind::kDistance),
            "2 0\n3 9223372036854775807\n");
  EXPECT_EQ(text(std::vector<double>{2.0 / 3, 0, 1e-300, kInfinity<double>}, ResultKind::kDistance),
            "2 6.666666666666666e-01\n3 0.000000000000000e+00\n4 1.000000000000000e-300\n5 infinity\n");
  EXPECT_EQ(text(std::vector<float>{0.5f}, ResultKind::kNumber), "2 5.000000000000000e-01\n");
  EXPECT_EQ(text(std::vector<std::uint32_t>{1, 0}, ResultKind::kVertex), "2 3\n3 2\n");
  const std::string infinite = Write("v.txt", "2 +inf\n3 Infinity\n4 9223372036854775807\n5 +INFINITY\n");
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(infinite, 4, 2, ResultKind::kDistance)),
            std::vector<std::uint32_t>(4, kInfinity<std::uint32_t>));
}

TEST_F(ResultsTest, JsonHoldsWhatTextDoes) {
  const Graph graph = GraphWithGaps();
  const std::vector<std::uint32_t> parents{2, kInfinity<std::uint32_t>, 0};
  WriteResultJson(Path("p.json"), graph, std::span<const std::uint32_t>(parents), ResultKind::kVertex, {"bfs", "parent"});
  EXPECT_EQ(Slurp(Path("p.json")),
            "{\n\"program\": \"bfs\",\n\"value\": \"parent\",\n\"ids\": [\n3,\n10,\n9223372036854775808\n],\n"
            "\"values\": [\n9223372036854775808,\nnull,\n3\n]\n}\n");
  EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(Path("p.json"), 3, graph, ResultKind::kVertex)), parents);
  const std::vector<float> reals{0.1f, kInfinity<float>, -0.0f};
  for (const std::string name : {"r.json", "r.json.gz", "r.json.zst"}) {
    WriteResult(Path(name), 1, std::span<const float>(reals), ResultKind::kDistance);
    EXPECT_EQ(test::Copy(ReadResult<float>(Path(name), 3, 1, ResultKind::kDistance)), reals);
  }
  EXPECT_EQ(Slurp(Path("r.json")), "{\n\"first_id\": 1,\n\"values\": [\n0.1,\nnull,\n-0\n]\n}\n");
  const std::vector<double> odd{kInfinity<double>, -kInfinity<double>, 1e300};
  WriteResult(Path("o.json"), 0, std::span<const double>(odd), ResultKind::kNumber);
  EXPECT_EQ(Slurp(Path("o.json")), "{\n\"first_id\": 0,\n\"values\": [\n\"infinity\",\n\"-infinity\",\n1e+300\n]\n}\n");
  WriteResult(Path("none.json"), 0, std::span<const double>(), ResultKind::kNumber);
  EXPECT_EQ(ReadResult<double>(Path("none.json"), 0, 0, ResultKind::kNumber).size(), 0u);
}

TEST_F(ResultsTest, JsonOfOtherToolsIsRead) {
  const std::vector<std::uint32_t> expected{5, kInfinity<std::uint32_t>, 0};
  for (const std::string text :
       {"[5, null, 0]", " \n[5,-1,0.0]\n", R"(["5", "inf", "0"])", R"({"1": 5, "3": 0, "2": null})",
        R"({"tool": {"values": [1], "1": 2}, "values": [5, 9223372036854775807, 0], "more": [1, [2, {}]]})",
        R"({"values": [0, 5, null], "ids": [3, 1, 2]})", R"({"ids": ["1", "3", "2"], "values": [5, 0, "Infinity"]})",
        "[5, Infinity, 0]", R"({"1": 5, "3": 0, "2": Infinity})",
        R"({"note": "\"Infinity, -Infinity\\", "values": [5,Infinity,0]})"}) {
    EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(Write("v", text), 3, 1, ResultKind::kDistance)), expected) << text;
    EXPECT_EQ(test::Copy(ReadResult<std::uint32_t>(Write("v", Gzip(text)), 3, 1, ResultKind::kDistance)), expected) << text;
  }
}

TEST_F(ResultsTest, JsonMayHoldInfinityAndNanAsPythonWritesThem) {
  constexpr std::size_t kBlock = std::size_t{1} << 16;  // of what is read at once
  for (std::size_t blanks = kBlock - 16; blanks <= kBlock; ++blanks) {
    const std::string path = Write("v.json", "[1," + std::string(blanks, ' ') + "-Infinity, Infinity,NaN]");
    const auto values = ReadResult<double>(path, 4, 0, ResultKind::kNumber);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], -std::numeric_limits<double>::infinity());
    EXPECT_EQ(values[2], std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(values[3]));
  }
  EXPECT_EQ(ReadResult<float>(Write("n.json", "[1, null]"), 2, 0, ResultKind::kNumber)[1], kInfinity<float>)
      << "as WriteResultJson writes infinity";
}

TEST_F(ResultsTest, WhatIsWrongWithJsonIsTold) {
  const auto fault = [&](const std::string& text) {
    const std::string path = Write("v.json", text);
    const std::string error = ErrorOf<InputError>([&] { ReadResult<std::int32_t>(path, 3, 1, ResultKind::kNumber); });
    EXPECT_TRUE(error.starts_with(path + ": ")) << error;
    return error.substr(std::min(error.size(), path.size() + 2));
  };
  EXPECT_EQ(fault("[1, 2]"), "ends with 2 of 3 vertices; the first without a value is 3");
  EXPECT_EQ(fault("[1, 2, 3, 4]"), "holds more values than the graph has vertices, 3");
  EXPECT_EQ(fault("[1, 2, null]"), "entry 2 is 'null', not a value of the expected kind");
  EXPECT_EQ(fault("[1, true, 3]"), "entry 1 is 'true', not a value of the expected kind");
  EXPECT_EQ(fault("[1, [2], 3]"), "holds something other than a number where a value belongs");
  EXPECT_EQ(fault("{\"1\": 1, \"2\": {}}"), "holds something other than a number where a value belongs");
  EXPECT_EQ(fault("{\"1\": 1, \"4\": 2}"), "vertex id 4 is not one of the graph's, which go from 1 to 3");
  EXPECT_EQ(fault("{\"1\": 1, \"1\": 2}"), "vertex 1 has a value already");
  EXPECT_EQ(fault("{\"1\": 1, \"values\": [1, 2, 3]}"), "holds values twice: in \"values\", and by ids");
  EXPECT_EQ(fault("{\"values\": [1, 2, 3], \"ids\": [1, 2]}"), "holds 2 ids and 3 values");
  EXPECT_EQ(fault("{\"values\": [1, 2, 3], \"ids\": [1, 2, 2]}"), "vertex 2 has a value already");
  EXPECT_EQ(fault("{\"values\": [1, 2, 3], \"ids\": [1, 2, -3]}"), "'-3' is not a vertex id: expected a whole number");
  EXPECT_EQ(fault("{\"answers\": [1, 2, 3]}"),
            "holds no result: an array, an object with an array \"values\", or one of ids and values");
  EXPECT_EQ(fault("[1, Nothing, 3]"), "entry 1 is 'Nothing', not a value of the expected kind");
  EXPECT_TRUE(fault("[1, 2, Infinity").starts_with("is not JSON from byte")) << "the word may go on";
  EXPECT_EQ(fault("[1, 2, 3] x"), "is not JSON from byte 11 on; write it again");
  const std::string good = "{\"values\": [1, 2, 3]}";
  for (std::size_t kept = 1; kept < good.size(); ++kept) EXPECT_FALSE(fault(good.substr(0, kept)).empty()) << kept;
  EXPECT_NE(fault("{\"x\": \"" + std::string(3 << 19, 'x')).find("is longer than"), std::string::npos);
  EXPECT_FALSE(fault(std::string(1 << 18, '[')).empty());
  EXPECT_FALSE(fault("{\"x\": " + std::string(1 << 18, '[')).empty());
  const std::string impossible = Write("v.json", "[1, 2.5, 3]");
  EXPECT_THROW(ReadResult<std::int32_t>(impossible, 3, 1, ResultKind::kNumber), ImpossibleValueError);
}

}  // namespace
}  // namespace chatty
