#pragma once

#include <memory>

#include "capture/sanitizer/host/session.h"
#include "capture/sanitizer/host/vendor.h"

namespace orrery::capture::sanitizer {

/// Alive while this thread makes a call of its own: what the vendor tells of meanwhile (memory that
/// we take, the module with our patches) is not the program's.
class OwnCall {
 public:
  OwnCall() { ++depth_; }

  ~OwnCall() { --depth_; }

  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;

  [[nodiscard]] static bool IsOpen() { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// The vendor's library.
[[nodiscard]] std::unique_ptr<VendorCalls> SanitizerCalls();

/// Lets the library call `session` back from now on. Both stay until the process ends.
[[nodiscard]] CallResult Subscribe(Session& session);

/// Returns the driver's version; empty if it cannot be read.
[[nodiscard]] std::string DriverVersion();

/// Of the toolkit that this was built with.
[[nodiscard]] std::string ToolkitVersion();

}  // namespace orrery::capture::sanitizer
