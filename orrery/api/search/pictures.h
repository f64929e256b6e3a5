#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/api/search/answer.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/search/search.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {

/// The tooltip of a plan; `rank` is its place among the kept ones.
[[nodiscard]] std::string PlanTip(const SearchAnswer& answer, const search::RankedPlan& ranked,
                                  const std::optional<std::size_t>& rank);

/// Step time against memory; where numbers of GPUs differ, also against dollars or GPUs. The front
/// is marked, and what ties with the first plan.
[[nodiscard]] std::vector<Document::Picture> FrontPictures(const SearchAnswer& answer);

/// Parallel coordinates of the kept plans over what they differ in.
[[nodiscard]] Document::Picture KeptPicture(const SearchAnswer& answer);

/// The steps of the first and the second plan along one axis. Simulates both.
[[nodiscard]] Result<std::vector<Document::Picture>> TimelinePictures(
    const SearchAnswer& answer, const kernel::CostModel& costs,
    const simulate::SimulationOptions& options);

}  // namespace orrery::api
