#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/predict.h"
#include "orrery/api/predict/time_text.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/floor.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/kernel/work.h"
#include "orrery/learn/interval.h"

namespace orrery::api {
namespace {

// On tables of training operators and of GPUs left out 80 to 91 % of the rows are inside.
learn::TimeInterval IntervalOf(const kernel::Estimate& estimate, double floor_seconds) {
  learn::TimeInterval interval = learn::IntervalAround(estimate.seconds, estimate.uncertainty);
  interval.low_s = std::max(interval.low_s, floor_seconds);
  return interval;
}

PredictedKernel MakeKernel(const kernel::Operator& op, const kernel::Estimate& estimate,
                           const hardware::Gpu& gpu) {
  const kernel::Work work = kernel::WorkOf(op);
  const kernel::Bound bound = kernel::BoundOf(op, work, gpu);
  const learn::TimeInterval interval = IntervalOf(estimate, kernel::FloorSeconds(op, gpu));
  PredictedKernel predicted{.op = kernel::Text(op),
                            .gpu = gpu.name,
                            .time_s = estimate.seconds,
                            .low_s = interval.low_s,
                            .high_s = interval.high_s,
                            .uncertainty = estimate.uncertainty,
                            .roofline_s = estimate.roofline_seconds,
                            .flops = work.flops,
                            .bytes = work.Bytes(),
                            .source = std::string(kernel::EstimateSourceName(estimate.source)),
                            .extrapolated = estimate.is_extrapolated,
                            .is_memory_bound = bound.memory_seconds > bound.compute_seconds};
  if (estimate.alignment_gpu != nullptr) {
    predicted.alignment_from = estimate.alignment_gpu->name;
  }
  if (estimate.library_factor != 1) {
    predicted.library_factor = estimate.library_factor;
  }
  return predicted;
}

Result<PredictKernelsResult> PredictAll(const Session& session,
                                        const PredictKernelsRequest& request) {
  if (request.power > 0 && !request.sustained) {
    return InvalidInput("--power needs --sustained: a burst does not reach the power limit");
  }
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(request.gpu));
  std::vector<kernel::Operator> operators;
  for (const std::string& text : request.operators) {
    const Result<kernel::Operator> op = kernel::ParseOperator(text);
    if (!op) {
      return FailWithin("'" + text + "'", op);
    }
    operators.push_back(*op);
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             session.state().Models(request.models));
  PredictKernelsResult result;
  for (const kernel::Operator& op : operators) {
    kernel::Estimate estimate = models->Predict(op, *gpu);
    if (request.sustained) {
      hardware::Gpu limited = *gpu;
      limited.power_watts = request.power > 0 ? request.power : gpu->power_watts;
      estimate.seconds = kernel::SustainedSeconds(op, limited, estimate.seconds);
    }
    result.kernels.push_back(MakeKernel(op, estimate, *gpu));
  }
  return result;
}

void AddKernel(const PredictedKernel& kernel, Document& document) {
  Document::Section& section = document.AddSection(fmt::format("{} on {}", kernel.op, kernel.gpu));
  section.Show("time", TimeText(kernel.time_s, {kernel.low_s, kernel.high_s}));
  section.Show("roofline",
               fmt::format("{} by {}; {:.0f} % of it is reached", TimeText(kernel.roofline_s),
                           kernel.is_memory_bound ? "memory" : "arithmetic",
                           100 * kernel.roofline_s / kernel.time_s));
  section.Show(
      "work", fmt::format("{:.4g} GFLOP, {:.4g} MB; {:.4g} TFLOP/s, {:.4g} GB/s",
                          kernel.flops / 1e9, kernel.bytes / 1e6,
                          kernel.flops / kernel.time_s / 1e12, kernel.bytes / kernel.time_s / 1e9));
  section.Show("from", kernel.source + (kernel.extrapolated ? ", extrapolated" : ""));
  if (kernel.alignment_from) {
    section.Show("alignment", fmt::format("costs as on {}: only aligned sizes were measured",
                                          *kernel.alignment_from));
  }
  if (kernel.library_factor) {
    section.Show("library",
                 fmt::format("{:.2f} times the bursts of the fastest kernels of a search, "
                             "which were measured",
                             *kernel.library_factor));
  }
}

}  // namespace

Result<PredictKernelsResult> PredictKernels(const Session& session,
                                            const PredictKernelsRequest& request) {
  return RunCancellable(request.call, [&] { return PredictAll(session, request); });
}

Document MakeDocument(const PredictKernelsResult& result) {
  Document document{.kind = "Orrery prediction"};
  for (const PredictedKernel& kernel : result.kernels) {
    AddKernel(kernel, document);
  }
  document.data =
      result.kernels.size() == 1 ? ToObject(result.kernels.front()) : ToValue(result.kernels);
  return document;
}

}  // namespace orrery::api
