#include "orrery/compat/ccl_bench/name_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <utility>

#include "orrery/base/text.h"

namespace orrery::compat::ccl_bench {
namespace {

using Words = std::span<const std::string_view>;

constexpr auto kFractionComm = std::to_array<std::string_view>(
    {"nccl", "allreduce", "allgather", "reducescatter", "broadcast", "cross_device", "cross-device",
     "crossdevice", "all_reduce", "all_gather", "reduce_scatter", "sendrecv", "send", "recv", "p2p",
     "communicate"});

constexpr auto kTimeComm = std::to_array<std::string_view>(
    {"nccldevkernel", "ncclkernel", "allreduce", "allgather", "reducescatter", "broadcast",
     "cross_device", "cross-device", "crossdevice", "all_reduce", "all_gather", "reduce_scatter",
     "sendrecv"});

constexpr auto kXlaOverlapComm = std::to_array<std::string_view>(
    {"nccl",      "all_reduce",     "all-reduce",     "allreduce",     "all_gather", "all-gather",
     "allgather", "reduce_scatter", "reduce-scatter", "reducescatter", "all_to_all", "all_to-all",
     "all_toall", "all-to_all",     "all-to-all",     "all-toall",     "allto_all",  "allto-all",
     "alltoall",  "cross_device",   "cross-device",   "crossdevice",   "sendrecv",   "collective"});

constexpr auto kNsysComm = std::to_array<std::string_view>(
    {"nccl", "allreduce", "allgather", "reducescatter", "broadcast", "send", "recv", "p2p",
     "cross_device", "communicate", "all_reduce", "all_gather"});

constexpr auto kChromeComm = std::to_array<std::string_view>(
    {"all-reduce", "allreduce", "all-gather", "allgather", "reduce-scatter", "reducescatter",
     "all-to-all", "alltoall", "collective", "nccl"});

constexpr auto kChromeCompute = std::to_array<std::string_view>(
    {"dot", "convolution", "gemm", "matmul", "fusion", "compute", "custom-call"});

constexpr auto kMoe = std::to_array<std::string_view>(
    {"moe", "expert", "routing", "gating", "gate_", "topk", "grouped_gemm", "dispatch", "combine"});

constexpr auto kNsysMoe = std::to_array<std::string_view>(
    {"moe", "expert", "routing", "gating", "dispatchkernel", "combinekernel"});

constexpr auto kCopy = std::to_array<std::string_view>(
    {"memcpy", "memset", "copy_kernel", "copy.", "copy-start", "copy-done"});

constexpr auto kGemm =
    std::to_array<std::string_view>({"gemm", "cutlass", "cublas", "matmul", "triton_mm"});

constexpr auto kSoftmax = std::to_array<std::string_view>({"softmax"});

constexpr auto kNormalisation =
    std::to_array<std::string_view>({"layernorm", "layer_norm", "rmsnorm", "rms_norm", "batchnorm",
                                     "batch_norm", "groupnorm", "group_norm", "norm_kernel"});

constexpr auto kElementwise = std::to_array<std::string_view>(
    {"elementwise", "pointwise", "vectorized", "unary", "binary", "aten::add", "aten::mul",
     "aten::div", "aten::sub", "aten::relu", "aten::gelu", "aten::silu", "aten::sigmoid",
     "aten::tanh", "aten::exp", "aten::neg", "aten::abs", "aten::clamp"});

constexpr auto kReduction = std::to_array<std::string_view>({"sum_kernel", "mean_kernel"});

constexpr auto kNewNcclCollectives = std::to_array<std::string_view>(
    {"ncclDevKernel_AllReduce", "ncclDevKernel_ReduceScatter", "ncclDevKernel_AllGather",
     "ncclDevKernel_Broadcast", "ncclDevKernel_Reduce", "ncclDevKernel_SendRecv"});

constexpr auto kCollectiveLabels = std::to_array<std::string_view>(
    {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"});

bool ContainsAny(std::string_view folded, Words words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return Contains(folded, word); });
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The word not adjacent to a letter, digit or underscore.
bool ContainsWholeWord(std::string_view folded, std::string_view word) {
  for (std::size_t at = folded.find(word); at != std::string_view::npos;
       at = folded.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsWordCharacter(folded[at - 1])) &&
        (end == folded.size() || !IsWordCharacter(folded[end]))) {
      return true;
    }
  }
  return false;
}

bool ContainsReduceWithoutScatter(std::string_view folded) {
  constexpr std::string_view kReduce = "reduce";
  for (std::size_t at = folded.find(kReduce); at != std::string_view::npos;
       at = folded.find(kReduce, at + 1)) {
    if (!folded.substr(at + kReduce.size()).starts_with("scatter")) {
      return true;
    }
  }
  return false;
}

bool IsCopy(std::string_view folded) {
  return ContainsAny(folded, kCopy) || ContainsWholeWord(folded, "dma");
}

}  // namespace

bool IsFractionComm(std::string_view name) {
  return ContainsAny(LowerCase(name), kFractionComm);
}

bool IsTimeComm(std::string_view name) {
  const std::string folded = LowerCase(name);
  return folded.starts_with("nccl") || ContainsAny(folded, kTimeComm);
}

bool IsXlaOverlapComm(std::string_view name) {
  return ContainsAny(LowerCase(name), kXlaOverlapComm);
}

bool IsOverlapComm(std::string_view name) {
  const std::string folded = LowerCase(name);
  return Contains(folded, "broadcast") || ContainsAny(folded, kXlaOverlapComm);
}

bool IsNsysComm(std::string_view name) {
  return ContainsAny(LowerCase(name), kNsysComm);
}

bool IsChromeComm(std::string_view name) {
  return ContainsAny(LowerCase(name), kChromeComm);
}

bool IsChromeCompute(std::string_view name) {
  return ContainsAny(LowerCase(name), kChromeCompute);
}

bool IsChromeAllReduce(std::string_view name) {
  const std::string folded = LowerCase(name);
  return Contains(folded, "all-reduce") || Contains(folded, "allreduce");
}

bool IsMoe(std::string_view name) {
  return ContainsAny(LowerCase(name), kMoe);
}

bool IsNsysMoe(std::string_view name) {
  const std::string folded = LowerCase(name);
  return ContainsAny(folded, kNsysMoe) || ContainsWholeWord(folded, "gate") ||
         ContainsWholeWord(folded, "topk");
}

bool IsNewNcclCollective(std::string_view name) {
  return std::ranges::any_of(kNewNcclCollectives,
                             [&](std::string_view start) { return name.starts_with(start); });
}

bool IsNewNcclKernel(std::string_view name) {
  return LowerCase(name).starts_with("nccldevkernel_");
}

MemoryClass MemoryClassOf(std::string_view name) {
  const std::string folded = LowerCase(name);
  if (Contains(folded, "nccl") || ContainsAny(folded, kTimeComm)) {
    return MemoryClass::kCommunication;
  }
  if (IsCopy(folded)) {
    return MemoryClass::kCopy;
  }
  static constexpr std::pair<Words, MemoryClass> kClasses[] = {
      {kGemm, MemoryClass::kGemm},
      {kSoftmax, MemoryClass::kSoftmax},
      {kNormalisation, MemoryClass::kNormalisation},
      {kElementwise, MemoryClass::kElementwise},
      {kReduction, MemoryClass::kReduction}};
  for (const auto& [words, memory_class] : kClasses) {
    if (ContainsAny(folded, words)) {
      return memory_class;
    }
  }
  return ContainsReduceWithoutScatter(folded) ? MemoryClass::kReduction : MemoryClass::kOther;
}

bool IsCopyName(std::string_view name) {
  return IsCopy(LowerCase(name));
}

bool IsMemoryCompute(std::string_view name) {
  const MemoryClass found = MemoryClassOf(name);
  return found != MemoryClass::kCommunication && found != MemoryClass::kCopy;
}

bool IsMemoryBound(std::string_view name) {
  const MemoryClass found = MemoryClassOf(name);
  return found != MemoryClass::kCommunication && found != MemoryClass::kGemm &&
         found != MemoryClass::kOther;
}

std::string_view CollectiveLabel(std::string_view name) {
  const std::string folded = LowerCase(name);
  for (const std::string_view label : kCollectiveLabels) {
    if (Contains(folded, label)) {
      return label;
    }
  }
  return {};
}

bool HasWord(std::string_view name, const std::vector<std::string_view>& words) {
  return ContainsAny(LowerCase(name), words);
}

}  // namespace orrery::compat::ccl_bench
