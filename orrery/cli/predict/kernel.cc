#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/output.h"
#include "orrery/cli/predict/commands.h"
#include "orrery/kernel/bound.h"

namespace orrery::cli {
namespace {

using report::Document;

struct PredictKernelArguments {
  std::vector<std::string> operators;
  std::string gpu;
  std::vector<std::string> models;
  OutputOptions output;
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

void AddKernel(const PredictedKernel& kernel, const hardware::Gpu& gpu, Document& document) {
  const kernel::Estimate& estimate = kernel.estimate;
  const bool by_memory = kernel.bound.memory_seconds > kernel.bound.compute_seconds;
  Document::Section& section =
      document.AddSection(fmt::format("{} on {}", kernel::Text(kernel.op), gpu.name));
  section.Show(
      "time", fmt::format("{} ± {:.0f} %", TimeText(estimate.seconds), estimate.uncertainty * 100));
  section.Show("roofline",
               fmt::format("{} by {}; {:.0f} % of it is reached",
                           TimeText(estimate.roofline_seconds), by_memory ? "memory" : "arithmetic",
                           100 * estimate.roofline_seconds / estimate.seconds));
  section.Show("work", fmt::format("{:.4g} GFLOP, {:.4g} MB; {:.4g} TFLOP/s, {:.4g} GB/s",
                                   kernel.work.flops / 1e9, kernel.work.Bytes() / 1e6,
                                   kernel.work.flops / estimate.seconds / 1e12,
                                   kernel.work.Bytes() / estimate.seconds / 1e9));
  section.Show("from", std::string(kernel::EstimateSourceName(estimate.source)) +
                           (estimate.is_extrapolated ? ", outside of what was measured" : ""));
  if (estimate.alignment_gpu != nullptr) {
    section.Show("alignment", fmt::format("costs as on {}: only aligned sizes were measured",
                                          estimate.alignment_gpu->name));
  }
}

Value DataOf(const PredictedKernel& kernel, const hardware::Gpu& gpu) {
  const kernel::Estimate& estimate = kernel.estimate;
  Value data = Value::Object();
  data.Set("operator", kernel::Text(kernel.op))
      .Set("gpu", gpu.name)
      .Set("time_s", estimate.seconds)
      .Set("uncertainty", estimate.uncertainty)
      .Set("roofline_s", estimate.roofline_seconds)
      .Set("flops", kernel.work.flops)
      .Set("bytes", kernel.work.Bytes())
      .Set("source", kernel::EstimateSourceName(estimate.source))
      .Set("extrapolated", estimate.is_extrapolated);
  if (estimate.alignment_gpu != nullptr) {
    data.Set("alignment_from", estimate.alignment_gpu->name);
  }
  return data;
}

// One operator is an object, several are a list.
Document DocumentOf(const std::vector<PredictedKernel>& kernels, const hardware::Gpu& gpu) {
  Document document{.title = "", .kind = "Orrery prediction", .data = Value::List()};
  for (const PredictedKernel& kernel : kernels) {
    AddKernel(kernel, gpu, document);
    document.data.Add(DataOf(kernel, gpu));
  }
  if (kernels.size() == 1) {
    document.data = DataOf(kernels.front(), gpu);
  }
  return document;
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
  return Deliver(DocumentOf(kernels, *gpu), arguments.output);
}

}  // namespace

void AddPredictKernelCommand(Verb& predict) {
  auto arguments = std::make_shared<PredictKernelArguments>();
  Verb verb = predict.AddVerb("kernel", "The time of single operators on a GPU");
  verb.AddOption("OPERATOR", arguments->operators,
                 "such as 'gemm m=4096 n=4096 k=4096 bf16'; docs/formats/operators.md")
      .Required();
  verb.AddOption("--gpu", arguments->gpu, "GPU to predict for").TypeName("NAME").Required();
  verb.AddOption("--model", arguments->models,
                 "model file of `orrery fit kernels`, instead of the shipped ones; may be repeated")
      .TypeName("FILE")
      .OneValueEach();
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return PredictKernels(*arguments); });
}

}  // namespace orrery::cli
