#include "orrery/ingest/nccl_tests/json_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/parse_number.h"
#include "orrery/base/text.h"
#include "orrery/ingest/json_value.h"
#include "orrery/ingest/nccl_tests/infer_run.h"
#include "orrery/ingest/nccl_tests/run_header.h"

namespace orrery::ingest::nccl_tests {
namespace {

using Json = std::optional<JsonElement>;

struct TimingKey {
  std::string_view key;
  TimingField field;
};

constexpr std::array kTimingKeys{
    TimingKey{"time", &Timing::time_us}, TimingKey{"cpu_time", &Timing::cpu_time_us},
    TimingKey{"alg_bw", &Timing::algbw}, TimingKey{"bus_bw", &Timing::busbw},
    TimingKey{"nwrong", &Timing::wrong},
};

constexpr std::array kIterationKeys{
    TimingKey{"min_us", &Timing::iteration_min_us},
    TimingKey{"max_us", &Timing::iteration_max_us},
    TimingKey{"p99_us", &Timing::iteration_p99_us},
    TimingKey{"cv_pct", &Timing::iteration_cv_percent},
};

std::string TextField(const Json& object, std::string_view key) {
  return std::string(Text(Field(object, key)).value_or(""));
}

// Numbers that JSON cannot hold, and the root, are strings.
template <typename T>
std::optional<T> NumberField(const Json& object, std::string_view key) {
  const Json value = Field(object, key);
  T number{};
  if (value && !value->get(number)) {
    return number;
  }
  return ParsePrefix<T>(Trimmed(Text(value).value_or("")));
}

std::optional<std::int64_t> IntegerField(const Json& object, std::string_view key) {
  return NumberField<std::int64_t>(object, key);
}

void ReadTimings(const Json& object, std::span<const TimingKey> keys, Timing& timing) {
  for (const auto& [key, field] : keys) {
    const auto number = NumberField<double>(object, key);
    timing.*field = number && std::isfinite(*number) ? number : std::nullopt;
  }
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

void ReadConfig(const Json& config, Run& run) {
  run.threads = IntegerField(config, "nthreads");
  run.gpus_per_thread = IntegerField(config, "ngpus");
  run.warmup_iters = IntegerField(config, "warmup_iters");
  run.iters = IntegerField(config, "iterations");
  run.aggregated_iters = IntegerField(config, "aggregated_iterations");
  run.graph_launches = IntegerField(config, "graph");
  ForEachElement(Field(config, "devices"), [&](const JsonElement& device) {
    run.devices.push_back({.rank = IntegerField(device, "rank").value_or(0),
                           .group = IntegerField(device, "group").value_or(0),
                           .host = TextField(device, "hostname"),
                           .gpu = TextField(device, "device_info")});
  });
  run.num_ranks = RanksOfProcesses(run);
}

Timing ReadTiming(const Json& result, std::string_view key) {
  Timing timing;
  if (const Json half = Field(result, key)) {
    ReadTimings(half, kTimingKeys, timing);
    ReadTimings(Field(half, "bitwise"),
                std::array{TimingKey{"different_bits", &Timing::bit_differences}}, timing);
    ReadTimings(Field(result, fmt::format("{}_per_iter", key)), kIterationKeys, timing);
  }
  return timing;
}

std::optional<Row> ReadRow(const Json& result) {
  const auto size = IntegerField(result, "size");
  const auto count = IntegerField(result, "count");
  if (!size || !count) {
    return std::nullopt;
  }
  return Row{.size_bytes = *size,
             .count = *count,
             .data_type = TextField(result, "type"),
             .redop = TextField(result, "redop"),
             .root = IntegerField(result, "root"),
             .timing = {ReadTiming(result, "out_of_place"), ReadTiming(result, "in_place")},
             .timestamp = {}};
}

Run ReadDocument(const Json& document, trace::ProblemLog& problems) {
  Run run;
  ForEachElement(Field(document, "args"), [&](const JsonElement& argument) {
    run.test = run.test.empty() ? TestOfCommand(Text(argument).value_or("")) : run.test;
  });
  if (const auto code = IntegerField(document, "nccl_version"); code > 0) {
    run.nccl_version = VersionOfCode(*code);
  }
  ReadConfig(Field(document, "config"), run);
  ForEachElement(Field(document, "results"), [&](const JsonElement& result) {
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
std::optional<std::string> TruncateToCompleteResults(std::string_view text) {
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
  JsonText json;
  Json document = json.Parse(text);
  if (!document) {
    const auto complete = TruncateToCompleteResults(text);
    document = complete ? json.Parse(*complete) : std::nullopt;
    if (!document) {
      return Fail(Error::Kind::kInvalidInput, "the report of nccl-tests is not valid JSON");
    }
    problems.Loss("the report ends early; only complete results were read", 1,
                  fmt::format("byte {}", complete->size() - 2));
  }
  Run run = ReadDocument(document, problems);
  CompleteRun(run, problems);
  return std::vector{std::move(run)};
}

}  // namespace orrery::ingest::nccl_tests
