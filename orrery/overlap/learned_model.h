#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/model_file.h"
#include "orrery/learn/perceptron.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// Boosted trees and networks, whose mean is the answer: they err in different places.
struct Blend {
  std::vector<learn::Forest> forests;
  std::vector<learn::Perceptron> perceptrons;

  [[nodiscard]] std::vector<double> PredictRows(std::span<const float> rows) const;
};

/// What was learned from measured pairs. Contention is learned as the logarithm of the slowdown, of
/// kernels that meet once and of those beside communication that stays, by the same models; never
/// below what arithmetic says is the least. Queueing in two steps, whether a kernel waits and
/// for how much of the time that the other has left.
class LearnedModel : public Model {
 public:
  struct Parts {
    Blend compute;        // ln slowdown of the kernel that computes, its launch known
    Blend planned;        // the same without
    Blend communication;  // … of the one that communicates
    Blend waits;          // 1 where communication that comes second waits
    Blend wait_share;     // ln of the share of the first's remaining time
    /// Of GPUs that were measured. Kernels of other generations fill a GPU otherwise (persistent
    /// blocks or many waves), so arithmetic answers for them.
    std::set<std::string, std::less<>> generations;
  };

  explicit LearnedModel(Parts parts) : parts_(std::move(parts)) {}

  void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                 std::span<Slowdown> slowdowns) const override;

  /// How long the kernel that computes takes when each of the two is launched once, from its begin.
  [[nodiscard]] double TogetherUs(const Machine& machine, const Pair& pair,
                                  const KernelOverlap& overlap_event) const;

  [[nodiscard]] double DelayUs(const Machine& machine, const Pair& pair,
                               const Arrival& arrival) const override;

  [[nodiscard]] bool Knows(const Machine& machine) const {
    return parts_.generations.contains(machine.generation);
  }

  [[nodiscard]] const Parts& parts() const { return parts_; }

  /// Sections of a model file, and back.
  void AddTo(learn::ModelFile& file) const;
  [[nodiscard]] static Result<LearnedModel> From(const learn::ModelFile& file);

 private:
  [[nodiscard]] std::vector<double> ComputeLogs(std::span<const Pair> pairs,
                                                std::span<const float> rows) const;

  Parts parts_;
};

/// The model that is part of the program (data/models/overlap.orrmodel), or the one that
/// `measure overlap --pipeline` installed for this user.
[[nodiscard]] Result<std::shared_ptr<const LearnedModel>> ShippedModel();

[[nodiscard]] Result<LearnedModel> ReadLearnedModel(const std::string& path);

}  // namespace orrery::overlap
