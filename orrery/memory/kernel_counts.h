#pragma once

#include <functional>
#include <map>
#include <optional>

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

/// The kernel that accesses memory most, and where in the program it is called.
struct MostReferenced {
  std::string kernel;  // full name
  std::int64_t accesses = 0;
  std::int64_t num_launches = 0;
  std::vector<std::string> call_stack = {};  // of most of its accesses; the innermost frame first
  std::int64_t stack_accesses = 0;           // of launches with that stack

  bool operator==(const MostReferenced&) const = default;
};

/// Counts accesses by kernel and by place in the program, over the pieces of a recording.
class ReferenceCounter {
 public:
  void Add(const trace::Trace& piece);

  /// Returns the kernel with most counted accesses of lanes; ties go to the first name, and to the
  /// first stack. Nothing where no launch has a stack or no access was counted.
  [[nodiscard]] std::optional<MostReferenced> Most() const;

 private:
  struct KernelUse {
    std::int64_t accesses = 0;
    std::int64_t num_launches = 0;
    std::map<std::string, std::int64_t, std::less<>> accesses_of_stack = {};
  };

  bool has_stacks_ = false;
  std::map<std::string, KernelUse, std::less<>> by_name_;
};

}  // namespace orrery::memory
