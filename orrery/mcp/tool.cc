#include "orrery/mcp/tool.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/analyze.h"
#include "orrery/api/diff.h"
#include "orrery/api/goodput.h"
#include "orrery/api/info.h"
#include "orrery/api/predict.h"
#include "orrery/api/search.h"
#include "orrery/api/simulate.h"
#include "orrery/base/error.h"
#include "orrery/base/value.h"

namespace orrery::mcp {
namespace internal {

Value Without(const Value& schema, std::span<const std::string_view> properties) {
  Value kept = Value::Object();
  for (const auto& [name, property] : schema.Find("properties")->fields()) {
    if (std::ranges::find(properties, name) == properties.end()) {
      kept.Set(name, property);
    }
  }
  return Value(schema).Set("properties", kept);
}

Status CheckHas(const Value& arguments, std::span<const std::string_view> left_out) {
  for (const auto& [name, value] : arguments.fields()) {
    if (std::ranges::find(left_out, name) != left_out.end()) {
      return Invalid("this tool has no property '{}'", name);
    }
  }
  return {};
}

}  // namespace internal

std::vector<Tool> AllTools() {
  using namespace api;  // NOLINT(google-build-using-namespace): verbs of api only
  return {
      MakeTool(
          "simulate",
          "Predicts the step of a training job: step time with its 80 % interval, throughput, MFU, "
          "memory, a breakdown of the step, what binds it, and changes of the job that gain. Takes "
          "one job as a file (jobs) or as text (job_yaml); `set` changes single keys.",
          &Simulate, {"emulate", "with"}),
      MakeTool("simulate_together",
               "Predicts how much several training jobs (jobs: two files or more) that share one "
               "cluster slow each other down.",
               &SimulateTogether, {"job_yaml", "emulate", "with"}),
      MakeTool("goodput",
               "Predicts a month of a training job with failures: effective training time, losses "
               "by cause, the best checkpoint interval and number of spare nodes, cost.",
               &Goodput),
      MakeTool("search",
               "Finds the best plans (parallelism, micro-batch, recompute, sharding) of a training "
               "job, and says why they are. Ends after `budget` (60s).",
               &Search, {"store", "resume", "anyway", "repair"}),
      MakeTool("predict_kernels",
               "Predicts the time of operators ('gemm m=4096 n=4096 k=4096 bf16') on a GPU.",
               &PredictKernels),
      MakeTool("predict_collective",
               "Predicts the time of a collective ('allreduce 64MiB bf16') on GPUs of a cluster.",
               &PredictCollective, {"emulate", "with"}),
      MakeTool("info", "Says what a recorded run (paths) holds, and what is missing or damaged.",
               &Info),
      MakeTool("analyze",
               "Explains a recorded run (paths): findings, where the time of a step goes, exposed "
               "communication, stragglers, kernels, metrics. `what_if` (network=4, gemm=2, rank:3) "
               "replays the step with a part that is faster.",
               &Analyze),
      MakeTool("diff", "Compares two recorded runs, metric by metric and kernel by kernel.", &Diff),
  };
}

}  // namespace orrery::mcp
