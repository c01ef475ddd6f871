// LDBC Graphalytics: a byte of options, then the properties, the vertices and the edges, with lines "----" between them.

#include <string>

#include "chatty/io/ldbc.h"
#include "fuzz.h"
#include "graph_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty;
  constexpr std::string_view kBetween = "----\n";
  constexpr std::uint8_t kPack = 0x80;
  if (size < 1) return -1;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto next = [&] {
    const std::size_t end = rest.find(kBetween);
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + kBetween.size());
    return part;
  };
  const std::string_view properties = next(), vertices = next(), edges = next();
  if (properties.find('/') != std::string_view::npos) return -1;  // names files elsewhere
  const bool packed = (data[0] & kPack) != 0;
  fuzz::Files().Clear();
  const std::string path = fuzz::Files().Write("g.properties", properties);
  fuzz::Files().Write(packed ? "g.v.zst" : "g.v", packed ? fuzz::Packed(vertices) : std::string(vertices));
  fuzz::Files().Write(packed ? "g.e.zst" : "g.e", packed ? fuzz::Packed(edges) : std::string(edges));
  ReadOptions options = fuzz::OptionsOf(data[0]);
  options.format = "ldbc";
  fuzz::Attempt([&] { ReadLdbcProperties(path); });
  fuzz::CheckGraph(path, options);
  return 0;
}
