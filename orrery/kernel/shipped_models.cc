#include "orrery/kernel/shipped_models.h"

#include <cstddef>
#include <span>
#include <string_view>

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
  return models;
}

}  // namespace orrery::kernel
