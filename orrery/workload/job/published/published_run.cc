#include "orrery/workload/job/published/published_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/published/published_machine.h"
#include "orrery/workload/job/published/published_model.h"
#include "orrery/workload/job/published/published_plan.h"
#include "orrery/workload/job/published/published_words.h"
#include "orrery/workload/job/published/run_row.h"
#include "orrery/workload/job/published/stated_options.h"
#include "orrery/workload/job/stack.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kUsualMicrobatches = 8;  // of a replica's step, where no batch is stated

/// True for recipes whose GEMMs read fp8 with a scale for each block. The other ones differ in how
/// scales are found, which the simulator does not tell apart.
constexpr std::array<Spelling<bool>, 7> kBlockScales{{{"delayed", false},
                                                      {"current", false},
                                                      {"tensorwise", false},
                                                      {"rowwise", false},
                                                      {"block", true},
                                                      {"mxfp8", false},
                                                      {"nvfp4", false}}};

/// Types of tensors and of GEMMs.
using Types = std::pair<DataType, DataType>;

constexpr std::array<Spelling<Types>, 6> kNumberFormats{
    {{"bf16", {DataType::kBf16, DataType::kBf16}},
     {"fp16", {DataType::kFp16, DataType::kFp16}},
     {"tf32", {DataType::kFp32, DataType::kTf32}},
     {"fp32", {DataType::kFp32, DataType::kFp32}},
     {"fp8", {DataType::kBf16, DataType::kFp8}},
     {"nvfp4", {DataType::kBf16, DataType::kNvfp4}}}};

/// Bytes of gradients while they are summed and reduced.
constexpr std::array<Spelling<int>, 3> kGradientTypes{{{"fp32", 4}, {"bf16", 2}, {"fp16", 2}}};

/// The execution of a run as it changes the launches of a framework.
struct Execution {
  bool is_compiled = false;
  CudaGraphs graphs = CudaGraphs::kOff;
};

constexpr std::array<Spelling<Execution>, 5> kExecutions{
    {{"eager", {}},
     {"compile", {.is_compiled = true}},
     {"xla", {.is_compiled = true}},
     {"cuda_graph: per layer", {.graphs = CudaGraphs::kLayers}},
     {"cuda_graph: whole step", {.graphs = CudaGraphs::kStep}}}};

// The stated execution of a run takes precedence over the usual one of its framework.
Status ReadExecution(RunRow& row, Framework& framework) {
  if (row.Text("attention") == "flash") {
    // Of which version is not told: that of the framework, where it has one.
    const bool has_one = framework.attention != AttentionKernel::kMaterialised;
    framework.attention = has_one ? framework.attention : AttentionKernel::kFlash2;
  } else {
    ORRERY_TRY(const auto attention, ReadWord(row, "attention", kPublishedAttentionKernelWords));
    framework.attention = attention.value_or(framework.attention);
  }
  ORRERY_TRY(const auto execution, ReadWord(row, "execution", kExecutions));
  if (execution) {
    framework.is_compiled = execution->is_compiled;
    framework.graphs = execution->graphs;
  }
  ORRERY_TRY(const auto is_blocking, ReadWord(row, "launch_blocking", kYesOrNo));
  framework.launch_blocking = is_blocking.value_or(framework.launch_blocking);
  ORRERY_TRY(const auto is_grouped, ReadWord(row, "grouped_gemm", kYesOrNo));
  if (!is_grouped.value_or(true)) {
    framework.launches_each_expert = true;
    framework.module_per_expert = true;
  }
  ORRERY_TRY(const auto tensor, ReadWord(row, "tp_overlap", kYesOrNo));
  if (tensor) {
    framework.tensor_overlap = *tensor ? framework.tensor_overlap_on : framework.tensor_overlap_off;
  }
  ORRERY_TRY(const auto gradients, ReadWord(row, "grad_overlap", kYesOrNo));
  if (gradients) {
    framework.data_overlap = *gradients ? DataOverlap::kBuckets : DataOverlap::kAfterBackward;
  }
  ORRERY_TRY(const auto parameters, ReadWord(row, "param_overlap", kYesOrNo));
  framework.gathers_in_forward = parameters.value_or(framework.gathers_in_forward);
  ORRERY_TRY(const auto messages, ReadWord(row, "p2p_overlap", kYesOrNo));
  framework.overlaps_pipeline_sends = messages.value_or(framework.overlaps_pipeline_sends);
  return {};
}

// Stores states as the framework is known to where a row does not state it.
void StoreAsFramework(RunRow& row, const Framework& framework, Precision& precision) {
  if (framework.moment_bytes != precision.moment_bytes) {
    precision.moment_bytes = framework.moment_bytes;
    row.Assume(
        fmt::format("moments of {} bytes, as {} has them", precision.moment_bytes, framework.name));
  }
  if (framework.activation_input_bytes != precision.activation_input_bytes) {
    precision.activation_input_bytes = framework.activation_input_bytes;
    row.Assume(fmt::format("inputs of activations kept in {} bytes, as {} does",
                           precision.activation_input_bytes, framework.name));
  }
}

/// The format that a free text names first; that of most runs where it names none.
const Spelling<Types>& FirstNamedFormat(std::string_view text) {
  const auto place = [text = LowerCase(text)](const Spelling<Types>& format) {
    return text.find(format.first);  // npos is behind all
  };
  return *std::ranges::min_element(kNumberFormats, {}, place);
}

Status ReadPrecision(RunRow& row, const Framework& framework, Precision& precision) {
  ORRERY_TRY(const auto stated, ReadWord(row, "number_format", kNumberFormats));
  const Spelling<Types>& assumed = FirstNamedFormat(row.Text("precision"));
  if (!stated) {
    row.Assume(std::string(assumed.first));
  }
  std::tie(precision.compute, precision.gemm_type) = stated.value_or(assumed.second);
  ORRERY_TRY(const auto has_blocks, ReadWord(row, "fp8_recipe", kBlockScales));
  if (has_blocks.value_or(framework.scales_fp8_blocks) && precision.gemm_type == DataType::kFp8) {
    precision.gemm_type = DataType::kFp8Block;
    if (!has_blocks) {
      row.Assume(fmt::format("a scale for each block of fp8, as {} has", framework.name));
    }
  }
  StoreAsFramework(row, framework, precision);
  const bool is_half = precision.compute != DataType::kFp32;
  precision.has_master = is_half;
  precision.gathered_bytes = is_half ? 2 : 4;
  if (framework.narrows_gradients && precision.compute == DataType::kFp16) {
    precision.gradient_bytes = 2;
  }
  ORRERY_TRY(const auto stated_bytes, ReadWord(row, "gradient_type", kGradientTypes));
  const auto bytes = stated_bytes ? stated_bytes : NamedGradientBytes(row.Text("precision"));
  precision.gradient_bytes = bytes.value_or(precision.gradient_bytes);
  return {};
}

Status ReadBatch(RunRow& row, Job& job) {
  Training& training = job.training;
  const double seconds = row.Number("step_time_s").value_or(0);
  auto sequence = row.Integer("seq_len");
  auto global = row.Integer("gbs");
  const auto tokens_per_s = row.Number("tokens_per_s");
  if (!global && sequence && tokens_per_s && seconds > 0) {
    global = std::llround(*tokens_per_s * seconds / static_cast<double>(*sequence));
    row.Assume(fmt::format("global batch {} from tokens per second", *global));
  }
  if (!sequence && global && tokens_per_s && seconds > 0) {
    sequence = std::llround(*tokens_per_s * seconds / static_cast<double>(*global));
    row.Assume(fmt::format("sequence {} from tokens per second", *sequence));
  }
  if (!global && seconds == 0) {
    // Rates do not depend on it much.
    global = row.Integer("mbs").value_or(1) * job.plan.dp * kUsualMicrobatches;
    row.Assume(fmt::format("global batch {}", *global));
  }
  if (!sequence || !global) {
    return Unsupported("the row has no sequence length or no global batch");
  }
  training.sequence = *sequence;
  training.global_batch = *global;
  training.micro_batch = row.Integer("mbs").value_or(1);
  return {};
}

void ReadFramework(RunRow& row, Job& job) {
  const Framework* const framework = FindFramework(row.Text("framework"), row.Text("release"));
  job.framework = framework != nullptr ? *framework : UnknownFramework();
  if (framework == nullptr) {
    row.Assume(fmt::format("'{}' has no profile: what most frameworks do, nothing fitted",
                           row.Text("framework")));
  }
}

// The framework with what the options switch; columns of their own say the rest of the plan.
Status TakeStated(const MegatronJob& stated, Job& job) {
  job.framework = stated.framework;
  job.plan.pipeline_is_innermost = stated.plan.pipeline_is_innermost;
  if (stated.optimizer_instances > 1) {
    const int ranks = job.plan.dp * job.plan.cp;
    if (ranks % stated.optimizer_instances != 0) {
      return Unsupported("{} distributed optimizers do not divide {} ranks",
                         stated.optimizer_instances, ranks);
    }
    job.plan.shard_ranks = ranks / stated.optimizer_instances;
  }
  return {};
}

}  // namespace

bool CutTensorsFurther(Job& job) {
  Plan& plan = job.plan;
  const int wider = 2 * plan.tp;
  if (wider > job.cluster.gpus_per_node || job.gpus % (wider * plan.pp * plan.cp) != 0) {
    return false;
  }
  plan.tp = wider;
  plan.dp = job.gpus / (plan.tp * plan.pp * plan.cp);
  plan.sequence_parallel = true;
  return true;
}

Status CheckPublishedColumns(const Table& table) {
  for (const std::string_view column :
       {"id", "source", "gpu", "n_gpus", "framework", "model", "step_time_s", "completeness"}) {
    if (!table.FindColumn(column)) {
      return Refuse(
          "the table has no column '{}'; a table of published runs has the columns of "
          "docs/formats/published-runs.md",
          column);
    }
  }
  return {};
}

Result<PublishedRun> ReadPublishedRun(const Table& table, std::size_t row_number) {
  PublishedRun run;
  RunRow row(table, row_number, run.assumptions);
  run.id = row.Text("id");
  run.source = row.Text("source");
  run.team = row.Text("team");
  run.stack =
      StackName(row.Text("stack"), row.Text("framework"), run.team.empty() ? run.source : run.team);
  run.release = row.Text("release");
  run.grade = row.Text("completeness");
  if (!HasMeasurement(row)) {
    return Unsupported("the row has no step time and no throughput to derive one from");
  }
  if (row.Integer("layers") == 1) {
    return Unsupported("a model of one layer: the row times a layer, not a step");
  }
  run.mfu_percent = row.Number("mfu_pct");
  if (const auto bytes = row.Integer("peak_memory_bytes"); bytes && *bytes > 0) {
    run.peak_allocated_bytes = bytes;
  }
  Job& job = run.job;
  job.name = run.id;
  ORRERY_TRY_STATUS(ReadMachine(row, job));
  Plan& plan = job.plan;
  plan.tp = row.Degree("tp");
  plan.pp = row.Degree("pp");
  plan.cp = row.Degree("cp");
  plan.ep = row.Degree("ep");
  plan.dp = job.gpus / (plan.tp * plan.pp * plan.cp);
  ReadSharding(row, job);
  ReadFramework(row, job);
  ORRERY_TRY(const auto stated, StatedOptionsOf(row, job.framework));
  if (stated) {
    ORRERY_TRY_STATUS(TakeStated(*stated, job));
  }
  plan.reshard = job.framework.reshard;
  ORRERY_TRY_STATUS(ReadExecution(row, job.framework));
  ORRERY_TRY_STATUS(ReadPlan(row, job));
  if (!stated) {
    ReadRouting(row, plan);  // functional tests, which list their options, begin with random weights
  }
  ORRERY_TRY(const bool says_recompute, ReadRecompute(row, job.framework, job.plan));
  run.recompute_is_open = !says_recompute;
  ORRERY_TRY_STATUS(ReadPrecision(row, job.framework, job.training.precision));
  if (stated && row.Text("gradient_type").empty()) {
    job.training.precision.gradient_bytes = stated->training.precision.gradient_bytes;
  }
  ORRERY_TRY_STATUS(ReadBatch(row, job));
  ORRERY_TRY(job.model, PublishedModel(row, job, stated ? &*stated : nullptr));
  plan.expert_tp = HasExperts(job.model) ? plan.expert_tp : 1;
  ORRERY_TRY(MeasuredStep measured, MeasuredStepOf(row, job));
  run.measured_s = measured.seconds;
  run.derived_from = std::move(measured.derived_from);
  run.micro_batch_is_open = !row.Integer("mbs");
  run.tensor_is_open = row.Text("tp").empty() && row.Text("pp").empty() && job.gpus > 1;
  for (bool goes_on = run.tensor_is_open; goes_on && !CheckJob(job);) {
    goes_on = CutTensorsFurther(job);
  }
  ORRERY_TRY_STATUS(CheckJob(job));
  return run;
}

}  // namespace orrery::workload
