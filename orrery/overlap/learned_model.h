#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/model_file.h"
#include "orrery/learn/perceptron/perceptron.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// The mean of boosted trees and neural networks.
struct Blend {
  std::vector<learn::Forest> forests;
  std::vector<learn::Perceptron> perceptrons;

  [[nodiscard]] std::vector<double> PredictRows(std::span<const float> rows) const;
};

/// Models trained on measured pairs. Contention is the logarithm of the slowdown, with the same
/// models for kernels that overlap once and with continuous communication, and a lower bound from
/// the analytic model. Queueing has two steps: whether a kernel waits, and for which share of the
/// other's remaining time.
class LearnedModel : public Model {
 public:
  struct Parts {
    Blend compute;        // ln slowdown of the compute kernel with a known launch
    Blend planned;        // the same without a launch
    Blend communication;  // ln slowdown of the communication kernel
    Blend waits;          // 1 if communication launched second waits
    Blend wait_share;     // ln of the share of the first's remaining time
    /// GPU generations that were measured. Kernels of others use a GPU differently (persistent
    /// blocks or many waves), so the analytic model is used for them.
    std::set<std::string, std::less<>> generations;
  };

  explicit LearnedModel(Parts parts) : parts_(std::move(parts)) {}

  void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                 std::span<Slowdown> slowdowns) const override;

  /// The duration of the compute kernel when both are launched once.
  [[nodiscard]] double TogetherUs(const Machine& machine, const Pair& pair,
                                  const KernelOverlap& overlap) const;

  [[nodiscard]] double DelayUs(const Machine& machine, const Pair& pair,
                               const Arrival& arrival) const override;

  [[nodiscard]] bool Knows(const Machine& machine) const {
    return parts_.generations.contains(machine.generation);
  }

  [[nodiscard]] const Parts& parts() const { return parts_; }

  void AddTo(learn::ModelFile& file) const;
  [[nodiscard]] static Result<LearnedModel> From(const learn::ModelFile& file);

 private:
  std::vector<double> ComputeLogs(std::span<const Pair> pairs, std::span<const float> rows) const;

  Parts parts_;
};

/// The path of the model that `measure overlap --pipeline` installs; empty without a home folder.
[[nodiscard]] std::string InstalledModelPath();

/// The embedded model (data/models/overlap.orrmodel), or the one that `measure overlap --pipeline`
/// installed for this user.
[[nodiscard]] Result<std::shared_ptr<const LearnedModel>> ShippedModel();

[[nodiscard]] Result<LearnedModel> ReadLearnedModel(const std::string& path);

}  // namespace orrery::overlap
