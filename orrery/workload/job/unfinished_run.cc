#include "orrery/workload/job/unfinished_run.h"

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

constexpr std::int64_t kSequence = 4096;
constexpr std::int64_t kVocabulary = 131'072;

// The sweep's models, by billions of parameters.
struct SweepModel {
  double billions;
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t heads;
  std::int64_t width;
  bool is_tied;
};

constexpr std::array<SweepModel, 4> kModels{{
    {1.34, 16, 2048, 32, 8192, true},
    {3.57, 28, 3072, 32, 8192, true},
    {8.86, 32, 4096, 32, 14336, false},
    {80.0, 80, 8192, 64, 28672, false},
}};

Transformer TransformerOf(const SweepModel& facts) {
  Block block;
  block.self.heads = facts.heads;
  block.self.kv_heads = facts.heads;
  block.self.head_size = facts.hidden / facts.heads;
  block.self.value_head_size = block.self.head_size;
  block.self.has_rope = true;
  block.mlp = FeedForward{.width = facts.width, .activation = Activation::kSilu, .is_gated = true};
  block.norm = NormKind::kRms;
  return {.hidden = facts.hidden,
          .blocks = {{block, facts.layers}},
          .vocabulary = kVocabulary,
          .is_tied = facts.is_tied,
          .norm = NormKind::kRms};
}

Result<Model> ModelOfRow(const Table& table, std::size_t row) {
  const double billions = table.NumberInText(row, "params_b").value_or(0);
  for (const SweepModel& facts : kModels) {
    if (std::abs(facts.billions - billions) < 0.01) {
      return Model{fmt::format("{:g}B", billions), TransformerOf(facts)};
    }
  }
  return Fail(Error::Kind::kUnsupported,
              fmt::format("the sweep has no model of {:g} billion parameters", billions));
}

int Degree(const Table& table, std::size_t row, std::string_view column) {
  return static_cast<int>(std::lround(table.NumberInText(row, column).value_or(1)));
}

}  // namespace

Result<Job> ReadUnfinishedRun(const Table& table, std::size_t row) {
  Job job;
  job.name = std::string(table.Text(row, "id").value_or(""));
  ORRERY_TRY(job.model, ModelOfRow(table, row));
  job.gpus = Degree(table, row, "n_gpus");
  job.gpu = *hardware::FindGpu("H100");
  job.cluster = *hardware::FindCluster("AWS p5");
  job.framework = *FindFramework("nanotron");
  job.plan.tp = Degree(table, row, "tp");
  job.plan.pp = Degree(table, row, "pp");
  job.plan.dp = Degree(table, row, "dp");
  job.plan.sequence_parallel = job.plan.tp > 1;
  job.plan.sharding = Degree(table, row, "zero") > 0 ? Sharding::kOptimizer : Sharding::kReplicated;
  job.training.sequence = kSequence;
  job.training.micro_batch = Degree(table, row, "mbs");
  job.training.global_batch =
      job.training.micro_batch * job.plan.dp * Degree(table, row, "grad_acc");
  ORRERY_TRY_STATUS(CheckJob(job));
  return job;
}

}  // namespace orrery::workload
