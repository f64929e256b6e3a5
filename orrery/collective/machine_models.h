#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

/// Smaller messages are dominated by the launch and neither fitted nor evaluated.
inline constexpr std::int64_t kLeastBytes = 1024;
/// Jobs depend on bandwidth, so rows from here on have larger weights.
inline constexpr std::int64_t kHeavyBytes = 1'000'000;

/// The constants of a machine before anything was measured: the defaults, and hops between nodes
/// that take as much longer as the network's own latency exceeds that of InfiniBand. Simple waits
/// for the network twice in a hop.
[[nodiscard]] MachineConstants PriorOf(const hardware::Cluster& cluster);

/// A machine as described by one source's measurements.
struct MachineModel {
  std::string machine;       // name of a cluster of the catalogue
  std::string source;        // of the measurements
  std::string setup;         // the source's name of the machine
  std::string nccl_version;  // of the tuner's constants: given, or the best fit
  bool was_version_told = false;
  /// Inferred NCCL settings between nodes where the data do not give them: "" or what fits better.
  /// Operators and plugins change them without documenting it.
  std::string assumed_settings;
  MachineConstants constants;
  std::vector<Constant> fitted;
  std::size_t rows = 0;
  int fewest_gpus = 2;
  int most_gpus = 0;
  int kinds = 1;              // of collectives
  int machines_of_class = 1;  // that share the constants, this one included
  // Of ln(predicted / measured) of its rows below `kHeavyBytes` and from there on.
  double small_deviation = 0;
  double large_deviation = 0;

  /// The deviation at this size; `is_nearest`: if it is used for a machine without measurements.
  [[nodiscard]] double DeviationAt(std::int64_t bytes, bool is_nearest) const;
};

enum class ModelMatch {
  kSource,   // fitted to this machine by the same source
  kMachine,  // fitted to this machine
  kNearest,  // fitted to the nearest machine of the catalogue
};

class MachineModels {
 public:
  struct Found {
    const MachineModel* model = nullptr;
    ModelMatch match = ModelMatch::kNearest;
    /// By the model, over several nodes, and by the one that answers for ranks of one node. Hops
    /// between nodes that the model's rows do not identify are the prior of the machine asked for.
    FormsOfMachine forms{};
  };

  void Add(MachineModel model);

  [[nodiscard]] const std::vector<MachineModel>& all() const { return models_; }

  struct Question {
    const hardware::Cluster* cluster = nullptr;
    int gpus = 1;
    std::string_view source = {};  // the source of the measurements to compare with
    std::string_view setup = {};   // the source's name of the machine
    bool is_unseen = false;        // as if the machine had no measurements
    int nodes = 0;                 // islands that the ranks are on; 0: as few as hold them
  };

  [[nodiscard]] Found Find(const Question& question) const;

  /// The file: docs/formats/collective-model.md.
  [[nodiscard]] std::string Text() const;

  /// Reads a file; `name` stands for it in errors.
  [[nodiscard]] static Result<MachineModels> Parse(const std::string& text,
                                                   const std::string& name);

  /// The embedded models (data/models/collectives.yaml).
  [[nodiscard]] static const MachineModels& Shipped();

 private:
  Found FindModel(const Question& question, bool is_on_nodes) const;

  std::vector<MachineModel> models_;
};

[[nodiscard]] std::string_view Name(ModelMatch match);

}  // namespace orrery::collective
