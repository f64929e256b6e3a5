#include "orrery/trace/speedup.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "orrery/trace/kernel_class.h"

namespace orrery::trace {
namespace {

constexpr double kMostSpeedup = 1e6;
constexpr std::size_t kMostDigits = 8;  // of a rank

struct PartWord {
  std::string_view word;
  Part part;
  bool has_name = false;
};

constexpr auto kParts = std::to_array<PartWord>({{"network", Part::kNetwork},
                                                 {"nics", Part::kNics},
                                                 {"links", Part::kLinks},
                                                 {"flops", Part::kFlops},
                                                 {"memory", Part::kMemory},
                                                 {"compute", Part::kCompute},
                                                 {"gemm", Part::kGemm},
                                                 {"attention", Part::kAttention},
                                                 {"optimizer", Part::kOptimizer},
                                                 {"other", Part::kOther},
                                                 {"host", Part::kHost},
                                                 {"kernel", Part::kKernel, true},
                                                 {"operator", Part::kOperator, true},
                                                 {"rank", Part::kRank, true}});

const PartWord* FindPart(std::string_view word) {
  for (const PartWord& part : kParts) {
    if (part.word == word) {
      return &part;
    }
  }
  return nullptr;
}

std::optional<double> ParseFactor(std::string_view text) {
  double factor = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool is_whole =
      !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole && factor > 0 && factor <= kMostSpeedup ? std::optional(factor) : std::nullopt;
}

bool IsRank(std::string_view name) {
  return name.size() <= kMostDigits &&
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<Speedup> ParseSpeedup(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view left = text.substr(0, equals);
  const std::size_t colon = left.find(':');
  const PartWord* const part = FindPart(left.substr(0, colon));
  const std::string_view name =
      colon == std::string_view::npos ? std::string_view() : left.substr(colon + 1);
  if (part == nullptr || part->has_name == name.empty()) {
    return std::nullopt;
  }
  Speedup speedup{.part = part->part, .name = std::string(name), .text = std::string(text)};
  const bool has_factor = equals != std::string_view::npos;
  if (part->part == Part::kRank) {
    return !has_factor && IsRank(name) ? std::optional(speedup) : std::nullopt;
  }
  const auto factor = has_factor ? ParseFactor(text.substr(equals + 1)) : std::nullopt;
  speedup.factor = factor.value_or(1);
  return factor ? std::optional(speedup) : std::nullopt;
}

Part PartOf(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::kGemm:
    case KernelClass::kConvolution:
    case KernelClass::kMoeExpert:
      return Part::kGemm;
    case KernelClass::kAttention:
      return Part::kAttention;
    case KernelClass::kOptimizer:
      return Part::kOptimizer;
    default:
      return Part::kOther;
  }
}

}  // namespace orrery::trace
