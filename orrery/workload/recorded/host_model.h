#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/table.h"

namespace orrery::workload {

/// Where the host spends time. Costs add up over the tree of calls: an operator's own time is
/// that outside of the calls it makes.
enum class HostPart : std::uint8_t {
  kWhole,          // an operator that calls nothing recorded
  kStart,          // from an operator's begin to its first call
  kBetween,        // between two calls of an operator
  kEnd,            // from an operator's last call to its end
  kLaunch,         // the call that launches work on the GPU
  kSynchronize,    // from the end of the awaited work to the end of the call
  kGap,            // before a call that no operator makes, by the name of that call
  kGapInList,      // the same where the program walks its parameters: for each parameter
  kRest,           // from the last call inside an annotation to its end
  kRestInList,     // the same for each parameter
  kTurn,           // between two calls of the thread that runs the backward pass
  kRecompute,      // hooks around an operator that the backward pass runs again
  kLaunches,       // how many launches an operator makes itself; a number, no time
  kWaits,          // how often an operator waits for the GPU itself; a number, no time
  kLaunchLatency,  // from the end of a launch to the begin of its kernel on an idle stream
  kKernelGap,      // between two kernels when the queue is full
};

/// How one cost is spread. Times in nanoseconds, the profiler's share removed.
struct HostCost {
  double typical = 0;                    // what a prediction uses
  std::array<double, 5> quantiles = {};  // 10, 25, 50, 75 and 90 %
  double mean = 0;
  std::int64_t count = 0;
  std::int64_t recordings = 0;   // how many lanes of how many recordings it was seen on
  bool is_of_recording = false;  // of the one that is replayed, and of no other

  bool operator==(const HostCost&) const = default;
};

/// The mean, the count and the quantiles of some values.
[[nodiscard]] HostCost SpreadOf(const std::vector<double>& values);

/// Whether a part is an operator's own time.
[[nodiscard]] constexpr bool IsOperatorPart(HostPart part) {
  return part <= HostPart::kEnd;
}

/// Which entry answered, best first.
enum class HostCostSource : std::uint8_t {
  kName,    // this operator was recorded
  kKind,    // operators of its kind were
  kGlobal,  // something was
  kNothing,
  kRecorded,  // none: the recording that is replayed has it itself
};

struct HostAnswer {
  double value = 0;
  HostCostSource source = HostCostSource::kNothing;
};

/// What the host spends on the operators of a framework, fitted from recordings
/// (docs/formats/host.md).
class HostModel {
 public:
  using Key = std::pair<HostPart, std::string>;

  /// The name of an entry that stands for all names of a kind: see KindOf.
  static constexpr std::string_view kAll = "*";

  void Set(HostPart part, std::string name, const HostCost& cost);

  /// Returns the entry of that name itself.
  [[nodiscard]] const HostCost* Find(HostPart part, std::string_view name) const;

  /// Returns the cost of a name, of its kind, or of all names, whichever is known first.
  /// `launches` tells whether the operator launches kernels itself.
  [[nodiscard]] HostAnswer Get(HostPart part, std::string_view name, bool launches) const;

  /// What the profiler added to each event of the recordings, and was removed.
  double profiler_cost_ns = 0;

  [[nodiscard]] const std::map<Key, HostCost, std::less<>>& entries() const { return entries_; }

 private:
  std::map<Key, HostCost, std::less<>> entries_;
};

/// Returns the entry for operators like this one: "*engine", "*node", "*kernel" or "*plain".
[[nodiscard]] std::string_view KindOf(std::string_view name, bool launches);

/// Whether a name is the program's own: compiled code, ranges, functions with a gradient. Names of
/// PyTorch itself cost about the same in every program.
[[nodiscard]] bool IsOfProgram(std::string_view name);

/// A name without the part that counts: "ProfilerStep#3" is "ProfilerStep",
/// "Optimizer.step#AdamW.step" is "Optimizer.step". Names that begin with "#", as those of compiled
/// graphs ("## Call CompiledFxGraph f3… ##"), count nothing.
[[nodiscard]] std::string_view BaseName(std::string_view name);

/// Whether a program walks its parameters between the calls of a range of that name, so that a gap
/// grows with them: an optimizer does, unless it makes calls for each parameter.
[[nodiscard]] bool IsListWalk(std::string_view annotation, std::int64_t num_calls,
                              std::int64_t num_parameters);

/// Returns the model that answers with means, outliers and all, where names were recorded: sums
/// over a step then come out as they were recorded, while those of typical costs are what an
/// undisturbed host takes.
[[nodiscard]] HostModel WithMeans(const HostModel& model);

/// The model as a table of one row an entry, and back. Unknown parts, missing columns and negative
/// times are errors that name the line.
[[nodiscard]] Table HostTable(const HostModel& model);
[[nodiscard]] Result<HostModel> HostModelOf(const Table& table);

/// The host model that is built into the program (data/host): for those who have no recordings of
/// their own machine.
[[nodiscard]] const HostModel& DefaultHost();

}  // namespace orrery::workload
