#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/keys/job_keys.h"

// Jobs with plausible and hostile values for the keys of docs/formats/job.md: each is refused in
// one sentence, or its programs are generated and their simulation ends.

namespace {

using orrery::Result;
using orrery::workload::GeneratedJob;
using orrery::workload::JobFile;
using orrery::workload::JobKey;

using Words = std::span<const std::string_view>;

constexpr auto kModels = std::to_array<std::string_view>(
    {"gpt2", "llama3-8b", "mixtral-8x7b", "deepseek-v3", "t5-small", "bert-base", "vit-base",
     "resnet50", "{dlrm: {dense_features: 4, bottom: [8, 4], top: [8, 1], rows: [100, 9]}}"});
constexpr auto kFrameworks = std::to_array<std::string_view>(
    {"megatron-deepspeed", "megatron-2021", "nemo", "hai-llm", "megatron-lm", "composer-fsdp",
     "torch-fsdp", "nanotron", "maxtext", "pytorch", "unknown"});
constexpr auto kWholes = std::to_array<std::string_view>(
    {"1", "2", "3", "4", "5", "7", "8", "16", "24", "64", "100", "128", "197", "1024", "65536"});
constexpr auto kFlags = std::to_array<std::string_view>({"true", "false"});
constexpr auto kShares = std::to_array<std::string_view>({"0", "0.3", "1", "1.5", "2"});
constexpr auto kLayers =
    std::to_array<std::string_view>({"[7, 9]", "[1, 2, 3, 2]", "[]", "[-1, 9]"});
constexpr auto kLayouts = std::to_array<std::string_view>(
    {"Et*4|(t*4|)*6tL", "Ett|ttt|tt|tL", "E(t|)*3L", "t|t", "E(((t*9)*9)*9)*9L"});
constexpr auto kParts =
    std::to_array<std::string_view>({"[norms]", "[latent_up, activations]", "[experts]", "[mlp]"});
constexpr auto kClusters = std::to_array<std::string_view>({"DGX H100", "DGX A100"});

struct Key {
  std::string_view path;
  Words plausible;
};

Words PlausibleOf(const JobKey& key) {
  return key.type == "flag"               ? Words(kFlags)
         : key.type == "word"             ? key.words
         : key.type == "whole"            ? Words(kWholes)
         : key.path == "plan.layout"      ? Words(kLayouts)
         : key.name == "layers_per_stage" ? Words(kLayers)
         : key.type == "list"             ? Words(kParts)
                                          : Words(kShares);
}

const std::vector<Key>& Keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all{{"gpus", kWholes}, {"cluster", kClusters}, {"framework", kFrameworks}};
    for (const JobKey& key : orrery::workload::JobKeys()) {
      all.push_back({key.path, PlausibleOf(key)});
    }
    return all;
  }();
  return keys;
}

constexpr auto kHostile = std::to_array<std::string_view>(
    {"0", "-1", "65", "1000000", "1000001", "1000000000", "2147483647", "2147483648",
     "9223372036854775807", "99999999999999999999", "1e300", ".nan", ".inf", "", "[]", "{a: 1}",
     "word"});

// A byte for the key, a byte for the value: most values are plausible ones.
std::vector<std::string> SettingsOf(std::span<const std::uint8_t> bytes) {
  constexpr std::uint8_t kFirstHostile = 208;
  std::vector<std::string> settings;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const Key& key = Keys()[bytes[i] % Keys().size()];
    const Words values = bytes[i + 1] < kFirstHostile ? key.plausible : Words(kHostile);
    settings.push_back(fmt::format("{}={}", key.path, values[bytes[i + 1] % values.size()]));
  }
  return settings;
}

void Simulate(const orrery::workload::Job& job) {
  constexpr std::int64_t kMostTasks = 100'000;
  constexpr int kMostGpus = 2'000;
  const Result<std::int64_t> tasks = orrery::workload::EstimateTasks(job);
  if (!tasks || *tasks > kMostTasks || job.gpus > kMostGpus) {
    return;
  }
  const Result<GeneratedJob> generated =
      orrery::workload::Generate(job, orrery::workload::EqualCosts());
  if (!generated) {
    return;
  }
  orrery::simulate::PlainTimes times;
  const orrery::simulate::RankClasses rank_classes =
      orrery::simulate::Fold(generated->ensemble, orrery::simulate::IslandLinkClass(8));
  if (!orrery::simulate::Simulate(rank_classes, times, {})) {
    std::abort();  // a deadlock: a bug of the generator
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 64;
  if (size == 0 || size > kMostBytes) {
    return 0;
  }
  const std::string yaml = fmt::format(
      "model: {}\ntraining: {{sequence: 128, global_batch: 16}}\nplan: {{tp: 1}}\n"
      "cluster: DGX H100\ngpus: 8\n",
      kModels[data[0] % kModels.size()]);
  const Result<JobFile> file = orrery::workload::ReadJob(
      {.yaml = yaml, .place = "fuzz", .folder = "/nonexistent"}, SettingsOf({data + 1, size - 1}));
  if (file) {
    Simulate(file->job);
  }
  return 0;
}
