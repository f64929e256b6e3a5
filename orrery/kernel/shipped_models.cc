#include "orrery/kernel/shipped_models.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/kernel/embedded_sibling_levels.h"
#include "orrery/kernel/sibling_level.h"
#include "orrery/learn/model_file.h"

namespace orrery::kernel {

/// Made by cmake/EmbedFiles.cmake.
struct EmbeddedFile {
  const char* begin;
  const char* end;
};

extern const EmbeddedFile kEmbeddedKernelModels[];
extern const std::size_t kNumEmbeddedKernelModels;

Result<ModelSet> ShippedModels() {
  ModelSet models;
  for (const EmbeddedFile& embedded : std::span(kEmbeddedKernelModels, kNumEmbeddedKernelModels)) {
    const std::string_view bytes(embedded.begin,
                                 static_cast<std::size_t>(embedded.end - embedded.begin));
    ORRERY_TRY(const learn::ModelFile file, learn::ParseModelFile(bytes));
    ORRERY_TRY_STATUS(models.AddFrom(file));
  }
  ORRERY_TRY(SiblingLevels levels,
             ParseSiblingLevels(kEmbeddedSiblingLevels, "data/models/sibling_levels.yaml"));
  models.SetLevels(std::move(levels.levels));
  return models;
}

}  // namespace orrery::kernel
