#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/document/yaml_fields.h"

namespace orrery::workload {

struct Framework;
struct Job;
struct KeyValues;
struct Plan;
struct Training;
struct TransformerShape;

/// The sections of a job that keys are read into; of a null one no key is read.
struct KeyOwners {
  TransformerShape* model = nullptr;
  Training* training = nullptr;
  Plan* plan = nullptr;
  Framework* framework = nullptr;
};

/// The part of a key in a search of plans.
struct SearchRole {
  int place = 0;  // in the nest of dimensions, from 1 on; 0: jobs are read again for it
  std::string_view needs = {};  // a feature that the plan must have for the key to change anything
  bool changes_layers = true;
  void (*copy)(const KeyValues& from, Job& to) = nullptr;
};

/// A key of a job: an entry of data/workload/job_keys.yaml, from which tools/make_job_keys.py
/// writes the table. Names in training tools are empty where a tool has none.
struct JobKey {
  std::string_view section;  // "plan"
  std::string_view name;     // "tp"
  std::string_view path;     // "plan.tp"
  std::string_view type;     // flag, whole, number, word, list or text
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::span<const std::string_view> words = {};  // of a word or a list of words
  std::string_view meaning;
  std::string_view megatron = {};
  std::string_view nemo = {};
  std::string_view torchtitan = {};
  std::string_view deepspeed = {};
  std::string_view fsdp = {};
  std::string_view published = {};  // column of tables of measured runs
  SearchRole search = {};
  bool is_earlier = false;                      // a name of before, which is accepted and not shown
  std::string (*usual)();                       // the default, as job files spell it
  double (*value)(const Plan& plan) = nullptr;  // of a number of a plan that has a range
  void (*read)(YamlFields& fields, const KeyOwners& owners);
};

/// All keys, in the order in which they are read.
[[nodiscard]] std::span<const JobKey> JobKeys();

/// The key of a path such as "plan.tp"; nullptr: there is none.
[[nodiscard]] const JobKey* FindJobKey(std::string_view path);

/// Reads all keys of a section over what its owner has. Other fields are left.
void ReadKeys(std::string_view section, YamlFields& fields, const KeyOwners& owners);

}  // namespace orrery::workload
