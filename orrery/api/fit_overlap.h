#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Fits of how kernels that run together slow each other down.

namespace orrery::api {

/// From measured pairs.
struct FitOverlapRequest {
  std::vector<std::string> paths = {};
  std::vector<std::string> counters = {};
  std::string output = {};
  std::uint64_t seed = 1;
  CallOptions call = {};
};

struct FitOverlapResult {
  std::string output;
  std::int64_t pairs = 0;
  double bytes = 0;
  // Of kernels that were held out.
  double mape = 0;
  double within_10 = 0;
  std::int64_t rejected_rows = 0;

  // Not part of the JSON.
  std::vector<std::string> notices = {};
  bool is_partial = false;
};

/// From two recordings of one program.
struct FitOverlapFromTracesRequest {
  std::vector<std::string> from_traces = {};  // without communication, then with it
  std::string counters = {};
  std::string output = {};  // folder of tables; empty: none
  RunInput run = {};        // options of reading; its paths are not used
  CallOptions call = {};
};

/// Kernels between which the clocks of both runs do not change.
struct FitOverlapClock {
  std::int64_t rank = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  double ratio = 1;
  std::int64_t kernels = 0;
  bool left_out = false;
};

struct FitOverlapKernel {
  std::string kernel;
  std::int64_t pairs = 0;
  double alone_us = 0;
  double together_us = 0;
  double overlap_us = 0;
  double slowdown = 0;
};

struct FitOverlapRank {
  std::int64_t rank = 0;
  std::int64_t clock_segments = 0;
};

struct FitOverlapFromTracesResult {
  std::int64_t matched = 0;
  std::int64_t only_alone = 0;
  std::int64_t only_together = 0;
  std::int64_t kept = 0;
  Keyed<std::int64_t> rejected = {};  // by reason
  double alone_ns = 0;
  double together_ns = 0;
  std::vector<FitOverlapClock> clock_segments = {};  // of one rank after the other
  std::vector<FitOverlapKernel> kernels = {};
  std::optional<std::vector<std::string>> missing_counters = {};

  // Not part of the JSON.
  std::vector<FitOverlapRank> ranks = {};
  std::vector<std::string> notices = {};
  bool is_partial = false;
};

[[nodiscard]] ORRERY_API Result<FitOverlapResult> FitOverlap(const Session& session,
                                                             const FitOverlapRequest& request);

[[nodiscard]] ORRERY_API Result<FitOverlapFromTracesResult> FitOverlapFromTraces(
    const Session& session, const FitOverlapFromTracesRequest& request);

/// The result in a line of text.
[[nodiscard]] ORRERY_API std::string FitText(const FitOverlapResult& result);

[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitOverlapResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const FitOverlapFromTracesResult& result);

ORRERY_HAS_FIELDS(FitOverlapRequest);
ORRERY_HAS_FIELDS(FitOverlapFromTracesRequest);
ORRERY_HAS_FIELDS(FitOverlapResult);
ORRERY_HAS_FIELDS(FitOverlapClock);
ORRERY_HAS_FIELDS(FitOverlapKernel);
ORRERY_HAS_FIELDS(FitOverlapFromTracesResult);

}  // namespace orrery::api
