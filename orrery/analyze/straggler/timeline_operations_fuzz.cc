#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/analyze/straggler/timeline_operations.h"
#include "orrery/base/text/table.h"

// Six bytes are an operation. Any timeline may be replayed or refused, but must never crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::Table;
  constexpr std::array<std::string_view, 14> kTypes = {"forward-compute",
                                                       "backward-compute",
                                                       "forward-send",
                                                       "forward-recv",
                                                       "backward-send",
                                                       "backward-recv",
                                                       "params-all-gather",
                                                       "grads-reduce-scatter",
                                                       "layernorm-grads-all-reduce",
                                                       "embedding-grads-all-reduce",
                                                       "optimizer-clip-main-grad",
                                                       "optimizer",
                                                       "gc",
                                                       "unknown"};
  Table table{{"dp_rank", Table::Type::kInteger},    {"stage", Table::Type::kInteger},
              {"rank", Table::Type::kInteger},       {"step", Table::Type::kInteger},
              {"seq_id", Table::Type::kInteger},     {"mc", Table::Type::kInteger},
              {"optype", Table::Type::kText},        {"start_ns", Table::Type::kInteger},
              {"duration_ns", Table::Type::kInteger}};
  for (std::span<const std::uint8_t> rest(data, size); rest.size() >= 6; rest = rest.subspan(6)) {
    const std::int64_t dp_rank = rest[0] & 3;
    const std::int64_t stage = rest[0] >> 2 & 3;
    const std::string_view type = kTypes[std::min<std::size_t>(rest[1], kTypes.size() - 1)];
    // Up to 2^61 ns, as far as a reader goes.
    const std::int64_t start_ns = std::int64_t{rest[3]} << rest[4] % 54;
    const std::int64_t duration_ns = std::int64_t{rest[5]} << rest[4] % 54;
    table.AddRow({dp_rank, stage, dp_rank * 4 + stage, std::int64_t{rest[0] >> 4 & 1},
                  std::int64_t{rest[2] & 7}, std::int64_t{rest[2] >> 7}, std::string(type),
                  start_ns, duration_ns});
  }
  if (const auto operations = orrery::analyze::TimelineOperations(table)) {
    static_cast<void>(orrery::analyze::MeasureStragglers(*operations, 1));
  }
  return 0;
}
