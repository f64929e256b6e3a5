#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"

// Classification by name. Each tool of the suite has its own list of words, which match anywhere in
// the name, ignoring case unless noted.

namespace orrery::compat::ccl_bench {

using NameTest = bool (*)(std::string_view name);

/// Communication for `communication_fraction`.
[[nodiscard]] bool IsFractionComm(std::string_view name);

/// Communication for the total time, the ratio and the overlap ratio.
[[nodiscard]] bool IsTimeComm(std::string_view name);

/// Communication for `compute_comm_overlap`; in XLA `broadcast` is a local operation.
[[nodiscard]] bool IsOverlapComm(std::string_view name);
[[nodiscard]] bool IsXlaOverlapComm(std::string_view name);

/// Communication in recordings of nsys.
[[nodiscard]] bool IsNsysComm(std::string_view name);

/// Communication for the metrics of Chrome JSON files.
[[nodiscard]] bool IsChromeComm(std::string_view name);

/// Compute for the same metrics; communication is tested first.
[[nodiscard]] bool IsChromeCompute(std::string_view name);

[[nodiscard]] bool IsChromeAllReduce(std::string_view name);

[[nodiscard]] bool IsMoe(std::string_view name);
[[nodiscard]] bool IsNsysMoe(std::string_view name);

/// Kernels named ncclDevKernel_AllReduce… and so on, as spelled: NCCL since 2.19.
[[nodiscard]] bool IsNewNcclCollective(std::string_view name);

/// Any kernel that starts with nccldevkernel_ in any case.
[[nodiscard]] bool IsNewNcclKernel(std::string_view name);

/// The class of a kernel in the memory tools; the first match counts.
enum class MemoryClass {
  kCommunication,
  kCopy,
  kGemm,
  kSoftmax,
  kNormalisation,
  kElementwise,
  kReduction,
  kOther,
};

[[nodiscard]] MemoryClass MemoryClassOf(std::string_view name);
[[nodiscard]] bool IsCopyName(std::string_view name);
[[nodiscard]] bool IsMemoryCompute(std::string_view name);
[[nodiscard]] bool IsMemoryBound(std::string_view name);

/// Returns the collective in an XLA name ("all-reduce", …), or nothing.
[[nodiscard]] std::string_view CollectiveLabel(std::string_view name);

/// Returns whether `name` contains one of the words, which are in lower case.
[[nodiscard]] bool HasWord(std::string_view name, const std::vector<std::string_view>& words);

/// Evaluates a test once for each distinct name of a trace.
class NameMemo {
 public:
  NameMemo(const trace::Trace& trace, NameTest test)
      : trace_(trace), test_(test), known_(trace.strings.size(), kUnknownYet) {}

  bool operator()(StringId name) {
    signed char& known = known_[static_cast<std::size_t>(name)];
    if (known == kUnknownYet) {
      known = test_(trace_.Text(name)) ? 1 : 0;
    }
    return known == 1;
  }

 private:
  static constexpr signed char kUnknownYet = -1;

  const trace::Trace& trace_;
  NameTest test_;
  std::vector<signed char> known_;
};

}  // namespace orrery::compat::ccl_bench
