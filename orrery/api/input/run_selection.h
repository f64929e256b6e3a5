#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/fields.h"

namespace orrery::api {

/// The part of a run that is analyzed. Texts have the form of the options of `orrery analyze`.
struct RunSelection {
  std::string steps = {};            // "2:5"; empty: all but the first and the last
  std::vector<int> ranks = {};       // empty: all
  std::int64_t min_bytes = 1 << 20;  // of messages whose bandwidth counts
  std::string align = "auto";        // or always, off
  std::int64_t launch_gap_us = 30;
};

inline constexpr auto kAlignWords = std::to_array<std::string_view>({"always", "auto", "off"});

/// The fields of a selection, for the lists of requests that hold one.
inline constexpr auto kSelectionFields = std::to_array<Field<RunSelection>>({
    MakeField<&RunSelection::steps>(
        "steps", "", "steps A:B, A included and B not (default: all but the first and the last)"),
    MakeField<&RunSelection::ranks>("rank", "", "only devices of this rank; may be repeated"),
    MakeField<&RunSelection::min_bytes>("min_bytes", "", "smallest message whose bandwidth counts")
        .ShowsDefault(),
    MakeField<&RunSelection::align>(
        "align", "", "align clocks by the ends of collectives (default: auto, where it matters)")
        .Choices(kAlignWords),
    MakeField<&RunSelection::launch_gap_us>("launch_gap_us", "",
                                            "a device gap below this is the cost of launching")
        .ShowsDefault()
        .Range(0, 1'000'000),
});

}  // namespace orrery::api
