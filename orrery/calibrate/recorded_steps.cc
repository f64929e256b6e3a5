#include "orrery/calibrate/recorded_steps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/embedded_step_systems.h"

namespace orrery::calibrate {
namespace {

constexpr double kWarmUpShare = 0.05;
constexpr std::size_t kLeastRecordsOfRun = 3;
constexpr std::size_t kLeastRecords = 20;
constexpr std::int64_t kMostGpus = 10'000'000;
constexpr std::int64_t kMostWindow = 1'000'000;

struct Machine {
  std::string gpu;
  int gpus = 0;
};

using Machines = std::map<std::string, Machine, std::less<>>;

const Machines& KnownMachines() {
  static const Machines machines = [] {
    Machines read;
    std::optional<Error> error;
    YamlFields file(YAML::Load(kEmbeddedStepSystems), "systems of recorded steps", error);
    for (YamlFields& fields : file.Maps("systems")) {
      const std::string system = fields.Text("system");
      read[system] = {.gpu = fields.Text("gpu"), .gpus = fields.Count("gpus", 1)};
      fields.RefuseOthers();
    }
    ORRERY_CHECK(!error, error ? error->message() : "");
    return read;
  }();
  return machines;
}

Result<Machine> MachineOf(const Table& table, std::size_t row, std::string_view system) {
  const std::optional<std::int64_t> gpus = table.Integer(row, "gpus");
  const std::optional<std::string_view> gpu = table.Text(row, "gpu");
  if (gpus && gpu && *gpus >= 1 && *gpus <= kMostGpus) {
    return Machine{.gpu = std::string(*gpu), .gpus = static_cast<int>(*gpus)};
  }
  const auto found = KnownMachines().find(system);
  if (found == KnownMachines().end()) {
    return Invalid(
        "system {} is not in data/workload/step_systems.yaml: add the columns gpu and gpus",
        system);
  }
  return found->second;
}

struct RunKey {
  std::string system;
  std::string benchmark;
  std::string run;

  auto operator<=>(const RunKey&) const = default;
};

struct Record {
  std::int64_t step = 0;
  double seconds = 0;
  int window = 1;
};

struct RecordedRun {
  Machine machine;
  std::vector<Record> records;
};

Result<Record> RecordOf(const Table& table, std::size_t row) {
  const std::optional<std::int64_t> step = table.Integer(row, "step");
  const std::optional<double> seconds = table.Number(row, "seconds");
  const std::optional<std::int64_t> window = table.Integer(row, "steps_in_window");
  if (!step) {
    return Invalid("step is not a whole number");
  }
  if (!seconds || !std::isfinite(*seconds) || *seconds <= 0) {
    return Invalid("seconds is not a time above zero");
  }
  if (!window || *window < 1 || *window > kMostWindow) {
    return Invalid("steps_in_window is not a number of steps");
  }
  return Record{.step = *step, .seconds = *seconds, .window = static_cast<int>(*window)};
}

// Runs are called "3" in one table and "03" in another, which makes their column text.
std::optional<std::string> NameIn(const Table& table, std::size_t row, std::string_view column) {
  if (const std::optional<std::int64_t> number = table.Integer(row, column)) {
    return fmt::format("{}", *number);
  }
  const std::optional<std::string_view> text = table.Text(row, column);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

Status AddRow(const Table& table, std::size_t row, std::map<RunKey, RecordedRun>& runs) {
  const std::optional<std::string> system = NameIn(table, row, "system");
  const std::optional<std::string> benchmark = NameIn(table, row, "benchmark");
  const std::optional<std::string> run = NameIn(table, row, "run");
  if (!system || !benchmark || !run) {
    return Invalid("a record needs the names of its system, benchmark and run");
  }
  ORRERY_TRY(const Record record, RecordOf(table, row));
  RecordedRun& recorded = runs[{*system, *benchmark, *run}];
  if (recorded.records.empty()) {
    ORRERY_TRY(recorded.machine, MachineOf(table, row, *system));
  }
  recorded.records.push_back(record);
  return {};
}

using GroupKey = std::pair<std::pair<std::string, std::string>, int>;

// Splits a run by the windows of its records, without beginning and end.
void AddRun(const RunKey& key, const RecordedRun& run, std::map<GroupKey, RecordedSteps>& groups,
            RecordedStepTable& table) {
  const std::size_t count = run.records.size();
  const auto warm_up =
      static_cast<std::size_t>(std::ceil(kWarmUpShare * static_cast<double>(count)));
  table.records += count;
  table.in_warm_up += warm_up;
  if (warm_up == count) {
    return;
  }
  ++table.at_the_end;
  std::map<int, std::vector<double>> seconds_of_window;
  for (std::size_t i = warm_up; i + 1 < count; ++i) {
    seconds_of_window[run.records[i].window].push_back(run.records[i].seconds);
  }
  for (auto& [window, seconds] : seconds_of_window) {
    if (seconds.size() < kLeastRecordsOfRun) {
      table.in_small_groups += seconds.size();
      continue;
    }
    RecordedSteps& group = groups[{{key.system, key.benchmark}, window}];
    group.system = key.system;
    group.benchmark = key.benchmark;
    group.gpu = run.machine.gpu;
    group.gpus = run.machine.gpus;
    group.window_steps = window;
    group.runs.push_back(std::move(seconds));
  }
}

std::vector<double> BlockMeans(std::span<const double> values, std::size_t block) {
  std::vector<double> means;
  for (std::size_t begin = 0; begin + block <= values.size(); begin += block) {
    means.push_back(Mean(values.subspan(begin, block)));
  }
  return means;
}

}  // namespace

std::string RecordedSteps::submitter() const {
  return system.substr(0, system.find('/'));
}

std::size_t RecordedSteps::num_records() const {
  std::size_t records = 0;
  for (const std::vector<double>& run : runs) {
    records += run.size();
  }
  return records;
}

double RecordedSteps::MedianStep() const {
  std::vector<double> medians;
  for (const std::vector<double>& run : runs) {
    medians.push_back(Median(run));
  }
  return Median(medians);
}

std::vector<double> RecordedSteps::Relative(std::size_t block) const {
  std::vector<double> relative;
  for (const std::vector<double>& run : runs) {
    const std::vector<double> means = BlockMeans(run, block);
    if (means.size() < kLeastRecordsOfRun) {
      continue;
    }
    const double median = Median(means);
    for (const double mean : means) {
      relative.push_back(mean / median);
    }
  }
  return relative;
}

Result<RecordedStepTable> ReadRecordedSteps(const std::string& path) {
  ORRERY_TRY(const Table rows, ReadCsvFile(path));
  for (const std::string_view column :
       {"system", "benchmark", "run", "step", "seconds", "steps_in_window"}) {
    if (!rows.FindColumn(column)) {
      return Invalid("{}: no column {} (docs/formats/recorded-steps.md)", path, column);
    }
  }
  std::map<RunKey, RecordedRun> runs;
  for (std::size_t row = 0; row < rows.num_rows(); ++row) {
    if (const Status added = AddRow(rows, row, runs); !added) {
      return FailWithin(fmt::format("{}: row {}", path, row + 1), added);
    }
  }
  RecordedStepTable table;
  std::map<GroupKey, RecordedSteps> groups;
  for (auto& [key, run] : runs) {
    std::ranges::stable_sort(run.records, {}, &Record::step);
    AddRun(key, run, groups, table);
  }
  for (auto& [key, group] : groups) {
    if (group.num_records() < kLeastRecords) {
      table.in_small_groups += group.num_records();
    } else {
      table.groups.push_back(std::move(group));
    }
  }
  if (table.groups.empty()) {
    return Invalid("{}: no system has {} records after warm-up", path, kLeastRecords);
  }
  return table;
}

}  // namespace orrery::calibrate
