#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::ingest::torch_snapshot {

// Pieces of pickles of protocol 2, as TorchScript's pickler writes them.

inline std::string Number(std::int64_t value) {
  std::string bytes = "\x8a\x08";
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
  }
  return bytes;
}

inline std::string Text(std::string_view text) {
  return std::string("U") + static_cast<char>(text.size()) + std::string(text);
}

inline std::string List(const std::vector<std::string>& items) {
  std::string bytes = "](";
  for (const std::string& item : items) {
    bytes += item;
  }
  return bytes + "e";
}

inline std::string Dictionary(
    std::initializer_list<std::pair<std::string_view, std::string>> pairs) {
  std::string bytes = "}(";
  for (const auto& [key, value] : pairs) {
    bytes += Text(key) + value;
  }
  return bytes + "u";
}

inline std::string PickleOf(const std::string& value) {
  return "\x80\x02" + value + ".";
}

inline std::string EntryOf(std::string_view action, std::int64_t address, std::int64_t bytes,
                           std::int64_t time_us) {
  return Dictionary({{"action", Text(action)},
                     {"addr", Number(address)},
                     {"size", Number(bytes)},
                     {"stream", Number(0)},
                     {"time_us", Number(time_us)}});
}

inline std::string BlockOf(std::int64_t address, std::int64_t bytes, std::int64_t requested,
                           std::string_view state = "active_allocated") {
  return Dictionary({{"address", Number(address)},
                     {"size", Number(bytes)},
                     {"requested_size", Number(requested)},
                     {"state", Text(state)}});
}

inline std::string SegmentOf(std::int64_t address, std::int64_t bytes,
                             const std::vector<std::string>& blocks) {
  return Dictionary({{"device", Number(0)},
                     {"address", Number(address)},
                     {"total_size", Number(bytes)},
                     {"stream", Number(0)},
                     {"blocks", List(blocks)}});
}

/// A snapshot of one device.
inline std::string SnapshotOf(const std::vector<std::string>& segments,
                              const std::vector<std::string>& entries) {
  return PickleOf(
      Dictionary({{"segments", List(segments)}, {"device_traces", List({List(entries)})}}));
}

}  // namespace orrery::ingest::torch_snapshot
