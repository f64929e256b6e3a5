#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

struct KeyRange {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
};

/// Reads a key over what is in `value`; how depends on the type of its member. An absent key
/// changes nothing.
void ReadKey(YamlFields& fields, std::string_view key, bool& value);
void ReadKey(YamlFields& fields, std::string_view key, int& value, KeyRange range);
void ReadKey(YamlFields& fields, std::string_view key, std::int64_t& value, KeyRange range);
void ReadKey(YamlFields& fields, std::string_view key, double& value, KeyRange range);
void ReadKey(YamlFields& fields, std::string_view key, RecomputedParts& value);

template <typename Value, std::size_t kCount>
void ReadKey(YamlFields& fields, std::string_view key,
             const std::array<Spelling<Value>, kCount>& words, Value& value) {
  value = fields.Choice(key, std::span<const Spelling<Value>>(words), std::optional(value));
}

/// Keys whose values need more than their type: named as `reader` in data/workload/job_keys.yaml.
void ReadGlobalBatch(YamlFields& fields, Training& training);
void ReadPrecision(YamlFields& fields, Training& training);
void ReadSchedule(YamlFields& fields, Plan& plan);
void ReadLayersPerStage(YamlFields& fields, Plan& plan);
void ReadLayout(YamlFields& fields, Plan& plan);
void ReadShardRanks(YamlFields& fields, Plan& plan);
void ReadTokenSeed(YamlFields& fields, Plan& plan);
void ReadTokenImbalance(YamlFields& fields, Plan& plan);
void ReadUsesGraphs(YamlFields& fields, Framework& framework);

}  // namespace orrery::workload
