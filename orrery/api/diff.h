#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/input/run_selection.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Differences between two runs.

namespace orrery::api {

struct DiffRequest {
  std::string path_before;
  std::string path_after;
  RunInput run = {};             // of both; its paths are not used
  SharedRun shared_before = {};  // was read already: nothing is read
  SharedRun shared_after = {};
  RunSelection selection = {};
  std::vector<std::string> metrics = {};  // empty: all
  std::optional<double> fail_over = {};   // percent by which no metric may get worse
  CallOptions call = {};
};

/// Parts of a step's time on one device: means over devices and steps.
struct DiffStep {
  std::int64_t ranks = 0;
  std::int64_t steps = 0;  // 0: the whole recording stands for a step
  std::optional<double> step_time_ns = {};
  double recorded_span_ns = 0;
  double compute_ns = 0;
  double exposed_communication_ns = 0;
  double exposed_memory_ns = 0;
  double idle_ns = 0;
  double window_ns = 0;
};

struct DiffSteps {
  DiffStep before = {};
  DiffStep after = {};
};

struct DiffMetric {
  std::string unit = {};
  std::string better = {};  // "higher", "lower", "neither"
  std::optional<double> before = {};
  std::optional<double> after = {};
  std::optional<double> percent = {};
  std::string verdict = {};  // "better", "worse", "same", "unknown"
  std::optional<std::string> reason_before = {};
  std::optional<std::string> reason_after = {};
};

/// Means per step and device. Quantities that a list does not have are left out.
struct DiffCost {
  double count = 0;
  double device_ns = 0;
  std::optional<double> host_ns = {};
  std::optional<double> wait_ns = {};
  std::optional<double> bytes = {};
};

struct DiffChange {
  std::string name;
  std::string kernel_class = {};  // of kernels
  std::string change = {};        // "added", "deleted", "increased", "decreased", "unchanged"
  double difference_ns = 0;
  DiffCost before = {};
  DiffCost after = {};
};

struct DiffMemory {
  std::string name;
  std::string change = {};
  std::optional<std::int64_t> before_bytes = {};  // none: not recorded in that run
  std::optional<std::int64_t> after_bytes = {};
};

struct DiffPage;

struct DiffResult {
  std::string before;
  std::string after;
  std::optional<double> fail_over_percent = {};
  std::vector<std::string> worse = {};  // metrics over that limit, worst first
  DiffSteps step = {};
  Keyed<DiffMetric> metrics = {};
  // Largest difference of time first.
  std::vector<DiffChange> collectives = {};
  std::vector<DiffChange> kernel_classes = {};
  std::vector<DiffChange> kernels = {};
  std::vector<DiffChange> operators = {};
  std::vector<DiffChange> copies = {};
  std::vector<DiffMemory> memory = {};

  std::string worst = {};  // a sentence on the worst of `worse`; empty: there is none
  bool is_partial = false;
  std::shared_ptr<const DiffPage> page = {};  // for the document
};

[[nodiscard]] ORRERY_API Result<DiffResult> Diff(const Session& session,
                                                 const DiffRequest& request);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const DiffResult& result);

ORRERY_HAS_FIELDS(DiffRequest);
ORRERY_HAS_FIELDS(DiffStep);
ORRERY_HAS_FIELDS(DiffSteps);
ORRERY_HAS_FIELDS(DiffMetric);
ORRERY_HAS_FIELDS(DiffCost);
ORRERY_HAS_FIELDS(DiffChange);
ORRERY_HAS_FIELDS(DiffMemory);
ORRERY_HAS_FIELDS(DiffResult);

}  // namespace orrery::api
