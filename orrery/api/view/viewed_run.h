#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/api/view/tiles/activity_mipmap.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/document.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/row_index.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/recorded/operator_prices.h"

namespace orrery::api::view {

/// One row of the page: a rank, and the trace that shows what it does.
struct RankRow {
  std::int32_t rank = 0;
  std::uint32_t trace = 0;   // TraceSet::ranks; equal ranks of a simulation share one
  std::int32_t stage = -1;   // of the pipeline; -1: none is known
  std::int32_t node = -1;    // -1: not known
  std::int64_t late_ns = 0;  // mean lateness at collectives
};

enum class RankOrder : std::uint8_t { kRank, kStage, kNode, kLate };

inline constexpr std::size_t kNumRankOrders = 4;

/// A job and what its simulation made of it.
struct SimulatedJob {
  std::shared_ptr<const void> run = {};  // owns `job` and `simulation`
  const workload::Job* job = nullptr;
  workload::JobText text = {};             // to simulate it again with changes
  std::vector<std::string> settings = {};  // that were applied to it
  const simulate::Simulation* simulation = nullptr;
  report::Document summary = {};               // the report of `orrery simulate`
  std::vector<std::string> not_modelled = {};  // a sentence each

  [[nodiscard]] std::int64_t StepNs() const { return simulation->step_ps() / 1000; }
};

/// An index of a trace beside its rows; made when it is first asked for.
class TraceIndex {
 public:
  explicit TraceIndex(const trace::Trace& trace);

  [[nodiscard]] const std::vector<SliceTrack>& tracks() const { return tracks_; }

  /// The place among `tracks` of the slices of a table on a track of the trace; nothing where it
  /// has none.
  [[nodiscard]] std::optional<std::uint32_t> PlaceOf(SliceTable table, RowId track) const;

  /// Activities that a runtime call launched, or an operator.
  [[nodiscard]] const trace::RowsByTarget& of_call() const { return of_call_; }

  [[nodiscard]] const trace::RowsByTarget& of_operator() const { return of_operator_; }

 private:
  std::vector<SliceTrack> tracks_;
  std::map<std::pair<SliceTable, RowId>, std::uint32_t> place_;
  trace::RowsByTarget of_call_;
  trace::RowsByTarget of_operator_;
};

class ViewedRun;

struct RunOptions {
  int threads = 0;
  /// Loads the models that price recorded kernels when they are first needed, which outlive the
  /// run; empty: there are none.
  std::function<Result<const kernel::CostModel*>()> kernel_models = {};
  /// The documents of tools of `orrery memory` for the recording; empty: they cannot be asked.
  std::function<std::vector<report::Document>(const ViewedRun&)> memory_documents = {};
};

/// An open run, recorded or simulated. Thread-safe.
class ViewedRun {
 public:
  [[nodiscard]] static std::shared_ptr<ViewedRun> Recorded(std::string name, ingest::Run run,
                                                           RunOptions options);

  [[nodiscard]] static std::shared_ptr<ViewedRun> Simulated(std::string name, SimulatedJob job,
                                                            RunOptions options);

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] const trace::TraceSet& set() const { return run_.set; }

  [[nodiscard]] const analyze::RunView& view() const { return view_; }

  /// The job of a simulated run, else nullptr.
  [[nodiscard]] const SimulatedJob* simulated() const {
    return simulated_ ? &*simulated_ : nullptr;
  }

  /// The time of a step; nothing where the run has none.
  [[nodiscard]] std::optional<double> StepNs() const;

  [[nodiscard]] std::int64_t begin_ns() const { return begin_ns_; }

  [[nodiscard]] std::int64_t length_ns() const { return length_ns_; }

  [[nodiscard]] std::int64_t num_events() const { return num_events_; }

  [[nodiscard]] const std::vector<RankRow>& ranks() const { return ranks_; }

  /// The first row that a trace shows.
  [[nodiscard]] std::uint32_t FirstRowOf(std::uint32_t trace) const {
    return first_row_of_trace_[trace];
  }

  /// Places of `ranks` in an order.
  [[nodiscard]] const std::vector<std::uint32_t>& Ordered(RankOrder order) const {
    return orders_[static_cast<std::size_t>(order)];
  }

  /// The activity of a trace, at all resolutions.
  [[nodiscard]] const ActivityMipmap& ActivityOfTrace(std::uint32_t trace) const;

  [[nodiscard]] const TraceIndex& IndexOf(std::uint32_t trace) const;

  /// Estimates of the calls of a recorded trace by the kernel models; or why there are none.
  [[nodiscard]] const Result<workload::OperatorPrices>& PricesOf(std::uint32_t trace) const;

  [[nodiscard]] std::vector<report::Document> MemoryDocuments() const {
    return options_.memory_documents == nullptr ? std::vector<report::Document>()
                                                : options_.memory_documents(*this);
  }

  /// Problems in reading or using the run, a sentence each.
  [[nodiscard]] std::vector<std::string> Problems() const;

 private:
  // Made once for each trace, by whoever needs it first.
  struct OfTrace {
    std::once_flag has_activity;
    std::once_flag has_index;
    std::once_flag has_prices;
    std::unique_ptr<ActivityMipmap> activity;
    std::unique_ptr<TraceIndex> index;
    Result<workload::OperatorPrices> prices;
  };

  ViewedRun(std::string name, ingest::Run run, std::optional<SimulatedJob> simulated,
            RunOptions options);

  void FindRanks();
  void FindLateness();
  void SortRanks();
  [[nodiscard]] std::uint32_t ClassOfTrace(std::uint32_t trace) const;
  [[nodiscard]] Result<workload::OperatorPrices> Price(std::uint32_t trace) const;

  std::string name_;
  RunOptions options_;
  ingest::Run run_;
  std::optional<SimulatedJob> simulated_;
  analyze::RunView view_;
  std::int64_t begin_ns_ = 0;
  std::int64_t length_ns_ = 0;
  std::int64_t num_events_ = 0;
  std::vector<RankRow> ranks_;
  std::vector<std::uint32_t> first_row_of_trace_;
  std::vector<std::vector<std::uint32_t>> orders_;
  mutable std::vector<OfTrace> of_trace_;
};

}  // namespace orrery::api::view
