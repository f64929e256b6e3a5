#include "orrery/simulate/goodput/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/activation_memory.h"

namespace orrery::simulate {
namespace {

constexpr double kMostSeconds = 40 * 86'400.0;  // two of them fit 64 bits of picoseconds
constexpr int kHalvings = 200;

std::int64_t TrainedParameters(const workload::Job& job) {
  const auto* const transformer = job.model.transformer();
  if (job.training.trained() == workload::TrainedPart{} || transformer == nullptr) {
    return workload::TotalParameters(job.model);
  }
  const bool has_adapters = job.training.adapter_rank > 0;
  std::int64_t frozen_blocks = job.training.frozen_blocks;
  std::int64_t adapters = 0;
  std::int64_t frozen =
      workload::Sum(workload::EmbeddingTensors(*transformer, transformer->vocabulary)).total();
  for (const auto* const stack : {&transformer->encoder, &transformer->blocks}) {
    for (const workload::BlockRun& run : *stack) {
      const std::int64_t of_run = std::min<std::int64_t>(run.count, frozen_blocks);
      frozen_blocks -= of_run;
      frozen += of_run * workload::Sum(workload::TensorsOf(run.block, transformer->hidden)).total();
      adapters += (run.count - of_run) *
                  workload::Sum(workload::AdapterTensors(run.block, transformer->hidden,
                                                         job.training.trained()))
                      .total();
    }
  }
  return has_adapters ? adapters : workload::TotalParameters(job.model) - frozen;
}

std::int64_t Picoseconds(double seconds) {
  return std::llround(std::min(seconds, kMostSeconds) * 1e12);
}

}  // namespace

Bytes CheckpointBytes(const workload::Job& job) {
  return {TrainedParameters(job) *
          (workload::ParameterBytes(job.training) + workload::OptimizerBytes(job.training))};
}

CheckpointTimes TimesOf(const CheckpointPath& path) {
  const auto bytes = static_cast<double>(path.size.count);
  const double storage_s = bytes / path.storage.bytes_per_second;
  const double host_s =
      path.host_link.bytes_per_second > 0
          ? bytes / static_cast<double>(path.gpus) / path.host_link.bytes_per_second
          : 0;
  const std::int64_t whole_ps = Picoseconds(std::max(storage_s, host_s));
  return path.is_asynchronous
             ? CheckpointTimes{Picoseconds(host_s), Picoseconds(storage_s), whole_ps}
             : CheckpointTimes{whole_ps, 0, whole_ps};
}

double ExpectedEttr(const RenewalModel& model, double interval_s) {
  const double rate = model.failures_per_s;
  if (rate <= 0) {
    return interval_s / (interval_s + model.stall_s);
  }
  return interval_s * rate * std::exp(-rate * (model.down_s + model.write_s)) /
         std::expm1(rate * (interval_s + model.stall_s));
}

double BestIntervalSeconds(const RenewalModel& model) {
  // The derivative vanishes where (1 - x) e^x = e^(-λ s), x = λ Δ; the left side falls from 1 to 0.
  const double right = std::exp(-model.failures_per_s * model.stall_s);
  double low = 0;
  double high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    ((1 - middle) * std::exp(middle) > right ? low : high) = middle;
  }
  return std::max(low / model.failures_per_s, model.stall_s + model.write_s);
}

double YoungInterval(double stall_s, double mtbf_s) {
  return std::sqrt(2 * stall_s * mtbf_s);
}

double DalyInterval(double stall_s, double mtbf_s) {
  if (stall_s >= 2 * mtbf_s) {
    return mtbf_s;
  }
  const double ratio = stall_s / (2 * mtbf_s);
  return YoungInterval(stall_s, mtbf_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - stall_s;
}

double KokolisEttr(const RenewalModel& model, double interval_s) {
  return (1 - model.failures_per_s * (model.down_s + interval_s / 2)) /
         (1 + model.stall_s / interval_s);
}

}  // namespace orrery::simulate
