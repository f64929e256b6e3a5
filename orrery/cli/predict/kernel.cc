#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/predict/commands.h"
#include "orrery/cli/terminal.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"
#include "orrery/kernel/bound.h"

namespace orrery::cli {
namespace {

struct PredictKernelArguments {
  std::vector<std::string> operators;
  std::string gpu;
  std::vector<std::string> models;
  bool as_json = false;
};

struct PredictedKernel {
  kernel::Operator op;
  kernel::Work work;
  kernel::Bound bound;
  kernel::Estimate estimate;
};

std::string TimeText(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6)
                        : fmt::format("{:.3f} ms", seconds * 1e3);
}

std::string KernelText(const PredictedKernel& kernel, const hardware::Gpu& gpu) {
  const kernel::Estimate& estimate = kernel.estimate;
  const bool by_memory = kernel.bound.memory_seconds > kernel.bound.compute_seconds;
  std::string text = fmt::format("{} on {}\n", kernel::Text(kernel.op), gpu.name);
  text += fmt::format("  time       {} ± {:.0f} %\n", TimeText(estimate.seconds),
                      estimate.uncertainty * 100);
  text += fmt::format("  roofline   {} by {}; {:.0f} % of it is reached\n",
                      TimeText(estimate.roofline_seconds), by_memory ? "memory" : "arithmetic",
                      100 * estimate.roofline_seconds / estimate.seconds);
  text += fmt::format("  work       {:.4g} GFLOP, {:.4g} MB; {:.4g} TFLOP/s, {:.4g} GB/s\n",
                      kernel.work.flops / 1e9, kernel.work.Bytes() / 1e6,
                      kernel.work.flops / estimate.seconds / 1e12,
                      kernel.work.Bytes() / estimate.seconds / 1e9);
  text += fmt::format("  from       {}{}\n", kernel::EstimateSourceName(estimate.source),
                      estimate.is_extrapolated ? ", outside of what was measured" : "");
  if (estimate.alignment_gpu != nullptr) {
    text +=
        fmt::format("  alignment  costs what it costs on {}: only aligned sizes were measured\n",
                    estimate.alignment_gpu->name);
  }
  return text;
}

void WriteKernel(draw::JsonWriter& json, const PredictedKernel& kernel, const hardware::Gpu& gpu) {
  const kernel::Estimate& estimate = kernel.estimate;
  json.BeginObject();
  json.Key("operator").String(kernel::Text(kernel.op));
  json.Key("gpu").String(gpu.name);
  json.Key("time_s").Number(estimate.seconds);
  json.Key("uncertainty").Number(estimate.uncertainty);
  json.Key("roofline_s").Number(estimate.roofline_seconds);
  json.Key("flops").Number(kernel.work.flops);
  json.Key("bytes").Number(kernel.work.Bytes());
  json.Key("source").String(kernel::EstimateSourceName(estimate.source));
  json.Key("extrapolated").Bool(estimate.is_extrapolated);
  if (estimate.alignment_gpu != nullptr) {
    json.Key("alignment_from").String(estimate.alignment_gpu->name);
  }
  json.EndObject();
}

std::string KernelsJson(const std::vector<PredictedKernel>& kernels, const hardware::Gpu& gpu) {
  draw::JsonWriter json;
  if (kernels.size() == 1) {
    WriteKernel(json, kernels.front(), gpu);
    return json.Finish();
  }
  json.BeginArray();
  for (const PredictedKernel& kernel : kernels) {
    WriteKernel(json, kernel, gpu);
  }
  json.EndArray();
  return json.Finish();
}

Result<std::vector<PredictedKernel>> PredictAll(const PredictKernelArguments& arguments,
                                                const hardware::Gpu& gpu) {
  std::vector<PredictedKernel> kernels;
  for (const std::string& text : arguments.operators) {
    const Result<kernel::Operator> op = kernel::ParseOperator(text);
    if (!op) {
      return FailWithin("'" + text + "'", op);
    }
    const kernel::Work work = kernel::WorkOf(*op);
    kernels.push_back({*op, work, kernel::BoundOf(*op, work, gpu), {}});
  }
  ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(arguments.models));
  for (PredictedKernel& kernel : kernels) {
    kernel.estimate = models.Predict(kernel.op, gpu);
  }
  return kernels;
}

Status PredictKernels(const PredictKernelArguments& arguments) {
  ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(arguments.gpu));
  ORRERY_TRY(const std::vector<PredictedKernel> kernels, PredictAll(arguments, *gpu));
  if (arguments.as_json) {
    Print(KernelsJson(kernels, *gpu));
    return {};
  }
  for (const PredictedKernel& kernel : kernels) {
    Print(KernelText(kernel, *gpu));
  }
  return {};
}

}  // namespace

void AddPredictKernelCommand(Verb& predict) {
  auto arguments = std::make_shared<PredictKernelArguments>();
  Verb verb = predict.AddVerb("kernel", "The time of single operators on a GPU");
  verb.AddOption("OPERATOR", arguments->operators,
                   "such as 'gemm m=4096 n=4096 k=4096 bf16'; docs/formats/operators.md")
      .Required();
  verb.AddOption("--gpu", arguments->gpu, "GPU to predict for").TypeName("NAME").Required();
  verb.AddOption(
          "--model", arguments->models,
          "model file of `orrery fit kernels`, instead of the shipped ones; may be repeated")
      .TypeName("FILE")
      .OneValueEach();
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.OnRun([arguments] { return PredictKernels(*arguments); });
}

}  // namespace orrery::cli
