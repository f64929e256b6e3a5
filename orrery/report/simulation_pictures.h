#pragma once

#include <cstdint>
#include <vector>

#include "orrery/report/document.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/network/link_utilisation.h"

namespace orrery::report {

/// Stages, or kinds of ranks, over time: passes of micro-batches, communication, bubble; with
/// close-ups of the first and the last passes where there are many.
[[nodiscard]] std::vector<Document::Picture> TimelinePictures(
    const simulate::SimulatedStep& simulated, const simulate::StepSummary& summary);

/// The same without close-ups, along an axis up to `end_ps`, to be compared with longer steps.
[[nodiscard]] Document::Picture ComparedTimeline(const simulate::SimulatedStep& simulated,
                                                 const simulate::StepSummary& summary,
                                                 std::int64_t end_ps);

/// A bar for each stage or kind of ranks: where its time goes.
[[nodiscard]] Document::Picture BreakdownPicture(const simulate::SimulatedStep& simulated,
                                                 const simulate::StepSummary& summary);

/// The memory of the fullest stage over the step. There must be one.
[[nodiscard]] Document::Picture MemoryPicture(const simulate::SimulatedStep& simulated,
                                              const simulate::StepSummary& summary);

/// Links over the step, coloured by how busy they are.
[[nodiscard]] Document::Picture LinkPicture(const simulate::LinkUtilisation& utilisation,
                                            std::int64_t step_ps);

}  // namespace orrery::report
