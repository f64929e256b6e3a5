#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/calibration.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

/// How closely a model matches the requested machine.
enum class ModelMatch {
  kSource,   // fitted to this machine by the same source
  kMachine,  // fitted to this machine
  kNearest,  // fitted to the nearest machine of the catalogue
};

/// The machines whose constants were fitted.
class MachineModels {
 public:
  struct Found {
    const MachineModel* model = nullptr;
    ModelMatch match = ModelMatch::kNearest;
  };

  void Add(MachineModel model);

  [[nodiscard]] const std::vector<MachineModel>& all() const { return models_; }

  struct Question {
    const hardware::Cluster* cluster = nullptr;
    int gpus = 1;
    std::string_view source = {};  // the source of the measurements to compare with
    std::string_view setup = {};   // the source's name of the machine
  };

  /// Returns the defaults if no model matches.
  [[nodiscard]] Found Find(const Question& question) const;

  /// The file: docs/formats/collective-model.md.
  [[nodiscard]] std::string Text() const;

  /// Reads a file; `name` stands for it in errors.
  [[nodiscard]] static Result<MachineModels> Parse(const std::string& text,
                                                   const std::string& name);

  /// The embedded models (data/models/collectives.yaml).
  [[nodiscard]] static const MachineModels& Shipped();

 private:
  std::vector<MachineModel> models_;
};

[[nodiscard]] std::string_view Name(ModelMatch match);

}  // namespace orrery::collective
