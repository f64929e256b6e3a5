#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/report/document.h"

namespace orrery::report {

/// What a device does at an instant; the parts of its time.
enum class Part : std::uint8_t { kCompute, kTransfer, kWaiting, kMemory, kIdle };

inline constexpr std::size_t kNumParts = 5;

/// A thing to know about the run: "ranks", "8".
struct Fact {
  std::string label;
  std::string value;
};

/// A number that stands large at the top: "Step time", "606 ms", "mean over 8 ranks".
struct Figure {
  std::string label;
  std::string value;
  std::string note = {};
  std::optional<Part> part = {};  // whose colour goes with it
};

/// How one device spent its selected steps. Waiting and transfer are the two sides of communication
/// that no compute hides.
struct RankTime {
  std::string label;                              // "rank 3"
  std::array<std::int64_t, kNumParts> part_ns{};  // in the order of Part
};

struct Slice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Part part = Part::kCompute;
};

/// Slices in order that do not overlap; the rest of the time is idle.
struct TimelineRow {
  std::string label;
  std::vector<Slice> slices;
};

/// One step on all devices, its time counted from the step's begin.
struct StepTimeline {
  std::string step;  // "Step 12"
  std::int64_t length_ns = 0;
  std::vector<TimelineRow> rows = {};
};

/// A collective of the selected steps.
struct CollectivePoint {
  std::string kind;  // "all-reduce"
  std::int64_t bytes = -1;
  double bus_bytes_per_second = 0;  // 0: not known
  std::int64_t transfer_ns = 0;     // of the fastest member
  std::int64_t waiting_ns = 0;      // summed over the members
  std::int64_t duration_ns = 0;     // summed over the members
  bool is_matched = true;           // else seen on one rank: the transfer may hold waiting
};

/// The bandwidth of a link, to compare with.
struct Roof {
  std::string label;
  double bytes_per_second = 0;
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

/// How one rank makes others wait.
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

struct MetricRow {
  std::string name;
  std::string meaning = {};
  std::optional<double> value = {};
  std::string unit = {};
  std::string reason = {};  // why there is no value
};

/// All that the page shows, in plain values. Empty parts are said to be empty.
struct RunReport {
  std::string title;
  std::vector<Fact> facts = {};
  std::vector<Figure> figures = {};
  std::vector<Document::Finding> findings = {};  // most important first
  std::vector<RankTime> rank_times = {};
  std::string steps = {};  // which steps the parts sum over: "3 steps"
  std::optional<StepTimeline> timeline = {};
  std::vector<CollectivePoint> collectives = {};
  std::vector<Roof> roofs = {};
  std::optional<CriticalPath> critical_path = {};
  std::optional<Arrivals> arrivals = {};
  std::vector<Straggler> stragglers = {};  // worst first
  std::vector<MetricRow> metrics = {};
  std::vector<std::string> notes = {};  // what could not be read, matched or used
};

/// Returns the report as a document. The same report gives the same bytes.
[[nodiscard]] Document RunDocument(const RunReport& report);

}  // namespace orrery::report
