#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

namespace orrery::ingest::nvbit_mem_trace {

inline constexpr int kNumLanes = 32;

/// A kernel begins.
struct LaunchLine {
  std::uint64_t context = 0;
  std::string_view name;
  std::int64_t id = 0;
  std::array<std::int64_t, 3> grid = {-1, -1, -1};
  std::array<std::int64_t, 3> block = {-1, -1, -1};
  std::int64_t registers = -1;
  std::int64_t shared_bytes = -1;
  std::int64_t stream = 0;
};

/// A warp accesses memory.
struct AccessLine {
  std::uint64_t context = 0;
  std::int64_t launch = 0;
  std::array<std::int64_t, 3> block = {};
  std::int64_t warp = 0;
  std::string_view opcode;
  std::uint32_t lane_mask = 0;
  std::array<std::uint64_t, kNumLanes> addresses = {};
};

/// The memory access of an opcode.
struct Operation {
  bool is_global = false;  // not shared or local memory
  bool is_read = false;
  bool is_write = false;
  bool is_atomic = false;
  std::int32_t bytes = 4;  // of one lane
};

using Line = std::variant<std::monostate, LaunchLine, AccessLine>;

/// Reads a line by its labels, since forks of the tool change the rest; monostate for lines of
/// others and for those that cannot be understood. A lane with address 0 is not active.
[[nodiscard]] Line ReadLine(std::string_view line);

/// Returns whether a line was printed by the tool.
[[nodiscard]] bool IsToolLine(std::string_view line);

/// Reads an opcode such as "LDG.E.64.SYS": sizes of 8, 16, 64 and 128 bits are in its name, others
/// are 32.
[[nodiscard]] Operation OperationOf(std::string_view opcode);

}  // namespace orrery::ingest::nvbit_mem_trace
