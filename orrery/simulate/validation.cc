#include "orrery/simulate/validation.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "orrery/base/parallel.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/memo.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;

// Remembers operators of each GPU: many rows ask for the same ones.
class MemoOfGpus : public kernel::CostModel {
 public:
  explicit MemoOfGpus(const kernel::CostModel& costs) : costs_(costs) {}

  using kernel::CostModel::Predict;

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    MemoOf(gpu).Predict(operators, gpu, estimates);
  }

 private:
  struct Entry {
    hardware::Gpu gpu;
    std::unique_ptr<kernel::MemoizedCostModel> memo;
  };

  const kernel::CostModel& MemoOf(const hardware::Gpu& gpu) const {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<Entry>& entry = entry_of_gpu_[gpu.name];
    if (entry == nullptr) {
      entry = std::make_unique<Entry>();
      entry->gpu = gpu;
      entry->memo = std::make_unique<kernel::MemoizedCostModel>(costs_, entry->gpu);
    }
    return *entry->memo;
  }

  const kernel::CostModel& costs_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Entry>> entry_of_gpu_;
};

struct Outcome {
  std::optional<JudgedRun> judged;
  RefusedRun refused;
};

std::string TextAt(const Table& table, std::size_t row, std::string_view column) {
  return std::string(table.Text(row, column).value_or(""));
}

Result<JudgedRun> Judge(const Table& table, std::size_t row, const kernel::CostModel& costs,
                        const JobChange& change) {
  JudgedRun judged;
  ORRERY_TRY(judged.run, workload::ReadPublishedRun(table, row));
  if (change) {
    change(judged.run.job);
  }
  ORRERY_TRY(const Simulation simulation, Simulate(judged.run.job, costs));
  judged.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  return judged;
}

}  // namespace

Result<Validation> Validate(const Table& table, const kernel::CostModel& costs,
                            const RowFilter& filter, const JobChange& change) {
  ORRERY_TRY_STATUS(workload::CheckPublishedColumns(table));
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!filter || filter(table, row)) {
      rows.push_back(row);
    }
  }
  const MemoOfGpus memo(costs);
  std::vector<Outcome> outcomes(rows.size());
  ParallelFor(rows.size(), 0, [&](std::size_t i) {
    Result<JudgedRun> judged = Judge(table, rows[i], memo, change);
    if (judged) {
      outcomes[i].judged = std::move(*judged);
    } else {
      outcomes[i].refused = {TextAt(table, rows[i], "id"), TextAt(table, rows[i], "source"),
                             judged.error().message()};
    }
  });
  Validation validation;
  validation.rows = rows.size();
  for (Outcome& outcome : outcomes) {
    if (outcome.judged) {
      validation.judged.push_back(std::move(*outcome.judged));
    } else {
      validation.refused.push_back(std::move(outcome.refused));
    }
  }
  return validation;
}

}  // namespace orrery::simulate
