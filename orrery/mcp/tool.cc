#include "orrery/mcp/tool.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/api/any_verb.h"
#include "orrery/api/verbs.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/report/document.h"

namespace orrery::mcp {
namespace {

bool IsLeftOut(const Tool& tool, std::string_view property) {
  return std::ranges::find(tool.left_out, property) != tool.left_out.end();
}

Tool ToolOf(std::string_view verb, std::string name, std::string description,
            std::vector<std::string_view> left_out = {}) {
  return {.name = std::move(name),
          .description = std::move(description),
          .verb = **api::VerbNamed(verb),
          .left_out = std::move(left_out)};
}

}  // namespace

Value Tool::InputSchema() const {
  Value schema = verb.request_schema();
  Value kept = Value::Object();
  for (const auto& [property, its_schema] : schema.Find("properties")->fields()) {
    if (!IsLeftOut(*this, property)) {
      kept.Set(property, its_schema);
    }
  }
  return schema.Set("properties", kept);
}

bool Tool::WritesTrace() const {
  return verb.has_trace && verb.request_schema().Find("properties")->Find("trace") == nullptr;
}

Result<ToolAnswer> CallTool(const Tool& tool, const api::Session& session, const Value& arguments,
                            const OutputFiles& files, const api::CallOptions& options) {
  for (const auto& [name, value] : arguments.fields()) {
    if (IsLeftOut(tool, name)) {
      return Invalid("this tool has no property '{}'", name);
    }
  }
  ORRERY_TRY(
      const api::AnyAnswer answer,
      tool.verb.call(
          session, {.fields = arguments, .needs_pictures = !files.page.empty(), .call = options}));
  if (!files.trace.empty()) {
    ORRERY_TRY_STATUS(answer.write_trace(files.trace));
  }
  if (!files.page.empty()) {
    ORRERY_TRY_STATUS(WriteFile(files.page, report::RenderHtml(answer.document)));
  }
  return ToolAnswer{.text = report::RenderText(answer.document), .data = answer.data};
}

std::vector<Tool> AllTools() {
  return {
      ToolOf(
          "simulate", "simulate",
          "Predicts the step of a training job: step time with its 80 % interval, throughput, MFU, "
          "memory, a breakdown of the step, what binds it, and changes of the job that gain. Takes "
          "one job as a file (jobs) or as text (job_yaml); `set` changes single keys.",
          {"emulate", "with"}),
      ToolOf("simulate together", "simulate_together",
             "Predicts how much several training jobs (jobs: two files or more) that share one "
             "cluster slow each other down.",
             {"job_yaml", "emulate", "with"}),
      ToolOf("goodput", "goodput",
             "Predicts a month of a training job with failures: effective training time, losses "
             "by cause, the best checkpoint interval and number of spare nodes, cost."),
      ToolOf("search", "search",
             "Finds the best plans (parallelism, micro-batch, recompute, sharding) of a training "
             "job, and says why they are. Ends after `budget` (60s).",
             {"store", "resume", "anyway", "repair"}),
      ToolOf(
          "predict", "predict_trace",
          "Predicts the step of a recorded or traced rank (trace), on the GPU it was recorded on "
          "or on another one (gpu), or of all ranks of a job."),
      ToolOf("predict kernel", "predict_kernels",
             "Predicts the time of operators ('gemm m=4096 n=4096 k=4096 bf16') on a GPU."),
      ToolOf("predict collective", "predict_collective",
             "Predicts the time of a collective ('allreduce 64MiB bf16') on GPUs of a cluster.",
             {"emulate", "with"}),
      ToolOf("info", "info",
             "Says what a recorded run (paths) holds, and what is missing or damaged."),
      ToolOf("memory", "memory",
             "Runs a memory tool (`tool`: timeline, heat, working-set, patterns, kernel-frequency, "
             "uvm, diff, overhead) on a recording (paths); without one: what was recorded.",
             {"page", "paper"}),
      ToolOf("analyze", "analyze",
             "Explains a recorded run (paths): findings, where the time of a step goes, exposed "
             "communication, stragglers, kernels, metrics. `what_if` (network=4, gemm=2, rank:3) "
             "replays the step with a part that is faster."),
      ToolOf("diff", "diff", "Compares two recorded runs, metric by metric and kernel by kernel."),
  };
}

}  // namespace orrery::mcp
