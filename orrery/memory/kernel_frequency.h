#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Launches of kernels whose names differ only in template arguments and parameters.
struct KernelGroup {
  struct Variant {
    std::string full_name;
    std::int64_t count = 0;

    bool operator==(const Variant&) const = default;
  };

  std::string name;
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
  std::vector<Variant> variants = {};  // most launches first, ties by name

  bool operator==(const KernelGroup&) const = default;
};

struct KernelFrequency {
  std::int64_t num_launches = 0;
  std::int64_t total_ns = 0;             // 0: no kernel has a time
  std::vector<KernelGroup> groups = {};  // most launches first, ties by name

  bool operator==(const KernelFrequency&) const = default;
};

/// Counts the launches of each kernel over pieces of a recording, and over ranks. Copies and sets
/// are not kernels.
class KernelCounter {
 public:
  void Add(const trace::Trace& piece);

  [[nodiscard]] KernelFrequency Count() const;

 private:
  struct Total {
    std::int64_t count = 0;
    std::int64_t total_ns = 0;
  };

  // By full name, so that names are shortened once each.
  std::map<std::string, Total> by_name_;
};

}  // namespace orrery::memory
