#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/stream/schema.h"

namespace orrery::capture {

/// Which launches are to be recorded in detail while it is open.
struct DetailSelection {
  std::uint64_t id = 0;
  std::string_view kernels;    // part of the kernel's name; empty: any
  std::uint64_t launches = 0;  // at most; 0: all
};

/// Hears of what the recorder is told, on the thread that told it, after it was recorded and with
/// no lock held.
class RecorderListener {
 public:
  virtual ~RecorderListener() = default;

  virtual void OnAllocated(const stream::Allocation& /*allocation*/) {}

  /// `object` is 0 where the memory is not known. Phase 1 (requested) does not end it.
  virtual void OnFreed(const stream::Free& /*free*/) {}

  virtual void OnOperatorBegin(std::uint64_t /*begin*/, std::string_view /*name*/) {}

  virtual void OnOperatorEnd(std::uint64_t /*begin*/) {}

  virtual void OnRegionBegin(std::uint64_t /*begin*/, std::string_view /*name*/) {}

  virtual void OnRegionEnd(std::uint64_t /*begin*/) {}

  /// Frames of Python that the thread is in, the innermost first; none: not known any more.
  virtual void OnPythonStack(std::span<const std::string_view> /*frames*/) {}

  virtual void OnStep(std::uint64_t /*number*/) {}

  virtual void OnDetailBegin(const DetailSelection& /*selection*/) {}

  virtual void OnDetailEnd(std::uint64_t /*id*/) {}

  /// Everything is to be on disk soon: what the listener still holds, it hands to the recorder now.
  virtual void OnFlush() {}
};

}  // namespace orrery::capture
