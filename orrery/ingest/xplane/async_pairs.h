#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::ingest::xplane {

/// Where a core issued asynchronous work, or where it had it done.
struct AsyncHalf {
  bool is_start = false;
  std::string start_name;  // of the operation that issued it: "copy-start.2"
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t kind = 0;  // of its event
};

/// Work from the begin of its start to the end of its done, as the profiler's own line of
/// asynchronous operations has it.
struct AsyncWork {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t start_kind = 0;
};

struct AsyncPairs {
  std::vector<AsyncWork> works;  // in order of their ends
  std::int64_t num_unpaired = 0;
};

/// Joins the halves of one core. An operation is not issued again before it is done, so a start
/// belongs to the next done of its name.
[[nodiscard]] AsyncPairs PairAsync(std::vector<AsyncHalf> halves);

/// Returns the name of the start that a done waits for: the operand in its text ("%copy-done.2 =
/// f32[8] copy-done((f32[8]) %copy-start.2)"), else its own name with the other word.
[[nodiscard]] std::string StartOfDone(std::string_view name, std::string_view long_name);

}  // namespace orrery::ingest::xplane
