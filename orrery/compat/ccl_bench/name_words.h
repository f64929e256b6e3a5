#pragma once

#include <string_view>

#include "orrery/trace/row_index.h"  // IWYU pragma: export

namespace orrery::compat::ccl_bench {

using trace::PerName;

/// Returns whether `name` contains one of the words, which are in lower case and separated by
/// blanks; case does not matter. "^word" must be at the begin of the name, and next to "<word>"
/// there is no letter, digit or underscore.
[[nodiscard]] bool HasWord(std::string_view name, std::string_view words);

/// A test of names: for words, or any other.
struct NameTest {
  std::string_view words = {};
  bool (*test)(std::string_view name) = nullptr;

  [[nodiscard]] bool operator()(std::string_view name) const {
    return test != nullptr ? test(name) : HasWord(name, words);
  }
};

// Each tool of the suite has its own list of words.

/// Communication for `communication_fraction`.
inline constexpr NameTest kFractionComm{
    "nccl allreduce allgather reducescatter broadcast cross_device cross-device crossdevice "
    "all_reduce all_gather reduce_scatter sendrecv send recv p2p communicate"};

/// Communication for the total time, the ratio and the overlap ratio.
inline constexpr NameTest kTimeComm{
    "^nccl nccldevkernel ncclkernel allreduce allgather reducescatter broadcast cross_device "
    "cross-device crossdevice all_reduce all_gather reduce_scatter sendrecv"};

/// Communication for `compute_comm_overlap`; in XLA `broadcast` is a local operation.
inline constexpr NameTest kXlaOverlapComm{
    "nccl all_reduce all-reduce allreduce all_gather all-gather allgather reduce_scatter "
    "reduce-scatter reducescatter all_to_all all_to-all all_toall all-to_all all-to-all all-toall "
    "allto_all allto-all alltoall cross_device cross-device crossdevice sendrecv collective"};
inline constexpr NameTest kOverlapComm{.test = [](std::string_view name) {
  return HasWord(name, "broadcast") || kXlaOverlapComm(name);
}};

/// Communication in recordings of nsys.
inline constexpr NameTest kNsysComm{
    "nccl allreduce allgather reducescatter broadcast send recv p2p cross_device communicate "
    "all_reduce all_gather"};

/// Communication and compute for the metrics of Chrome JSON files; communication is tested first.
inline constexpr NameTest kChromeComm{
    "all-reduce allreduce all-gather allgather reduce-scatter reducescatter all-to-all alltoall "
    "collective nccl"};
inline constexpr NameTest kChromeCompute{"dot convolution gemm matmul fusion compute custom-call"};
inline constexpr NameTest kChromeAllReduce{"all-reduce allreduce"};

inline constexpr NameTest kMoe{
    "moe expert routing gating gate_ topk grouped_gemm dispatch combine"};
inline constexpr NameTest kNsysMoe{
    "moe expert routing gating dispatchkernel combinekernel <gate> <topk>"};

/// Any kernel of NCCL since 2.19.
inline constexpr NameTest kNewNcclKernel{"^nccldevkernel_"};

/// Kernels named ncclDevKernel_AllReduce… and so on, as spelled.
[[nodiscard]] bool IsNewNcclCollective(std::string_view name);

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

inline constexpr NameTest kCopyName{"memcpy memset copy_kernel copy. copy-start copy-done <dma>"};
inline constexpr NameTest kMemoryCompute{
    .test = [](std::string_view name) { return MemoryClassOf(name) > MemoryClass::kCopy; }};

/// Returns the collective in an XLA name ("all-reduce", …), or nothing.
[[nodiscard]] std::string_view CollectiveLabel(std::string_view name);

}  // namespace orrery::compat::ccl_bench
