#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
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

  void Take(stream::Launch launch, std::string_view kernel) override;

  void Take(const stream::Copy& copy) override { waiting_.emplace_back(copy); }

  void Take(const stream::Set& set) override { waiting_.emplace_back(set); }

  void Take(const stream::GraphLaunch& graph) override { waiting_.emplace_back(graph); }

  void Take(stream::ApiCall call, std::string_view name) override;

  void Take(const MemoryActivity& memory) override { memory_.push_back(memory); }

  void Take(stream::Synchronization wait) override;
  void Take(stream::ManagedMemory managed) override;

  void Take(const stream::Device& device) override { recorder_.Write(device); }

  void TakeOverhead(std::int64_t duration_ns) override;

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
