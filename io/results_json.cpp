// Results as JSON.
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "chatty/core/error.h"
#include "chatty/io/input.h"
#include "chatty/io/output.h"
#include "chatty/io/result_values.h"
#include "chatty/io/results.h"
#include "chatty/io/text_parser.h"

namespace chatty {
namespace io {
namespace {

/// The characters of an input, one after another, for the JSON parser. Throws if there are more than a result can have. Puts
/// quotes around Infinity, -Infinity and NaN, which are not JSON but common in place of numbers.
class JsonCharacters {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  JsonCharacters() = default;
  JsonCharacters(Input& input, std::uint64_t most) : shared_(std::make_shared<Shared>(Shared{&input, {}, most})) {
    Fill();
    Look();
  }

  reference operator*() const {
    static constexpr char kQuote = '"';
    return shared_->at == At::kOpening || shared_->at == At::kClosing ? kQuote : shared_->ahead.front();
  }
  JsonCharacters& operator++() {
    Shared& shared = *shared_;
    if (shared.at == At::kOpening) {
      shared.at = At::kWord;
      return *this;
    }
    if (shared.at != At::kClosing) {
      shared.ahead.remove_prefix(1);
      if (shared.ahead.empty()) Fill();
      if (shared.at == At::kWord) {
        if (!AtEnd() && !IsLetter(shared.ahead.front())) shared.at = At::kClosing;
        return *this;
      }
    }
    Look();
    return *this;
  }
  JsonCharacters operator++(int) = delete;
  bool operator==(const JsonCharacters& other) const { return AtEnd() == other.AtEnd(); }

 private:
  enum class At : std::uint8_t { kPlain, kString, kEscaped, kOpening, kWord, kClosing };
  struct Shared {
    Input* input;
    std::string_view ahead;
    std::uint64_t most;
    std::size_t shown = 0;
    At at = At::kPlain;  ///< the token of the next character, or a quote before or after a word
  };
  static bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  /// Whether the character after the next one is an I.
  bool InfinityFollows() {
    Shared& shared = *shared_;
    if (shared.ahead.size() == 1) {
      shared.input->Consume(shared.shown - 1);
      shared.ahead = shared.input->Peek(std::size_t{1} << 16);
      shared.shown = shared.ahead.size();
    }
    return shared.ahead.size() > 1 && shared.ahead[1] == 'I';
  }
  /// Sets the token of the next character; strings stay unchanged.
  void Look() {
    if (AtEnd()) return;
    Shared& shared = *shared_;
    const char c = shared.ahead.front();
    if (shared.at == At::kEscaped) {
      shared.at = At::kString;
    } else if (shared.at == At::kString) {
      shared.at = c == '\\' ? At::kEscaped : c == '"' ? At::kPlain : At::kString;
    } else {
      shared.at = c == '"'                                                  ? At::kString
                  : c == 'I' || c == 'N' || (c == '-' && InfinityFollows()) ? At::kOpening
                                                                            : At::kPlain;
    }
  }
  bool AtEnd() const { return shared_ == nullptr || shared_->ahead.empty(); }
  void Fill() {
    Input& input = *shared_->input;
    input.Consume(shared_->shown);
    if (input.bytes_delivered() > shared_->most) {
      Throw<InputError>("{}: is longer than {} bytes and still no result of this graph: it holds something else",
                        input.name(), shared_->most);
    }
    shared_->ahead = input.Peek(std::size_t{1} << 16);
    shared_->shown = shared_->ahead.size();
  }
  std::shared_ptr<Shared> shared_;
};

/// Extracts a result from the JSON parser's events. An exception stops the parser.
template <class T>
class JsonResult final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonResult(const std::string& name, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks)
      : name_(name), vertices_(vertices), graph_ids_(ids), gathered_(vertices, ids, kind, marks), kind_(kind) {}

  bool null() override {
    const bool is_infinity = kind_ == ResultKind::kDistance || (kind_ == ResultKind::kNumber && std::is_floating_point_v<T>);
    return Scalar(kind_ == ResultKind::kVertex ? "-1" : is_infinity ? "infinity" : "null");
  }
  bool boolean(bool value) override { return Scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Scalar(Decimal(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(Decimal(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override { return Scalar(text); }
  bool string(string_t& value) override { return Scalar(value); }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return Open(/*array=*/false); }
  bool key(string_t& value) override {
    if (depth_ == 1) key_ = std::move(value);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t /*size*/) override { return Open(/*array=*/true); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    Throw<InputError>("{}: is not JSON from byte {} on; write it again", name_, position);
  }

  Array<T> Take() {
    if (!in_order_ && pairs_ == 0 && vertices_ > 0) {
      Throw<InputError>("{}: holds no result: an array, an object with an array \"values\", or one of ids and values",
                        name_);
    }
    if (in_order_ && pairs_ > 0) Throw<InputError>("{}: holds values twice: in \"values\", and by ids", name_);
    if (in_order_) Place();
    Array<T> values = gathered_.Take(name_);
    if (!impossible_.empty()) throw ImpossibleValueError(impossible_);
    return values;
  }

 private:
  template <class Integer>
  std::string_view Decimal(Integer value) {
    const auto [end, error] = std::to_chars(digits_, digits_ + sizeof digits_, value);
    return {digits_, static_cast<std::size_t>(end - digits_)};
  }
  bool Open(bool array) {
    if (taking_ != Taking::kNothing || (depth_ == 1 && IsId(key_))) {
      Throw<InputError>("{}: holds something other than a number where a value belongs", name_);
    }
    if (array && (depth_ == 0 || (depth_ == 1 && key_ == "values"))) {
      if (in_order_) Throw<InputError>("{}: holds \"values\" twice", name_);
      taking_ = Taking::kValues;
      in_order_ = true;
    } else if (array && depth_ == 1 && key_ == "ids") {
      if (!order_.empty()) Throw<InputError>("{}: holds \"ids\" twice", name_);
      taking_ = Taking::kIds;
    }
    ++depth_;
    return true;
  }
  bool Close() {
    --depth_;
    taking_ = Taking::kNothing;
    return true;
  }
  bool IsId(std::string_view key) const {
    return !key.empty() && key.find_first_not_of("0123456789") == std::string_view::npos;
  }
  bool Scalar(std::string_view text) {
    if (depth_ == 1 && key_ == "first_id") {  // WriteResultJson writes the id of vertex 0
      const std::uint64_t first = Id(text);
      if (vertices_ > 0 && graph_ids_[0] != first) {
        Throw<InputError>("{}: its first vertex is {}, that of the graph is {}", name_, first, graph_ids_[0]);
      }
    } else if (taking_ == Taking::kIds) {
      order_.push_back(Id(text));
      CheckCount(order_.size(), "ids");
    } else if (taking_ == Taking::kValues) {
      CheckCount(++count_, "values");
      Set(count_ - 1, text, "entry", count_ - 1);
    } else if (depth_ == 1 && IsId(key_)) {
      const std::uint64_t id = Id(key_);
      const std::optional<std::uint64_t> v = gathered_.Find(id);
      if (!v) Throw<InputError>("{}: vertex id {} is not one of {}", name_, id, gathered_.DescribeIds());
      if (gathered_.has(*v)) Throw<InputError>("{}: vertex {} has a value already", name_, id);
      ++pairs_;
      Set(*v, text, "vertex", id);
    }
    return true;
  }
  void CheckCount(std::uint64_t count, std::string_view what) const {
    if (count > vertices_) Throw<InputError>("{}: holds more {} than the graph has vertices, {}", name_, what, vertices_);
  }
  std::uint64_t Id(std::string_view text) const {
    std::uint64_t id = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || next != text.data() + text.size()) {
      Throw<InputError>("{}: {} is not a vertex id: expected a whole number", name_, Quote(text));
    }
    return id;
  }
  void Set(std::uint64_t v, std::string_view text, std::string_view what, std::uint64_t which) {
    const Field field = gathered_.SetAnswer(v, text);
    if (field == Field::kMalformed) {
      Throw<InputError>("{}: {} {} is {}, {}", name_, what, which, Quote(text), DescribeMalformed(kind_));
    }
    if (field == Field::kImpossible && impossible_.empty()) {
      impossible_ =
          fmt::format("{}: {} {} has the value {}, which no correct answer contains", name_, what, which, Quote(text));
    }
  }
  /// Puts values in the order of vertices, if "ids" has another order.
  void Place() {
    if (order_.empty()) return;
    if (order_.size() != count_) Throw<InputError>("{}: holds {} ids and {} values", name_, order_.size(), count_);
    std::vector<std::uint64_t> places(order_.size());
    std::vector<bool> taken(vertices_, false);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::optional<std::uint64_t> v = graph_ids_.find(order_[i], vertices_);
      if (!v) Throw<InputError>("{}: vertex id {} is not one of {}", name_, order_[i], gathered_.DescribeIds());
      if (taken[*v]) Throw<InputError>("{}: vertex {} has a value already", name_, order_[i]);
      taken[*v] = true;
      places[i] = *v;
    }
    gathered_.Permute(places);
  }

  enum class Taking : std::uint8_t { kNothing, kValues, kIds };
  const std::string& name_;
  const VertexId vertices_;
  const ResultIds& graph_ids_;
  Gathered<T> gathered_;
  const ResultKind kind_;
  Taking taking_ = Taking::kNothing;
  std::size_t depth_ = 0;
  std::string key_;  // in the outermost object
  bool in_order_ = false;
  std::uint64_t count_ = 0, pairs_ = 0;  // number of values in order, and by id
  std::vector<std::uint64_t> order_;     // "ids"
  std::string impossible_;
  char digits_[24];
};

}  // namespace

template <class T>
Array<T> ReadJson(Input& input, VertexId vertices, const ResultIds& ids, ResultKind kind, ForeignMarks* marks) {
  const std::uint64_t most = (std::uint64_t{1} << 20) + std::uint64_t{vertices} * 256;
  JsonResult<T> result(input.name(), vertices, ids, kind, marks);
  nlohmann::json::sax_parse(JsonCharacters(input, most), JsonCharacters(), &result);
  return result.Take();
}

bool LooksLikeJson(Input& input) {
  const std::string_view head = input.Peek(4096);
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
}

}  // namespace io

void WriteResultJson(const std::string& path, const ResultIds& ids, const ResultValues& values, ResultKind kind,
                     const ResultNote& note) {
  const auto quoted = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  OutputFile output(path);
  output.Write("{\n");
  if (!note.program.empty()) output.Write(fmt::format("\"program\": {},\n", quoted(note.program)));
  if (!note.value.empty()) output.Write(fmt::format("\"value\": {},\n", quoted(note.value)));
  if (ids.gaps().empty()) {
    output.Write(fmt::format("\"first_id\": {},\n", ids.first_id()));
  } else {
    output.Write("\"ids\": [");
    for (std::size_t v = 0; v < ids.gaps().size(); ++v) {
      output.Write(v == 0 ? "\n" : ",\n");
      output.Number(ids.gaps()[v]);
    }
    output.Write("\n],\n");
  }
  output.Write("\"values\": [");
  std::visit(
      [&](auto span) {
        using T = std::remove_const_t<typename decltype(span)::element_type>;
        for (std::size_t v = 0; v < span.size(); ++v) {
          const T value = span[v];
          output.Write(v == 0 ? "\n" : ",\n");
          if (kind != ResultKind::kNumber && value == kInfinity<T>) {
            output.Write("null");
          } else if constexpr (std::is_integral_v<T>) {
            if (kind == ResultKind::kVertex) {
              output.Number(ids[static_cast<std::uint64_t>(value)]);
            } else {
              output.Number(value);
            }
          } else {
            if (!std::isfinite(value)) output.Letter('"');
            output.Number(value);
            if (!std::isfinite(value)) output.Letter('"');
          }
        }
      },
      values);
  output.Write("\n]\n}\n");
  output.Commit();
}

template <class T>
Array<T> ReadResultJson(const std::string& path, VertexId vertices, const ResultIds& ids, ResultKind kind,
                        ForeignMarks* marks) {
  Input input(path);
  input.SkipByteOrderMark();
  return io::ReadJson<T>(input, vertices, ids, kind, marks);
}

#define CHATTY_RESULT_READERS(T)                                                                    \
  template Array<T> io::ReadJson<T>(Input&, VertexId, const ResultIds&, ResultKind, ForeignMarks*); \
  template Array<T> ReadResultJson<T>(const std::string&, VertexId, const ResultIds&, ResultKind, ForeignMarks*);
CHATTY_RESULT_READERS(std::uint32_t)
CHATTY_RESULT_READERS(std::int32_t)
CHATTY_RESULT_READERS(std::uint64_t)
CHATTY_RESULT_READERS(std::int64_t)
CHATTY_RESULT_READERS(float)
CHATTY_RESULT_READERS(double)
#undef CHATTY_RESULT_READERS

}  // namespace chatty
