#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/predict.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/floor.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/learn/interval.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/learned_model.h"

namespace orrery::api {
namespace {

// A ring of NCCL's, but for the number of its blocks.
constexpr overlap::LaunchShape kRing{.threads = 544, .registers = 96, .shared_bytes = 82'240};

// Of pairs of kernels that were held out of the fit, as far as a plan knows them, four of five are
// within 13.5 % (docs/validation/overlap.md).
constexpr double kPairDeviation = 0.1;

Result<double> AloneMicroseconds(const Session& session, const PredictOverlapRequest& request,
                                 const kernel::Operator& op, const hardware::Gpu& gpu) {
  if (request.alone_us > 0) {
    return request.alone_us;
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, session.state().Models({}));
  return models->Predict(op, gpu).seconds * 1e6;
}

Result<overlap::Pair> PairOf(const Session& session, const PredictOverlapRequest& request,
                             const kernel::Operator& op, const hardware::Gpu& gpu) {
  const kernel::Work work = kernel::WorkOf(op);
  overlap::Pair pair;
  pair.compute.kind = kernel::SchemaOf(op.kind()).name;
  ORRERY_TRY(pair.compute.alone_us, AloneMicroseconds(session, request, op, gpu));
  pair.compute.flops = work.flops;
  pair.compute.bytes = work.Bytes();
  const double seconds = kernel::BoundOf(op, work, gpu).compute_seconds;
  pair.compute.flops_peak = seconds > 0 ? work.flops / seconds : 0;
  pair.compute.shape = {.blocks = request.grid,
                        .threads = request.block,
                        .registers = request.registers,
                        .shared_bytes = request.shared};
  pair.compute.family = overlap::DefaultFamily(gpu, pair.compute.kind);
  pair.communication.shape = kRing;
  pair.communication.shape.blocks = request.blocks;
  ORRERY_TRY(pair.communication.pattern, overlap::PatternOf(request.pattern));
  ORRERY_TRY(pair.communication.place, overlap::PlaceOf(request.place));
  ORRERY_TRY(pair.communication.priority, overlap::PriorityOf(request.priority));
  pair.communication.payload_gbps = request.gbps;
  return pair;
}

Result<std::shared_ptr<const overlap::LearnedModel>> ModelOf(const std::string& file) {
  if (file.empty()) {
    return overlap::ShippedModel();
  }
  ORRERY_TRY(overlap::LearnedModel read, overlap::ReadLearnedModel(file));
  return std::make_shared<const overlap::LearnedModel>(std::move(read));
}

Result<PredictOverlapResult> Predict(const Session& session, const PredictOverlapRequest& request) {
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(request.gpu));
  ORRERY_TRY(const kernel::Operator op, kernel::ParseOperator(request.op));
  ORRERY_TRY(const overlap::Pair pair, PairOf(session, request, op, *gpu));
  const overlap::Machine machine = overlap::MachineOf(*gpu);
  ORRERY_TRY(const std::shared_ptr<const overlap::LearnedModel> model, ModelOf(request.model));
  const overlap::Slowdown learned = model->SlowdownOf(machine, pair);
  const overlap::AnalyticParts analytic = overlap::PartsOf(machine, pair);
  const double alone_us = pair.compute.alone_us;
  const double together_us = alone_us * learned.compute;
  const double floor_us = kernel::FloorSeconds(op, *gpu) * 1e6;
  const learn::TimeInterval interval = learn::IntervalAround(together_us, kPairDeviation);
  return PredictOverlapResult{
      .op = request.op,
      .gpu = gpu->name,
      .alone_us = alone_us,
      .together_us = together_us,
      .low_us = std::max(interval.low_s, std::min(alone_us, floor_us)),
      .high_us = interval.high_s,
      .stretch = learned.compute,
      .communication_stretch = learned.communication,
      .analytic_stretch = analytic.compute,
      .memory_load = analytic.load,
      .wait_at_half_us = model->DelayUs(
          machine, pair,
          {.compute_is_first = true, .since_us = alone_us / 2, .first_us = alone_us}),
      .analytic_room = analytic.room,
      .analytic_memory = analytic.memory,
      .communication = fmt::format("{} blocks of communication ({}, {:.0f} GB/s)", request.blocks,
                                   request.pattern, request.gbps)};
}

}  // namespace

Result<PredictOverlapResult> PredictOverlap(const Session& session,
                                            const PredictOverlapRequest& request) {
  return RunCancellable(request.call, [&] { return Predict(session, request); });
}

Document MakeDocument(const PredictOverlapResult& result) {
  Document document{.title = fmt::format("{} on {} concurrent with {}", result.op, result.gpu,
                                         result.communication),
                    .kind = "Orrery prediction"};
  document.AddSection()
      .Show("alone", fmt::format("{:.2f} us", result.alone_us))
      .Show("together",
            fmt::format("{:.2f} us (80 % interval {:.2f} to {:.2f} us), {:.3f} times",
                        result.together_us, result.low_us, result.high_us, result.stretch))
      .Show("communication", fmt::format("{:.3f} times as long", result.communication_stretch))
      .Show("arithmetic", fmt::format("{:.3f} times: room {:.3f}, memory {:.3f} (load {:.2f})",
                                      result.analytic_stretch, result.analytic_room,
                                      result.analytic_memory, result.memory_load))
      .Show("waiting", fmt::format("{:.2f} us, if communication arrives when half is done",
                                   result.wait_at_half_us));
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
