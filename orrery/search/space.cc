#include "orrery/search/space.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <xxhash.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/search/dimensions.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::search {
namespace {

using workload::Job;

// The values of a job where a key changes nothing.
const workload::KeyValues& Neutral() {
  static const workload::KeyValues neutral;
  return neutral;
}

// Slow keys first, as named; then in the order of FastKeys.
void SortDimensions(std::vector<Dimension>& dimensions) {
  std::ranges::stable_sort(dimensions, {}, [](const Dimension& dimension) {
    const std::size_t place = FastKeyOf(dimension.key);
    return place == FastKeys().size() ? 0 : place + 1;
  });
}

std::vector<std::string> OverridesOf(std::span<const Dimension> dimensions,
                                     std::span<const std::uint32_t> digits) {
  std::vector<std::string> overrides;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    overrides.push_back(fmt::format("{}={}", dimensions[i].key, dimensions[i].values[digits[i]]));
  }
  return overrides;
}

// Counts through the digits, the last one fastest; false after the last combination.
bool Advance(std::span<const Dimension> dimensions, std::vector<std::uint32_t>& digits) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (++digits[i] < dimensions[i].values.size()) {
      return true;
    }
    digits[i] = 0;
  }
  return false;
}

Result<workload::Plan> ReadPlanValue(const std::string& key, const std::string& value) {
  return workload::WithYaml("search." + key, value,
                            [&](const YAML::Node& node) -> Result<workload::Plan> {
                              YAML::Node map;
                              map[key.substr(key.find('.') + 1)] = node;
                              std::optional<Error> error;
                              YamlFields fields(map, "search: plan", error);
                              workload::Plan plan;
                              workload::ReadPlan(fields, plan);
                              fields.RefuseOthers();
                              if (error) {
                                return tl::unexpected(*error);
                              }
                              return plan;
                            });
}

Result<std::int64_t> ReadMicroBatch(const std::string& value) {
  return workload::WithYaml("search", value, [&](const YAML::Node& node) -> Result<std::int64_t> {
    YAML::Node map;
    map["micro_batch"] = node;
    std::optional<Error> error;
    YamlFields fields(map, "search: training", error);
    const std::int64_t samples = fields.Size("micro_batch", 1);
    if (error) {
      return tl::unexpected(*error);
    }
    return samples;
  });
}

// The value that a key must have where its values change nothing, but the job's own would be
// refused.
std::string_view NeutralOf(std::string_view key, const workload::Plan& plan) {
  if (key == "plan.schedule" && plan.schedule != workload::PipelineSchedule::k1f1b) {
    return "1f1b";
  }
  return key == "plan.chunks" && plan.chunks > 1 ? "1" : "";
}

}  // namespace

Result<Space> Space::Of(const SpaceRequest& request) {
  Space space;
  space.text_ = request.text;
  space.overrides_ = request.overrides;
  std::vector<std::string> first = request.overrides;
  for (const auto& [key, values] :
       {std::pair("gpus", &request.gpus), {"cluster", &request.clusters}}) {
    if (!values->empty()) {
      first.push_back(fmt::format("{}={}", key, values->back()));
    }
  }
  ORRERY_TRY(const workload::JobFile file, workload::ReadOpenJob(request.text, first));
  ORRERY_TRY(SearchSection section, ReadSearchSection(request.text, request.overrides, file.job));
  space.memory_share_ = request.memory_reserve ? 1 - *request.memory_reserve : section.memory_share;
  for (const auto& [key, values] :
       {std::pair("cluster", &request.clusters), {"gpus", &request.gpus}}) {
    if (!values->empty()) {
      std::erase_if(section.dimensions,
                    [&](const Dimension& dimension) { return dimension.key == key; });
      section.dimensions.insert(section.dimensions.begin(), {key, *values});
    }
  }
  space.dimensions_ = std::move(section.dimensions);
  SortDimensions(space.dimensions_);
  ORRERY_TRY_STATUS(space.AddBases());
  ORRERY_TRY_STATUS(space.CheckBatches());
  ORRERY_TRY_STATUS(space.AddFastValues());
  space.AddBlocks();
  return space;
}

Status Space::AddBases() {
  num_slow_ =
      static_cast<std::size_t>(std::ranges::count_if(dimensions_, [](const Dimension& dimension) {
        return FastKeyOf(dimension.key) == FastKeys().size();
      }));
  const std::span<const Dimension> slow(dimensions_.data(), num_slow_);
  std::vector<std::uint32_t> digits(num_slow_, 0);
  do {
    std::vector<std::string> overrides = overrides_;
    std::ranges::move(OverridesOf(slow, digits), std::back_inserter(overrides));
    ORRERY_TRY(workload::JobFile file, workload::ReadOpenJob(text_, overrides));
    if (file.job.gpus == 0 && file.job.plan.dp == 0) {
      return workload::Refuse("{}: gpus is missing: give it, or --gpus", text_.place);
    }
    if (file.job.gpus == 0) {
      ORRERY_TRY_STATUS(workload::FinishJob(text_.place, file.job));
    }
    file.job.plan.dp = 0;  // follows from the others
    bases_.push_back(std::move(file));
  } while (Advance(slow, digits));
  return {};
}

// A step of twice the samples is another step, and learns otherwise: they are not compared.
Status Space::CheckBatches() const {
  for (const workload::JobFile& base : bases_) {
    const std::int64_t first = bases_.front().job.training.global_batch;
    const std::int64_t other = base.job.training.global_batch;
    if (other != first) {
      return workload::Refuse(
          "{}: plans of different global batches, {} and {}, are not compared: give one "
          "training.global_batch (of Megatron --global-batch-size), and search once for each",
          text_.place, first, other);
    }
  }
  return {};
}

Status Space::AddFastValues() {
  for (std::size_t i = num_slow_; i < dimensions_.size(); ++i) {
    const Dimension& dimension = dimensions_[i];
    fast_key_.push_back(FastKeyOf(dimension.key));
    std::vector<workload::KeyValues>& values = fast_values_.emplace_back();
    for (const std::string& value : dimension.values) {
      workload::KeyValues& read = values.emplace_back();
      if (dimension.key == "training.micro_batch") {
        ORRERY_TRY(read.training.micro_batch, ReadMicroBatch(value));
      } else {
        ORRERY_TRY(read.plan, ReadPlanValue(dimension.key, value));
      }
    }
  }
  return {};
}

void Space::AddBlocks() {
  block_.assign(dimensions_.size(), 1);
  for (std::size_t i = dimensions_.size(); i-- > 0;) {
    block_[i] = num_ids_;
    num_ids_ *= dimensions_[i].values.size();
    const bool changes_layers =
        i < num_slow_ || FastKeys()[fast_key_[i - num_slow_]].changes_layers;
    if (!changes_layers) {
      layer_block_ = num_ids_;
    }
  }
}

std::uint64_t Space::Hash() const {
  std::string text;
  for (const workload::JobFile& base : bases_) {
    text += base.yaml;
  }
  for (const Dimension& dimension : dimensions_) {
    text += fmt::format("{}: {}\n", dimension.key, fmt::join(dimension.values, "|"));
  }
  text += fmt::format("memory {}", memory_share_);
  return XXH3_64bits(text.data(), text.size());
}

std::vector<std::uint32_t> Space::DigitsOf(PlanId id) const {
  std::vector<std::uint32_t> digits;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    digits.push_back(static_cast<std::uint32_t>(id / block_[i] % dimensions_[i].values.size()));
  }
  return digits;
}

PlanId Space::IdOf(std::span<const std::uint32_t> digits) const {
  PlanId id = 0;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    id += digits[i] * block_[i];
  }
  return id;
}

std::vector<std::string> Space::ValuesOf(PlanId id) const {
  const std::vector<std::uint32_t> digits = DigitsOf(id);
  const Result<Job> job = JobOf(id);
  std::vector<std::string> values;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const bool is_idle =
        job && i >= num_slow_ && FastKeys()[fast_key_[i - num_slow_]].is_idle(*job);
    values.push_back(is_idle ? "" : dimensions_[i].values[digits[i]]);
  }
  return values;
}

std::vector<std::string> Space::SettingsOf(PlanId id) const {
  const std::vector<std::string> values = ValuesOf(id);
  const workload::Plan& plan = bases_.front().job.plan;
  std::vector<std::string> settings;
  std::ranges::copy_if(overrides_, std::back_inserter(settings), [](const std::string& setting) {
    return !setting.starts_with("search.");  // `orrery simulate` does not read that section
  });
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    if (!values[i].empty()) {
      settings.push_back(fmt::format("{}={}", dimensions_[i].key, values[i]));
    } else if (const std::string_view neutral = NeutralOf(dimensions_[i].key, plan);
               !neutral.empty()) {
      settings.push_back(fmt::format("{}={}", dimensions_[i].key, neutral));
    }
  }
  return settings;
}

bool Space::TakesSettings() const {
  const Result<bool> is_megatron = workload::WithYaml(
      text_.place, text_.yaml,
      [](const YAML::Node& root) -> Result<bool> { return root["megatron"].IsDefined(); });
  return !is_megatron.value_or(true);
}

Result<Job> Space::JobOf(PlanId id) const {
  Walk walk(*this, id, id + 1);
  if (!walk.Next()) {
    return workload::Refuse("{}: there is no plan {}: {}", text_.place, id, walk.first_refusal());
  }
  return walk.job();
}

Space::Walk::Walk(const Space& space, PlanId first, PlanId last)
    : space_(space),
      next_(first),
      last_(std::min(last, space.num_ids())),
      base_(std::numeric_limits<std::size_t>::max()) {}

bool Space::Walk::Next() {
  while (next_ < last_) {
    id_ = next_;
    if (Apply()) {
      ++next_;
      return true;
    }
  }
  return false;
}

// Copies the values of an id into the job. Where a value is not needed, all ids that share it are
// passed over.
bool Space::Walk::Apply() {
  const std::size_t num_slow = space_.num_slow_;
  const PlanId base_block = num_slow > 0 ? space_.block_[num_slow - 1] : space_.num_ids_;
  const auto base = static_cast<std::size_t>(id_ / base_block);
  if (base != base_) {
    base_ = base;
    job_ = space_.bases_[base].job;
  }
  const Job& original = space_.bases_[base].job;
  job_.plan = original.plan;
  job_.training.micro_batch = original.training.micro_batch;
  job_.training.sequence = original.training.sequence;
  for (std::size_t i = 0; i < space_.fast_key_.size(); ++i) {
    const FastKey& key = FastKeys()[space_.fast_key_[i]];
    const PlanId block = space_.block_[num_slow + i];
    const auto digit =
        static_cast<std::size_t>(id_ / block % space_.dimensions_[num_slow + i].values.size());
    const bool is_idle = key.is_idle(job_);
    if (is_idle && digit > 0) {
      // So are the remaining values of this dimension.
      const PlanId whole = block * space_.dimensions_[num_slow + i].values.size();
      next_ = (id_ / whole + 1) * whole;
      return false;
    }
    if (is_idle) {
      key.copy(Neutral(), job_);
      continue;
    }
    key.copy(space_.fast_values_[i][digit], job_);
    const std::int64_t model = std::int64_t{job_.plan.tp} * job_.plan.pp * job_.plan.cp;
    if (key.key == "plan.pp" && job_.gpus % model != 0) {
      if (first_refusal_.empty()) {
        first_refusal_ = fmt::format("plan.tp {} · plan.pp {} · plan.cp {} does not divide gpus {}",
                                     job_.plan.tp, job_.plan.pp, job_.plan.cp, job_.gpus);
      }
      next_ = (id_ / block + 1) * block;
      return false;
    }
  }
  if (const Status finished = workload::FinishJob(space_.text_.place, job_); !finished) {
    ++refused_;
    if (first_refusal_.empty()) {
      first_refusal_ = finished.error().message();
    }
    ++next_;
    return false;
  }
  return true;
}

}  // namespace orrery::search
