#pragma once

#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Values of keys that a search may free.
struct KeyValues {
  Training training = {};
  Plan plan = {};
};

}  // namespace orrery::workload
