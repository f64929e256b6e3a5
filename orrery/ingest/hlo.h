#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::ingest {

/// The meaning of an HLO operation's category ("all-reduce-start", "loop fusion").
struct HloCategory {
  /// Asynchronous work appears twice among the operations of a core: where it is issued and where
  /// the core waits for its end. Neither lasts as long as the work.
  enum class Phase { kWhole, kStart, kDone };

  Phase phase = Phase::kWhole;
  bool is_around_others = false;  // a loop or call, whose operations have their own rows
  bool is_copy = false;
  std::optional<CollectiveKind> collective;  // HLO's broadcast is none: it is local
};

[[nodiscard]] HloCategory ParseHloCategory(std::string_view category);

/// Returns what work an operation on a core's line of operations is. Nothing for what is a range
/// and no work of its own: loops and calls, whose operations have their own rows, and the halves of
/// asynchronous work, in which the core issues it or waits for it. On the line of asynchronous
/// operations a half stands for the work itself.
[[nodiscard]] std::optional<trace::ActivityKind> ActivityKindOf(const HloCategory& category,
                                                                bool on_async_line);

/// Returns between which memories an asynchronous copy moves, by the text of its start: "S(5)" in a
/// layout is the memory of the host. kUnknown for other text.
[[nodiscard]] trace::CopyKind HloCopyKind(std::string_view text);

/// Returns the number of the device that XLA names so: 3 for "/device:TPU:3" and for
/// "/device:TPU:3 SparseCore 1", -1 if it has none; nothing for names of the host.
[[nodiscard]] std::optional<std::int32_t> DeviceInXlaName(std::string_view name);

/// Element type and size of an array.
struct HloShape {
  DataType data_type = DataType::kUnknown;
  std::int64_t elements = 0;
};

/// Reads "f32[5,1024]{1,0:T(8,128)}"; nothing for tuples and other text.
[[nodiscard]] std::optional<HloShape> ParseHloShape(std::string_view shape);

}  // namespace orrery::ingest
