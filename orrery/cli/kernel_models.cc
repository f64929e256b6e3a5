#include "orrery/cli/kernel_models.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/kernel/shipped_models.h"
#include "orrery/learn/model_file.h"

namespace orrery::cli {

Result<kernel::ModelSet> LoadKernelModels(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return kernel::ShippedModels();
  }
  kernel::ModelSet models;
  for (const std::string& path : paths) {
    ORRERY_TRY(const learn::ModelFile file, learn::ReadModelFile(path));
    if (const Status added = models.AddFrom(file); !added) {
      return FailWithin(path, added);
    }
  }
  return models;
}

Result<const hardware::Gpu*> GpuNamed(const std::string& name) {
  if (const hardware::Gpu* gpu = hardware::FindGpu(name)) {
    return gpu;
  }
  std::vector<std::string_view> known;
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    known.push_back(gpu.name);
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("--gpu {}: no such GPU in the catalogue; there are {}", name,
                          fmt::join(known, ", ")));
}

}  // namespace orrery::cli
