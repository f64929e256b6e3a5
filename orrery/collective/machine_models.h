#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/hardware/cluster.h"
#include "orrery/learn/metrics.h"

namespace orrery::collective {

/// Smaller messages are dominated by the launch and neither fitted nor evaluated.
inline constexpr std::int64_t kLeastBytes = 1024;
/// Jobs depend on bandwidth, so rows from here on have larger weights.
inline constexpr std::int64_t kHeavyBytes = 1'000'000;

/// A machine as described by one source's measurements.
struct MachineModel {
  std::string machine;       // name of a cluster of the catalogue
  std::string source;        // who measured
  std::string setup;         // what they call the machine
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

  /// The deviation at this size; `is_nearest`: where it stands for a machine that nobody measured.
  [[nodiscard]] double DeviationAt(std::int64_t bytes, bool is_nearest) const;
};

struct Outlier {
  const Measurement* row = nullptr;
  double predicted_seconds = 0;
};

struct Calibration {
  MachineModel model;
  learn::Evaluation all;    // rows of at least `kLeastBytes`
  learn::Evaluation large;  // of 4 MB and more
  std::vector<Outlier> outliers;
  /// Constants that the rows drive to a bound, and which were therefore put back to their priors.
  std::vector<Constant> at_bounds;
};

/// Rows of one machine, source and setup, in this order.
[[nodiscard]] std::vector<std::vector<const Measurement*>> GroupByMachine(
    std::span<const Measurement> rows);

/// Fits the constants that the rows determine, at most ten, to rows of one group; the others keep
/// their defaults. Fails for fewer than four rows.
[[nodiscard]] Result<Calibration> Calibrate(std::span<const Measurement* const> rows);

/// Machines that are fitted together, each the rows of one group.
using MachineClass = std::vector<std::vector<const Measurement*>>;

/// A group with at least 30 rows is a class of its own, as are all smaller ones of a machine that
/// have so many together; the rest share the constants of all with GPUs of the same generation and
/// the same kinds of links and NICs.
[[nodiscard]] std::vector<MachineClass> ClassesOf(std::span<const Measurement> rows);

/// One calibration for each machine of the class, in its order. Fails for fewer than 30 rows, whose
/// machines are then better described by the nearest one, unless it is the only class there is.
[[nodiscard]] Result<std::vector<Calibration>> CalibrateClass(const MachineClass& machines,
                                                              bool is_only);
[[nodiscard]] Result<double> PredictRow(const MachineModel& model, const Measurement& row);

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
    bool is_unseen = false;        // as if nobody had measured the machine
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

/// The time of a row by what `Find` answered for it.
[[nodiscard]] Result<double> PredictRow(const MachineModels::Found& found, const Measurement& row);

struct SplitRule {
  enum class Kind : std::uint8_t {
    kRandom,     // a share of the sizes of each machine, collective and number of GPUs
    kAboveGpus,  // rows of more GPUs
  };

  Kind kind = Kind::kRandom;
  double share = 0.2;
  int most_gpus = 0;
  std::uint64_t seed = 1;

  /// "random:20", "above:gpus:16", each optionally with ":seed=7".
  [[nodiscard]] static Result<SplitRule> Parse(std::string_view text);
};

struct EvaluatedRow {
  const Measurement* row = nullptr;
  double seconds = 0;
  ModelMatch match = ModelMatch::kNearest;
};

struct EvaluatedGroup {
  std::string source;
  std::string machine;
  std::string collective;
  int gpus = 0;
  learn::Evaluation figures;
};

struct EvaluationResult {
  std::vector<EvaluatedRow> rows;
  learn::Evaluation overall;
  std::vector<EvaluatedGroup> groups;
};

/// `is_unseen`: each row by the models of other machines.
[[nodiscard]] Result<EvaluationResult> Evaluate(std::span<const Measurement> rows,
                                                std::int64_t min_bytes, const MachineModels& models,
                                                bool is_unseen = false);

/// Fits each machine to a part of its rows and evaluates the rest.
[[nodiscard]] Result<EvaluationResult> EvaluateHeldOut(std::span<const Measurement> rows,
                                                       std::int64_t min_bytes,
                                                       const SplitRule& rule);

}  // namespace orrery::collective
