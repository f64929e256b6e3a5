#include "orrery/cli/kernel_models.h"

#include "orrery/learn/model_file.h"

namespace orrery::cli {

Result<kernel::ModelSet> LoadKernelModels(const std::vector<std::string>& paths) {
  kernel::ModelSet models;
  for (const std::string& path : paths) {
    ORRERY_TRY(const learn::ModelFile file, learn::ReadModelFile(path));
    if (const Status added = models.AddFrom(file); !added) {
      return FailWithin(path, added);
    }
  }
  return models;
}

}  // namespace orrery::cli
