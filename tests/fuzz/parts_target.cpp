// Part files. The first byte is the K of the name `.part.K`, 0 for a name without; then comes the file.

#include <algorithm>
#include <string>

#include "chatty/core/graph.h"
#include "chatty/partition/part_file.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace chatty;
  if (size < 1) return -1;
  const std::string name = data[0] == 0 ? std::string("parts") : fmt::format("graph.part.{}", data[0]);
  fuzz::Files().Clear();
  const std::string path = fuzz::Files().Write(name, {reinterpret_cast<const char*>(data) + 1, size - 1});
  PartFile file;
  const bool read = fuzz::Attempt([&] { file = ReadPartFile(path); });
  std::unique_ptr<Partitioner> partitioner;
  const bool made = fuzz::Attempt([&] { partitioner = MakePartFilePartitioner(path); });
  fuzz::Expect(!made || read, "a partitioner of what is not read");
  if (!made) return 0;
  fuzz::Expect(file.parts >= 1 && file.parts <= kMaxFileParts, "{} parts", file.parts);
  for (const PartId part : file.owners) fuzz::Expect(part < file.parts, "part {} of {}", part, file.parts);

  Adjacency rows;
  rows.offsets = Array<EdgeIndex>(file.owners.size() + 1, 0);
  const Graph graph(std::move(rows), true);
  PartitionOptions options;
  options.parts = file.parts;
  options.threads = 1;
  const Partition partition = partitioner->Divide(graph, options);
  for (VertexId v = 0; v < graph.vertices(); ++v) {
    const PartId part = partition.Owner(v);
    fuzz::Expect(part == file.owners[v], "vertex {} went to part {}", v, part);
    fuzz::Expect(partition.Global(part, partition.Local(v)) == v, "vertex {} is not found again", v);
  }
  const std::string again = fuzz::Files().Path(name + "-again");
  WritePartFile(again, partition);
  const PartFile back = ReadPartFile(again);
  fuzz::Expect(std::equal(back.owners.begin(), back.owners.end(), file.owners.begin(), file.owners.end()), "other owners");

  options.parts = file.parts + 1;
  fuzz::Expect(!fuzz::Attempt([&] { static_cast<void>(partitioner->Divide(graph, options)); }), "divides into any number");
  return 0;
}
