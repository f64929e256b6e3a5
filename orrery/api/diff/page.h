#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/diff/diff.h"
#include "orrery/api/diff.h"
#include "orrery/base/text/table.h"
#include "orrery/report/document.h"

namespace orrery::api {

using analyze::diff::Change;
using analyze::diff::Cost;
using analyze::diff::CostChange;
using analyze::diff::MemoryChange;
using analyze::diff::MetricChange;
using analyze::diff::RunDiff;
using analyze::diff::StepParts;

/// A comparison of two runs.
struct DiffPage {
  std::string path_before;
  std::string path_after;
  RunDiff diff;
  std::optional<double> limit_percent = {};  // --fail-over
  std::vector<MetricChange> worse;           // over the limit, the worst first
};

/// The text, and the page of --html.
[[nodiscard]] report::Document DiffDocument(const DiffPage& page);

/// The table of --csv: one line for each thing that was compared.
[[nodiscard]] Table DiffTable(const DiffPage& page);

// Parts of a comparison, once for the text, the JSON and the CSV.

/// A part of a step's time on the device.
struct StepPart {
  std::string_view key;
  std::string_view title;  // in CSV
  double StepParts::* member;
  std::string_view label = title;  // for people
};

inline constexpr std::array<StepPart, 5> kStepParts{
    {{"compute_ns", "compute", &StepParts::compute_ns},
     {"exposed_communication_ns", "exposed communication", &StepParts::exposed_communication_ns},
     {"exposed_memory_ns", "copies alone", &StepParts::exposed_memory_ns, "memcpy alone"},
     {"idle_ns", "idle", &StepParts::idle_ns},
     {"window_ns", "all", &StepParts::window_ns, "all, on the GPU"}}};

/// A quantity of a cost; `title` is that of the column with its difference.
struct CostField {
  std::string_view key;
  std::string_view title;
  double Cost::* member;
};

inline constexpr CostField kCostFields[] = {{"count", "", &Cost::count},
                                            {"device_ns", "", &Cost::device_ns}};
inline constexpr CostField kWaitAndBytes[] = {{"wait_ns", "waiting", &Cost::wait_ns},
                                              {"bytes", "bytes", &Cost::bytes}};
inline constexpr CostField kHostTime[] = {{"host_ns", "CPU time", &Cost::host_ns}};

/// A list of named costs, and the quantities that they have in addition to kCostFields.
struct Section {
  std::string_view key;
  std::string_view title;
  std::vector<CostChange> RunDiff::* member;
  std::span<const CostField> fields;
  std::vector<DiffChange> DiffResult::* result;
};

inline constexpr std::array<Section, 5> kSections{
    {{"collectives", "Collectives", &RunDiff::collectives, kWaitAndBytes, &DiffResult::collectives},
     {"kernel_classes",
      "Kernel classes",
      &RunDiff::kernel_classes,
      {kWaitAndBytes, 1},
      &DiffResult::kernel_classes},
     {"kernels", "Kernels", &RunDiff::kernels, {kWaitAndBytes, 1}, &DiffResult::kernels},
     {"operators", "Operators", &RunDiff::operators, kHostTime, &DiffResult::operators},
     {"copies",
      "Memcpys and memsets",
      &RunDiff::copies,
      {kWaitAndBytes + 1, 1},
      &DiffResult::copies}}};

}  // namespace orrery::api
