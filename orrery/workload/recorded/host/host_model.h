#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::workload {

/// The parts of the host's time. Costs add up over the tree of calls: an operator's own time is
/// that outside the calls it makes.
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
  kLaunches,       // launches that an operator makes itself; a number, no time
  kWaits,          // waits of an operator itself for the GPU; a number, no time
  kLaunchLatency,  // from the end of a launch to the begin of its kernel on an idle stream
  kKernelGap,      // between two kernels when the queue is full
};

/// The spread of one cost. Times in nanoseconds, the profiler's share removed.
struct HostCost {
  double typical = 0;                    // used by predictions
  std::array<double, 5> quantiles = {};  // 10, 25, 50, 75 and 90 %
  double mean = 0;
  std::int64_t count = 0;
  std::int64_t recordings = 0;   // lanes of recordings on which it was seen
  bool is_of_recording = false;  // of the one that is replayed, and of no other

  bool operator==(const HostCost&) const = default;
};

/// The mean, the count and the quantiles of some values.
[[nodiscard]] HostCost SpreadOf(const std::vector<double>& values);

/// Returns true if a part is an operator's own time.
[[nodiscard]] constexpr bool IsOperatorPart(HostPart part) {
  return part <= HostPart::kEnd;
}

/// Returns true if a part is a time that a faster host makes shorter: no number, nor a time of the
/// GPU.
[[nodiscard]] constexpr bool DependsOnHost(HostPart part) {
  return part < HostPart::kLaunches;
}

/// The entry that answered, best first.
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

/// The host's time for the operators of a framework, and between them, fitted from recordings
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

  /// The time that the profiler added to each event of the recordings, and that was removed.
  double profiler_cost_ns = 0;

  [[nodiscard]] const std::map<Key, HostCost, std::less<>>& entries() const { return entries_; }

 private:
  std::map<Key, HostCost, std::less<>> entries_;
};

/// Returns the entry for operators like this one: "*engine", "*node", "*kernel" or "*plain".
[[nodiscard]] std::string_view KindOf(std::string_view name, bool launches);

/// Returns true if a name is the program's own: compiled code, ranges, functions with a gradient.
/// Names of PyTorch itself cost about the same in every program.
[[nodiscard]] bool IsOfProgram(std::string_view name);

/// Returns true if a name is that of a kernel that torch.compile made. Under a profiler its Python
/// describes each launch with all arguments, which takes several times as long as the launch.
[[nodiscard]] bool IsCompiledKernel(std::string_view name);

/// A name without the part that counts: "ProfilerStep#3" is "ProfilerStep",
/// "Optimizer.step#AdamW.step" is "Optimizer.step". Names that begin with "#", as those of compiled
/// graphs ("## Call CompiledFxGraph f3… ##"), count nothing.
[[nodiscard]] std::string_view BaseName(std::string_view name);

/// Returns true if a program walks its parameters between the calls of a range of that name, so
/// that a gap grows with them: an optimizer does, unless it makes calls for each parameter.
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
