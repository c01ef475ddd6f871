// Command lines, a word a line, on small files in a folder of their own.

#include <algorithm>
#include <string>
#include <vector>

#include "command_line.h"
#include "fuzz.h"

namespace {

using Words = std::vector<std::string>;

/// Whether it stays within the folder, and takes a moment.
bool Harmless(const Words& words) {
  if (words.size() > 12) return false;
  for (const std::string& word : words) {
    if (word.find('/') != std::string::npos || word.find("..") != std::string::npos) return false;
    if (word.find('\0') != std::string::npos) return false;
    if (word == "compare" || word == "--measure" || word.find("metis") != std::string::npos)
      return false;  // other processes
    // Small numbers, or one that nothing can have.
    for (std::size_t at = 0; at < word.size();) {
      std::size_t end = at;
      while (end < word.size() && word[end] >= '0' && word[end] <= '9') ++end;
      const std::size_t digits = end - at;
      if (digits > 1 && digits < 15 && !(digits == 2 && word[at] == '1' && word[at + 1] <= '2')) return false;
      if (digits > 0 && end < word.size() && (word[end] == 'e' || word[end] == 'E')) return false;
      at = end + 1;
    }
  }
  return true;
}

void MakeFiles() {
  const chatty::fuzz::Scratch& files = chatty::fuzz::Files();
  files.Clear();
  files.Write("a.mtx", "%%MatrixMarket matrix coordinate integer general\n5 5 4\n1 2 1\n2 3 1\n3 4 7\n1 3 5\n");
  files.Write("b.el", "0 1\n1 2\n2 0\n7 7\n");
  files.Write("c.gr", "p sp 3 2\na 1 2 -4\na 2 3 5\n");
  files.Write("g.properties", "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.directed = false\n");
  files.Write("g.v", "5\n17\n9\n");
  files.Write("g.e", "5 17\n9 17\n");
  files.Write("a.part.2", "0\n1\n0\n1\n0\n");
  files.Write("v.txt", "1 0\n2 1\n3 1\n4 2\n5 infinity\n");
  files.Write("bad.el", "0 x\n");
  files.Write("m.json", R"({"schema":"chatty-topology-1","devices":[{"kind":"host"},{"kind":"host"}]})");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Words words;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    words.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!Harmless(words)) return -1;
  MakeFiles();
  int code = 0;
  chatty::fuzz::RunChatty(words, &code);
  return 0;
}
