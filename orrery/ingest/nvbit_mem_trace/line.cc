#include "orrery/ingest/nvbit_mem_trace/line.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "orrery/base/text/text.h"

namespace orrery::ingest::nvbit_mem_trace {
namespace {

constexpr std::string_view kTool = "MEMTRACE:";
constexpr std::string_view kBetween = " - ";

// The number that `text` begins with, and removes it.
std::optional<std::uint64_t> TakeNumber(std::string_view& text) {
  const bool is_hex = text.starts_with("0x");
  const std::string_view digits = text.substr(is_hex ? 2 : 0);
  std::uint64_t value = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return value;
}

std::optional<std::int64_t> NumberAfter(std::string_view line, std::string_view label) {
  std::string_view text = TextAfter(line, label);
  const auto number = TakeNumber(text);
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;
  return number && *number < kLargest ? std::optional(static_cast<std::int64_t>(*number))
                                      : std::nullopt;
}

// "x,y,z".
std::optional<std::array<std::int64_t, 3>> TripleAfter(std::string_view line,
                                                       std::string_view label) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 31;
  std::string_view text = TextAfter(line, label);
  std::array<std::int64_t, 3> triple{};
  for (std::int64_t& value : triple) {
    const auto number = TakeNumber(text);
    if (!number || *number > kLargest) {
      return std::nullopt;
    }
    value = static_cast<std::int64_t>(*number);
    text.remove_prefix(text.starts_with(',') ? 1 : 0);
  }
  return triple;
}

std::uint64_t ContextOf(std::string_view line) {
  std::string_view text = TextAfter(line, "CTX");
  return TakeNumber(text).value_or(0);
}

std::optional<LaunchLine> ReadLaunch(std::string_view line) {
  const auto id = NumberAfter(line, "launch id");
  const std::string_view name = TextAfter(line, "Kernel name");
  if (!id || name.empty()) {
    return std::nullopt;
  }
  constexpr std::array<std::int64_t, 3> kUnknown{-1, -1, -1};
  return LaunchLine{.context = ContextOf(line),
                    .name = name.substr(0, name.find(kBetween)),
                    .id = *id,
                    .grid = TripleAfter(line, "grid size").value_or(kUnknown),
                    .block = TripleAfter(line, "block size").value_or(kUnknown),
                    .registers = NumberAfter(line, "nregs").value_or(-1),
                    .shared_bytes = NumberAfter(line, "shmem").value_or(-1),
                    .stream = NumberAfter(line, "stream id").value_or(0)};
}

// Addresses are the words that begin with 0x.
std::optional<int> ReadAddresses(std::string_view text, AccessLine& access) {
  int lane = 0;
  while (true) {
    const std::size_t begin = text.find("0x");
    if (begin == std::string_view::npos) {
      return lane;
    }
    text.remove_prefix(begin);
    const auto address = TakeNumber(text);
    if (!address || lane == kNumLanes) {
      return std::nullopt;
    }
    access.addresses[static_cast<std::size_t>(lane)] = *address;
    access.lane_mask |= *address != 0 ? std::uint32_t{1} << lane : 0;
    ++lane;
  }
}

std::optional<AccessLine> ReadAccess(std::string_view line) {
  const auto launch = NumberAfter(line, "launch_id");
  const auto block = TripleAfter(line, "CTA");
  const auto warp = NumberAfter(line, "warp");
  const std::size_t after_warp = line.find(kBetween, line.find("warp"));
  if (!launch || !block || !warp || after_warp == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = line.substr(after_warp + kBetween.size());
  AccessLine access{.context = ContextOf(line),
                    .launch = *launch,
                    .block = *block,
                    .warp = *warp,
                    .opcode = rest.substr(0, rest.find_first_of(" \t"))};
  const auto num_lanes = ReadAddresses(rest.substr(access.opcode.size()), access);
  return num_lanes && *num_lanes > 0 ? std::optional(access) : std::nullopt;
}

}  // namespace

bool IsToolLine(std::string_view line) {
  return line.find(kTool) != std::string_view::npos;
}

Line ReadLine(std::string_view line) {
  if (!IsToolLine(line)) {
    return {};
  }
  if (line.find("LAUNCH") != std::string_view::npos) {
    const auto launch = ReadLaunch(line);
    return launch ? Line(*launch) : Line();
  }
  const auto access = ReadAccess(line);
  return access ? Line(*access) : Line();
}

Operation OperationOf(std::string_view opcode) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  Operation operation;
  operation.is_atomic = base.starts_with("ATOM") || base.starts_with("RED");
  operation.is_read = base.starts_with("LD") || operation.is_atomic;
  operation.is_write = base.starts_with("ST") || operation.is_atomic;
  const bool is_shared = base == "LDS" || base == "STS" || base == "ATOMS" || base == "LDSM";
  const bool is_local = base == "LDL" || base == "STL";
  operation.is_global = (operation.is_read || operation.is_write) && !is_shared && !is_local;
  std::string_view rest = opcode.substr(base.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('.'));
    rest.remove_prefix(word.size());
    const bool is_signed = word.starts_with('U') || word.starts_with('S');
    const std::string_view bits = word.substr(is_signed ? 1 : 0);
    operation.bytes = bits == "8"     ? 1
                      : bits == "16"  ? 2
                      : bits == "64"  ? 8
                      : bits == "128" ? 16
                                      : operation.bytes;
  }
  return operation;
}

}  // namespace orrery::ingest::nvbit_mem_trace
