#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// An option of a tool.
struct Setting {
  std::string name;
  std::string value = {};  // empty: a switch
};

/// The options that a job becomes, and what none of them says.
struct SettingList {
  std::vector<Setting> settings = {};
  std::vector<std::string> not_expressed = {};

  template <typename Value>
  void Add(std::string_view name, const Value& value) {
    settings.push_back({std::string(name), fmt::format("{}", value)});
  }

  void Switch(std::string_view name, bool is_on = true) {
    if (is_on) {
      settings.push_back({std::string(name)});
    }
  }

  template <typename... Arguments>
  void Miss(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    not_expressed.push_back(fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  [[nodiscard]] const Setting* Find(std::string_view name) const {
    const auto found = std::ranges::find(settings, name, &Setting::name);
    return found == settings.end() ? nullptr : &*found;
  }
};

/// Nodes and GPUs of each that a launcher is told; a sentence where a job does not fill its nodes.
struct LaunchSize {
  int nodes = 1;
  int gpus_of_node = 1;
};

[[nodiscard]] LaunchSize LaunchSizeOf(const Job& job, SettingList& list);

/// Adds a sentence for a job whose framework is not the one that a tool is.
void MissFramework(const Job& job, std::string_view tool, std::string_view framework,
                   SettingList& list);

/// Adds a sentence for each setting that no tool has: how uneven experts are, LoRA, a step without
/// optimizer.
void MissCommon(const Job& job, SettingList& list);

}  // namespace orrery::workload
