#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// A set of choices, one bit each. Empty: not set.
using ChoiceMask = std::uint32_t;

struct NcclSettings {
  std::array<ChoiceMask, kNumCollectiveKinds>
      algorithms{};  // by CollectiveKind; bits by Algorithm; 0: all
  std::array<ChoiceMask, kNumCollectiveKinds>
      protocols{};  // by CollectiveKind; bits by Protocol; 0: all
  std::optional<std::int64_t> min_channels{};
  std::optional<std::int64_t> max_channels{};
  std::optional<Bytes> buffer{};  // of the Simple protocol
  bool nvls = true;

  [[nodiscard]] bool Allows(CollectiveKind kind, Algorithm algorithm) const;
  [[nodiscard]] bool Allows(CollectiveKind kind, Protocol protocol) const;
  [[nodiscard]] bool Asks(CollectiveKind kind, Algorithm algorithm) const;
  [[nodiscard]] bool Asks(CollectiveKind kind, Protocol protocol) const;

  bool operator==(const NcclSettings&) const = default;
};

/// Reads NCCL_ALGO, NCCL_PROTO (lists, '^' for all others, "allreduce:" in front and ';' between
/// collectives), NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS, NCCL_BUFFSIZE and NCCL_NVLS_ENABLE from
/// "NCCL_ALGO=Ring,NCCL_PROTO=^LL128". Entries are separated by commas or spaces; a word
/// without a variable names an algorithm or a protocol ("Ring", "NVLS"), and parentheses contain
/// remarks ("NCCL_NVLS_ENABLE=0 (Ring)"). Unknown names are errors that list the known ones.
[[nodiscard]] Result<NcclSettings> ParseNcclSettings(std::string_view text);

}  // namespace orrery::collective
