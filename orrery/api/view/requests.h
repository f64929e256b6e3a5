#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/fields.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

// Requests of a view. A rank is a row of its run; times are after the run's begin; -1 stands for a
// number that must be given.

namespace orrery::api {
namespace view {

struct SessionRequest {};

/// Ranks, the critical path, a prediction.
struct RunRequest {
  std::int64_t run = 0;
};

struct ActivityRequest {
  std::int64_t run = 0;
  std::int64_t level = -1;
  std::int64_t tile = -1;
  std::string order = {};
  std::int64_t first = 0;
  std::int64_t count = -1;
  std::int64_t fold = 1;
};

struct TracksRequest {
  std::int64_t run = 0;
  std::int64_t rank = -1;
};

struct SlicesRequest {
  std::int64_t run = 0;
  std::int64_t rank = -1;
  std::int64_t track = -1;
  std::int64_t level = -1;
  std::int64_t tile = -1;
};

struct SliceRequest {
  std::int64_t run = 0;
  std::int64_t rank = -1;
  std::int64_t track = -1;
  std::int64_t row = -1;
};

struct LaunchesRequest {
  std::int64_t run = 0;
  std::int64_t rank = -1;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  std::int64_t most = 500;
};

struct CollectivesRequest {
  std::int64_t run = 0;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  std::int64_t most = 400;
};

struct RangeRequest {
  std::int64_t run = 0;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end = {};
  std::string order = {};
  std::int64_t first = 0;
  std::optional<std::int64_t> count = {};
};

struct FindRequest {
  std::int64_t run = 0;
  std::string text = {};
  std::int64_t from = 0;
  std::int64_t rank = -1;
  std::int64_t most = 200;
};

struct TabRequest {
  std::int64_t run = 0;
  std::string name = {};
};

struct DifferencesRequest {
  std::int64_t a = 0;
  std::int64_t b = 1;
};

struct PlanRequest {
  std::int64_t plan = -1;
};

struct WhatIfChange {
  std::string subject = {};
  std::string name = {};
  double speedup = 1;
};

struct WhatIfRequest {
  std::int64_t run = 0;
  std::vector<WhatIfChange> changes = {};
  bool keep = false;
};

}  // namespace view

ORRERY_HAS_FIELDS(view::SessionRequest);
ORRERY_HAS_FIELDS(view::RunRequest);
ORRERY_HAS_FIELDS(view::ActivityRequest);
ORRERY_HAS_FIELDS(view::TracksRequest);
ORRERY_HAS_FIELDS(view::SlicesRequest);
ORRERY_HAS_FIELDS(view::SliceRequest);
ORRERY_HAS_FIELDS(view::LaunchesRequest);
ORRERY_HAS_FIELDS(view::CollectivesRequest);
ORRERY_HAS_FIELDS(view::RangeRequest);
ORRERY_HAS_FIELDS(view::FindRequest);
ORRERY_HAS_FIELDS(view::TabRequest);
ORRERY_HAS_FIELDS(view::DifferencesRequest);
ORRERY_HAS_FIELDS(view::PlanRequest);
ORRERY_HAS_FIELDS(view::WhatIfChange);
ORRERY_HAS_FIELDS(view::WhatIfRequest);

/// Its changes are objects, which no target of a field takes.
template <>
Result<view::WhatIfRequest> FromValue<view::WhatIfRequest>(const Value& object);

}  // namespace orrery::api
