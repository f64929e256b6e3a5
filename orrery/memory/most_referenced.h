#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

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
