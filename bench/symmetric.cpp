// What symmetric memory (comm/symmetric/) costs: barriers of all blocks of all devices, put-signals, puts beside the copy
// engine, and fetch-adds. Prints a table of medians, and a record with --json:
//
//   chatty_symmetric --on cuda:0,1 --json record.json
//   chatty_symmetric --on cuda:0,1 --backend proxy --repetitions 200
//
// A result that is wrong ends the program with an error. Times are not judged.
#include "symmetric.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "chatty/comm/symmetric/backend.h"
#include "chatty/core/bytes.h"
#include "chatty/core/error.h"
#include "chatty/core/version.h"
#include "chatty/io/output.h"

namespace chatty::bench {

double SymmetricRow::median_us() const {
  std::vector<double> sorted = us;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

namespace {

using Json = nlohmann::ordered_json;

std::string SizeText(const SymmetricRow& row) {
  if (row.words > 0) return fmt::format("{} words to each peer", row.words);
  return row.bytes > 0 ? FormatBytes(row.bytes) : "";
}

void PrintRow(const SymmetricRow& row) {
  const auto [least, most] = std::minmax_element(row.us.begin(), row.us.end());
  const std::string rate = row.bytes > 0                            ? fmt::format("{:.3f} GB/s", row.gb_per_s())
                           : row.operation.starts_with("fetch-add") ? fmt::format("{:.1f} M/s", row.million_per_s())
                                                                    : "";
  const std::string of_copies = row.of_copies > 0 ? fmt::format("{:.2f}", row.of_copies) : "";
  fmt::print("| {:<35} | {:>23} | {:>12.4f} | {:>12.4f} | {:>12.4f} | {:>14} | {:>9} |\n", row.operation, SizeText(row),
             row.median_us(), *least, *most, rate, of_copies);
  std::fflush(stdout);
}

Json RowJson(const SymmetricRow& row) {
  Json json;
  json["operation"] = row.operation;
  if (row.operation == "barrier") json["words_to_each_peer"] = row.words;
  if (row.bytes > 0) json["bytes"] = row.bytes;
  json["median_us"] = row.median_us();
  json["us"] = row.us;
  if (row.bytes > 0) json["gb_per_s"] = row.gb_per_s();
  if (row.of_copies > 0) json["of_copy_engine"] = row.of_copies;
  return json;
}

/// What --help says of the backends.
std::string BackendText() {
  std::string text = "Backend of the heap: auto (host or p2p)";
  for (const SymmetricBackend& backend : SymmetricBackends())
    text += fmt::format("; {}: {}", backend.name, backend.description);
  return text;
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

int Main(int argc, char** argv) {
  CLI::App app("Measures symmetric memory (comm/symmetric/) and prints microseconds an operation", "chatty_symmetric");
  SymmetricPlan plan;
  std::string on = "auto", json_path;
  app.add_option("--on", on, "Devices, as `chatty run --devices` names them: cuda:0,1, cuda:2@0, host:4")
      ->capture_default_str();
  app.add_option("--backend", plan.backend, BackendText())->capture_default_str();
  app.add_option("--repetitions", plan.repetitions, "Operations in a trial, at most")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 30))
      ->capture_default_str();
  app.add_option("--trials", plan.trials, "Trials of which the median is taken")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  app.add_option("--threads", plan.threads, "Threads of each block on a GPU, which has one block a multiprocessor")
      ->check(CLI::Range(32u, 512u))
      ->capture_default_str();
  app.add_option("--max-bytes", plan.max_bytes, "Longest put, a multiple of 8 bytes")
      ->check(CLI::Range(std::uint64_t{8}, std::uint64_t{1} << 32))
      ->capture_default_str();
  app.add_option("--json", json_path, "File for the record; - is standard output")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (plan.max_bytes % 8 != 0 || plan.threads % 32 != 0) {
    Throw<UsageError>("--max-bytes is a multiple of 8, and --threads one of 32");
  }

  const std::vector<std::unique_ptr<Device>> owners = OpenDevices(ParseDevices(on), 1);
  std::vector<Device*> devices;
  Json names = Json::array();
  for (const auto& owner : owners) {
    devices.push_back(owner.get());
    names.push_back(owner->label() + ": " + owner->info().name);
  }
  Json record;
  record["date"] = Now();
  record["chatty"] = BuildDescription();
  record["commit"] = GitCommit();
  record["command"] = fmt::format("{}", fmt::join(argv, argv + argc, " "));
  record["devices"] = names;
  record["backend"] = FindSymmetricBackend(plan.backend, devices[0]->kind()).name;
  record["repetitions"] = plan.repetitions;
  record["trials"] = plan.trials;
  record["threads_of_a_block"] = plan.threads;
  record["rows"] = Json::array();

  fmt::print("{}\n", BuildDescription());
  for (const auto& name : names) fmt::print("{}\n", name.get<std::string>());
  fmt::print("backend {}\n", record["backend"].get<std::string>());
  fmt::print("\n| {:<35} | {:>23} | {:>12} | {:>12} | {:>12} | {:>14} | {:>9} |\n|---|---|---|---|---|---|---|\n",
             "operation", "size", "us, median", "least", "most", "rate", "of copies");
  MeasureSymmetric(devices, plan, [&](const SymmetricRow& row) {
    PrintRow(row);
    record["rows"].push_back(RowJson(row));
  });
  if (!json_path.empty()) {
    OutputFile output(json_path);
    output.Write(record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    output.Commit();
  }
  return 0;
}

}  // namespace
}  // namespace chatty::bench

int main(int argc, char** argv) {
  try {
    return chatty::bench::Main(argc, argv);
  } catch (const chatty::UsageError& error) {
    fmt::print(stderr, "chatty_symmetric: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "chatty_symmetric: {}\n", error.what());
    return 1;
  }
}
