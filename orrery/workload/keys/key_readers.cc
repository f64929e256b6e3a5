#include "orrery/workload/keys/key_readers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

struct PrecisionTypes {
  DataType compute;
  DataType gemm_type;
};

constexpr std::array<Spelling<PrecisionTypes>, 7> kPrecisions{{
    {"bf16", {DataType::kBf16, DataType::kBf16}},
    {"fp16", {DataType::kFp16, DataType::kFp16}},
    {"fp8", {DataType::kBf16, DataType::kFp8}},
    {"fp8_block", {DataType::kBf16, DataType::kFp8Block}},
    {"nvfp4", {DataType::kBf16, DataType::kNvfp4}},
    {"fp32", {DataType::kFp32, DataType::kFp32}},
    {"tf32", {DataType::kFp32, DataType::kTf32}},
}};

// The types of states that a precision implies, if the job does not state them.
Precision UsualPrecision(const PrecisionTypes& types) {
  const bool is_half = types.compute != DataType::kFp32;
  return {.compute = types.compute,
          .gemm_type = types.gemm_type,
          .gradient_bytes = 4,
          .gathered_bytes = is_half ? 2 : 4,
          .has_master = is_half};
}

template <typename Value>
void CheckMost(YamlFields& fields, std::string_view key, Value value, double most) {
  if (static_cast<double>(value) > most) {
    fields.Wrong(key, fmt::format("must be at most {}", most), fmt::format("{}", value));
  }
}

}  // namespace

void ReadKey(YamlFields& fields, std::string_view key, bool& value) {
  value = fields.Flag(key, value);
}

void ReadKey(YamlFields& fields, std::string_view key, int& value, KeyRange range) {
  value = fields.Count(key, static_cast<int>(range.least), value);
  CheckMost(fields, key, value, range.most);
}

void ReadKey(YamlFields& fields, std::string_view key, std::int64_t& value, KeyRange range) {
  value = fields.Size(key, static_cast<std::int64_t>(range.least), value);
  CheckMost(fields, key, value, range.most);
}

void ReadKey(YamlFields& fields, std::string_view key, double& value, KeyRange range) {
  value = fields.Number(key, range.least, value);
  CheckMost(fields, key, value, range.most);
}

void ReadKey(YamlFields& fields, std::string_view key, RecomputedParts& value) {
  for (const std::string& word : fields.Texts(key, std::vector<std::string>{})) {
    const auto* const known =
        std::ranges::find(kRecomputedPartNames, word, &RecomputedPartName::name);
    if (known == kRecomputedPartNames.end()) {
      fields.Wrong(key, "must be some of norms, latent_up, activations, experts, mlp", word);
      return;
    }
    value.*known->member = true;
  }
}

void ReadGlobalBatch(YamlFields& fields, Training& training) {
  training.global_batch = fields.Size("global_batch", 1);
}

void ReadPrecision(YamlFields& fields, Training& training) {
  if (fields.Has("precision")) {
    PrecisionTypes types = kPrecisions.front().second;
    ReadKey(fields, "precision", kPrecisions, types);
    training.precision = UsualPrecision(types);
  }
  fields.Expect({"precision"});
}

void ReadSchedule(YamlFields& fields, Plan& plan) {
  plan.schedule = plan.chunks > 1 && plan.schedule == PipelineSchedule::k1f1b
                      ? PipelineSchedule::kInterleaved
                      : plan.schedule;
  ReadKey(fields, "schedule", kPipelineScheduleWords, plan.schedule);
}

void ReadLayersPerStage(YamlFields& fields, Plan& plan) {
  fields.Expect({"layers_per_stage"});
  if (fields.Has("layers_per_stage")) {
    plan.layers_per_stage.clear();
    for (const std::int64_t layers : fields.Sizes("layers_per_stage", 0)) {
      plan.layers_per_stage.push_back(static_cast<int>(layers));
    }
  }
}

void ReadLayout(YamlFields& fields, Plan& plan) {
  fields.Expect({"layout"});
  if (!fields.Has("layout")) {
    return;
  }
  const std::string layout = fields.Text("layout");
  auto layers = LayersOfLayout(layout);
  if (layers) {
    plan.layers_per_stage = *std::move(layers);
  } else {
    fields.Wrong("layout", "must be a pipeline layout such as Et*4|(t*4|)*14tmL", layout);
  }
}

void ReadShardRanks(YamlFields& fields, Plan& plan) {
  const bool is_hybrid = fields.Has("sharding") && fields.Text("sharding") == "hsdp";
  plan.shard_ranks = fields.Count("shard_ranks", 0, is_hybrid ? -1 : plan.shard_ranks);
}

void ReadTokenSeed(YamlFields& fields, Plan& plan) {
  plan.routing.seed = static_cast<std::uint64_t>(
      fields.Count("token_seed", 0, static_cast<int>(plan.routing.seed)));
}

void ReadTokenImbalance(YamlFields& fields, Plan& plan) {
  constexpr std::string_view kZipf = "zipf:";
  fields.Expect({"token_imbalance"});
  if (!fields.Has("token_imbalance")) {
    return;
  }
  const std::string text = fields.Text("token_imbalance");
  plan.routing.zipf = 0;
  plan.routing.log.clear();
  if (text.starts_with(kZipf)) {
    const std::optional<double> exponent = ParseWhole<double>(text.substr(kZipf.size()));
    if (!exponent || !(*exponent > 0) || *exponent > 8) {
      fields.Wrong("token_imbalance", "must have an exponent above 0 and at most 8: zipf:1.1",
                   text);
    }
    plan.routing.zipf = exponent.value_or(1);
  } else if (ParseWhole<double>(text)) {
    plan.token_imbalance = fields.Number("token_imbalance", 1, plan.token_imbalance);
  } else {
    plan.routing.log = text;
  }
}

void ReadUsesGraphs(YamlFields& fields, Framework& framework) {
  if (fields.Flag("uses_graphs", false)) {
    framework.graphs = CudaGraphs::kStep;
  }
}

}  // namespace orrery::workload
