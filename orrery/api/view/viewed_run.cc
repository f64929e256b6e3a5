#include "orrery/api/view/viewed_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/measurements.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/activity_mipmap.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/run_report.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/workload_card.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/recorded/operator_prices.h"

namespace orrery::api::view {
namespace {

// Up to so many ranks of a simulation have a trace each.
constexpr std::uint32_t kMostTraces = 64;
constexpr double kNanosecondsPerSecond = 1e9;

std::int64_t CountSlices(const trace::Trace& trace) {
  return static_cast<std::int64_t>(trace.activities.size() + trace.host_ops.size() +
                                   trace.runtime_calls.size() + trace.annotations.size() +
                                   trace.python_calls.size());
}

// The column that orders ranks; equals stay in order of rank.
std::int64_t KeyOf(const RankRow& row, RankOrder order) {
  switch (order) {
    case RankOrder::kStage:
      return row.stage;
    case RankOrder::kNode:
      return row.node;
    case RankOrder::kLate:
      return -row.late_ns;
    case RankOrder::kRank:
      break;
  }
  return row.rank;
}

}  // namespace

TraceIndex::TraceIndex(const trace::Trace& trace)
    : tracks_(TracksOf(trace)),
      of_call_(trace.activities.launch, trace.runtime_calls.size()),
      of_operator_(trace.activities.host_op, trace.host_ops.size()) {
  for (std::uint32_t place = 0; place < tracks_.size(); ++place) {
    place_.emplace(std::pair(tracks_[place].table, tracks_[place].track), place);
  }
}

std::optional<std::uint32_t> TraceIndex::PlaceOf(SliceTable table, RowId track) const {
  const auto found = place_.find({table, track});
  return found == place_.end() ? std::nullopt : std::optional(found->second);
}

std::shared_ptr<ViewedRun> ViewedRun::Recorded(std::string name, ingest::Run run,
                                               RunOptions options) {
  return std::shared_ptr<ViewedRun>(
      new ViewedRun(std::move(name), std::move(run), std::nullopt, std::move(options)));
}

std::shared_ptr<ViewedRun> ViewedRun::Simulated(std::string name, SimulatedJob job,
                                                RunOptions options) {
  ingest::Run run;
  run.set = simulate::EnsembleTrace(
      job.simulation->rank_classes, job.simulation->timeline,
      {.gpu = job.job->gpu.name, .most_ranks = kMostTraces, .card = simulate::CardOf(*job.job)});
  return std::shared_ptr<ViewedRun>(
      new ViewedRun(std::move(name), std::move(run), std::move(job), std::move(options)));
}

ViewedRun::ViewedRun(std::string name, ingest::Run run, std::optional<SimulatedJob> simulated,
                     RunOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      run_(std::move(run)),
      simulated_(std::move(simulated)),
      view_(analyze::ViewRun(run_.set, analyze::MeasurementsOf(run_.tables),
                             {.threads = options_.threads})),
      of_trace_(run_.set.ranks.size()) {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  for (const trace::Trace& trace : run_.set.ranks) {
    const std::int64_t num_slices = CountSlices(trace);
    num_events_ += num_slices;
    if (num_slices > 0) {
      const trace::Span span = trace::RecordedSpan(trace);
      begin_ns = std::min(begin_ns, span.begin_ns);
      end_ns = std::max(end_ns, span.end_ns);
    }
  }
  if (begin_ns <= end_ns) {
    begin_ns_ = begin_ns;
    length_ns_ = end_ns - begin_ns;
  }
  FindRanks();
  FindLateness();
  SortRanks();
}

std::optional<double> ViewedRun::StepNs() const {
  if (simulated_) {
    return static_cast<double>(simulated_->StepNs());
  }
  const std::optional<double> seconds = analyze::MeasureStepTime(view_).seconds;
  return seconds ? std::optional(*seconds * kNanosecondsPerSecond) : std::nullopt;
}

void ViewedRun::FindRanks() {
  if (simulated_ && simulated_->simulation->rank_classes.class_of_rank.size() > kMostTraces) {
    const simulate::RankClasses& classes = simulated_->simulation->rank_classes;
    for (std::uint32_t rank = 0; rank < classes.class_of_rank.size(); ++rank) {
      ranks_.push_back(
          {.rank = static_cast<std::int32_t>(rank), .trace = classes.class_of_rank[rank]});
    }
  } else {
    for (const std::uint32_t place : trace::PlacesInRankOrder(run_.set)) {
      ranks_.push_back({.rank = trace::RankOf(run_.set, place), .trace = place});
    }
  }
  first_row_of_trace_.resize(run_.set.ranks.size(), 0);
  for (auto row = static_cast<std::uint32_t>(ranks_.size()); row > 0; --row) {
    first_row_of_trace_[ranks_[row - 1].trace] = row - 1;
  }
  std::map<std::string, std::int32_t> node_of_host;
  for (RankRow& row : ranks_) {
    if (simulated_) {
      const workload::Job& job = *simulated_->job;
      const simulate::RankClasses& classes = simulated_->simulation->rank_classes;
      const auto rank = static_cast<std::size_t>(row.rank);
      row.node = row.rank / std::max(job.cluster.gpus_per_node, 1);
      row.stage =
          job.plan.pp > 1
              ? static_cast<std::int32_t>(classes.classes[classes.class_of_rank[rank]].program)
              : -1;
    } else if (const std::string& host = run_.set.ranks[row.trace].info.host_name; !host.empty()) {
      row.node = node_of_host.try_emplace(host, static_cast<std::int32_t>(node_of_host.size()))
                     .first->second;
    }
  }
}

// Late against the first that arrives, on the mean of a trace's collectives.
void ViewedRun::FindLateness() {
  std::vector<std::int64_t> late_ns(run_.set.ranks.size(), 0);
  std::vector<std::int64_t> count(run_.set.ranks.size(), 0);
  const trace::MatchedMembers& members = view_.matched.members;
  for (std::size_t instance = 0; instance < view_.matched.size(); ++instance) {
    if (view_.waits.is_reliable[instance] == 0 ||
        !trace::IsSynchronising(view_.matched.instances.kind[instance])) {
      continue;
    }
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    for (const std::uint32_t member : view_.matched.MembersOf(instance)) {
      first_ns = std::min(first_ns, members.begin_ns[member]);
    }
    for (const std::uint32_t member : view_.matched.MembersOf(instance)) {
      late_ns[members.rank_index[member]] += members.begin_ns[member] - first_ns;
      ++count[members.rank_index[member]];
    }
  }
  for (RankRow& row : ranks_) {
    row.late_ns = count[row.trace] == 0 ? 0 : late_ns[row.trace] / count[row.trace];
  }
}

void ViewedRun::SortRanks() {
  for (std::size_t order = 0; order < kNumRankOrders; ++order) {
    std::vector<std::uint32_t>& places = orders_.emplace_back(ranks_.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::stable_sort(places, {}, [&](std::uint32_t place) {
      return KeyOf(ranks_[place], static_cast<RankOrder>(order));
    });
  }
}

std::uint32_t ViewedRun::ClassOfTrace(std::uint32_t trace) const {
  const simulate::RankClasses& classes = simulated_->simulation->rank_classes;
  return classes.class_of_rank.size() > kMostTraces ? trace : classes.class_of_rank[trace];
}

const ActivityMipmap& ViewedRun::ActivityOfTrace(std::uint32_t trace) const {
  OfTrace& own = of_trace_[trace];
  std::call_once(own.has_activity, [&] {
    ActivityLine line =
        simulated_ ? SimulatedActivity(simulated_->simulation->rank_classes,
                                       simulated_->simulation->timeline, ClassOfTrace(trace))
                   : RecordedActivity(view_, trace);
    own.activity = std::make_unique<ActivityMipmap>(std::move(line), begin_ns_);
  });
  return *own.activity;
}

const TraceIndex& ViewedRun::IndexOf(std::uint32_t trace) const {
  OfTrace& own = of_trace_[trace];
  std::call_once(own.has_index,
                 [&] { own.index = std::make_unique<TraceIndex>(run_.set.ranks[trace]); });
  return *own.index;
}

const Result<workload::OperatorPrices>& ViewedRun::PricesOf(std::uint32_t trace) const {
  OfTrace& own = of_trace_[trace];
  std::call_once(own.has_prices, [&] { own.prices = Price(trace); });
  return own.prices;
}

Result<workload::OperatorPrices> ViewedRun::Price(std::uint32_t trace) const {
  const trace::Trace& recording = run_.set.ranks[trace];
  if (simulated_ || options_.kernel_models == nullptr) {
    return Fail(Error::Kind::kNotFound, "kernels of a simulation are predicted already");
  }
  const std::string device = trace::DeviceName(recording);
  const hardware::Gpu* const gpu = hardware::FindGpu(device);
  if (gpu == nullptr) {
    return Fail(Error::Kind::kNotFound,
                device.empty()
                    ? "no kernel is estimated, because the recording does not name its GPU"
                    : fmt::format("no kernel is estimated, because the catalogue has no "
                                  "GPU '{}'",
                                  device));
  }
  if (std::ranges::all_of(recording.host_ops.input_dims,
                          [](StringId dims) { return dims == StringId::kEmpty; })) {
    return Fail(Error::Kind::kNotFound,
                "no kernel is estimated, because the recording has no shapes of operators; record "
                "them: torch.profiler.profile(record_shapes=True)");
  }
  ORRERY_TRY(const kernel::CostModel* const costs, options_.kernel_models());
  return workload::OperatorPrices(recording, *gpu, *costs);
}

std::vector<std::string> ViewedRun::Problems() const {
  return simulated_ ? simulated_->not_modelled : report::NotesOf(view_);
}

}  // namespace orrery::api::view
