#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
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

/// Returns whether nothing happened in it: no device work and no memory. Every tool runs on such a
/// trace and gives zeros.
[[nodiscard]] bool IsEmpty(const trace::Trace& trace);

/// Returns nothing where the need is met, else why not, with what the recorder says of it: "not
/// recorded: pages that kernels touch (12 launches skipped: coarse mode)".
[[nodiscard]] std::optional<std::string> WhyUnmet(Need need, const trace::Trace& trace);

/// Fails with the first need that is not met.
[[nodiscard]] Status CheckNeeds(std::span<const Need> needs, const trace::Trace& trace);

}  // namespace orrery::memory
