#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/data_loading.h"
#include "orrery/analyze/breakdown/exposed_copies.h"
#include "orrery/analyze/step_time.h"
#include "orrery/analyze/straggler/straggler_analysis.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/report/document.h"

namespace orrery::analyze {
struct RunView;
}  // namespace orrery::analyze

namespace orrery::report {

/// The parts of a device's time.
enum class Part : std::uint8_t { kCompute, kTransfer, kWaiting, kMemory, kIdle };

inline constexpr std::size_t kNumParts = 5;

/// The time of one device in its selected steps. Waiting and transfer are the two sides of
/// communication that no compute hides.
struct RankTime {
  std::string label;                              // "rank 3"
  std::array<std::int64_t, kNumParts> part_ns{};  // in the order of Part
};

/// One step on all devices, its time counted from the step's begin. The series of a slice is its
/// Part; the rest of the time is idle.
struct StepTimeline {
  std::string step;  // "Step 12"
  std::int64_t length_ns = 0;
  std::vector<draw::TimelineRow> rows = {};
};

/// A collective of the selected steps.
struct CollectivePoint {
  std::string kind;  // "all-reduce"
  std::int64_t bytes = -1;
  double bus_bytes_per_second = 0;          // 0: not known
  std::int64_t transfer_ns = 0;             // of the fastest member
  std::int64_t waiting_ns = 0;              // summed over the members
  std::int64_t duration_ns = 0;             // summed over the members
  bool is_matched = true;                   // else seen on one rank: the transfer may hold waiting
  std::optional<bool> is_inside_node = {};  // not known of ranks without host or card
};

/// The bandwidth of a link, to compare with.
struct Roof {
  std::string label;
  double bytes_per_second = 0;
  bool is_across_nodes = false;
};

/// A segment of the critical path.
struct Hop {
  std::int64_t begin_ns = 0;  // from the path's begin
  std::int64_t duration_ns = 0;
  std::int32_t rank = 0;
  std::string path_class;  // "compute", "transfer", "host", "launch", …
  std::string name = {};   // kernel or operator
};

/// The chain of work that determined how long a step took. Hops are contiguous and in order.
struct CriticalPath {
  std::string step;
  std::int64_t length_ns = 0;
  std::int64_t num_rank_changes = 0;
  std::vector<Hop> hops = {};
};

/// When each rank arrived at each collective, against the first that arrived.
struct Arrivals {
  std::vector<std::string> ranks;
  std::vector<std::string> collectives;  // "12: all-reduce, 67.1 MB", in order of time
  std::vector<std::int64_t> late_ns;     // [rank][collective]; -1: not a member
};

/// The blame of one rank for the waits of others.
struct Straggler {
  std::string rank;
  std::int64_t times_last = 0;
  std::int64_t blame_ns = 0;  // the others' waiting when it was last
  std::int64_t gain_ns = 0;   // last minus second last, summed: the most that fixing it could save
  /// What a replay of the page's step saves without its lateness; and without that of the worse
  /// ranks too. Of the worst ranks only.
  std::optional<std::int64_t> saved_alone_ns = {};
  std::optional<std::int64_t> saved_together_ns = {};
  std::int64_t waiting_ns = 0;
  std::string cause = {};
};

/// All calls of one kernel in the selected steps; means are over steps and devices.
struct KernelRow {
  std::string name;
  std::string short_name = {};
  std::string kernel_class = {};
  double calls = 0;    // mean
  double time_ns = 0;  // mean
  double share = 0;    // of the time of all kernels
  std::int64_t total_ns = 0;
  std::int64_t wait_ns = 0;  // of communication: the part of total_ns that waits for other ranks
  // Of the calls whose operator's shapes and type are known, which are `known_share` of total_ns.
  double known_share = 0;
  std::optional<double> flops_per_second = {};
  std::optional<double> bytes_per_second = {};
  std::optional<double> roof_share = {};  // of the roof that limits it
  bool is_compute_bound = false;          // else the memory's bandwidth is that roof
};

/// The communication of one device: means over its steps.
struct CommunicationTime {
  std::string label;  // "rank 3"
  double time_ns = 0;
  double hidden_ns = 0;  // compute runs at the same time
};

/// The time that a replay of a step saves, as a share of it, if one thing is twice as fast.
struct ReplayedGains {
  double network = 0;
  double compute = 0;
  double host = 0;
};

struct MetricRow {
  std::string name;
  std::string meaning = {};
  std::optional<double> value = {};
  std::string unit = {};
  std::string reason = {};  // why there is no value
  Value detail = {};
};

/// All that the page shows, in plain values. Empty parts are said to be empty.
struct RunReport {
  std::string title;
  std::optional<analyze::RunTime> time = {};  // nothing: nothing has a time
  std::vector<Document::Fact> head = {};      // fields that identify the run, with definitions
  std::vector<Document::Fact> facts = {};
  std::vector<Document::Fact> figures = {};      // numbers that stand large at the top
  std::vector<Document::Finding> findings = {};  // most important first
  std::vector<RankTime> rank_times = {};
  std::string steps = {};  // the steps that the parts sum over: "3 steps"
  bool has_steps = false;  // else the whole recording stands for one
  std::vector<CommunicationTime> communication = {};  // of every device; empty: there is none
  std::vector<KernelRow> kernels = {};                // longest first
  std::string gpu = {};  // of the catalogue, whose peaks are the kernels' roofs; empty: several
  std::optional<StepTimeline> timeline = {};
  std::vector<CollectivePoint> collectives = {};
  std::vector<Roof> roofs = {};
  std::optional<CriticalPath> critical_path = {};
  std::optional<Arrivals> arrivals = {};
  std::vector<Straggler> stragglers = {};  // worst first
  std::optional<analyze::StragglerAnalysis> straggler_cost = {};
  std::optional<ReplayedGains> gains = {};
  std::vector<analyze::DataLoading> data_loading = {};  // of ranks that record their loader
  std::vector<analyze::ExposedCopies> copies = {};      // most exposed first
  std::vector<MetricRow> metrics = {};
  std::vector<std::string> notes = {};  // problems in reading, matching or using the input
};

/// Returns the report as a document. The same report gives the same bytes.
[[nodiscard]] Document RunDocument(const RunReport& report);

/// Returns what there is to say of a timeline of operations: only what stragglers cost.
[[nodiscard]] Document TimelineDocument(const RunReport& report);

/// Returns the findings alone, for the terminal of whoever writes a page.
[[nodiscard]] Document FindingsDocument(const RunReport& report);

/// Returns how much of the communication compute hides; there must be some.
[[nodiscard]] std::string OverlapText(const RunReport& report);

/// Returns exposed communication: as the metric `exposed_comm_time`, in nanoseconds.
[[nodiscard]] double ExposedNs(const RunReport& report);

/// Means over devices, as `exposed_comm_time` and `comm_comp_overlap` have them.
struct MeanCommunication {
  double time_ns = 0;
  double hidden_ns = 0;
  double hidden_share = 0;
  const CommunicationTime* least = nullptr;  // hidden
  const CommunicationTime* most = nullptr;
};

[[nodiscard]] MeanCommunication MeanOf(const std::vector<CommunicationTime>& devices);

/// Devices without communication count as time, but have no share that is hidden.
[[nodiscard]] std::optional<double> HiddenShare(const CommunicationTime& device);

/// Returns what could not be read, matched or used of a run, a sentence for each kind.
[[nodiscard]] std::vector<std::string> NotesOf(const analyze::RunView& run);

/// Gathers what the page shows of a run. Linear in its events, devices in parallel.
[[nodiscard]] RunReport CollectReport(const analyze::RunView& run, std::string title,
                                      std::vector<MetricRow> metrics = {});

/// Returns the collectives of the selected steps that were matched without doubt; where none is,
/// those of each rank as they are.
[[nodiscard]] std::vector<CollectivePoint> CollectivePoints(const analyze::RunView& run);

/// Returns the kernels of the selected steps with what they achieve of the GPU's peaks: from the
/// shapes of the operators that launched them, or XLA's cost model.
[[nodiscard]] std::vector<KernelRow> KernelRows(const analyze::RunView& run);

/// Returns "compute" or "memory": which roof limits a kernel.
[[nodiscard]] std::string_view BoundName(const KernelRow& row);

/// Returns link bandwidths: those of the card, inside a node first, else of the device's data
/// sheet.
[[nodiscard]] std::vector<Roof> Roofs(const analyze::RunView& run);

/// The link that a collective is held against, of those of Roofs: the one across nodes where it
/// leaves its node; nullptr where that is not known.
[[nodiscard]] const Roof* RoofOf(const CollectivePoint& point, const std::vector<Roof>& roofs);

/// Returns how late ranks were at synchronising collectives. Collectives of groups that have no
/// rank in common share a column, so that there are about as many columns as a rank has calls.
[[nodiscard]] std::optional<Arrivals> ArrivalTable(const analyze::RunView& run);

/// Returns the ranks that others waited for, most blamed first.
[[nodiscard]] std::vector<Straggler> Stragglers(const analyze::RunView& run);

/// Replays the step that the critical path is of; nothing when the run has no such step.
[[nodiscard]] std::optional<ReplayedGains> GainsOf(const analyze::RunView& run);

/// Returns the critical path of the first selected step that all ranks have, in the page's form;
/// nothing when the run has no such step.
[[nodiscard]] std::optional<CriticalPath> RecordedPath(const analyze::RunView& run);

// The parts of a critical path. The results look into the path, which must outlive them.

struct ClassTime {
  std::string_view path_class;
  std::int64_t time_ns = 0;
};

/// Returns the classes that take time, the longest first.
[[nodiscard]] std::vector<ClassTime> TimeByClass(const CriticalPath& path);

/// Hops of one class and name.
struct HopSum {
  const Hop* longest = nullptr;
  std::int64_t count = 0;
  std::int64_t time_ns = 0;
};

/// Returns the `max_sums` that take most of the path, the longest first.
[[nodiscard]] std::vector<HopSum> LargestSums(const CriticalPath& path, std::size_t max_sums);

/// Returns a class as people write it: "launch overhead".
[[nodiscard]] std::string ClassName(std::string_view path_class);

/// Returns the time of one device.
[[nodiscard]] std::int64_t TotalNs(const RankTime& rank);

/// Returns the share of each part in the time of all devices, the mean over devices (0 to 1).
[[nodiscard]] std::array<double, kNumParts> MeanShares(const RunReport& report);

/// Says in sentences what the numbers of a report mean, the largest share of the time first.
[[nodiscard]] std::vector<Document::Finding> FindingsOf(const RunReport& report);

/// Returns names and styles of the parts of a device's time, in the order of Part.
[[nodiscard]] const std::vector<draw::Series>& PartSeries();

/// Returns the NVLink traffic of a run: for each GPU its throughput over time with the peak marked,
/// its numbers, and the intervals with the highest rates with the kernels that ran in them. Fails
/// when the run has no counters.
[[nodiscard]] Result<Document> NvlinkDocument(const analyze::RunView& run, std::string_view title);

// One function for each section of a run's document that has pictures or a file, in their order.

void AddBreakdown(const RunReport& report, Document& document);
void AddKernels(const RunReport& report, Document& document);
void AddTimeline(const RunReport& report, Document& document);
void AddCollectives(const RunReport& report, Document& document);
void AddCriticalPath(const RunReport& report, Document& document);
void AddArrivals(const RunReport& report, Document& document);

/// Adds what stragglers cost; in text only where the slowdown is worth saying.
void AddStragglerCost(const RunReport& report, Document& document);

}  // namespace orrery::report
