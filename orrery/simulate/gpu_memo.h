#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/memo.h"

namespace orrery::simulate {

/// Remembers operators of every GPU that is asked for: many jobs ask for the same ones. Any number
/// of threads may ask at the same time.
class GpuMemo : public kernel::CostModel {
 public:
  explicit GpuMemo(const kernel::CostModel& costs) : costs_(costs) {}

  using kernel::CostModel::Predict;
  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override;

 private:
  struct Entry {
    hardware::Gpu gpu;
    std::unique_ptr<kernel::MemoizedCostModel> memo;
  };

  [[nodiscard]] const Entry& EntryOf(const hardware::Gpu& gpu) const;

  const kernel::CostModel& costs_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Entry>> entry_of_gpu_;
};

}  // namespace orrery::simulate
