#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/run.h"
#include "orrery/overlap/from_traces/derived_pairs.h"
#include "orrery/overlap/nsight_compute.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api {
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

using Request = FitOverlapFromTracesRequest;
using Answer = FitOverlapFromTracesResult;

Result<ingest::Run> ReadRecording(const Request& request, const std::string& path) {
  RunInput input = request.run;
  input.paths = {path};
  request.call.Report("reading " + path);
  ORRERY_TRY(ingest::Run run, ReadRun(input, request.call.progress));
  if (run.set.ranks.empty()) {
    return InvalidInput("{}: no trace in it", path);
  }
  return run;
}

/// The kernels of the run alone that each rank of the other run is compared with.
class AloneRun {
 public:
  [[nodiscard]] static Result<AloneRun> Read(const Request& request) {
    AloneRun run;
    const std::string& path = request.from_traces.front();
    if (IsCsvName(path)) {
      ORRERY_TRY(const CountedKernels counted, overlap::ReadNsightCompute(path));
      run.by_ = JoinBy::kFunctionName;
      run.of_rank_[0] = KernelsOf(counted);
      return run;
    }
    ORRERY_TRY(const ingest::Run recorded, ReadRecording(request, path));
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

Result<std::vector<JoinedRank>> JoinRuns(const Request& request) {
  ORRERY_TRY(const AloneRun alone, AloneRun::Read(request));
  const std::string& together = request.from_traces.back();
  ORRERY_TRY(const ingest::Run recorded, ReadRecording(request, together));
  std::vector<JoinedRank> ranks;
  for (std::size_t at = 0; at < recorded.set.ranks.size(); ++at) {
    const std::int32_t rank = trace::RankOf(recorded.set, at);
    const RunKernels* const kernels = alone.Find(rank);
    if (kernels == nullptr) {
      return InvalidInput("{}: rank {} is not in it; give all ranks or one",
                          request.from_traces.front(), rank);
    }
    auto joined = JoinRank(rank, *kernels, KernelsOf(recorded.set.ranks[at]), alone.by());
    if (!joined) {
      return FailWithin(fmt::format("{}: rank {}", together, rank), joined);
    }
    ranks.push_back(*std::move(joined));
  }
  return ranks;
}

void AddPairs(const JoinedRank& rank, std::map<std::string_view, std::int64_t>& rejected,
              Answer& result) {
  result.matched += static_cast<std::int64_t>(rank.join.matched.size());
  result.only_alone += static_cast<std::int64_t>(rank.join.only_alone.size());
  result.only_together += static_cast<std::int64_t>(rank.join.only_together.size());
  for (const TracePair& pair : rank.derived.pairs) {
    result.alone_ns += pair.alone_ns;
    result.together_ns += pair.together_ns;
    if (pair.rejection == Rejection::kKept) {
      ++result.kept;
    } else {
      ++rejected[RejectionName(pair.rejection)];
    }
  }
}

void AddClock(const JoinedRank& rank, Answer& result) {
  result.ranks.push_back(
      {.rank = rank.rank,
       .clock_segments = static_cast<std::int64_t>(rank.derived.segments.size())});
  for (const ClockSegment& segment : rank.derived.segments) {
    result.clock_segments.push_back({.rank = rank.rank,
                                     .first = static_cast<std::int64_t>(segment.first) + 1,
                                     .last = static_cast<std::int64_t>(segment.last) + 1,
                                     .ratio = segment.ratio,
                                     .kernels = static_cast<std::int64_t>(segment.kernels),
                                     .left_out = segment.IsDrifted()});
  }
}

Answer ResultOf(const std::vector<JoinedRank>& ranks, const std::vector<KernelMedian>& medians) {
  Answer result;
  std::map<std::string_view, std::int64_t> rejected;
  for (const JoinedRank& rank : ranks) {
    AddPairs(rank, rejected, result);
    AddClock(rank, result);
  }
  result.rejected.assign(rejected.begin(), rejected.end());
  for (const KernelMedian& median : medians) {
    result.kernels.push_back({.kernel = median.kernel,
                              .pairs = static_cast<std::int64_t>(median.pairs),
                              .alone_us = median.alone_us,
                              .together_us = median.together_us,
                              .overlap_us = median.overlap_us,
                              .slowdown = median.slowdown});
  }
  result.is_partial = result.only_alone + result.only_together > 0;
  return result;
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
Status MakeFolders(const std::filesystem::path& root) {
  for (const std::string_view part :
       {"raw", "processed", "datasets", "features", "models", "predictions", "evaluation"}) {
    std::error_code error;
    std::filesystem::create_directories(root / part, error);
    if (error) {
      return Fail(Error::Kind::kSystem, fmt::format("{}: cannot be created: {}",
                                                    (root / part).string(), error.message()));
    }
  }
  return {};
}

Status WriteTree(const std::filesystem::path& root, const std::vector<JoinedRank>& ranks,
                 const std::vector<KernelMedian>& medians, const CountedKernels* counters,
                 const Answer& result) {
  ORRERY_TRY_STATUS(MakeFolders(root));
  const Table pairs = PairTableOf(ranks, counters);
  ORRERY_TRY_STATUS(WriteCsvFile(pairs, root / "processed/trace_pairs.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(UnmatchedTable(ranks), root / "processed/unmatched.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(KeptRows(pairs), root / "datasets/trace_pairs.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(CommunicationTable(ranks), root / "features/communication.csv"));
  ORRERY_TRY_STATUS(WriteCsvFile(MedianTable(medians), root / "models/kernel_medians.csv"));
  return WriteFile(root / "evaluation/summary.json", report::RenderJson(MakeDocument(result)));
}

Result<Answer> Run(const Request& request) {
  if (request.from_traces.size() != 2) {
    return InvalidInput(
        "from_traces: name the run without communication, then the one with it; these are {}",
        request.from_traces.size());
  }
  std::optional<CountedKernels> counters;
  if (!request.counters.empty()) {
    ORRERY_TRY(counters, overlap::ReadNsightCompute(request.counters));
  }
  ORRERY_TRY(const std::vector<JoinedRank> ranks, JoinRuns(request));
  const std::vector<KernelMedian> medians = MediansOf(ranks);
  Answer result = ResultOf(ranks, medians);
  if (counters) {
    result.missing_counters = counters->missing;
    if (!counters->missing.empty()) {
      result.notices.push_back(fmt::format("{}: no kernel has {}; those columns stay empty",
                                           request.counters, fmt::join(counters->missing, ", ")));
    }
  }
  if (!request.output.empty()) {
    ORRERY_TRY_STATUS(
        WriteTree(request.output, ranks, medians, counters ? &*counters : nullptr, result));
  }
  return result;
}

}  // namespace

Result<FitOverlapFromTracesResult> FitOverlapFromTraces(
    const Session& /*session*/, const FitOverlapFromTracesRequest& request) {
  return RunCancellable(request.call, [&] { return Run(request); });
}

}  // namespace orrery::api
