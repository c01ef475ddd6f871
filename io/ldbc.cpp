// LDBC Graphalytics: NAME.properties, which names a vertex file and an edge file. Iosup et al., "The LDBC Graphalytics
// Benchmark", version 1.0.5.

#include "chatty/io/ldbc.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "chatty/core/abbreviated.h"
#include "chatty/core/error.h"
#include "chatty/io/formats.h"
#include "chatty/io/parse_chunks.h"
#include "chatty/io/text_parser.h"
#include "chatty/io/vertex_ids.h"

namespace chatty {
namespace io {
namespace {

constexpr std::string_view kPrefix = "graph.";
constexpr std::string_view kVertexFile = ".vertex-file", kEdgeFile = ".edge-file";

bool IsPropertyBlank(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\r'; }

/// The text without leading blanks.
std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && IsPropertyBlank(text.front())) text.remove_prefix(1);
  return text;
}
std::string_view Trimmed(std::string_view text) {
  text = WithoutBlanks(text);
  while (!text.empty() && IsPropertyBlank(text.back())) text.remove_suffix(1);
  return text;
}

/// A key and a value in the format of Java's properties files: the separator is =, : or blanks; a backslash escapes the next
/// character.
struct Property {
  std::string key, value;
  std::uint64_t line = 0;
};

Property ParseProperty(std::string_view text, std::uint64_t line) {
  Property property;
  property.line = line;
  std::string* to = &property.key;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      const char next = text[++at];
      *to += next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : next == 'f' ? '\f' : next;
    } else if (to == &property.key && (c == '=' || c == ':' || IsPropertyBlank(c))) {
      std::string_view rest = WithoutBlanks(text.substr(at));
      if (rest.starts_with('=') || rest.starts_with(':')) rest = WithoutBlanks(rest.substr(1));
      at = text.size() - rest.size() - 1;
      to = &property.value;
    } else {
      *to += c;
    }
  }
  property.value = Trimmed(property.value);
  return property;
}

/// All properties of a file; of several with the same key, the last.
std::map<std::string, Property> ReadProperties(Input& input) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 20;
  std::map<std::string, Property> all;
  std::string logical;  // the line with its continuation lines
  std::uint64_t first = 0;
  std::string_view line;
  while (input.PeekLine(&line)) {
    if (input.bytes_delivered() > kMaxBytes) {
      FailAt(input.name(), input.lines_skipped() + 1, "the file is longer than 1 MiB: it is not a properties file");
    }
    const std::string_view text = WithoutBlanks(line);
    const bool comment = logical.empty() && (text.empty() || text[0] == '#' || text[0] == '!');
    if (!comment) {
      if (logical.empty()) first = input.lines_skipped() + 1;
      const std::size_t kept = text.find_last_not_of('\\');  // an odd number of backslashes continues the line
      const std::size_t slashes = text.size() - (kept == std::string_view::npos ? 0 : kept + 1);
      logical += text.substr(0, text.size() - slashes % 2);
      if (slashes % 2 == 0) {
        Property property = ParseProperty(logical, first);
        const auto prints = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
        for (const std::string& part : {property.key, property.value}) {
          if (std::all_of(part.begin(), part.end(), prints)) continue;
          FailAt(input.name(), first,
                 fmt::format("{} holds a character that does not print: it is not a property", Quote(part)));
        }
        std::string key = property.key;
        all.insert_or_assign(std::move(key), std::move(property));
        logical.clear();
      }
    }
    input.SkipLine();
  }
  if (!logical.empty()) FailAt(input.name(), first, "the file ends within this property: it is truncated");
  return all;
}

/// Finds and converts the properties of one graph.
class PropertyReader {
 public:
  PropertyReader(const std::string& file, const std::map<std::string, Property>& all, const std::string& graph)
      : file_(file), all_(all), prefix_(std::string(kPrefix) + graph + '.') {}

  const Property* Find(std::string_view key) const {
    const auto found = all_.find(prefix_ + std::string(key));
    return found == all_.end() || found->second.value.empty() ? nullptr : &found->second;
  }
  const Property& Need(std::string_view key) const {
    const Property* const property = Find(key);
    if (property == nullptr)
      Throw<InputError>("{}: does not say {}{}; add the line", Abbreviated(file_), Abbreviated(prefix_), key);
    return *property;
  }
  std::optional<std::uint64_t> Whole(std::string_view key) const { return Number<std::uint64_t>(key, "whole number"); }
  std::optional<double> Real(std::string_view key) const { return Number<double>(key, "number"); }
  /// A list of values separated by commas.
  std::vector<std::string> List(std::string_view key) const {
    std::vector<std::string> items;
    const Property* const property = Find(key);
    if (property == nullptr) return items;
    for (std::string_view rest = property->value;;) {
      const std::size_t comma = rest.find(',');
      const std::string_view item = Trimmed(rest.substr(0, comma));
      if (!item.empty()) items.emplace_back(item);
      if (comma == std::string_view::npos) return items;
      rest.remove_prefix(comma + 1);
    }
  }
  template <class... Args>
  [[noreturn]] void Fail(const Property& property, fmt::format_string<Args...> text, Args&&... args) const {
    FailAt(file_, property.line,
           fmt::format("{} {}", Abbreviated(property.key), fmt::format(text, std::forward<Args>(args)...)));
  }

 private:
  template <class T>
  std::optional<T> Number(std::string_view key, std::string_view what) const {
    const Property* const property = Find(key);
    if (property == nullptr) return std::nullopt;
    T value{};
    const char* const end = property->value.data() + property->value.size();
    const auto [next, error] = std::from_chars(property->value.data(), end, value);
    bool good = error == std::errc() && next == end;
    if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(value);
    if (!good) Fail(*property, "is {}: a {} belongs here", Quote(property->value), what);
    return value;
  }

  const std::string& file_;
  const std::map<std::string, Property>& all_;
  const std::string prefix_;
};

/// The name of the graph in the properties: the graph with a vertex file.
std::string GraphName(const std::string& file, const std::map<std::string, Property>& all) {
  const Property* first = nullptr;
  const auto earlier = [](const Property& a, const Property& b) { return a.line < b.line; };
  for (const auto& [key, property] : all) {
    if (!key.starts_with(kPrefix) || !key.ends_with(kVertexFile) || key.size() <= kPrefix.size() + kVertexFile.size())
      continue;
    if (first != nullptr) {
      FailAt(file, std::max(first->line, property.line),
             fmt::format("{} comes after {}: the file describes several graphs; make it one file a graph",
                         Abbreviated(std::max(*first, property, earlier).key),
                         Abbreviated(std::min(*first, property, earlier).key)));
    }
    first = &property;
  }
  if (first == nullptr) {
    Throw<InputError>("{}: does not say graph.NAME.vertex-file: it is not a properties file of LDBC Graphalytics",
                      Abbreviated(file));
  }
  return first->key.substr(kPrefix.size(), first->key.size() - kPrefix.size() - kVertexFile.size());
}

/// The path of the file that a property names.
std::string FindBeside(const PropertyReader& reader, const std::string& file, std::string_view key) {
  namespace fs = std::filesystem;
  const Property& property = reader.Need(key);
  const fs::path named = fs::path(file).parent_path() / property.value;  // an absolute path replaces the folder
  std::error_code error;
  for (const std::string_view packed : {"", ".zst", ".gz"}) {
    std::string path = named.string() + std::string(packed);
    if (fs::exists(path, error)) return path;
  }
  reader.Fail(property, "is {}, but there is no file {}, nor one with .zst or .gz; put it there", Quote(property.value),
              Abbreviated(named.string()));
}

LdbcProperties ParseLdbcProperties(Input& input) {
  LdbcProperties ldbc;
  ldbc.path = input.path();
  const std::map<std::string, Property> all = ReadProperties(input);
  ldbc.name = GraphName(ldbc.path, all);
  const PropertyReader reader(ldbc.path, all, ldbc.name);
  const std::string prefix = std::string(kPrefix) + ldbc.name + '.';
  for (const auto& [key, property] : all) {
    if (key.starts_with(prefix)) ldbc.lines.emplace(key.substr(prefix.size()), property.line);
  }
  ldbc.vertex_path = FindBeside(reader, ldbc.path, kVertexFile.substr(1));
  ldbc.edge_path = FindBeside(reader, ldbc.path, kEdgeFile.substr(1));
  ldbc.vertices = reader.Whole("meta.vertices");
  ldbc.edges = reader.Whole("meta.edges");
  const Property& directed = reader.Need("directed");
  if (directed.value != "true" && directed.value != "false") {
    reader.Fail(directed, "is {}: true or false belongs here", Quote(directed.value));
  }
  ldbc.directed = directed.value == "true";
  ldbc.vertex_properties = reader.List("vertex-properties.names").size();

  const std::vector<std::string> names = reader.List("edge-properties.names");
  const std::vector<std::string> types = reader.List("edge-properties.types");
  if (names.size() != types.size()) {
    reader.Fail(*reader.Find(names.empty() ? "edge-properties.types" : "edge-properties.names"),
                "does not go with the other: there are {} names and {} types", names.size(), types.size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) ldbc.edge_properties.push_back({names[i], types[i]});
  if (!names.empty()) ldbc.weight = 0;
  if (const Property* const weight = reader.Find("sssp.weight-property")) {
    const auto found = std::find(names.begin(), names.end(), weight->value);
    if (found == names.end()) reader.Fail(*weight, "is {}, which is not one of the edges' properties", Quote(weight->value));
    ldbc.weight = static_cast<std::size_t>(found - names.begin());
  }
  ldbc.algorithms = reader.List("algorithms");
  ldbc.bfs_source = reader.Whole("bfs.source-vertex");
  ldbc.sssp_source = reader.Whole("sssp.source-vertex");
  ldbc.cdlp_rounds = reader.Whole("cdlp.max-iterations");
  ldbc.pr_rounds = reader.Whole("pr.num-iterations");
  ldbc.pr_damping = reader.Real("pr.damping-factor");
  return ldbc;
}

std::uint64_t LineOf(const LdbcProperties& ldbc, std::string_view key) {
  const auto found = ldbc.lines.find(key);
  return found == ldbc.lines.end() ? 1 : found->second;
}

WeightText WeightTextOf(const LdbcProperties& ldbc) {
  if (!ldbc.weight) return WeightText::kNone;
  const LdbcProperties::EdgeProperty& property = ldbc.edge_properties[*ldbc.weight];
  for (const std::string_view real : {"real", "double", "float"}) {
    if (property.type == real) return WeightText::kReal;
  }
  for (const std::string_view integer : {"integer", "int", "long"}) {
    if (property.type == integer) return WeightText::kInteger;
  }
  FailAt(ldbc.path, LineOf(ldbc, "edge-properties.types"),
         fmt::format("the edges' weight, {}, is of type {}; weights are real or integer", Quote(property.name),
                     Quote(property.type)));
}

/// Upper bound of the number of lines in a file, if a line has at least `least_bytes` bytes.
std::uint64_t MaxLines(const std::string& path, std::uint64_t least_bytes) {
  std::error_code error;
  const std::uint64_t packed = std::filesystem::file_size(path, error);
  if (error) return ~std::uint64_t{0};  // for instance a pipe
  const std::uint64_t most = MaxUnpacked(packed, Input(path, /*chunk_bytes=*/1).compression());
  return most / least_bytes + 1;
}
constexpr std::uint64_t kMinVertexBytes = 2;  // "1" and a line end
constexpr std::uint64_t kMinEdgeBytes = 4;    // "1 2" and a line end

/// Throws before any allocation if a file is too short for the count in the properties.
void CheckRoom(const LdbcProperties& ldbc, std::string_view key, std::optional<std::uint64_t> count, const std::string& path,
               std::uint64_t least_bytes) {
  if (!count || *count <= MaxLines(path, least_bytes)) return;
  FailAt(
      ldbc.path, LineOf(ldbc, key),
      fmt::format("graph.{}.{} is {}, but {}, of its length, cannot hold so many: it is truncated, or the number is wrong",
                  Abbreviated(ldbc.name), key, *count, Abbreviated(path)));
}
void CheckRoom(const LdbcProperties& ldbc) {
  CheckRoom(ldbc, "meta.vertices", ldbc.vertices, ldbc.vertex_path, kMinVertexBytes);
  CheckRoom(ldbc, "meta.edges", ldbc.edges, ldbc.edge_path, kMinEdgeBytes);
}

void CheckCount(const LdbcProperties& ldbc, std::string_view key, std::optional<std::uint64_t> promised,
                const std::string& path, std::uint64_t found, std::string_view what) {
  if (!promised || *promised == found) return;
  FailAt(ldbc.path, LineOf(ldbc, key),
         fmt::format("graph.{}.{} is {}, but {} holds {} {}: it is {}", Abbreviated(ldbc.name), key, *promised,
                     Abbreviated(path), found, what,
                     found < *promised ? "truncated, or the number is wrong" : "of another graph, or the number is wrong"));
}

/// The count in the properties as a bound; unlimited if there is none.
PromisedCount Promise(const LdbcProperties& ldbc, std::string_view key, std::optional<std::uint64_t> count,
                      std::string_view what) {
  return {ldbc.path, LineOf(ldbc, key), what, count.value_or(~std::uint64_t{0})};
}

/// The ids in a chunk of the vertex file.
class IdSink {
 public:
  using Edges = Array<std::uint64_t>;
  using Id = std::uint64_t;

  void Begin(std::size_t text_bytes, WeightText /*weights*/) {
    const std::size_t capacity = text_bytes / 2 + 1;  // "0" and a line end
    if (ids_.size() < capacity) ids_ = Array<std::uint64_t>(capacity);
    size_ = 0;
  }
  void Add(std::uint64_t id) { ids_[size_++] = id; }
  std::size_t size() const { return size_; }
  Array<std::uint64_t> Take() const { return Array<std::uint64_t>(ids_.span().first(size_)); }
  Id largest() const { return 0; }

 private:
  Array<std::uint64_t> ids_;
  std::size_t size_ = 0;
};

struct LdbcVertices {
  Array<std::uint64_t> ids;  ///< ascending
  std::uint64_t lines = 0, bytes = 0;
};

/// Reads the vertex file. Duplicate ids are found later.
LdbcVertices ReadVertices(const LdbcProperties& ldbc, MemoryClaims* claims, int threads) {
  Input input(ldbc.vertex_path);
  input.set_claims(claims);
  input.SkipByteOrderMark();
  PromisedCount promise = Promise(ldbc, "meta.vertices", ldbc.vertices, "vertices");
  const auto parsed = ParseChunksInto<IdSink>(input, WeightText::kNone, threads, [&](LineCursor& cursor, IdSink& sink) {
    while (cursor.NextLine<'#'>()) {
      sink.Add(cursor.Unsigned("vertex id"));
      for (std::uint64_t column = 0; column < ldbc.vertex_properties && cursor.Peek() != '\n'; ++column) cursor.SkipField();
      cursor.FinishLine();
    }
    promise.Add(sink.size());
  });
  LdbcVertices vertices;
  std::size_t count = 0;
  for (const Array<std::uint64_t>& piece : parsed.pieces) count += piece.size();
  input.Claim(count * sizeof(std::uint64_t));
  vertices.ids = Array<std::uint64_t>(count);
  std::uint64_t* to = vertices.ids.begin();
  for (const Array<std::uint64_t>& piece : parsed.pieces) to = std::copy(piece.begin(), piece.end(), to);
  if (!std::is_sorted(vertices.ids.begin(), vertices.ids.end())) std::sort(vertices.ids.begin(), vertices.ids.end());
  vertices.lines = parsed.lines;
  vertices.bytes = input.bytes_delivered();
  return vertices;
}

void CheckListedOnce(const LdbcProperties& ldbc, const Array<std::uint64_t>& ids) {
  const std::uint64_t* const twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice == ids.end()) return;
  Input input(ldbc.vertex_path);
  input.SkipByteOrderMark();
  std::string_view line;
  for (bool seen = false; input.PeekLine(&line); input.SkipLine()) {
    LineCursor cursor(line);
    if (!cursor.NextLine<'#'>() || cursor.Unsigned("vertex id") != *twice) continue;
    if (seen) FailAt(ldbc.vertex_path, input.lines_skipped() + 1, fmt::format("vertex {} is listed already", *twice));
    seen = true;
  }
}

ParsedEdges ReadEdges(const LdbcProperties& ldbc, const Array<std::uint64_t>& ids, Input& input, int threads) {
  const WeightText weights = WeightTextOf(ldbc);
  const std::size_t columns = ldbc.edge_properties.size(), weight = ldbc.weight.value_or(columns);
  const IdTable table(ids, threads);
  struct Named {
    std::uint64_t id;
    VertexId vertex = kNoVertex;
  };
  const auto read = [&](LineCursor& cursor, const char* what, Named& last) {
    const std::uint64_t id = cursor.Unsigned(what);
    if (id == last.id && last.vertex != kNoVertex) return;  // edges are usually sorted by source
    last = {id, table[id]};
    if (last.vertex == kNoVertex) [[unlikely]] {
      cursor.Fail("the edge's {} {} is not a vertex of the graph: {} does not list it", what, id,
                  Abbreviated(ldbc.vertex_path));
    }
  };
  PromisedCount promise = Promise(ldbc, "meta.edges", ldbc.edges, "edges");
  return ParseChunks(input, weights, threads, [&](LineCursor& cursor, EdgeSink& sink) {
    Named source{}, target{};
    while (cursor.NextLine<'#'>()) {
      read(cursor, "source id", source);
      read(cursor, "target id", target);
      if (columns == 0) {
        sink.Add(source.vertex, target.vertex);
        if (cursor.Peek() != '\n') [[unlikely]] {
          cursor.Fail("{} follows the two ids, but {} names no property of edges (graph.{}.edge-properties.names)",
                      Quote(cursor.Field()), Abbreviated(ldbc.path), Abbreviated(ldbc.name));
        }
      }
      for (std::size_t column = 0; column < columns; ++column) {
        if (column == weight) {
          sink.AddWeighted(source.vertex, target.vertex, cursor);
        } else {
          if (cursor.Peek() == '\n') {
            cursor.Fail("the line ends where the property {} belongs", Quote(ldbc.edge_properties[column].name));
          }
          cursor.SkipField();
        }
      }
      cursor.FinishLine();
    }
    promise.Add(sink.size());
  });
}

/// Drops ids that count from 0 or 1 without gaps.
void DropPlainIds(RawGraph& raw) {
  const Array<std::uint64_t>& ids = raw.ids;
  if (ids.empty()) return;
  if (ids[0] > 1 || ids[ids.size() - 1] - ids[0] != ids.size() - 1) return;
  raw.first_id = static_cast<int>(ids[0]);
  raw.ids = {};
}

std::string EscapedKey(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == ' ' || c == '\t' || c == ':' || c == '=' || c == '\\' || c == '#' || c == '!') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

bool IsLdbc(Input& /*input*/, std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    const std::string_view line = Trimmed(head.substr(0, end));
    if (!line.empty() && line[0] != '#' && line[0] != '!') return line.starts_with(kPrefix);
    if (end == std::string_view::npos) break;
    head.remove_prefix(end + 1);
  }
  return false;
}

StatedCounts PeekLdbc(Input& input) {
  const LdbcProperties ldbc = ParseLdbcProperties(input);
  CheckRoom(ldbc);
  StatedCounts counts;
  counts.most_vertices = !ldbc.vertices;
  counts.most_entries = !ldbc.edges;
  counts.vertices = ldbc.vertices ? *ldbc.vertices : MaxLines(ldbc.vertex_path, kMinVertexBytes);
  counts.entries = ldbc.edges ? *ldbc.edges : MaxLines(ldbc.edge_path, kMinEdgeBytes);
  counts.stored_once = !ldbc.directed;
  const WeightText weights = WeightTextOf(ldbc);
  counts.weights = weights == WeightText::kNone   ? WeightKind::kNone
                   : weights == WeightText::kReal ? WeightKind::kFloat32
                                                  : WeightKind::kInt32;
  counts.line = LineOf(ldbc, "meta.edges");
  return counts;
}

RawGraph ReadLdbc(Input& input, const ReadOptions& options) {
  const LdbcProperties ldbc = ParseLdbcProperties(input);
  CheckRoom(ldbc);
  LdbcVertices vertices = ReadVertices(ldbc, input.claims(), options.threads);
  CheckCount(ldbc, "meta.vertices", ldbc.vertices, ldbc.vertex_path, vertices.ids.size(), "vertices");
  CheckListedOnce(ldbc, vertices.ids);
  Input edge_file(ldbc.edge_path);
  edge_file.set_claims(input.claims());
  CheckVertexCount(ldbc.vertex_path, vertices.ids.size());
  edge_file.SkipByteOrderMark();
  ParsedEdges parsed = ReadEdges(ldbc, vertices.ids, edge_file, options.threads);
  CheckCount(ldbc, "meta.edges", ldbc.edges, ldbc.edge_path, parsed.size(), "edges");
  RawGraph raw;
  raw.vertices = static_cast<VertexId>(vertices.ids.size());
  raw.edges = std::move(parsed.pieces);
  raw.ids = std::move(vertices.ids);
  WarnOfRoundedIntegers(ldbc.edge_path, raw.edges, parsed.reals);
  DropPlainIds(raw);
  raw.symmetric = !ldbc.directed;
  raw.lines = input.lines_skipped() + vertices.lines + parsed.lines;
  raw.other_bytes = vertices.bytes + edge_file.bytes_delivered();
  raw.files = {ldbc.vertex_path, ldbc.edge_path};
  return raw;
}

void WriteLdbc(const Graph& graph, OutputFile& output, const std::string& path) {
  if (path == "-") throw UsageError("a graph of LDBC Graphalytics is three files; write it to a file NAME.properties");
  const auto [vertex_path, edge_path] = LdbcFilesBeside(path);
  const Adjacency& out = graph.out();
  EdgeIndex edges = 0;
  {
    OutputFile vertices(vertex_path);
    for (VertexId v = 0; v < graph.vertices(); ++v) {
      vertices.Number(graph.id(v));
      vertices.Letter('\n');
    }
    OutputFile list(edge_path);
    std::visit(
        [&](const auto& weights) {
          for (VertexId v = 0; v < graph.vertices(); ++v) {
            for (EdgeIndex e = out.offsets[v]; e < out.offsets[v + 1]; ++e) {
              const VertexId u = out.neighbours[e];
              if (graph.symmetric() && u < v) continue;
              list.Number(graph.id(v));
              list.Letter(' ');
              list.Number(graph.id(u));
              if constexpr (!std::is_same_v<std::decay_t<decltype(weights)>, std::monostate>) {
                list.Letter(' ');
                list.Number(weights[e]);
              }
              list.Letter('\n');
              ++edges;
            }
          }
        },
        out.weights);
    vertices.Commit();
    list.Commit();
  }

  const auto file_name = [](const std::string& file) { return file.substr(file.find_last_of('/') + 1); };
  const std::string file = file_name(vertex_path);
  const std::string name = EscapedKey(file.substr(0, file.rfind(".v")));
  const auto say = [&](std::string_view key, const auto& value) {
    output.Write(fmt::format("graph.{}.{} = {}\n", name, key, value));
  };
  const auto escaped = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
    return text;
  };
  output.Write("# A graph of LDBC Graphalytics.\n");
  say("vertex-file", escaped(file));
  say("edge-file", escaped(file_name(edge_path)));
  say("meta.vertices", graph.vertices());
  say("meta.edges", edges);
  say("directed", !graph.symmetric());
  const WeightKind kind = graph.weight_kind();
  if (kind != WeightKind::kNone) {
    say("edge-properties.names", "weight");
    say("edge-properties.types", kind == WeightKind::kInt32 ? "integer" : "real");
  }
  say("algorithms", kind == WeightKind::kNone ? "bfs, cdlp, lcc, pr, wcc" : "bfs, cdlp, lcc, pr, sssp, wcc");
  say("cdlp.max-iterations", 10);
  say("pr.damping-factor", 0.85);
  say("pr.num-iterations", 10);
  if (graph.vertices() == 0) return;
  const std::uint64_t source = graph.id(graph.max_degree_vertex());
  say("bfs.source-vertex", source);
  if (kind == WeightKind::kNone) return;
  say("sssp.weight-property", "weight");
  say("sssp.source-vertex", source);
}

}  // namespace io

LdbcProperties ReadLdbcProperties(const std::string& path) {
  Input input(path);
  input.SkipByteOrderMark();
  return io::ParseLdbcProperties(input);
}

std::pair<std::string, std::string> LdbcFilesBeside(const std::string& path) {
  std::string_view stem = path;
  std::string_view packed;
  for (const std::string_view suffix : {".gz", ".zst"}) {
    if (!stem.ends_with(suffix)) continue;
    packed = suffix;
    stem.remove_suffix(suffix.size());
    break;
  }
  constexpr std::string_view kSuffix = ".properties";
  if (stem.ends_with(kSuffix) && stem.size() > kSuffix.size()) stem.remove_suffix(kSuffix.size());
  return {fmt::format("{}.v{}", stem, packed), fmt::format("{}.e{}", stem, packed)};
}

}  // namespace chatty
