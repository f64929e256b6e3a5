#include "orrery/api/input/job_input.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/errors.h"
#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {

// --gpu and --cluster are settings that have a name of their own; a GPU goes after the cluster,
// which brings one.
std::vector<std::string> OverridesOf(const JobInput& arguments) {
  std::vector<std::string> overrides;
  if (!arguments.cluster.empty()) {
    overrides.push_back("cluster=" + arguments.cluster);
  }
  if (!arguments.gpu.empty()) {
    overrides.push_back("gpu=" + arguments.gpu);
  }
  overrides.insert(overrides.end(), arguments.settings.begin(), arguments.settings.end());
  return overrides;
}

Result<workload::JobFile> ReadJob(const std::string& path, const JobInput& arguments) {
  return workload::ReadJobFile(path, OverridesOf(arguments));
}

Result<const hardware::Gpu*> GpuNamed(const std::string& name) {
  if (const hardware::Gpu* gpu = hardware::FindGpu(name)) {
    return gpu;
  }
  return NotFound("--gpu {}: no such GPU in the catalogue{} (orrery list gpus)", name,
                  DidYouMean(name, NamesOf(hardware::GpuCatalogue())));
}

Result<const hardware::Cluster*> ClusterNamed(const std::string& name) {
  if (const hardware::Cluster* cluster = hardware::FindCluster(name)) {
    return cluster;
  }
  // A GPU stands for the first cluster that has it.
  std::vector<std::string_view> known = NamesOf(hardware::ClusterCatalogue());
  std::ranges::copy(NamesOf(hardware::GpuCatalogue()), std::back_inserter(known));
  return NotFound("--cluster {}: no such cluster in the catalogue{} (orrery list clusters)", name,
                  DidYouMean(name, known));
}

}  // namespace orrery::api
