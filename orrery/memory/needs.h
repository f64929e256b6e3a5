#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/memory/coverage.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// What a memory tool needs of a recording.
enum class Need : std::uint8_t {
  kKernels,       // device work
  kKernelTimes,   // … with durations
  kObjects,       // pieces of memory and their lives
  kMemoryEvents,  // allocations and frees: events of the framework, or objects
  kTouches,       // what kernels did to objects, counted or by argument
  kPages,         // pages that kernels touched
  kAccesses,      // single accesses
  kOverheads,     // what the recording cost
};

/// Returns what is needed in a few words: "pages that kernels touched".
[[nodiscard]] std::string_view NeedName(Need need);

/// What there is in a recording that comes in pieces, and how well its launches were seen.
class RecordedParts {
 public:
  void Add(const trace::Trace& piece);

  [[nodiscard]] const LaunchCoverage& coverage() const { return coverage_; }

  /// Returns nothing where the need is met, else why not, with what the recorder says of it: "not
  /// recorded: pages that kernels touch (12 launches skipped: coarse mode)". A recording in which
  /// nothing happened, neither device work nor memory, meets all needs: every tool gives zeros.
  [[nodiscard]] std::optional<std::string> WhyUnmet(Need need) const;

  /// Fails with the first need that is not met.
  [[nodiscard]] Status Check(std::span<const Need> needs) const;

 private:
  [[nodiscard]] bool IsMet(Need need) const;
  [[nodiscard]] std::string RecordersReason() const;
  void AddKernels(const trace::Trace& piece);
  void AddReasons(const trace::Trace& piece);

  LaunchCoverage coverage_;
  std::string format_;
  std::string reasons_;  // what the recorder says it left out
  bool has_work_ = false;
  bool has_kernels_ = false;
  bool has_kernel_times_ = false;
  bool has_kernel_touches_ = false;
  bool has_objects_ = false;
  bool has_memory_events_ = false;
  bool has_observations_ = false;
  bool has_pages_ = false;
  bool has_accesses_ = false;
  bool has_overheads_ = false;
};

/// The same of a trace that is whole.
[[nodiscard]] std::optional<std::string> WhyUnmet(Need need, const trace::Trace& trace);
[[nodiscard]] Status CheckNeeds(std::span<const Need> needs, const trace::Trace& trace);

}  // namespace orrery::memory
