#include "orrery/trace/collective_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/text.h"
#include "orrery/trace/data_types.h"
#include "orrery/trace/enums.h"

namespace orrery::trace {
namespace {

using enum CollectiveKind;

std::string Folded(std::string_view name) {
  std::string folded;
  folded.reserve(name.size());
  for (const char c : name) {
    if (c != '_' && c != '-') {
      folded.push_back(LowerCase(c));
    }
  }
  return folded;
}

bool StripSuffix(std::string& text, std::string_view suffix) {
  if (text.size() <= suffix.size() || !text.ends_with(suffix)) {
    return false;
  }
  text.resize(text.size() - suffix.size());
  return true;
}

struct NamedKind {
  std::string_view name;
  CollectiveKind kind;
};

constexpr std::array kCallNames{
    NamedKind{"allreduce", kAllReduce},
    NamedKind{"allreducesparse", kAllReduce},
    NamedKind{"allgather", kAllGather},
    NamedKind{"allgatherv", kAllGather},
    NamedKind{"reducescatter", kReduceScatter},
    NamedKind{"reducescatterv", kReduceScatter},
    NamedKind{"alltoall", kAllToAll},
    NamedKind{"alltoallv", kAllToAll},
    NamedKind{"alltoallsingle", kAllToAll},
    NamedKind{"broadcast", kBroadcast},
    NamedKind{"bcast", kBroadcast},
    NamedKind{"reduce", kReduce},
    NamedKind{"gather", kGather},
    NamedKind{"scatter", kScatter},
    NamedKind{"send", kSend},
    NamedKind{"isend", kSend},
    NamedKind{"recv", kRecv},
    NamedKind{"irecv", kRecv},
    NamedKind{"recvanysource", kRecv},
    NamedKind{"barrier", kBarrier},
};

struct KernelFamily {
  std::string_view needle;  // in the lower-case kernel name
  bool reads_kind;          // the name goes on to say which collective it is
  CollectiveKind kind;      // otherwise
};

// In order: the first family whose needle occurs decides.
constexpr std::array kKernelFamilies{
    KernelFamily{"nccldevkernel", true, kUnknown},
    KernelFamily{"ncclkernel", true, kUnknown},
    KernelFamily{"ncclsym", true, kUnknown},
    KernelFamily{"rcclgenerickernel", false, kUnknown},
    KernelFamily{"mscclpp", true, kUnknown},
    KernelFamily{"mscclkernel", false, kUnknown},
    KernelFamily{"cross_device_reduce", false, kAllReduce},
    KernelFamily{"one_shot_all_reduce", false, kAllReduce},
    KernelFamily{"two_shot_all_reduce", false, kAllReduce},
    KernelFamily{"oneshotallreduce", false, kAllReduce},
    KernelFamily{"twoshotallreduce", false, kAllReduce},
    KernelFamily{"allreduce_fusion_kernel_oneshot", false, kAllReduce},
    KernelFamily{"allreduce_fusion_kernel_twoshot", false, kAllReduce},
    KernelFamily{"multimem_all_reduce", false, kAllReduce},
    KernelFamily{"multimem_one_shot", false, kAllReduce},
    KernelFamily{"multimem_all_gather", false, kAllGather},
    KernelFamily{"multimem_reduce_scatter", false, kReduceScatter},
    KernelFamily{"deep_ep::", false, kAllToAll},
    KernelFamily{"notify_dispatch", false, kAllToAll},
    KernelFamily{"nvshmem", false, kUnknown},
    KernelFamily{"hccl::", true, kUnknown},
    KernelFamily{"oneccl_", true, kUnknown},
    KernelFamily{"rccl", true, kUnknown},
    KernelFamily{"nccl", true, kUnknown},
};

// Longer words first, so that "reducescatter" is not read as "reduce".
constexpr std::array kKindWords{
    NamedKind{"reducescatter", kReduceScatter},
    NamedKind{"reduce_scatter", kReduceScatter},
    NamedKind{"allreduce", kAllReduce},
    NamedKind{"all_reduce", kAllReduce},
    NamedKind{"allgather", kAllGather},
    NamedKind{"all_gather", kAllGather},
    NamedKind{"alltoall", kAllToAll},
    NamedKind{"all_to_all", kAllToAll},
    NamedKind{"sendrecv", kSendRecv},
    NamedKind{"broadcast", kBroadcast},
    NamedKind{"reduce", kReduce},
    NamedKind{"gather", kGather},
    NamedKind{"scatter", kScatter},
    NamedKind{"barrier", kBarrier},
};

CollectiveKind KindInName(std::string_view lower) {
  for (const NamedKind& word : kKindWords) {
    if (lower.find(word.name) != std::string_view::npos) {
      return word.kind;
    }
  }
  return kUnknown;
}

// The element type is one of the words between underscores, before the parameter list.
DataType TypeInName(std::string_view name) {
  name = name.substr(0, name.find('('));
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const DataType type = ParseDataType(name.substr(0, end));
    if (type != DataType::kUnknown) {
      return type;
    }
    // "int8_t" is two words.
    const std::size_t second_end =
        std::min(name.find('_', std::min(end + 1, name.size())), name.size());
    const DataType joined = ParseDataType(name.substr(0, second_end));
    if (joined != DataType::kUnknown) {
      return joined;
    }
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return DataType::kUnknown;
}

bool IsReducing(CollectiveKind kind) {
  return kind == kAllReduce || kind == kReduce || kind == kReduceScatter;
}

}  // namespace

std::optional<CollectiveKind> ParseCollectiveName(std::string_view name) {
  if (const std::size_t colons = name.rfind("::"); colons != std::string_view::npos) {
    name.remove_prefix(colons + 2);
  }
  std::string folded = Folded(name);
  for (const std::string_view prefix : {"nccl:", "nccl", "rccl", "gloo:"}) {
    if (folded.starts_with(prefix)) {
      folded.erase(0, prefix.size());
      break;
    }
  }
  constexpr std::array<std::string_view, 5> kSuffixes{"base", "oop", "coalesced", "intotensor",
                                                      "tensor"};
  while (std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return StripSuffix(folded, suffix); })) {
  }
  for (const NamedKind& known : kCallNames) {
    if (folded == known.name) {
      return known.kind;
    }
  }
  return std::nullopt;
}

std::string_view CollectiveKindName(CollectiveKind kind) {
  // In the order of CollectiveKind.
  constexpr auto kNames = std::to_array<std::string_view>(
      {"unknown", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
       "gather", "scatter", "send", "recv", "send_recv", "barrier"});
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<CommunicationKernel> ClassifyCommunicationKernel(std::string_view name) {
  const std::string lower = LowerCase(name);
  for (const KernelFamily& family : kKernelFamilies) {
    const std::size_t at = lower.find(family.needle);
    if (at == std::string::npos) {
      continue;
    }
    CommunicationKernel kernel;
    kernel.kind = family.reads_kind ? KindInName(std::string_view(lower).substr(at)) : family.kind;
    const DataType type = TypeInName(name);
    // Copies move raw bytes: their int8_t says nothing about the tensor.
    const bool is_raw_copy = type == DataType::kInt8 && !IsReducing(kernel.kind);
    kernel.data_type = is_raw_copy ? DataType::kUnknown : type;
    return kernel;
  }
  return std::nullopt;
}

}  // namespace orrery::trace
