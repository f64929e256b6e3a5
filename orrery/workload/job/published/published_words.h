#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"

namespace orrery::workload {

/// Meanings of words in free text of tables of published runs (data/workload/published_words.yaml).
struct PublishedWords {
  struct Network {
    hardware::NetworkKind kind = hardware::NetworkKind::kNone;
    hardware::MatchWords match;
  };

  struct Precision {
    hardware::MatchWords match;
    int gradient_bytes = 4;
  };

  struct Routing {
    hardware::MatchWords match;
    double imbalance = 1;
  };

  std::vector<Network> networks;
  std::vector<Routing> routings;
  std::vector<Precision> precisions;
};

/// Reads such a file; an error is one sentence.
[[nodiscard]] Result<PublishedWords> ReadPublishedWords(const std::string& yaml);

/// The first machine of the catalogue with this GPU and the kind of network that the text names.
/// Nothing where the text names none that tells the machine.
[[nodiscard]] const hardware::Cluster* MachineWithNetwork(std::string_view gpu,
                                                          std::string_view network);

/// Tokens of the busiest expert rank over the mean under the routing that the text names; 1: even,
/// or not said.
[[nodiscard]] double NamedTokenImbalance(std::string_view capacity);

/// Bytes of a gradient under the policy of mixed precision that the text names, if it names one.
[[nodiscard]] std::optional<int> NamedGradientBytes(std::string_view precision);

}  // namespace orrery::workload
