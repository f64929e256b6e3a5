#include "orrery/simulate/gpu_memo.h"

namespace orrery::simulate {

void GpuMemo::Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
                      std::span<kernel::Estimate> estimates) const {
  const Entry& entry = EntryOf(gpu);
  // The memo answers for the very object that it was made for.
  entry.memo->Predict(operators, entry.gpu, estimates);
}

const GpuMemo::Entry& GpuMemo::EntryOf(const hardware::Gpu& gpu) const {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Entry>& entry = entry_of_gpu_[gpu.name];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>();
    entry->gpu = gpu;
    entry->memo = std::make_unique<kernel::MemoizedCostModel>(costs_, entry->gpu);
  }
  return *entry;
}

}  // namespace orrery::simulate
