#include "orrery/workload/job/framework.h"

#include <algorithm>
#include <array>
#include <utility>

#include "orrery/base/check.h"
#include "orrery/base/text.h"
#include "orrery/workload/embedded_framework_fits.h"
#include "orrery/workload/embedded_frameworks.h"

namespace orrery::workload {

std::span<const FittedScalar> FittedScalars() {
  static constexpr std::array<FittedScalar, 6> kScalars{{
      {"product_rate", &Framework::gemm_rate, 0.5, 1.1},
      {"attention_rate", &Framework::attention_rate, 0.3, 1.5},
      {"memory_rate", &Framework::memory_rate, 0.4, 1.2},
      {"communication_rate", &Framework::communication_rate, 0.4, 1.2},
      {"launch_us", &Framework::launch_us, 0, 100},
      {"spread", &Framework::spread, 0, 0.15},
  }};
  return kScalars;
}

void CopyScalars(const Framework& from, Framework& to) {
  for (const FittedScalar& scalar : FittedScalars()) {
    to.*scalar.member = from.*scalar.member;
  }
}

Result<std::vector<Framework>> FrameworksWithFits(const std::string& yaml) {
  ORRERY_TRY(std::vector<Framework> frameworks, ReadFrameworks(kEmbeddedFrameworks));
  ORRERY_TRY_STATUS(ReadFrameworkFits(yaml, frameworks));
  for (Framework& framework : frameworks) {
    const auto owner = std::ranges::find(frameworks, framework.scalars_of, &Framework::name);
    if (owner != frameworks.end()) {
      CopyScalars(*owner, framework);
    }
  }
  return frameworks;
}

const std::vector<Framework>& Frameworks() {
  static const std::vector<Framework> catalogue = [] {
    auto frameworks = FrameworksWithFits(kEmbeddedFrameworkFits);
    ORRERY_CHECK(frameworks.has_value(), frameworks ? "" : frameworks.error().message());
    return *std::move(frameworks);
  }();
  return catalogue;
}

const Framework* FindFramework(std::string_view name) {
  const std::vector<Framework>& frameworks = Frameworks();
  auto found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
    return SameIgnoringCase(framework.name, name);
  });
  if (found == frameworks.end()) {
    found = std::ranges::find_if(frameworks, [&](const Framework& framework) {
      return hardware::IsCalled(name, framework.match);
    });
  }
  return found == frameworks.end() ? nullptr : &*found;
}

}  // namespace orrery::workload
