#pragma once

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

}  // namespace orrery::capture::sanitizer
