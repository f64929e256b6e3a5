#include "orrery/simulate/recorded_ranks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/ranks/recorded_ranks.h"

namespace orrery::simulate {
namespace {

/// As long as recorded.
class RecordedTransfers : public CommunicationTimes {
 public:
  explicit RecordedTransfers(const workload::RecordedRanks& ranks) : ranks_(ranks) {}

  Result<std::int64_t> DurationPs(const workload::Communications::Row& communication,
                                  std::span<const network::GpuId> gpus) override {
    const auto found = ranks_.transfer_ns.find(
        {.kind = communication.kind, .bytes = communication.bytes, .num_ranks = gpus.size()});
    ORRERY_CHECK(found != ranks_.transfer_ns.end(), "communications are those of the recording");
    return found->second * 1000;
  }

 private:
  const workload::RecordedRanks& ranks_;
};

/// Groups are alike when they have as many members: nothing is known about links.
class SizeOfGroup : public LinkClass {
 public:
  [[nodiscard]] std::uint64_t Of(std::span<const network::GpuId> gpus) const override {
    return gpus.size();
  }
};

}  // namespace

Result<PredictedRanks> PredictRecordings(const trace::TraceSet& set,
                                         const trace::MatchedCollectives& matched,
                                         const workload::HostChoice& host, int repetitions) {
  ORRERY_TRY(const workload::RecordedRanks ranks,
             workload::EnsembleOfRecordings(set, matched, host));
  const RankClasses rank_classes = Unfolded(ranks.ensemble, SizeOfGroup());
  const bool shares_gpu =
      std::ranges::any_of(ranks.ensemble.programs,
                          [](const workload::Program& program) { return !program.parts.empty(); });
  const AnalyticOverlap overlap;
  RecordedTransfers times(ranks);
  ORRERY_TRY(const Timeline timeline,
             Simulate(rank_classes, times,
                      {.repetitions = repetitions, .rates = shares_gpu ? &overlap : nullptr}));
  PredictedRanks predicted;
  predicted.set = EnsembleTrace(rank_classes, timeline,
                                {.gpu = trace::DeviceName(set.ranks.front()),
                                 .most_ranks = static_cast<std::uint32_t>(set.ranks.size())});
  for (std::size_t place = 0; place < set.ranks.size(); ++place) {
    predicted.set.ranks[place].info.rank = trace::RankOf(set, place);
  }
  if (ranks.num_as_recorded > 0) {
    predicted.remarks.push_back(
        fmt::format("{} kernels of collectives last as recorded, with their waits, because not all "
                    "of their ranks were found in the step",
                    ranks.num_as_recorded));
  }
  return predicted;
}

}  // namespace orrery::simulate
