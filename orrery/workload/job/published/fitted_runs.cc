#include "orrery/workload/job/published/fitted_runs.h"

#include <set>
#include <string>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework_fits_text.h"

namespace orrery::workload {
namespace {

void AddNames(const YAML::Node& names, std::set<std::string>& all) {
  for (const YAML::Node& name : names) {
    all.insert(name.as<std::string>());
  }
}

}  // namespace

Result<FittedRuns> ReadFittedRuns(const std::string& yaml) {
  return WithYaml("fits of frameworks", yaml, [](const YAML::Node& root) -> Result<FittedRuns> {
    FittedRuns runs;
    for (const YAML::Node& fit : root["fits"]) {
      AddNames(fit["stacks"], runs.stacks);
      AddNames(fit["teams"], runs.teams);
    }
    return runs;
  });
}

const FittedRuns& ShippedFittedRuns() {
  static const FittedRuns runs = [] {
    auto read = ReadFittedRuns(ShippedFrameworkFits());
    ORRERY_CHECK(read.has_value(), read ? "" : read.error().message());
    return *std::move(read);
  }();
  return runs;
}

}  // namespace orrery::workload
