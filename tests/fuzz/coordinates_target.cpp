// Coordinates of vertices, DIMACS' `.co`.

#include <cmath>
#include <string>

#include "chatty/io/coordinates.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty;
  const std::string path = fuzz::Files().Write("graph.co", {reinterpret_cast<const char*>(data), size});
  Coordinates coordinates;
  if (!fuzz::Attempt([&] { coordinates = ReadCoordinates(path, 1); })) return 0;
  fuzz::Expect(coordinates.x.size() == coordinates.y.size(), "{} x and {} y", coordinates.x.size(), coordinates.y.size());
  for (std::size_t v = 0; v < coordinates.x.size(); ++v) {
    fuzz::Expect(std::isfinite(coordinates.x[v]) && std::isfinite(coordinates.y[v]), "vertex {} is nowhere", v);
  }
  return 0;
}
