#include "orrery/compat/ccl_bench/model_family.h"

#include <algorithm>
#include <array>

#include "orrery/analyze/card_fields.h"

namespace orrery::compat::ccl_bench {

using analyze::CardText;

namespace {

constexpr std::string_view kPcieFamily = "qwen-32b";

constexpr auto kFamilies =
    std::to_array<std::string_view>({"deepseek-v2-lite", "llama-3.1-8B", kPcieFamily});

}  // namespace

std::optional<std::string_view> FamilyOfGroup6(const CompatRun& run) {
  const auto family = CardText(*run.set, "model_family");
  return family && std::ranges::count(kFamilies, *family) > 0 ? family : std::nullopt;
}

bool IsPcieFamily(std::string_view family) {
  return family == kPcieFamily;
}

}  // namespace orrery::compat::ccl_bench
