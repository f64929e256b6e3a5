#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/importance.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// The features of a pair (features.h), and how the two kernels meet.
[[nodiscard]] std::span<const std::string> MeetingFeatureNames();

/// Appends the features of a pair that meets once, or, without a meeting, of a kernel beside
/// communication that is there all the time.
void AppendMeetingFeatures(const Machine& machine, const Pair& pair,
                           const std::optional<Meeting>& meeting, std::vector<float>& features);

[[nodiscard]] std::vector<learn::FeatureGroup> MeetingFeatureGroups();

/// The meeting as the second kernel sees it.
[[nodiscard]] Arrival ArrivalOf(const Pair& pair, const Meeting& meeting);

}  // namespace orrery::overlap
