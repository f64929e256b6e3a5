#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <variant>
#include <vector>

#include "capture/cupti/activity_source.h"
#include "capture/recorder/recorder.h"

namespace orrery::capture {

/// Turns what CUPTI tells into events of a stream. Used by one thread.
///
/// Order. CUPTI tells of work when it has run, of calls when they returned, and of both in buffers
/// that arrive in any order. A launch gets its number from the moment at which the host began the
/// call with the same correlation number, so it stands among operators and allocations where the
/// host put it. Work whose call was not told of is written at the end, numbered by the time at
/// which it ran, and counted.
class ActivityWriter : public ActivityReceiver {
 public:
  ActivityWriter(Recorder& recorder, bool writes_calls)
      : recorder_(recorder), writes_calls_(writes_calls) {}

  void Take(const KernelActivity& kernel) override;
  void Take(const CopyActivity& copy) override;
  void Take(const SetActivity& set) override;
  void Take(const GraphActivity& graph) override;
  void Take(const CallActivity& call) override;
  void Take(const MemoryActivity& memory) override;
  void Take(const WaitActivity& wait) override;
  void Take(const ManagedActivity& managed) override;
  void Take(const DeviceActivity& device) override;
  void Take(const CostActivity& cost) override;

  /// Writes the work whose calls are known by now, and memory in the order of time.
  void EndBatch();

  /// Writes what is left.
  void Finish();

 private:
  using Work = std::variant<stream::Launch, stream::Copy, stream::Set, stream::GraphLaunch>;

  struct Begin {
    std::int64_t time_ns = 0;
    std::uint64_t thread = 0;
  };

  template <typename Event>
  [[nodiscard]] static Event EventOf(const DeviceWork& work);
  [[nodiscard]] bool WriteIfKnown(const Work& work);
  void WriteWithout(Work& work);
  [[nodiscard]] std::uint64_t NextOf(std::uint64_t correlation);
  void WriteMemory();
  void WriteMemory(const MemoryActivity& memory);
  void ForgetOldCalls();

  Recorder& recorder_;
  bool writes_calls_;
  std::unordered_map<std::uint64_t, Begin> begin_of_call_;  // by correlation
  std::unordered_map<std::uint64_t, std::uint64_t>
      works_of_call_;          // nodes of graphs, by correlation
  std::vector<Work> waiting_;  // for their calls
  std::vector<MemoryActivity> memory_;
  std::uint64_t last_correlation_ = 0;
};

}  // namespace orrery::capture
