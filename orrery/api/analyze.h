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
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Metrics of a run, and a report of where its time goes.

namespace orrery::report {
struct RunReport;
}  // namespace orrery::report

namespace orrery::api {

/// The request of an analysis. Texts have the form of the options of `orrery analyze`.
struct AnalyzeRequest {
  RunInput run = {};
  SharedRun shared = {};  // was read already: nothing is read
  RunSelection selection = {};
  std::vector<std::string> metrics = {};  // empty: all
  std::string compat = {};                // another suite's definitions: "ccl-bench"
  std::vector<std::string> what_if = {};  // "network=4"
  std::string by = "bytes";               // or time
  std::optional<std::int64_t> link = {};  // none: all
  std::string direction = {};             // rx or tx; empty: both
  int gpu = 0;
  int top = 1;
  bool nccl_only = false;

  // Parts that the result is to hold, since some take a while.
  bool needs_metrics = true;
  bool needs_report = true;  // findings, communication, kernels, stragglers
  bool needs_nvlink_page = false;
  bool accepts_no_gpu_work = false;  // a run without any is no error
  CallOptions call = {};
};

struct AnalyzedMetric {
  std::optional<double> value = {};
  std::string unit = {};
  std::string status = {};                 // "ok" or "n/a"
  std::optional<std::string> reason = {};  // why there is no value
  Value detail = {};
  std::string meaning = {};
};

/// The time by which a run is known: its step time, or its span where it has no steps.
struct AnalyzedTime {
  std::string name;
  double seconds = 0;
  std::string definition;
};

struct AnalyzedFinding {
  std::string text;
  std::string more;                  // evidence or advice
  std::optional<double> share = {};  // of the step's time
};

/// Communication of one device; means over its steps.
struct DeviceCommunication {
  double time_ns = 0;
  double hidden_ns = 0;  // compute runs at the same time
  double exposed_ns = 0;
  std::optional<double> hidden_percent = {};
  std::string device = {};
};

/// The mean over devices.
struct AnalyzedCommunication {
  double time_ns = 0;
  double hidden_ns = 0;
  double exposed_ns = 0;
  double hidden_percent = 0;
  std::string exposed_definition = {};
  std::vector<DeviceCommunication> per_device = {};
};

/// All calls of one kernel; means are over steps and devices.
struct AnalyzedKernel {
  std::string name;
  std::string short_name = {};
  std::string kernel_class = {};
  double calls = 0;
  double time_ns = 0;
  double percent = 0;
  std::optional<double> wait_percent = {};
  double known_percent = 0;
  std::optional<double> flops_per_s = {};
  std::optional<double> bytes_per_s = {};
  std::optional<double> roof_percent = {};
  std::optional<std::string> bottleneck = {};  // "compute" or "memory"
};

struct AnalyzeResult {
  Keyed<AnalyzedMetric> metrics = {};

  // Of a request for all metrics with a report.
  bool has_summary = false;
  std::optional<AnalyzedTime> time = {};
  std::vector<AnalyzedFinding> findings = {};
  std::optional<AnalyzedCommunication> communication = {};
  std::vector<AnalyzedKernel> kernels = {};  // longest first
  Value straggler = {};

  /// Rows that could not be read, matched or used. Not known of another suite's metrics.
  std::optional<std::vector<std::string>> notes = {};

  bool is_timeline = false;  // of operations: there is only what stragglers cost
  bool is_partial = false;
  std::shared_ptr<const report::RunReport> report = {};
  std::shared_ptr<const report::Document> nvlink_page = {};
};

[[nodiscard]] ORRERY_API Result<AnalyzeResult> Analyze(const Session& session,
                                                       const AnalyzeRequest& request);

/// The report of the run; the request must have asked for it.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const AnalyzeResult& result);

/// The findings of the report alone; of a timeline, the report.
[[nodiscard]] ORRERY_API report::Document MakeFindingsDocument(const AnalyzeResult& result);

/// Each metric with its details.
[[nodiscard]] ORRERY_API report::Document MakeMetricsDocument(const AnalyzeResult& result);

/// The status of each metric: whether it applies.
[[nodiscard]] ORRERY_API report::Document MakeStatusDocument(const AnalyzeResult& result);

/// The metrics that there are.
[[nodiscard]] ORRERY_API report::Document ListMetrics();

ORRERY_HAS_FIELDS(AnalyzeRequest);
ORRERY_HAS_FIELDS(AnalyzedMetric);
ORRERY_HAS_FIELDS(AnalyzedTime);
ORRERY_HAS_FIELDS(AnalyzedFinding);
ORRERY_HAS_FIELDS(DeviceCommunication);
ORRERY_HAS_FIELDS(AnalyzedCommunication);
ORRERY_HAS_FIELDS(AnalyzedKernel);
ORRERY_HAS_FIELDS(AnalyzeResult);

}  // namespace orrery::api
