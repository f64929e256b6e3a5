#include "orrery/ingest/nccl_tests/json_log.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/ingest/nccl_tests/infer_run.h"
#include "orrery/ingest/nccl_tests/run_header.h"

namespace orrery::ingest::nccl_tests {
namespace {

using simdjson::dom::element;

template <typename T>
std::optional<T> ParseText(std::string_view text) {
  T value{};
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string_view TextField(const element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// Numbers that JSON cannot hold, and the root, are strings.
std::optional<double> NumberField(const element& object, std::string_view key) {
  double value = 0;
  if (object[key].get(value) != simdjson::SUCCESS) {
    value = ParseText<double>(TextField(object, key)).value_or(std::nan(""));
  }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> IntegerField(const element& object, std::string_view key) {
  std::int64_t value = 0;
  if (object[key].get(value) == simdjson::SUCCESS) {
    return value;
  }
  return ParseText<std::int64_t>(TextField(object, key));
}

template <typename Visit>
void ForEachIn(const element& object, std::string_view key, Visit visit) {
  simdjson::dom::array array;
  if (object[key].get(array) != simdjson::SUCCESS) {
    return;
  }
  for (const element item : array) {
    visit(item);
  }
}

void ReadDevices(const element& config, Run& run) {
  ForEachIn(config, "devices", [&](const element& device) {
    run.devices.push_back({.rank = IntegerField(device, "rank").value_or(0),
                           .group = IntegerField(device, "group").value_or(0),
                           .host = std::string(TextField(device, "hostname")),
                           .gpu = std::string(TextField(device, "device_info"))});
  });
}

// The report names the first device of each process, whatever the process drives.
std::optional<std::int64_t> RanksOfProcesses(const Run& run) {
  const std::int64_t in_process =
      std::max<std::int64_t>(run.threads.value_or(1) * run.gpus_per_thread.value_or(1), 1);
  const bool has_only_first =
      std::all_of(run.devices.begin(), run.devices.end(),
                  [&](const Device& device) { return device.rank % in_process == 0; });
  if (run.devices.empty() || in_process == 1 || !has_only_first) {
    return std::nullopt;  // one device line a rank, counted later
  }
  return static_cast<std::int64_t>(run.devices.size()) * in_process;
}

void ReadConfig(const element& document, Run& run) {
  element config;
  if (document["config"].get(config) != simdjson::SUCCESS) {
    return;
  }
  run.threads = IntegerField(config, "nthreads");
  run.gpus_per_thread = IntegerField(config, "ngpus");
  run.warmup_iters = IntegerField(config, "warmup_iters");
  run.iters = IntegerField(config, "iterations");
  run.aggregated_iters = IntegerField(config, "aggregated_iterations");
  run.graph_launches = IntegerField(config, "graph");
  ReadDevices(config, run);
  run.num_ranks = RanksOfProcesses(run);
}

void ReadIterations(const element& result, std::string_view key, Timing& timing) {
  element iterations;
  if (result[key].get(iterations) != simdjson::SUCCESS) {
    return;
  }
  timing.iteration_min_us = NumberField(iterations, "min_us");
  timing.iteration_max_us = NumberField(iterations, "max_us");
  timing.iteration_p99_us = NumberField(iterations, "p99_us");
  timing.iteration_cv_percent = NumberField(iterations, "cv_pct");
}

Timing ReadTiming(const element& result, std::string_view key) {
  Timing timing;
  element half;
  if (result[key].get(half) != simdjson::SUCCESS) {
    return timing;
  }
  timing.time_us = NumberField(half, "time");
  timing.cpu_time_us = NumberField(half, "cpu_time");
  timing.algbw = NumberField(half, "alg_bw");
  timing.busbw = NumberField(half, "bus_bw");
  timing.wrong = NumberField(half, "nwrong");
  element bitwise;
  if (half["bitwise"].get(bitwise) == simdjson::SUCCESS) {
    timing.bit_differences = NumberField(bitwise, "different_bits");
  }
  ReadIterations(result, fmt::format("{}_per_iter", key), timing);
  return timing;
}

std::optional<Row> ReadRow(const element& result) {
  const auto size = IntegerField(result, "size");
  const auto count = IntegerField(result, "count");
  if (!size || !count) {
    return std::nullopt;
  }
  return Row{.size_bytes = *size,
             .count = *count,
             .data_type = std::string(TextField(result, "type")),
             .redop = std::string(TextField(result, "redop")),
             .root = IntegerField(result, "root"),
             .timing = {ReadTiming(result, "out_of_place"), ReadTiming(result, "in_place")},
             .timestamp = {}};
}

Run ReadDocument(const element& document, trace::ProblemLog& problems) {
  Run run;
  ForEachIn(document, "args", [&](const element& argument) {
    std::string_view text;
    if (run.test.empty() && argument.get(text) == simdjson::SUCCESS) {
      run.test = TestOfCommand(text);
    }
  });
  if (const auto code = IntegerField(document, "nccl_version"); code > 0) {
    run.nccl_version = VersionOfCode(*code);
  }
  ReadConfig(document, run);
  ForEachIn(document, "results", [&](const element& result) {
    if (auto row = ReadRow(result)) {
      run.rows.push_back(*std::move(row));
    } else {
      problems.Loss("result without size or count");
    }
  });
  return run;
}

// Returns the report up to its last complete result, closed by us; nothing if there is none.
// Results are objects in a list in the document: the third level.
std::optional<std::string> CutToCompleteResults(std::string_view text) {
  std::size_t end = 0;
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      end = c == '}' && depth == 3 ? at + 1 : end;
      --depth;
    }
  }
  if (end == 0) {
    return std::nullopt;
  }
  return std::string(text.substr(0, end)) + "]}";
}

}  // namespace

Result<std::vector<Run>> ParseJsonLog(std::string_view text, trace::ProblemLog& problems) {
  simdjson::dom::parser parser;
  element document;
  auto error = parser.parse(text.data(), text.size()).get(document);
  if (error != simdjson::SUCCESS) {
    const auto cut = CutToCompleteResults(text);
    error = cut ? parser.parse(*cut).get(document) : error;
    if (error != simdjson::SUCCESS) {
      return Fail(
          Error::Kind::kInvalidInput,
          fmt::format("the report of nccl-tests is not JSON: {}", simdjson::error_message(error)));
    }
    problems.Loss("the report ends early; only complete results were read", 1,
                  fmt::format("byte {}", cut->size() - 2));
  }
  Run run = ReadDocument(document, problems);
  CompleteRun(run, problems);
  std::vector<Run> runs;
  runs.push_back(std::move(run));
  return runs;
}

}  // namespace orrery::ingest::nccl_tests
