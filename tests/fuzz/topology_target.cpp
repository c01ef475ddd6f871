// Descriptions of machines. The first byte chooses what is asked of it; then comes the file.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chatty/cli/topology/json.h"
#include "command_line.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty;
  constexpr std::size_t kMaxDevices = 8;  // rings of more take a second
  if (size < 1) return -1;
  const std::string path = fuzz::Files().Write("machine.json", {reinterpret_cast<const char*>(data) + 1, size - 1});
  Topology topology;
  if (!fuzz::Attempt([&] { topology = cli::ReadTopology(path); })) return 0;
  const std::string written = cli::TopologyJson(topology).dump();
  const Topology again = cli::ParseTopology(written, "what was written");
  fuzz::Expect(cli::TopologyJson(again).dump() == written, "written again, it is another machine");
  if ((data[0] & 7) == 0 || topology.size() > kMaxDevices) return 0;  // the program takes longer

  std::vector<std::string> words{"topology", "--simulate", "machine.json"};
  if ((data[0] & 1) != 0) words.insert(words.end(), {"--json", "-"});
  if ((data[0] & 2) != 0) words.insert(words.end(), {"--html", "page.html"});
  if ((data[0] & 4) != 0) words.insert(words.end(), {"--links", "pairs {0,1}"});
  int code = 0;
  const std::string out = fuzz::RunChatty(words, &code);
  fuzz::Expect(code == 0 || topology.size() < 2, "the program refuses what the library reads");
  if (code == 0 && (data[0] & 1) != 0) fuzz::Attempt([&] { cli::ParseTopology(out, "the record"); });
  return 0;
}
