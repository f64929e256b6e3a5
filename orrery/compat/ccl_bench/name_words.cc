#include "orrery/compat/ccl_bench/name_words.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/text/text.h"

namespace orrery::compat::ccl_bench {
namespace {

// Calls `test(word)` until it is true for one of the words.
template <typename Test>
bool AnyWord(std::string_view words, Test&& test) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (test(words.substr(0, end))) {
      return true;
    }
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

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

}  // namespace

bool HasWord(std::string_view name, std::string_view words) {
  const std::string folded = LowerCase(name);
  return AnyWord(words, [&](std::string_view word) {
    switch (word.front()) {
      case '^':
        return folded.starts_with(word.substr(1));
      case '<':
        return ContainsWholeWord(folded, word.substr(1, word.size() - 2));
      default:
        return Contains(folded, word);
    }
  });
}

bool IsNewNcclCollective(std::string_view name) {
  constexpr std::string_view kPrefix = "ncclDevKernel_";
  return name.starts_with(kPrefix) &&
         AnyWord(
             "AllReduce ReduceScatter AllGather Broadcast Reduce SendRecv",
             [&](std::string_view kind) { return name.substr(kPrefix.size()).starts_with(kind); });
}

MemoryClass MemoryClassOf(std::string_view name) {
  if (HasWord(name, "nccl") || kTimeComm(name)) {
    return MemoryClass::kCommunication;
  }
  static constexpr std::pair<NameTest, MemoryClass> kClasses[] = {
      {kCopyName, MemoryClass::kCopy},
      {{"gemm cutlass cublas matmul triton_mm"}, MemoryClass::kGemm},
      {{"softmax"}, MemoryClass::kSoftmax},
      {{"layernorm layer_norm rmsnorm rms_norm batchnorm batch_norm groupnorm group_norm "
        "norm_kernel"},
       MemoryClass::kNormalisation},
      {{"elementwise pointwise vectorized unary binary aten::add aten::mul aten::div aten::sub "
        "aten::relu aten::gelu aten::silu aten::sigmoid aten::tanh aten::exp aten::neg aten::abs "
        "aten::clamp"},
       MemoryClass::kElementwise},
      {{"sum_kernel mean_kernel"}, MemoryClass::kReduction}};
  for (const auto& [test, memory_class] : kClasses) {
    if (test(name)) {
      return memory_class;
    }
  }
  return ContainsReduceWithoutScatter(LowerCase(name)) ? MemoryClass::kReduction
                                                       : MemoryClass::kOther;
}

std::string_view CollectiveLabel(std::string_view name) {
  const std::string folded = LowerCase(name);
  std::string_view found;
  AnyWord("all-reduce all-gather reduce-scatter all-to-all collective-permute",
          [&](std::string_view label) {
            found = Contains(folded, label) ? label : found;
            return !found.empty();
          });
  return found;
}

}  // namespace orrery::compat::ccl_bench
