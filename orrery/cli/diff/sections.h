#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"

namespace orrery::cli {

// What a comparison consists of, once for the text, the JSON and the CSV.

/// A part of a step's time on the device.
struct StepPart {
  std::string_view key;
  std::string_view title;
  double analyze::diff::StepParts::* member;
};

inline constexpr std::array<StepPart, 5> kStepParts{
    {{"compute_ns", "compute", &analyze::diff::StepParts::compute_ns},
     {"exposed_communication_ns", "exposed communication",
      &analyze::diff::StepParts::exposed_communication_ns},
     {"exposed_memory_ns", "copies alone", &analyze::diff::StepParts::exposed_memory_ns},
     {"idle_ns", "idle", &analyze::diff::StepParts::idle_ns},
     {"window_ns", "all", &analyze::diff::StepParts::window_ns}}};

/// A list of named costs.
struct Section {
  std::string_view key;
  std::string_view title;
  std::vector<analyze::diff::CostChange> analyze::diff::RunDiff::* member;
  bool has_host_time = false;
  bool has_wait = false;
  bool has_bytes = false;
};

inline constexpr std::array<Section, 5> kSections{
    {{.key = "collectives",
      .title = "collectives",
      .member = &analyze::diff::RunDiff::collectives,
      .has_wait = true,
      .has_bytes = true},
     {.key = "kernel_classes",
      .title = "classes of kernels",
      .member = &analyze::diff::RunDiff::kernel_classes,
      .has_wait = true},
     {.key = "kernels",
      .title = "kernels",
      .member = &analyze::diff::RunDiff::kernels,
      .has_wait = true},
     {.key = "operators",
      .title = "operators",
      .member = &analyze::diff::RunDiff::operators,
      .has_host_time = true},
     {.key = "copies",
      .title = "copies",
      .member = &analyze::diff::RunDiff::copies,
      .has_bytes = true}}};

/// A quantity of a cost.
struct CostField {
  std::string_view key;
  double analyze::diff::Cost::* member;
};

/// Returns the quantities that a section has.
[[nodiscard]] std::vector<CostField> FieldsOf(const Section& section);

/// Returns "lower", "higher" or "neither".
[[nodiscard]] std::string_view BetterName(analyze::Better better);

}  // namespace orrery::cli
