#include "orrery/api/analyze/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/measurements.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields/option_text.h"
#include "orrery/api/input/run_selection.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/base/text/text.h"
#include "orrery/draw/format.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/speedup.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api {
namespace {

using trace::Part;

// Rows that a trace without GPU work may have: names of CountRows, and words for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kHostRows{
    {{"host_ops", "operators"},
     {"graph_nodes", "nodes of execution traces (orrery predict estimates them)"},
     {"runtime_calls", "runtime calls"},
     {"collective_calls", "collective calls"},
     {"annotations", "annotations"},
     {"python_functions", "Python functions"},
     {"memory_events", "memory events"},
     {"other_slices", "other slices"}}};

// "2:5", "2:" and ":5".
Result<analyze::StepRange> ParseSteps(std::string_view text) {
  analyze::StepRange range{.first = 0, .end = INT64_MAX};
  const std::size_t colon = text.find(':');
  const auto parse = [](std::string_view digits, std::int64_t& number) {
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return digits.empty() ||
           (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size());
  };
  if (colon == std::string_view::npos || !parse(text.substr(0, colon), range.first) ||
      !parse(text.substr(colon + 1), range.end)) {
    return InvalidInput("--steps {}: must be A:B, the first step and the one after the last", text);
  }
  return range;
}

std::vector<const trace::Trace*> SelectedRanks(const analyze::AnalyzeOptions& options,
                                               const trace::TraceSet& set) {
  std::vector<const trace::Trace*> ranks;
  for (std::size_t place = 0; place < set.ranks.size(); ++place) {
    if (options.ranks.empty() || std::ranges::count(options.ranks, trace::RankOf(set, place)) > 0) {
      ranks.push_back(&set.ranks[place]);
    }
  }
  return ranks;
}

Status CheckRank(std::int64_t rank, std::string_view option, const trace::TraceSet& set) {
  std::vector<std::int64_t> ranks;
  for (std::size_t place = 0; place < set.ranks.size(); ++place) {
    ranks.push_back(trace::RankOf(set, place));
  }
  if (std::ranges::count(ranks, rank) > 0) {
    return {};
  }
  return NotFound("{}: no such rank; the run has {}", option,
                  ranks.empty()       ? "no ranks"
                  : ranks.size() == 1 ? fmt::format("rank {}", ranks.front())
                                      : fmt::format("ranks {}", RangesText(ranks)));
}

Status CheckSteps(const RunSelection& selection, const analyze::AnalyzeOptions& options,
                  const trace::TraceSet& set) {
  const analyze::StepRange range = *options.steps;
  std::vector<std::int64_t> numbers;
  for (const trace::Trace* const rank : SelectedRanks(options, set)) {
    numbers.insert(numbers.end(), rank->steps.number.begin(), rank->steps.number.end());
  }
  if (numbers.empty()) {
    return NotFound(
        "--steps {}: the run has no steps; leave --steps out, or say with --step-marker which "
        "ranges are steps",
        selection.steps);
  }
  const bool has_any = std::ranges::any_of(
      numbers, [&](std::int64_t number) { return range.first <= number && number < range.end; });
  return has_any ? Status()
                 : NotFound("--steps {}: no such steps; the run has these: {}", selection.steps,
                            RangesText(numbers));
}

// Returns true if a kernel or operator has this part of a name.
bool HasName(const trace::Speedup& speedup, const trace::TraceSet& set) {
  return std::ranges::any_of(set.ranks, [&](const trace::Trace& rank) {
    const auto& names = speedup.part == Part::kKernel ? rank.activities.name : rank.host_ops.name;
    return std::ranges::any_of(
        names, [&](StringId name) { return Contains(rank.Text(name), speedup.name); });
  });
}

Status CheckWhatIf(const trace::Speedup& speedup, const trace::TraceSet& set) {
  const std::string option = "--what-if " + speedup.text;
  if (speedup.part == Part::kRank) {
    return CheckRank(std::stoi(speedup.name), option, set);
  }
  const bool is_named = speedup.part == Part::kKernel || speedup.part == Part::kOperator;
  return !is_named || HasName(speedup, set)
             ? Status()
             : NotFound("{}: no {} of the run has \"{}\" in its name", option,
                        speedup.part == Part::kKernel ? "kernel" : "operator", speedup.name);
}

// With the names that other tools have for them.
std::vector<std::string_view> MetricNames() {
  std::vector<std::string_view> names = NamesOf(analyze::AllMetrics());
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    for (const analyze::MetricAlias& alias : metric.aliases) {
      names.push_back(alias.name);
    }
  }
  return names;
}

}  // namespace

Status CheckSelection(const RunSelection& selection, const analyze::AnalyzeOptions& options,
                      const ingest::Run& run) {
  for (const std::int32_t rank : options.ranks) {
    ORRERY_TRY_STATUS(CheckRank(rank, fmt::format("--rank {}", rank), run.set));
  }
  if (options.steps) {
    ORRERY_TRY_STATUS(CheckSteps(selection, options, run.set));
  }
  for (const trace::Speedup& speedup : options.what_if) {
    ORRERY_TRY_STATUS(CheckWhatIf(speedup, run.set));
  }
  return {};
}

namespace {

// Missing parts of the input, which may be why something is not there.
std::string LossOf(const ingest::Run& run) {
  std::vector<const trace::ProblemLog*> logs{&run.set.problems};
  for (const trace::Trace& rank : run.set.ranks) {
    logs.push_back(&rank.problems);
  }
  std::vector<std::string> losses;
  for (const trace::ProblemLog* const log : logs) {
    for (const trace::Problem& problem : log->all()) {
      if (problem.severity == trace::Severity::kLoss) {
        losses.push_back(problem.what);
      }
    }
  }
  return losses.empty()
             ? ""
             : fmt::format(". The input is truncated or damaged: {}", fmt::join(losses, "; "));
}

}  // namespace

Status CheckGpuWork(const analyze::AnalyzeOptions& options, const ingest::Run& run,
                    const std::string& path) {
  const auto ranks = SelectedRanks(options, run.set);
  const bool has_work = std::ranges::any_of(ranks, [](const trace::Trace* rank) {
    return !rank->activities.empty() || !rank->counters.empty();
  });
  if (has_work || !run.tables.empty()) {
    return {};
  }
  std::map<std::string, std::int64_t> counts;
  for (const trace::Trace* const rank : ranks) {
    for (const trace::NamedCount& count : trace::CountRows(*rank)) {
      counts[std::string(count.name)] += count.count;
    }
  }
  std::string there_is;
  for (const auto& [key, words] : kHostRows) {
    if (counts[std::string(key)] > 0) {
      there_is += fmt::format("{}{} {}", there_is.empty() ? "" : ", ",
                              draw::FormatCount(counts[std::string(key)]), words);
    }
  }
  return NotFound("{}: no GPU work to analyze, neither kernels nor memcpys; there {}{}", path,
                  there_is.empty() ? "is nothing else either" : "are " + there_is, LossOf(run));
}

Result<analyze::AnalyzeOptions> OptionsOf(const RunSelection& selection, int threads) {
  analyze::AnalyzeOptions options{.ranks = selection.ranks,
                                  .min_bytes = selection.min_bytes,
                                  .launch_gap_ns = selection.launch_gap_us * 1000,
                                  .threads = threads};
  ORRERY_TRY(options.align, AlignNamed(selection.align));
  if (!selection.steps.empty()) {
    ORRERY_TRY(options.steps, ParseSteps(selection.steps));
  }
  return options;
}

Result<std::vector<analyze::NamedMetric>> ChosenMetrics(const std::vector<std::string>& names) {
  std::vector<analyze::NamedMetric> chosen;
  for (const std::string& name : names) {
    const auto found = analyze::FindMetric(name);
    if (!found) {
      return NotFound("no metric is called {}{} (orrery list metrics)", name,
                      DidYouMean(name, MetricNames()));
    }
    chosen.push_back(*found);
  }
  if (names.empty()) {
    for (const analyze::Metric& metric : analyze::AllMetrics()) {
      chosen.push_back({.metric = &metric});
    }
  }
  return chosen;
}

analyze::RunView ViewOf(const SharedRun& read, const analyze::AnalyzeOptions& options) {
  return analyze::ViewRun(read.run->set, *read.aligned, analyze::MeasurementsOf(read.run->tables),
                          options);
}

Result<trace::Speedup> ParseWhatIf(const std::string& text) {
  std::optional<trace::Speedup> speedup = trace::ParseSpeedup(text);
  if (!speedup || !analyze::IsOfRecordedStep(speedup->part)) {
    return InvalidInput(
        "--what-if {}: must be network=K, compute=K, gemm=K, attention=K, optimizer=K, other=K, "
        "host=K, kernel:NAME=K, operator:NAME=K (K times as fast) or rank:N (not late any more)",
        text);
  }
  return *std::move(speedup);
}

}  // namespace orrery::api
