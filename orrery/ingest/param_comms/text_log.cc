#include "orrery/ingest/param_comms/text_log.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/param_comms/run_facts.h"

namespace orrery::ingest::param_comms {
namespace {

struct TypeName {
  std::string_view torch;
  std::string_view nccl;
};

constexpr std::array kTypes{
    TypeName{"float32", "float"}, TypeName{"float16", "half"}, TypeName{"float64", "double"},
    TypeName{"long", "int64"},    TypeName{"char", "int8"},    TypeName{"byte", "uint8"},
};

std::string NcclType(std::string_view torch) {
  for (const TypeName& type : kTypes) {
    if (type.torch == torch) {
      return std::string(type.nccl);
    }
  }
  return std::string(torch);
}

// Collectives with sizes of their own for each rank keep their name: they are other tests.
std::string TestOf(std::string_view collective) {
  if (collective.ends_with('v')) {
    return std::string(collective);
  }
  for (const std::string_view suffix : {"_base", "_single"}) {
    if (collective.ends_with(suffix)) {
      collective.remove_suffix(suffix.size());
    }
  }
  return nccl_tests::TestOfProgram(collective);
}

std::string_view ReductionOf(std::string_view collective) {
  const bool reduces = collective == "all_reduce" || collective.starts_with("reduce");
  return reduces ? "sum" : "none";
}

// What a row's tag says: "-all_reduce-float32"; the first versions say nothing, later ones no type.
struct Tag {
  std::string_view collective;
  std::string_view data_type;
};

Tag SplitTag(std::string_view tag) {
  tag.remove_prefix(tag.starts_with('-') ? 1 : 0);
  const std::size_t end = std::min(tag.find('-'), tag.size());
  const std::string_view rest = tag.substr(std::min(end + 1, tag.size()));
  return {.collective = tag.substr(0, end), .data_type = rest.substr(0, rest.find('-'))};
}

// Whether the size is one rank's share of a reduce-scatter. The share has `count` elements where
// that is counted for a rank, and the ranks' shares together have where it is not.
bool IsShare(std::string_view collective, const nccl_tests::Row& row, std::int64_t num_ranks) {
  const std::int64_t element = nccl_tests::ElementBytes(row.data_type).value_or(0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;
  if (collective != "reduce_scatter_base" || element == 0 || num_ranks < 2 || row.count > kMost ||
      row.size_bytes <= 0 || row.size_bytes > kMost / num_ranks) {
    return false;
  }
  const std::int64_t counted_bytes = row.count * element;
  return counted_bytes == row.size_bytes || counted_bytes == row.size_bytes * num_ranks;
}

void MultiplyShare(std::int64_t num_ranks, nccl_tests::Row& row) {
  row.size_bytes *= num_ranks;
  nccl_tests::Timing& timing = row.timing[nccl_tests::kOutOfPlace];
  timing.algbw = *timing.algbw * static_cast<double>(num_ranks);
  timing.busbw = *timing.busbw * static_cast<double>(num_ranks);
}

class TextLogParser {
 public:
  explicit TextLogParser(trace::ProblemLog& problems) : problems_(problems) {}

  void AddLine(std::string_view line) {
    ++line_number_;
    const auto result = SplitResultLine(line);
    if (!result) {
      AddOtherLine(line);
    } else if (auto layout = ResultColumns::FromHeader(*result)) {
      AddHeader(std::move(*layout));
    } else {
      AddRow(*result);
    }
  }

  Log Finish() {
    std::erase_if(log_.runs, [](const nccl_tests::Run& run) { return run.rows.empty(); });
    for (nccl_tests::Run& run : log_.runs) {
      CompleteRun(run, problems_);
    }
    return std::move(log_);
  }

 private:
  void AddOtherLine(std::string_view line) {
    if (has_results_ && RunFacts::IsGreeting(line)) {
      facts_.host_of_rank.clear();
      has_results_ = false;
    }
    facts_.ReadLine(line);
  }

  void AddHeader(ResultColumns layout) {
    for (const std::string_view name : layout.unknown()) {
      problems_.Loss(fmt::format("column that we do not know: {}", name), 1, Place());
    }
    layout_ = std::move(layout);
    StartRun({});
  }

  void StartRun(std::string test) {
    nccl_tests::Run run;
    run.test = std::move(test);
    run.num_ranks = facts_.num_ranks;
    run.nccl_version = facts_.nccl_version;
    for (const auto& [rank, host] : facts_.host_of_rank) {
      run.devices.push_back({.rank = rank, .group = 0, .host = host, .gpu = {}});
    }
    log_.runs.push_back(std::move(run));
  }

  void AddRow(const ResultLine& line) {
    has_results_ = true;
    const ResultColumns* const layout = LayoutFor(line);
    if (layout != nullptr && !layout->why_left_out().empty()) {
      problems_.Loss(std::string(layout->why_left_out()), 1, Place());
      return;
    }
    const auto row = layout == nullptr ? std::nullopt : layout->ParseRow(line);
    if (!row) {
      problems_.Loss("torn row", 1, Place());
      return;
    }
    Keep(line, *row);
  }

  const ResultColumns* LayoutFor(const ResultLine& line) {
    if (layout_) {
      return &*layout_;
    }
    assumed_layout_ = ResultColumns::Assumed(line.words.size());
    if (!assumed_layout_) {
      return nullptr;
    }
    problems_.Note("row without a header; its columns were taken from their number", 1, Place());
    return &*assumed_layout_;
  }

  void Keep(const ResultLine& line, const ResultRow& result) {
    const Tag tag = SplitTag(line.tag);
    const std::string_view collective =
        tag.collective.empty() ? std::string_view(facts_.collective) : tag.collective;
    nccl_tests::Row row{
        .size_bytes = result.size_bytes,
        .count = result.count,
        .data_type = NcclType(tag.data_type.empty() ? facts_.data_type : tag.data_type),
        .redop = std::string(ReductionOf(collective)),
        .root = {},
        .timing = {},
        .timestamp = {}};
    nccl_tests::Timing& timing = row.timing[nccl_tests::kOutOfPlace];
    timing.time_us = result.median_us;
    timing.algbw = result.algbw;
    timing.busbw = result.busbw;
    nccl_tests::Run& run = RunFor(TestOf(collective));
    const std::int64_t num_ranks = run.num_ranks.value_or(0);
    if (IsShare(collective, row, num_ranks)) {
      MultiplyShare(num_ranks, row);
      problems_.Note("size of one rank's share; multiplied by the ranks", 1, Place());
    }
    run.rows.push_back(std::move(row));
    log_.spreads.push_back(result.spread);
  }

  nccl_tests::Run& RunFor(const std::string& test) {
    if (log_.runs.empty() || (!log_.runs.back().rows.empty() && log_.runs.back().test != test)) {
      StartRun(test);
    }
    log_.runs.back().test = test;
    return log_.runs.back();
  }

  [[nodiscard]] std::string Place() const { return fmt::format("line {}", line_number_); }

  trace::ProblemLog& problems_;
  std::int64_t line_number_ = 0;
  Log log_;
  RunFacts facts_;
  std::optional<ResultColumns> layout_;
  std::optional<ResultColumns> assumed_layout_;
  bool has_results_ = false;  // since the last greeting
};

}  // namespace

Log ParseTextLog(std::string_view text, trace::ProblemLog& problems) {
  TextLogParser parser(problems);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.AddLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.Finish();
}

}  // namespace orrery::ingest::param_comms
