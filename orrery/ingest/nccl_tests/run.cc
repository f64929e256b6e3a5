#include "orrery/ingest/nccl_tests/run.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/text/table.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {
namespace {

struct NamedTiming {
  std::string_view name;
  TimingField field;
  bool is_always_shown;
};

constexpr std::array kTimings{
    NamedTiming{"time_us", &Timing::time_us, true},
    NamedTiming{"algbw_GBps", &Timing::algbw, true},
    NamedTiming{"busbw_GBps", &Timing::busbw, true},
    NamedTiming{"wrong", &Timing::wrong, true},
    NamedTiming{"cpu_time_us", &Timing::cpu_time_us, false},
    NamedTiming{"bit_differences", &Timing::bit_differences, false},
    NamedTiming{"iteration_min_us", &Timing::iteration_min_us, false},
    NamedTiming{"iteration_max_us", &Timing::iteration_max_us, false},
    NamedTiming{"iteration_p99_us", &Timing::iteration_p99_us, false},
    NamedTiming{"iteration_cv_percent", &Timing::iteration_cv_percent, false},
};

template <typename T>
Table::Cell CellOf(const std::optional<T>& value) {
  return value ? Table::Cell(*value) : Table::Cell();
}

Table::Cell CellOf(const std::string& text) {
  return text.empty() ? Table::Cell() : Table::Cell(text);
}

std::string GpuOf(const Run& run) {
  std::set<std::string> names;
  for (const Device& device : run.devices) {
    names.insert(device.gpu);
  }
  names.erase("");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::int64_t> NumNodesOf(const Run& run) {
  std::set<std::string_view> hosts;
  for (const Device& device : run.devices) {
    hosts.insert(device.host);
  }
  hosts.erase("");
  return hosts.empty() ? std::nullopt : std::optional<std::int64_t>(std::ssize(hosts));
}

// With several groups each runs the collective by itself.
std::optional<std::int64_t> RanksOfDevices(const Run& run, trace::ProblemLog& problems) {
  if (run.devices.empty()) {
    return std::nullopt;
  }
  std::map<std::int64_t, std::int64_t> ranks_of_group;
  std::int64_t highest = 0;
  for (const Device& device : run.devices) {
    ++ranks_of_group[device.group];
    highest = std::max(highest, device.rank);
  }
  const std::int64_t printed = ranks_of_group.begin()->second;
  if (ranks_of_group.size() > 1 || highest < printed) {
    return printed;
  }
  problems.Note("device lines missing; ranks counted by the highest", highest + 1 - printed);
  return highest + 1;
}

// Adds a column and fills it row by row.
void AddColumn(Table& table, const std::vector<Run>& runs, std::string name, Table::Type type,
               auto get) {
  const std::size_t column = table.AddColumn(std::move(name), type);
  std::size_t index = 0;
  for (const Run& run : runs) {
    for (const Row& row : run.rows) {
      table.Set(index++, column, CellOf(get(run, row)));
    }
  }
}

bool AnyRow(const std::vector<Run>& runs, auto holds) {
  return std::ranges::any_of(runs,
                             [&](const Run& run) { return std::ranges::any_of(run.rows, holds); });
}

void AddTimingColumns(const std::vector<Run>& runs, Placement placement, std::string_view prefix,
                      Table& table) {
  for (const NamedTiming& timing : kTimings) {
    const auto value = [&](const Row& row) { return row.timing[placement].*timing.field; };
    if (timing.is_always_shown ||
        AnyRow(runs, [&](const Row& row) { return value(row).has_value(); })) {
      AddColumn(table, runs, fmt::format("{}_{}", prefix, timing.name), Table::Type::kNumber,
                [&](const Run&, const Row& row) { return value(row); });
    }
  }
}

constexpr std::int64_t kMaxRanks = 16'384;

// Times (n-1)/n it is busbw / algbw; 0 stands for the ratio 1.
struct Family {
  std::string_view test;
  int scale;
  bool reduces;
  bool has_root;
};

constexpr std::array kFamilies{
    Family{"all_reduce", 2, true, false},  Family{"reduce_scatter", 1, true, false},
    Family{"all_gather", 1, false, false}, Family{"all_to_all", 1, false, false},
    Family{"alltoallv", 1, false, false},  Family{"gather", 1, false, true},
    Family{"scatter", 1, false, true},     Family{"broadcast", 0, false, true},
    Family{"reduce", 0, true, true},       Family{"send_recv", 0, true, false},
    Family{"hypercube", 0, true, false},
};

struct Bounds {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool Contain(double value) const { return low <= value && value <= high; }
};

// Bandwidths are printed in six characters, so large ones have fewer decimals.
double RoundingError(double printed) {
  return printed < 1'000 ? 0.0051 : printed < 10'000 ? 0.051 : 0.51;
}

struct Sample {
  const Row* row = nullptr;
  Bounds ratio;
};

// The half with the largest bus bandwidth has the ratio with the most digits.
std::optional<Sample> BestSample(const Run& run) {
  const Row* best = nullptr;
  double algbw = 0;
  double busbw = 0;
  for (const Row& row : run.rows) {
    for (const Timing& timing : row.timing) {
      if (timing.algbw && timing.busbw && *timing.algbw > 1 && *timing.busbw > busbw) {
        best = &row;
        algbw = *timing.algbw;
        busbw = *timing.busbw;
      }
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return Sample{best,
                {(busbw - RoundingError(busbw)) / (algbw + RoundingError(algbw)),
                 (busbw + RoundingError(busbw)) / (algbw - RoundingError(algbw))}};
}

bool MayBe(const Family& family, const Run& run, const Row& row) {
  if (!run.test.empty()) {
    return family.test == run.test;
  }
  const bool reduces = row.redop != "none";
  // Old versions have no column for the root.
  const bool root_fits = !row.root || (*row.root >= 0) == family.has_root;
  return reduces == family.reduces && root_fits;
}

std::vector<std::int64_t> RanksThatFit(const Family& family, const Run& run, const Bounds& ratio) {
  std::vector<std::int64_t> fitting;
  const std::int64_t first = run.num_ranks.value_or(2);
  const std::int64_t last = run.num_ranks.value_or(kMaxRanks);
  for (std::int64_t ranks = std::max<std::int64_t>(first, 2); ranks <= last; ++ranks) {
    const auto n = static_cast<double>(ranks);
    if (ratio.Contain(family.scale == 0 ? 1.0 : family.scale * (n - 1) / n)) {
      fitting.push_back(ranks);
    }
  }
  return fitting;
}

}  // namespace

std::optional<std::int64_t> ElementBytes(std::string_view type) {
  const std::int64_t bytes = SizeInBytes(1, ParseDataType(type));
  return bytes < 0 ? std::nullopt : std::optional(bytes);
}

std::string TestOfProgram(std::string_view program) {
  program.remove_prefix(program.find_last_of('/') + 1);
  if (program.ends_with("_perf")) {
    program.remove_suffix(5);
  }
  if (program == "sendrecv") {
    return std::string(CollectiveKindName(CollectiveKind::kSendRecv));
  }
  const auto kind = trace::ParseCollectiveName(program);
  // Sizes of alltoallv mean something else than those of alltoall.
  return std::string(kind && program != "alltoallv" ? CollectiveKindName(*kind) : program);
}

std::string VersionOfCode(std::int64_t code) {
  const std::int64_t major_unit = code >= 10'000 ? 10'000 : 1'000;
  return fmt::format("{}.{}.{}", code / major_unit, code % major_unit / 100, code % 100);
}

void CompleteRun(Run& run, trace::ProblemLog& problems) {
  if (!run.num_ranks) {
    run.num_ranks = RanksOfDevices(run, problems);
  }
  const Inferred inferred = InferRun(run);
  const auto num_rows = static_cast<std::int64_t>(run.rows.size());
  if (run.test.empty()) {
    run.test = inferred.test;
    problems.Note(inferred.test.empty() ? "row of an unknown collective; no line names the program"
                                        : "row whose collective was inferred from its bandwidths",
                  num_rows);
  }
  if (!run.num_ranks) {
    run.num_ranks = inferred.num_ranks;
    problems.Note(inferred.num_ranks ? "row whose number of ranks was inferred from its bandwidths"
                                     : "row with an unknown number of ranks",
                  num_rows);
  }
}

Table ToTable(const std::vector<Run>& runs) {
  using enum Table::Type;
  Table table;
  for (const Run& run : runs) {
    for (std::size_t row = 0; row < run.rows.size(); ++row) {
      table.AddRow();
    }
  }
  const auto of_run = [&](const char* name, Table::Type type, auto get) {
    AddColumn(table, runs, name, type,
              [&](const Run& run, const Row&) { return std::invoke(get, run); });
  };
  const auto of_row = [&](const char* name, Table::Type type, auto get) {
    AddColumn(table, runs, name, type,
              [&](const Run&, const Row& row) { return std::invoke(get, row); });
  };
  of_run("test", kText, &Run::test);
  of_run("nranks", kInteger, &Run::num_ranks);
  of_row("size_bytes", kInteger, [](const Row& row) { return std::optional(row.size_bytes); });
  of_row("count", kInteger, [](const Row& row) { return std::optional(row.count); });
  of_row("data_type", kText, &Row::data_type);
  of_row("redop", kText, &Row::redop);
  of_row("root", kInteger, &Row::root);
  AddTimingColumns(runs, kOutOfPlace, "oop", table);
  AddTimingColumns(runs, kInPlace, "ip", table);
  if (AnyRow(runs, [](const Row& row) { return !row.timestamp.empty(); })) {
    of_row("timestamp", kText, &Row::timestamp);
  }
  of_run("nodes", kInteger, NumNodesOf);
  of_run("gpu", kText, GpuOf);
  of_run("threads", kInteger, &Run::threads);
  of_run("gpus_per_thread", kInteger, &Run::gpus_per_thread);
  of_run("warmup_iters", kInteger, &Run::warmup_iters);
  of_run("iters", kInteger, &Run::iters);
  of_run("aggregated_iters", kInteger, &Run::aggregated_iters);
  of_run("graph_launches", kInteger, &Run::graph_launches);
  of_run("tests_version", kText, &Run::tests_version);
  of_run("nccl_version", kText, &Run::nccl_version);
  of_run("run_mean_busbw_GBps", kNumber, &Run::mean_busbw);
  return table;
}

bool IsKnownTest(std::string_view test) {
  return std::ranges::find(kFamilies, test, &Family::test) != kFamilies.end();
}

Inferred InferRun(const Run& run) {
  const auto sample = BestSample(run);
  if (!sample) {
    return {};
  }
  std::vector<std::string_view> tests;
  std::vector<std::int64_t> all_ranks;
  for (const Family& family : kFamilies) {
    if (!MayBe(family, run, *sample->row)) {
      continue;
    }
    const auto ranks = RanksThatFit(family, run, sample->ratio);
    if (!ranks.empty()) {
      tests.push_back(family.test);
      all_ranks.insert(all_ranks.end(), ranks.begin(), ranks.end());
    }
  }
  Inferred inferred;
  if (tests.size() == 1) {
    inferred.test = tests.front();
  }
  if (!all_ranks.empty() &&
      std::ranges::count(all_ranks, all_ranks.front()) == std::ssize(all_ranks)) {
    inferred.num_ranks = all_ranks.front();
  }
  return inferred;
}

}  // namespace orrery::ingest::nccl_tests
