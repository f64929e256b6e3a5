#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::analyze {

struct RunView;

/// What a metric needs of a run.
enum class NeedKind {
  kEvents,        // any timed event
  kGpu,           // device activity in a selected window
  kSteps,         // step markers
  kComm,          // a communication kernel
  kCollective,    // … of one kind
  kSizes,         // … with a known message size
  kRanks,         // two ranks or more
  kMatched,       // a collective found on two ranks or more
  kCard,          // a value of the workload card
  kPipeline,      // pipeline parallelism
  kPointToPoint,  // a matched send and receive
  kPhase,         // inference: the card says so or engine steps are there
  kGeometry,      // grid sizes and the number of multiprocessors
  kCopies,        // copies with bytes and duration
  kSmCounters,
  kLinkCounters,
  kCommonClock,  // of link counters and trace
};

struct Need {
  NeedKind kind;
  trace::CollectiveKind collective = trace::CollectiveKind::kUnknown;  // of kCollective
  std::string_view card_field = {};                                    // of kCard: its last name
};

/// Returns nothing when the run has what is needed, else why not, in words that go on from "n/a: ".
[[nodiscard]] std::optional<std::string> WhyUnmet(const Need& need, const RunView& run);

/// Returns what is needed in a word or two, for `--list`.
[[nodiscard]] std::string NeedText(const Need& need);

}  // namespace orrery::analyze
