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
#include "orrery/api/input/shared_run.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// The ranks of a run, their counts, and problems of reading it.

namespace orrery::api {

struct InfoRequest {
  RunInput run = {};
  SharedRun shared = {};  // was read already: nothing is read
  CallOptions call = {};
};

struct InfoProblem {
  std::string what;
  std::int64_t count = 0;
  bool lost = false;
  std::string first = {};  // place of the first one; may be empty
};

struct InfoGroup {
  std::optional<std::string> name = {};
  std::optional<std::string> description = {};
  std::optional<std::string> backend = {};
  std::optional<std::int64_t> size = {};
  std::optional<std::string> ranks = {};
};

struct InfoLaunches {
  std::int64_t count = 0;
  std::int64_t time_ns = 0;
};

struct InfoCoverageCount {
  std::string kind;
  std::string name;
  std::int64_t count = 0;
};

struct InfoOverhead {
  std::string phase;
  std::int64_t total_ns = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// Coverage of kernels by the recorder, and the overhead of the recording.
struct InfoCoverage {
  Keyed<InfoLaunches> kernels = {};
  std::vector<InfoCoverageCount> counts = {};
  std::vector<InfoOverhead> overhead = {};
};

struct InfoRank {
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> world_size = {};
  std::vector<std::string> files = {};
  std::string format = {};
  std::optional<std::string> version = {};
  std::optional<std::string> gpu = {};
  std::optional<std::string> host = {};
  std::string time_origin = {};
  std::int64_t begin_ns = 0;
  std::int64_t span_ns = 0;
  std::int64_t steps = 0;
  Keyed<std::int64_t> counts = {};
  std::vector<InfoGroup> process_groups = {};
  std::optional<InfoCoverage> coverage = {};
  std::vector<InfoProblem> problems = {};
};

/// A table of measurements. It is no rank's, but listed with the ranks, as one without a number.
struct InfoTable {
  std::optional<std::int64_t> rank = {};  // none
  std::vector<std::string> files = {};
  std::string format = {};
  Keyed<std::int64_t> counts = {};
  std::vector<std::string> columns = {};
  std::vector<InfoProblem> problems = {};
};

struct InfoSkippedFile {
  std::string file;
  std::string why;
};

struct InfoResult {
  std::vector<InfoRank> ranks = {};
  std::vector<InfoTable> tables = {};
  std::optional<std::string> card = {};  // file of the workload card
  std::vector<InfoSkippedFile> skipped = {};
  bool is_partial = false;  // something was lost
  std::vector<InfoProblem> problems = {};

  std::shared_ptr<const ingest::Run> run = {};  // for the document
};

[[nodiscard]] ORRERY_API Result<InfoResult> Info(const Session& session,
                                                 const InfoRequest& request);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const InfoResult& result);

ORRERY_HAS_FIELDS(InfoRequest);
ORRERY_HAS_FIELDS(InfoProblem);
ORRERY_HAS_FIELDS(InfoGroup);
ORRERY_HAS_FIELDS(InfoLaunches);
ORRERY_HAS_FIELDS(InfoCoverageCount);
ORRERY_HAS_FIELDS(InfoOverhead);
ORRERY_HAS_FIELDS(InfoCoverage);
ORRERY_HAS_FIELDS(InfoRank);
ORRERY_HAS_FIELDS(InfoTable);
ORRERY_HAS_FIELDS(InfoSkippedFile);
ORRERY_HAS_FIELDS(InfoResult);

}  // namespace orrery::api
