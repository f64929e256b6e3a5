#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/request.h"
#include "orrery/trace/problems.h"

/// Attributes of nodes that are read and written.
/// Execution traces of Chakra: what ASTRA-sim runs, one file a rank (docs/formats/chakra.md).
namespace orrery::workload {

// Numbers of the schema.

enum class ChakraType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
};

using ChakraValue =
    std::variant<std::int64_t, double, bool, std::string, std::vector<std::int64_t>>;

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name = {};
  ChakraType type = ChakraType::kInvalid;
  std::vector<std::uint64_t> control_inputs = {};
  std::vector<std::uint64_t> data_inputs = {};
  std::int64_t begin_us = 0;
  std::int64_t duration_us = 0;
  std::map<std::string, ChakraValue, std::less<>> attributes = {};

  /// An attribute of one kind; null if it is not there or of another kind.
  template <typename Value>
  [[nodiscard]] const Value* Find(std::string_view attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : std::get_if<Value>(&found->second);
  }

  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view attribute) const {
    const auto* const value = Find<std::int64_t>(attribute);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  bool operator==(const ChakraNode&) const = default;
};

struct ChakraTrace {
  std::string version;
  std::vector<ChakraNode> nodes;
  trace::ProblemLog problems;
};

/// Reads the protobuf form. A cut file gives the nodes before the cut, and a loss.
[[nodiscard]] Result<ChakraTrace> ParseChakra(std::string_view bytes);

/// Reads the form of a JSON object with a list "workload_graph".
[[nodiscard]] Result<ChakraTrace> ParseChakraJson(std::string_view json);

/// Reads a file of either form, packed or not. Errors name it.
[[nodiscard]] Result<ChakraTrace> ReadChakra(const std::string& path);

/// Attributes of nodes.
namespace chakra {

// As ASTRA-sim reads them.
inline constexpr std::string_view kIsCpuOp = "is_cpu_op";
inline constexpr std::string_view kCommType = "comm_type";
inline constexpr std::string_view kCommSize = "comm_size";
inline constexpr std::string_view kCommSource = "comm_src";
inline constexpr std::string_view kCommTarget = "comm_dst";
inline constexpr std::string_view kCommTag = "comm_tag";
inline constexpr std::string_view kGroupName = "pg_name";
inline constexpr std::string_view kThread = "tid";

/// The numbers of "comm_type"; those that are not here have no kind of ours.
inline constexpr std::array<std::pair<std::int64_t, CollectiveKind>, 8> kCollectiveKinds = {
    {{0, CollectiveKind::kAllReduce},
     {1, CollectiveKind::kReduce},
     {2, CollectiveKind::kAllGather},
     {5, CollectiveKind::kBroadcast},
     {6, CollectiveKind::kAllToAll},
     {7, CollectiveKind::kReduceScatter},
     {8, CollectiveKind::kReduceScatter},
     {9, CollectiveKind::kBarrier}}};

}  // namespace chakra

}  // namespace orrery::workload
