#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/api/predict.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/floor.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/learn/interval.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/learned_model.h"

namespace orrery::cli {
namespace {

struct PredictKernelsArguments {
  api::PredictKernelsRequest request;
  OutputOptions output;
};

Result<int> RunPredictKernels(const PredictKernelsArguments& arguments) {
  ORRERY_TRY(const api::PredictKernelsResult result,
             api::PredictKernels(ProgramSession(), arguments.request));
  return Deliver(api::MakeDocument(result), arguments.output);
}

struct PredictOverlapArguments {
  std::string op;
  std::string gpu;
  std::string model;
  std::string pattern = "reduce_copy";
  std::string place = "hbm";
  std::string priority = "same";
  double alone_us = 0;
  double gbps = 0;
  overlap::LaunchShape kernel = {};
  overlap::LaunchShape communication = {
      .blocks = 16, .threads = 544, .registers = 96, .shared_bytes = 82'240};  // a ring of NCCL's
  OutputOptions output;
};

struct Predicted {
  overlap::Pair pair;
  overlap::Slowdown learned;
  overlap::AnalyticParts analytic;
  double communication_waits_us = 0;
  double floor_us = 0;  // of the kernel alone
};

Result<double> AloneMicroseconds(const PredictOverlapArguments& arguments,
                                 const kernel::Operator& op, const hardware::Gpu& gpu) {
  if (arguments.alone_us > 0) {
    return arguments.alone_us;
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, LoadKernelModels({}));
  kernel::Estimate estimate;
  models->Predict({&op, 1}, gpu, {&estimate, 1});
  return estimate.seconds * 1e6;
}

Result<overlap::Pair> PairOf(const PredictOverlapArguments& arguments, const hardware::Gpu& gpu) {
  ORRERY_TRY(const kernel::Operator op, kernel::ParseOperator(arguments.op));
  const kernel::Work work = kernel::WorkOf(op);
  overlap::Pair pair;
  pair.compute.kind = kernel::SchemaOf(op.kind()).name;
  ORRERY_TRY(pair.compute.alone_us, AloneMicroseconds(arguments, op, gpu));
  pair.compute.flops = work.flops;
  pair.compute.bytes = work.Bytes();
  const double seconds = kernel::BoundOf(op, work, gpu).compute_seconds;
  pair.compute.flops_peak = seconds > 0 ? work.flops / seconds : 0;
  pair.compute.shape = arguments.kernel;
  pair.compute.family = overlap::DefaultFamily(gpu, pair.compute.kind);
  pair.communication.shape = arguments.communication;
  ORRERY_TRY(pair.communication.pattern, overlap::PatternOf(arguments.pattern));
  ORRERY_TRY(pair.communication.place, overlap::PlaceOf(arguments.place));
  ORRERY_TRY(pair.communication.priority, overlap::PriorityOf(arguments.priority));
  pair.communication.payload_gbps = arguments.gbps;
  return pair;
}

// Of pairs of kernels that were held out of the fit, as far as a plan knows them, four of five are
// within 13.5 % (docs/validation/overlap.md).
constexpr double kPairDeviation = 0.1;

Document OverlapDocument(const PredictOverlapArguments& arguments, const hardware::Gpu& gpu,
                         const Predicted& predicted) {
  const double alone_us = predicted.pair.compute.alone_us;
  const overlap::Slowdown& learned = predicted.learned;
  const overlap::AnalyticParts& analytic = predicted.analytic;
  Document document{
      .title = fmt::format("{} on {} concurrent with {} blocks of communication ({}, {:.0f} GB/s)",
                           arguments.op, gpu.name, arguments.communication.blocks,
                           arguments.pattern, arguments.gbps),
      .kind = "Orrery prediction"};
  Document::Section& section = document.AddSection();
  section.Set("operator", arguments.op).Set("gpu", gpu.name);
  section.Add(Document::Fact{"alone_us", "alone", alone_us, NumberFormat("{:.2f} us")});
  const double together_us = alone_us * learned.compute;
  learn::TimeInterval interval = learn::IntervalAround(together_us, kPairDeviation);
  interval.low_s = std::max(interval.low_s, std::min(alone_us, predicted.floor_us));
  section.Set("together_us", together_us)
      .Set("low_us", interval.low_s)
      .Set("high_us", interval.high_s)
      .Show("together", fmt::format("{:.2f} us (80 % interval {:.2f} to {:.2f} us), {:.3f} times",
                                    together_us, interval.low_s, interval.high_s, learned.compute));
  section.Set("stretch", learned.compute);
  section.Add(Document::Fact{"communication_stretch", "communication", learned.communication,
                             NumberFormat("{:.3f} times as long")});
  section.Set("analytic_stretch", analytic.compute).Set("memory_load", analytic.load);
  section.Show("arithmetic",
               fmt::format("{:.3f} times: room {:.3f}, memory {:.3f} (load {:.2f})",
                           analytic.compute, analytic.room, analytic.memory, analytic.load));
  section.Add(
      Document::Fact{"wait_at_half_us", "waiting", predicted.communication_waits_us,
                     NumberFormat("{:.2f} us, if communication arrives when half is done")});
  return document;
}

Result<int> PredictOverlap(const PredictOverlapArguments& arguments) {
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(arguments.gpu));
  Predicted predicted;
  ORRERY_TRY(const kernel::Operator op, kernel::ParseOperator(arguments.op));
  predicted.floor_us = kernel::FloorSeconds(op, *gpu) * 1e6;
  ORRERY_TRY(predicted.pair, PairOf(arguments, *gpu));
  const overlap::Machine machine = overlap::MachineOf(*gpu);
  std::shared_ptr<const overlap::LearnedModel> model;
  if (arguments.model.empty()) {
    ORRERY_TRY(model, overlap::ShippedModel());
  } else {
    ORRERY_TRY(overlap::LearnedModel read, overlap::ReadLearnedModel(arguments.model));
    model = std::make_shared<const overlap::LearnedModel>(std::move(read));
  }
  predicted.learned = model->SlowdownOf(machine, predicted.pair);
  predicted.analytic = overlap::PartsOf(machine, predicted.pair);
  const double alone_us = predicted.pair.compute.alone_us;
  predicted.communication_waits_us =
      model->DelayUs(machine, predicted.pair,
                     {.compute_is_first = true, .since_us = alone_us / 2, .first_us = alone_us});
  return Deliver(OverlapDocument(arguments, *gpu, predicted), arguments.output);
}

}  // namespace

void AddPredictKernelCommand(Verb& predict) {
  const auto arguments = std::make_shared<PredictKernelsArguments>();
  Verb verb = predict.AddVerb("kernel", "The time of single operators on a GPU");
  AddFieldOption(verb, arguments->request, "operators", "OPERATOR");
  verb.FindOption("OPERATOR").Required();
  AddFieldOption(verb, arguments->request, "gpu");
  verb.FindOption("--gpu").Required();
  AddFieldOptions(verb, arguments->request, "sustained", "model");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return RunPredictKernels(*arguments); });
}

void AddPredictOverlapCommand(Verb& predict) {
  auto arguments = std::make_shared<PredictOverlapArguments>();
  Verb verb = predict.AddVerb("overlap", "The duration of a kernel concurrent with communication");
  verb.AddOption("OPERATOR", arguments->op, "\"gemm m=4096 n=4096 k=4096 bf16\"").Required();
  verb.AddOption("--gpu NAME", arguments->gpu, "the GPU").Required();
  verb.AddOption("--alone-us", arguments->alone_us, "its time alone, where it was measured")
      .Positive();
  verb.AddOption("--blocks", arguments->communication.blocks,
                 "thread blocks (channels) of communication (16)")
      .Range(1, 1'024);
  verb.AddOption("--gbps", arguments->gbps, "bandwidth of the communication alone, GB/s")
      .Range(0.0, 1e5);
  verb.AddOption("--pattern", arguments->pattern, "copy, reduce_copy (default), spin, ll or ll128");
  verb.AddOption("--place", arguments->place, "where its buffers are: hbm (default), l2 or host");
  verb.AddOption("--priority", arguments->priority,
                 "whose stream has priority: same (default), communication or compute");
  verb.AddOption("--grid", arguments->kernel.blocks, "blocks of the kernel, where known");
  verb.AddOption("--block", arguments->kernel.threads, "threads of a block");
  verb.AddOption("--registers", arguments->kernel.registers, "of a thread");
  verb.AddOption("--shared", arguments->kernel.shared_bytes, "bytes of a block");
  verb.AddOption("--model FILE", arguments->model, "a model of `orrery fit overlap`");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return PredictOverlap(*arguments); });
}

}  // namespace orrery::cli
