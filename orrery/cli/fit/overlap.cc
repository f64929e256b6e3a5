#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/run.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/from_traces/derived_pairs.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/nsight_compute.h"
#include "orrery/overlap/pair_table.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace_set.h"

namespace orrery::cli {
namespace {

using overlap::CountedKernels;
using overlap::from_traces::ClockSegment;
using overlap::from_traces::JoinBy;
using overlap::from_traces::JoinedRank;
using overlap::from_traces::KernelMedian;
using overlap::from_traces::KernelsOf;
using overlap::from_traces::Rejection;
using overlap::from_traces::RunKernels;
using overlap::from_traces::TracePair;

/// Options of `fit overlap --from-traces`.
struct FitOverlapTracesArguments {
  std::vector<std::string> runs;  // without and with communication
  std::string counters;
  std::string output;
  RunArguments reading;
  OutputOptions delivery;
};

constexpr std::size_t kNamedKernels = 20;

bool IsCsv(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".csv.gz") || path.ends_with(".csv.zst");
}

Result<ingest::Run> ReadRecording(const RunArguments& reading, const std::string& path) {
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(reading, {path}));
  if (run.set.ranks.empty()) {
    return InvalidInput("{}: no trace in it", path);
  }
  return run;
}

/// The kernels of the run alone that each rank of the other run is compared with.
class AloneRun {
 public:
  [[nodiscard]] static Result<AloneRun> Read(const FitOverlapTracesArguments& arguments) {
    AloneRun run;
    const std::string& path = arguments.runs.front();
    if (IsCsv(path)) {
      ORRERY_TRY(const CountedKernels counted, overlap::ReadNsightCompute(path));
      run.by_ = JoinBy::kFunctionName;
      run.of_rank_[0] = KernelsOf(counted);
      return run;
    }
    ORRERY_TRY(const ingest::Run recorded, ReadRecording(arguments.reading, path));
    for (std::size_t at = 0; at < recorded.set.ranks.size(); ++at) {
      run.of_rank_[trace::RankOf(recorded.set, at)] = KernelsOf(recorded.set.ranks[at]);
    }
    return run;
  }

  /// The same rank, or the only one there is: ranks of one program compute alike.
  [[nodiscard]] const RunKernels* Find(std::int32_t rank) const {
    if (of_rank_.size() == 1) {
      return &of_rank_.begin()->second;
    }
    const auto found = of_rank_.find(rank);
    return found == of_rank_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] JoinBy by() const { return by_; }

 private:
  std::map<std::int32_t, RunKernels> of_rank_;
  JoinBy by_ = JoinBy::kWholeName;
};

Result<std::vector<JoinedRank>> JoinRuns(const FitOverlapTracesArguments& arguments) {
  ORRERY_TRY(const AloneRun alone, AloneRun::Read(arguments));
  ORRERY_TRY(const ingest::Run recorded, ReadRecording(arguments.reading, arguments.runs.back()));
  std::vector<JoinedRank> ranks;
  for (std::size_t at = 0; at < recorded.set.ranks.size(); ++at) {
    const std::int32_t rank = trace::RankOf(recorded.set, at);
    const RunKernels* const kernels = alone.Find(rank);
    if (kernels == nullptr) {
      return InvalidInput("{}: rank {} is not in it; give all ranks or one", arguments.runs[0],
                          rank);
    }
    auto joined = JoinRank(rank, *kernels, KernelsOf(recorded.set.ranks[at]), alone.by());
    if (!joined) {
      return FailWithin(fmt::format("{}: rank {}", arguments.runs.back(), rank), joined);
    }
    ranks.push_back(*std::move(joined));
  }
  return ranks;
}

struct Totals {
  std::size_t matched = 0;
  std::size_t only_alone = 0;
  std::size_t only_together = 0;
  std::map<std::string_view, std::size_t> rejected;
  std::size_t kept = 0;
  double alone_ns = 0;
  double together_ns = 0;
};

Totals Count(const std::vector<JoinedRank>& ranks) {
  Totals totals;
  for (const JoinedRank& rank : ranks) {
    totals.matched += rank.join.matched.size();
    totals.only_alone += rank.join.only_alone.size();
    totals.only_together += rank.join.only_together.size();
    for (const TracePair& pair : rank.derived.pairs) {
      totals.alone_ns += pair.alone_ns;
      totals.together_ns += pair.together_ns;
      if (pair.rejection == Rejection::kKept) {
        ++totals.kept;
      } else {
        ++totals.rejected[RejectionName(pair.rejection)];
      }
    }
  }
  return totals;
}

void AddClocks(const std::vector<JoinedRank>& ranks, Document::Section& section) {
  for (const JoinedRank& rank : ranks) {
    const std::vector<ClockSegment>& segments = rank.derived.segments;
    if (segments.empty()) {
      section.Say(
          fmt::format("rank {}: too few kernels without overlap to compare the clocks", rank.rank));
    }
    for (const ClockSegment& segment : segments) {
      section.Say(fmt::format(
          "rank {}: kernels {} to {}: together / alone {:.3f} without overlap ({} kernels){}",
          rank.rank, segment.first + 1, segment.last + 1, segment.ratio, segment.kernels,
          segment.IsDrifted() ? ", the clocks differ: left out" : ""));
    }
  }
}

Document::Table MedianTableOf(const std::vector<KernelMedian>& medians) {
  const NumberFormat microseconds("{:.1f}");
  const NumberFormat ratio("{:.3f}");
  Document::Table table{
      .columns = {AsText("", "kernel", 50), AsNumber("pairs"), Formatted("alone us", microseconds),
                  Formatted("together us", microseconds), Formatted("together / alone", ratio),
                  Formatted("s* in the median", ratio)},
      .max_shown = kNamedKernels};
  for (const KernelMedian& median : medians) {
    table.rows.push_back({median.kernel, median.pairs, median.alone_us, median.together_us,
                          median.together_us / median.alone_us, median.slowdown});
  }
  return table;
}

Value SegmentsValue(const std::vector<JoinedRank>& ranks) {
  Value list = Value::List();
  for (const JoinedRank& rank : ranks) {
    for (const ClockSegment& segment : rank.derived.segments) {
      list.Add(Value::Object()
                   .Set("rank", rank.rank)
                   .Set("first", segment.first + 1)
                   .Set("last", segment.last + 1)
                   .Set("ratio", segment.ratio)
                   .Set("kernels", segment.kernels)
                   .Set("left_out", segment.IsDrifted()));
    }
  }
  return list;
}

Value MedianData(const KernelMedian& median) {
  return Value::Object()
      .Set("kernel", median.kernel)
      .Set("pairs", median.pairs)
      .Set("alone_us", median.alone_us)
      .Set("together_us", median.together_us)
      .Set("overlap_us", median.overlap_us)
      .Set("slowdown", median.slowdown);
}

Value DataOf(const std::vector<JoinedRank>& ranks, const std::vector<KernelMedian>& medians,
             const CountedKernels* counters) {
  const Totals totals = Count(ranks);
  Value rejected = Value::Object();
  for (const auto& [reason, count] : totals.rejected) {
    rejected.Set(reason, count);
  }
  Value document = Value::Object();
  document.Set("matched", totals.matched)
      .Set("only_alone", totals.only_alone)
      .Set("only_together", totals.only_together)
      .Set("kept", totals.kept)
      .Set("rejected", std::move(rejected))
      .Set("alone_ns", totals.alone_ns)
      .Set("together_ns", totals.together_ns)
      .Set("clock_segments", SegmentsValue(ranks))
      .Set("kernels", Value::ListOf(medians, MedianData));
  if (counters != nullptr) {
    document.Set("missing_counters", Value::ListOf(counters->missing));
  }
  return document;
}

Document DocumentOf(const std::vector<JoinedRank>& ranks, const std::vector<KernelMedian>& medians,
                    const CountedKernels* counters) {
  const Totals totals = Count(ranks);
  Document document{.title = fmt::format("{} kernels in both runs, {} only alone, {} only together",
                                         totals.matched, totals.only_alone, totals.only_together),
                    .kind = "Orrery overlap"};
  std::string kept = fmt::format("{} pairs with overlap kept", totals.kept);
  for (const auto& [reason, count] : totals.rejected) {
    kept += fmt::format(", {}: {}", reason, count);
  }
  document.AddSection()
      .Say(std::move(kept))
      .Say(fmt::format("all kernels: {:.3f} ms alone, {:.3f} ms together ({:+.2f} %)",
                       totals.alone_ns / 1e6, totals.together_ns / 1e6,
                       100 * (totals.together_ns / totals.alone_ns - 1)));
  AddClocks(ranks, document.AddSection());
  if (!medians.empty()) {
    document.AddSection().Add(MedianTableOf(medians));
  }
  document.data = DataOf(ranks, medians, counters);
  return document;
}

Table KeptRows(const Table& pairs) {
  Table kept;
  for (std::size_t column = 0; column < pairs.num_columns(); ++column) {
    kept.AddColumn(pairs.column_name(column), pairs.column_type(column));
  }
  for (std::size_t row = 0; row < pairs.num_rows(); ++row) {
    if (pairs.Text(row, "rejected").value_or("").empty()) {
      const std::size_t target = kept.AddRow();
      for (std::size_t column = 0; column < pairs.num_columns(); ++column) {
        kept.Set(target, column, pairs.At(row, column));
      }
    }
  }
  return kept;
}

/// raw/ and predictions/ of the tree are for what `orrery measure overlap` writes, and stay as they
/// are.
Status WriteTree(const std::string& folder, const std::vector<JoinedRank>& ranks,
                 const std::vector<KernelMedian>& medians, const CountedKernels* counters) {
  const std::filesystem::path root(folder);
  for (const std::string_view part :
       {"raw", "processed", "datasets", "features", "models", "predictions", "evaluation"}) {
    std::error_code error;
    std::filesystem::create_directories(root / part, error);
    if (error) {
      return Fail(Error::Kind::kSystem, fmt::format("{}: cannot be created: {}",
                                                    (root / part).string(), error.message()));
    }
  }
  const Table pairs = PairTableOf(ranks, counters);
  ORRERY_TRY_STATUS(WriteCsvFile(pairs, root / "processed/trace_pairs.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(UnmatchedTable(ranks), root / "processed/unmatched.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(KeptRows(pairs), root / "datasets/trace_pairs.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(CommunicationTable(ranks), root / "features/communication.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(MedianTable(medians), root / "models/kernel_medians.csv"));
  return WriteFile(root / "evaluation/summary.json",
                   report::RenderJson(DocumentOf(ranks, medians, counters)));
}

Result<int> FitOverlapFromTraces(const FitOverlapTracesArguments& arguments) {
  std::optional<CountedKernels> counters;
  if (!arguments.counters.empty()) {
    ORRERY_TRY(counters, overlap::ReadNsightCompute(arguments.counters));
  }
  ORRERY_TRY(const std::vector<JoinedRank> ranks, JoinRuns(arguments));
  const std::vector<KernelMedian> medians = MediansOf(ranks);
  const CountedKernels* const counted = counters ? &*counters : nullptr;
  if (!arguments.output.empty()) {
    ORRERY_TRY_STATUS(WriteTree(arguments.output, ranks, medians, counted));
  }
  const Totals totals = Count(ranks);
  ORRERY_TRY(const int status, Deliver(DocumentOf(ranks, medians, counted), arguments.delivery,
                                       totals.only_alone + totals.only_together > 0));
  if (counted != nullptr && !counted->missing.empty()) {
    PrintNotice(fmt::format("{}: no kernel has {}; those columns stay empty", arguments.counters,
                            fmt::join(counted->missing, ", ")));
  }
  return status;
}

struct FitOverlapPairsArguments {
  std::vector<std::string> paths;     // tables of `orrery measure overlap`
  std::vector<std::string> counters;  // and of counters
  std::string output;
  std::uint64_t seed = 1;
};

constexpr std::int64_t kLearned = 4;  // models of a fit, for the progress line

Result<overlap::LearnedModel> Fit(std::span<const overlap::MeasuredPair* const> rows,
                                  std::uint64_t seed) {
  ProgressLine progress(TerminalProgress(), "fitting");
  std::int64_t done = 0;
  return calibrate::FitOverlap(rows, {.seed = seed}, [&](std::string_view what) {
    progress.Update(done++, kLearned, what);
  });
}

Result<std::vector<learn::DataCard::Figures>> HeldOutMetrics(const overlap::PairTable& data,
                                                             std::uint64_t seed) {
  const calibrate::PairSplit split =
      calibrate::SplitPairs(data.rows, calibrate::HeldOut::kKernel, seed);
  ORRERY_TRY(const overlap::LearnedModel model, Fit(split.train, seed));
  const calibrate::OverlapEvaluation evaluation =
      calibrate::EvaluateOverlap(model, split.train, split.test);
  return std::vector<learn::DataCard::Figures>{
      {"overlapped duration, kernels held out", evaluation.predictors.front().duration},
      {"the same as a plan knows it", evaluation.as_planned.duration}};
}

Result<int> FitOverlapPairs(const FitOverlapPairsArguments& arguments) {
  ORRERY_TRY(const overlap::PairTable data, ReadOverlapPairs(arguments.paths, arguments.counters));
  std::vector<const overlap::MeasuredPair*> all;
  for (const overlap::MeasuredPair& row : data.rows) {
    all.push_back(&row);
  }
  learn::ModelFile file;
  ORRERY_TRY(file.card.sources, SourcesOf(arguments.paths));
  ORRERY_TRY(file.card.figures, HeldOutMetrics(data, arguments.seed));
  ORRERY_TRY(const overlap::LearnedModel model, Fit(all, arguments.seed));
  file.card.title = "How kernels slow each other down";
  file.card.rows = data.rows.size();
  file.card.split = "metrics: a quarter of the kernels held out; the model learned from all rows";
  file.card.seed = arguments.seed;
  file.card.made_by = "orrery fit overlap";
  model.AddTo(file);
  ORRERY_TRY_STATUS(learn::WriteModelFile(file, arguments.output));
  std::error_code ignored;
  Print(fmt::format(
      "{}: from {} pairs, {:.0f} kB; kernels held out: MAPE {:.2f} %, {:.1f} % within 10 %\n",
      arguments.output, data.rows.size(),
      static_cast<double>(std::filesystem::file_size(arguments.output, ignored)) / 1000,
      file.card.figures.front().evaluation.mape, file.card.figures.front().evaluation.within_10));
  return NoticeRejected(data);
}

struct FitOverlapArguments {
  FitOverlapTracesArguments traces;
  FitOverlapPairsArguments pairs;
};

Result<int> FitOverlap(FitOverlapArguments& arguments) {
  if (!arguments.traces.runs.empty()) {
    if (arguments.pairs.counters.size() > 1) {
      return InvalidInput("--from-traces takes one file of --counters");
    }
    if (!arguments.pairs.counters.empty()) {
      arguments.traces.counters = arguments.pairs.counters.front();
    }
    arguments.traces.output = arguments.pairs.output;
    return FitOverlapFromTraces(arguments.traces);
  }
  if (arguments.pairs.paths.empty() || arguments.pairs.output.empty()) {
    return InvalidInput(
        "name tables of `orrery measure overlap` and the model to write with -o FILE, or "
        "two recordings with --from-traces A B");
  }
  return FitOverlapPairs(arguments.pairs);
}

}  // namespace

void AddFitOverlapCommand(Verb& fit) {
  auto arguments = std::make_shared<FitOverlapArguments>();
  Verb verb = fit.AddVerb(
      "overlap", "How kernels slow each other down, from measured pairs or from recordings");
  verb.AddOption("DATA", arguments->pairs.paths,
                 "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb.AddOption("--from-traces A B", arguments->traces.runs,
                 "the run without communication (or a profile of its kernels: CSV of Nsight "
                 "Compute), then the run with it")
      .NumValues(2);
  verb.AddOption("--counters FILE", arguments->pairs.counters,
                 "counters of the kernels: features/counters.csv, or for --from-traces a CSV of "
                 "Nsight Compute (details or raw page)");
  verb.AddOption("-o,--output PATH", arguments->pairs.output,
                 "the model file to write; for --from-traces the folder of tables");
  verb.AddOption("--seed", arguments->pairs.seed, "of draws (1)");
  verb.AddFlag("--json", arguments->traces.delivery.as_json, "of --from-traces: one JSON document");
  AddRunOptions(verb, arguments->traces.reading);
  verb.OnRun([arguments] { return FitOverlap(*arguments); });
}

}  // namespace orrery::cli
