#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/search/space.h"

namespace orrery::search {

/// Kernels take a microsecond more than the roofline says: fast, and different for every shape.
class RooflineCosts : public kernel::CostModel {
 public:
  using kernel::CostModel::Predict;

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      const kernel::Work work = kernel::WorkOf(operators[i]);
      estimates[i] = {};
      estimates[i].seconds = 1e-6 + kernel::BoundOf(operators[i], work, gpu).Seconds();
    }
  }
};

/// A model of eight layers on two nodes of eight H100s.
inline std::string SmallJobText(const std::string& framework, bool has_experts,
                                const std::string& search) {
  return "model: {hidden: 1024, layers: 8, heads: 16, ffn: 4096, vocabulary: 32000" +
         std::string(has_experts ? ", experts: 8, experts_per_token: 2" : "") +
         "}\n"
         "training: {sequence: 4096, micro_batch: 1, global_batch: 64}\n"
         "cluster: DGX H100\n"
         "gpus: 16\n"
         "framework: " +
         framework + "\n" + search;
}

inline Result<Space> SmallSpace(const std::string& text,
                                const std::vector<std::string>& overrides = {}) {
  return Space::Of({.text = {.yaml = text, .place = "job.yaml"}, .overrides = overrides});
}

}  // namespace orrery::search
