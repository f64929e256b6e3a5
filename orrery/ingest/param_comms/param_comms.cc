#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/table.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/ingest/nccl_tests/run_header.h"
#include "orrery/ingest/param_comms/result_columns.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::param_comms {
namespace {

struct Log {
  std::vector<nccl_tests::Run> runs;
  std::vector<RankSpread> spreads;  // one for each row, over all runs
};

/// Properties of a run from the lines around its results. Later lines override earlier ones.
struct RunInfo {
  std::optional<std::int64_t> num_ranks;
  std::string collective;  // as PARAM names it
  std::string data_type;   // as PyTorch names it
  std::string nccl_version;
  std::map<std::int64_t, std::string> host_of_rank;

  /// Parses a line; most contain nothing of interest.
  void ReadLine(std::string_view line);

  /// Returns whether a line introduces a rank; the first such line after results starts another
  /// run.
  [[nodiscard]] static bool IsRankLine(std::string_view line);
};

constexpr std::int64_t kMaxRanks = 1'000'000;
constexpr std::string_view kRankMark = "[Rank";
constexpr std::string_view kHost = " host ";

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r,'\"]"));
}

std::optional<std::int64_t> CountAt(std::string_view text) {
  const auto count = ParsePrefix<std::int64_t>(text);
  return count && *count >= 0 && *count <= kMaxRanks ? count : std::nullopt;
}

void TakeWord(std::string_view line, std::string_view key, std::string& value) {
  if (const std::string_view word = FirstWord(TextAfter(line, key)); !word.empty()) {
    value = word;
  }
}

// Every rank_line of the line: "[Rank   3] host node-a, device: cuda:3, …". With mpi4py one line
// holds those of all ranks.
void ReadRankLines(std::string_view line, std::map<std::int64_t, std::string>& host_of_rank) {
  for (std::size_t at = line.find(kRankMark); at != std::string_view::npos;
       at = line.find(kRankMark, at + 1)) {
    const std::string_view rank_line = line.substr(at, line.find(kRankMark, at + 1) - at);
    const auto rank = CountAt(TextAfter(rank_line, kRankMark));
    const std::string_view host = FirstWord(TextAfter(rank_line, kHost));
    if (rank && !host.empty()) {
      host_of_rank[*rank] = host;
    }
  }
}

bool RunInfo::IsRankLine(std::string_view line) {
  return line.find(kRankMark) != std::string_view::npos &&
         line.find(kHost) != std::string_view::npos;
}

void RunInfo::ReadLine(std::string_view line) {
  for (const std::string_view key : {"world_size:", "'world_size':", "groupSize"}) {
    if (const auto ranks = CountAt(TextAfter(line, key)); ranks && *ranks > 0) {
      num_ranks = ranks;
    }
  }
  TakeWord(line, "--collective ", collective);
  TakeWord(line, "--collective=", collective);
  TakeWord(line, "\t collective=", collective);
  TakeWord(line, "args.dtype: torch.", data_type);
  if (IsRankLine(line)) {
    ReadRankLines(line, host_of_rank);
  }
  if (nccl_tests::IsVersionLine(line)) {
    nccl_tests::Run versions;
    nccl_tests::ReadVersionLine(line, versions);
    nccl_version = versions.nccl_version;
  }
}

constexpr auto kNcclTypes =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"float32", "float"},
                                                                  {"float16", "half"},
                                                                  {"float64", "double"},
                                                                  {"long", "int64"},
                                                                  {"char", "int8"},
                                                                  {"byte", "uint8"}});

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

// A row's tag, "-all_reduce-float32"; the first versions have none, later ones no type.
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

// Returns true if the size is one rank's share of a reduce-scatter. `count` is the elements of the
// share or, in other versions, of the ranks' shares together.
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

// Reads what `comms.py` prints. Rows that are torn, or are not times of one collective alone, are
// counted.
//
// Sizes are of the full side, as PARAM counts too: the whole output of an all-gather, the whole
// input of a reduce-scatter. Only older versions print one rank's share for reduce_scatter_base;
// it is recognised by the number of elements and multiplied, bandwidths with it.
class TextLogParser {
 public:
  explicit TextLogParser(trace::ProblemLog& problems) : problems_(problems) {}

  Log Read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      AddLine(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::erase_if(log_.runs, [](const nccl_tests::Run& run) { return run.rows.empty(); });
    for (nccl_tests::Run& run : log_.runs) {
      CompleteRun(run, problems_);
    }
    return std::move(log_);
  }

 private:
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

  void AddOtherLine(std::string_view line) {
    if (has_results_ && RunInfo::IsRankLine(line)) {
      info_.host_of_rank.clear();
      has_results_ = false;
    }
    info_.ReadLine(line);
  }

  void AddHeader(ResultColumns layout) {
    for (const std::string_view name : layout.unknown()) {
      problems_.Loss(fmt::format("unknown column: {}", name), 1, Place());
    }
    layout_ = std::move(layout);
    StartRun({});
  }

  void StartRun(std::string test) {
    nccl_tests::Run run;
    run.test = std::move(test);
    run.num_ranks = info_.num_ranks;
    run.nccl_version = info_.nccl_version;
    for (const auto& [rank, host] : info_.host_of_rank) {
      run.devices.push_back({.rank = rank, .group = 0, .host = host, .gpu = {}});
    }
    log_.runs.push_back(std::move(run));
  }

  void AddRow(const ResultLine& line) {
    has_results_ = true;
    const ResultColumns* const layout = LayoutFor(line);
    if (layout != nullptr && !layout->skip_reason().empty()) {
      problems_.Loss(std::string(layout->skip_reason()), 1, Place());
      return;
    }
    const auto row = layout == nullptr ? std::nullopt : layout->ParseRow(line);
    if (!row) {
      problems_.Loss("incomplete row", 1, Place());
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
    problems_.Note("row without a header; columns inferred from their number", 1, Place());
    return &*assumed_layout_;
  }

  void Keep(const ResultLine& line, const ResultRow& result) {
    const Tag tag = SplitTag(line.tag);
    const std::string_view collective =
        tag.collective.empty() ? std::string_view(info_.collective) : tag.collective;
    const std::string_view torch_type =
        tag.data_type.empty() ? std::string_view(info_.data_type) : tag.data_type;
    const bool reduces = collective == "all_reduce" || collective.starts_with("reduce");
    nccl_tests::Row row{
        .size_bytes = result.size_bytes,
        .count = result.count,
        .data_type = std::string(LookUp(kNcclTypes, torch_type).value_or(torch_type)),
        .redop = reduces ? "sum" : "none",
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
      problems_.Note("size of one rank's shard; multiplied by the number of ranks", 1, Place());
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
  RunInfo info_;
  std::optional<ResultColumns> layout_;
  std::optional<ResultColumns> assumed_layout_;
  bool has_results_ = false;  // since the last rank_line
};

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;

// The line with the names of the columns, or the one with the options of the run; PARAM's own
// source has pieces of both, but neither whole.
bool IsTypicalLine(std::string_view line) {
  const auto result = SplitResultLine(line);
  return (result && ResultColumns::FromHeader(*result)) ||
         (line.find("nw-stack: pytorch") != std::string_view::npos &&
          line.find("args.dtype: torch") != std::string_view::npos);
}

bool Matches(const InputFile& file) {
  std::string_view head = file.head();
  if (head.find('\0') != std::string_view::npos) {
    return false;
  }
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    if (IsTypicalLine(head.substr(0, end))) {
      return true;
    }
    head.remove_prefix(std::min(end + 1, head.size()));
  }
  return false;
}

constexpr auto kSpreads =
    std::to_array<std::pair<const char*, std::optional<double> RankSpread::*>>(
        {{"rank_p75_us", &RankSpread::p75_us},
         {"rank_p95_us", &RankSpread::p95_us},
         {"rank_min_us", &RankSpread::min_us},
         {"rank_max_us", &RankSpread::max_us}});

Table ToTable(const Log& log) {
  Table table = nccl_tests::ToTable(log.runs);
  for (const auto& [name, value] : kSpreads) {
    const std::size_t column = table.AddColumn(name, Table::Type::kNumber);
    for (std::size_t row = 0; row < log.spreads.size(); ++row) {
      table.Set(row, column, Table::CellOf(log.spreads[row].*value));
    }
  }
  const std::size_t column = table.AddColumn("source", Table::Type::kText);
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    table.Set(row, column, std::string("param"));
  }
  return table;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable table{.format = "PARAM comms", .file = file.path()};
  ORRERY_TRY(const std::string text, file.ReadText(kMaxBytes, table.problems));
  table.rows = ToTable(TextLogParser(table.problems).Read(text));
  return ContentOf(std::move(table),
                   "a log of PARAM's comms.py without a complete row of a collective");
}

}  // namespace

// The output of PARAM's `comms.py`, from its first version on. Gives the columns of an nccl-tests
// table: size_bytes is the full side; the out-of-place columns (oop_) have the median over the
// ranks, the in-place columns are empty. The spread over the ranks (rank_p75_us, rank_p95_us,
// rank_min_us, rank_max_us) and source follow.
constinit const Format kFormat{.name = "PARAM comms", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::param_comms
