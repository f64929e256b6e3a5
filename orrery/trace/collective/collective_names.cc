#include "orrery/trace/collective/collective_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/text/text.h"

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

// Words are separated by blanks.
struct KindWords {
  CollectiveKind kind;
  std::string_view words;
};

constexpr std::array kCallNames{
    KindWords{kAllReduce, "allreduce allreducesparse"},
    KindWords{kAllGather, "allgather allgatherv"},
    KindWords{kReduceScatter, "reducescatter reducescatterv"},
    KindWords{kAllToAll, "alltoall alltoallv alltoallsingle"},
    KindWords{kBroadcast, "broadcast bcast"},
    KindWords{kReduce, "reduce"},
    KindWords{kGather, "gather"},
    KindWords{kScatter, "scatter"},
    KindWords{kSend, "send isend"},
    KindWords{kRecv, "recv irecv recvanysource"},
    KindWords{kBarrier, "barrier"},
};

// Longer words first, so that "reducescatter" is not read as "reduce".
constexpr std::array kKindWords{
    KindWords{kReduceScatter, "reducescatter reduce_scatter"},
    KindWords{kAllReduce, "allreduce all_reduce"},
    KindWords{kAllGather, "allgather all_gather"},
    KindWords{kAllToAll, "alltoall all_to_all"},
    KindWords{kSendRecv, "sendrecv"},
    KindWords{kBroadcast, "broadcast"},
    KindWords{kReduce, "reduce"},
    KindWords{kGather, "gather"},
    KindWords{kScatter, "scatter"},
    KindWords{kBarrier, "barrier"},
};

struct KernelFamily {
  bool reads_kind;         // the rest of the name contains the collective
  CollectiveKind kind;     // otherwise
  std::string_view words;  // in the lower-case kernel name
};

// In order: the first word that occurs decides.
constexpr std::array kKernelFamilies{
    KernelFamily{true, kUnknown, "nccldevkernel ncclkernel ncclsym"},
    KernelFamily{false, kUnknown, "rcclgenerickernel"},
    KernelFamily{true, kUnknown, "mscclpp"},
    KernelFamily{false, kUnknown, "mscclkernel"},
    KernelFamily{false, kAllReduce,
                 "cross_device_reduce one_shot_all_reduce two_shot_all_reduce oneshotallreduce "
                 "twoshotallreduce allreduce_fusion_kernel_oneshot allreduce_fusion_kernel_twoshot "
                 "multimem_all_reduce multimem_one_shot"},
    KernelFamily{false, kAllGather, "multimem_all_gather"},
    KernelFamily{false, kReduceScatter, "multimem_reduce_scatter"},
    KernelFamily{false, kAllToAll, "deep_ep:: notify_dispatch"},
    KernelFamily{false, kUnknown, "nvshmem"},
    KernelFamily{true, kUnknown, "hccl:: oneccl_ rccl nccl"},
};

// Returns where the first of the words that occurs in the text begins; npos: none does.
std::size_t FindWord(std::string_view text, std::string_view words) {
  std::size_t at = std::string_view::npos;
  for (const auto word : std::views::split(words, ' ')) {
    at = at == std::string_view::npos ? text.find(std::string_view(word.begin(), word.end())) : at;
  }
  return at;
}

CollectiveKind KindInName(std::string_view lower) {
  const auto found = std::ranges::find_if(kKindWords, [&](const KindWords& candidate) {
    return FindWord(lower, candidate.words) != std::string_view::npos;
  });
  return found == kKindWords.end() ? kUnknown : found->kind;
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
  const auto found = std::ranges::find_if(kCallNames, [&](const KindWords& candidate) {
    return std::ranges::any_of(std::views::split(candidate.words, ' '), [&](const auto& word) {
      return std::string_view(word.begin(), word.end()) == folded;
    });
  });
  return found == kCallNames.end() ? std::nullopt : std::optional(found->kind);
}

std::optional<CommunicationKernel> ClassifyCommunicationKernel(std::string_view name) {
  const std::string lower = LowerCase(name);
  for (const KernelFamily& family : kKernelFamilies) {
    const std::size_t at = FindWord(lower, family.words);
    if (at == std::string::npos) {
      continue;
    }
    CommunicationKernel kernel;
    kernel.kind = family.reads_kind ? KindInName(std::string_view(lower).substr(at)) : family.kind;
    const DataType type = TypeInName(name);
    // Copies move raw bytes: their int8_t says nothing about the tensor.
    const bool is_raw_copy = type == DataType::kInt8 && !IsReduction(kernel.kind);
    kernel.data_type = is_raw_copy ? DataType::kUnknown : type;
    return kernel;
  }
  return std::nullopt;
}

}  // namespace orrery::trace
