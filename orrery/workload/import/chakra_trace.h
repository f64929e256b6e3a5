#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"

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

  /// Return an attribute: nothing if it is not there or of another kind.
  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view attribute) const;
  [[nodiscard]] std::optional<std::string_view> Text(std::string_view attribute) const;
  [[nodiscard]] bool IsTrue(std::string_view attribute) const;

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

/// Returns the bytes of the protobuf form.
[[nodiscard]] std::string ChakraBytes(const ChakraTrace& trace);

}  // namespace orrery::workload
