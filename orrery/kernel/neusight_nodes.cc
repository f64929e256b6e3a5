#include "orrery/kernel/neusight_nodes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace orrery::kernel {

namespace {

constexpr double kMilli = 1e-3;

using Shape = std::vector<std::int64_t>;

/// Names of the linear layers in the timed models; a node does not contain its module's type.
constexpr auto kLayersWithBias = std::to_array<std::string_view>(
    {"query", "key", "value", "dense", "decoder", "seq_relationship", "classifier", "q_proj",
     "k_proj", "v_proj", "out_proj", "fc1", "fc2"});
constexpr auto kLayersWithoutBias =
    std::to_array<std::string_view>({"lm_head", "q", "k", "v", "o", "wi", "wo"});

bool IsAmong(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// Reads "[[8, 512], [1024]]" or "(8, 512)": the innermost lists of numbers.
std::vector<Shape> ShapesIn(std::string_view text) {
  std::vector<Shape> shapes;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at == '[' || *at == '(') {
      shapes.emplace_back();
    }
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error == std::errc() && !shapes.empty()) {
      shapes.back().push_back(size);
    }
    at = error == std::errc() ? next : at + 1;
  }
  std::erase_if(shapes, [](const Shape& shape) { return shape.empty(); });
  return shapes;
}

std::int64_t CountOf(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    count *= size;
  }
  return count;
}

/// The operands of a matrix multiplication.
struct Node {
  std::string_view call;    // "call_module", "call_function"
  std::string_view target;  // of a module its path, of a function its description
  std::vector<Shape> inputs;
  Shape output;
};

std::string_view LastPart(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

bool Calls(const Node& node, std::string_view function) {
  return node.call == "call_function" &&
         node.target == fmt::format("<built-in method {} of type object>", function);
}

Operator Gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Operator(OperatorKind::kGemm, DataType::kFp32)
      .Set(Key::kM, m)
      .Set(Key::kN, n)
      .Set(Key::kK, k);
}

std::optional<Operator> LinearOf(const Node& node) {
  const std::string_view layer = LastPart(node.target);
  const bool has_bias = IsAmong(kLayersWithBias, layer);
  if (node.call != "call_module" || !(has_bias || IsAmong(kLayersWithoutBias, layer)) ||
      node.inputs.size() != 1 || node.output.empty()) {
    return std::nullopt;
  }
  const std::span<const std::int64_t> input = node.inputs.front();
  return Gemm(CountOf(input.first(input.size() - 1)), node.output.back(), input.back())
      .Set(Key::kLayout, "nt")
      .Set(Key::kBias, has_bias ? 1 : 0);
}

/// A bias, rows and weights as they lie in memory.
std::optional<Operator> AddedGemmOf(const Node& node) {
  if (!Calls(node, "addmm") || node.inputs.size() != 3 || node.inputs[1].size() != 2 ||
      node.inputs[2].size() != 2) {
    return std::nullopt;
  }
  return Gemm(node.inputs[1][0], node.inputs[2][1], node.inputs[1][1]).Set(Key::kBias, 1);
}

std::optional<Operator> BatchedGemmOf(const Node& node) {
  if ((!Calls(node, "bmm") && !Calls(node, "matmul")) || node.inputs.size() != 2 ||
      node.inputs[0].size() < 3 || node.inputs[0].size() != node.inputs[1].size()) {
    return std::nullopt;
  }
  const std::span<const std::int64_t> left = node.inputs[0];
  return Operator(OperatorKind::kBatchedGemm, DataType::kFp32)
      .Set(Key::kB, CountOf(left.first(left.size() - 2)))
      .Set(Key::kM, left[left.size() - 2])
      .Set(Key::kN, node.inputs[1].back())
      .Set(Key::kK, left.back());
}

std::optional<Operator> GemmOf(const Node& node) {
  if (std::optional<Operator> linear = LinearOf(node)) {
    return linear;
  }
  if (std::optional<Operator> added = AddedGemmOf(node)) {
    return added;
  }
  return BatchedGemmOf(node);
}

Node NodeIn(const Table& table, std::size_t row) {
  Node node;
  node.call = table.Text(row, "op").value_or("");
  node.target = table.Text(row, "target").value_or("");
  node.inputs = ShapesIn(table.Text(row, "input_shapes").value_or(""));
  const std::vector<Shape> outputs = ShapesIn(table.Text(row, "output_shape").value_or(""));
  if (!outputs.empty()) {
    node.output = outputs.front();
  }
  return node;
}

/// A device of an MI250 is one of its two dies, which is an MI210.
std::string_view GpuOf(std::string_view run) {
  const std::string_view device = run.substr(0, run.find('/'));
  return device.ends_with("MI250") ? "MI210" : device;
}

}  // namespace

Result<std::vector<LayoutRow>> ReadNeuSightNode(const Table& table, std::size_t row) {
  const std::string_view run = table.Text(row, "id").value_or("");
  const std::optional<Operator> op =
      run.find("-inf-") == std::string_view::npos ? std::nullopt : GemmOf(NodeIn(table, row));
  if (!op) {
    return std::vector<LayoutRow>{};
  }
  const std::optional<double> milliseconds = table.NumberInText(row, "fw_latency");
  if (!milliseconds || !std::isfinite(*milliseconds) || *milliseconds <= 0) {
    return Fail(Error::Kind::kInvalidInput, "fw_latency is not a time above zero");
  }
  return std::vector<LayoutRow>{{*op, GpuOf(run), *milliseconds * kMilli, 0}};
}

}  // namespace orrery::kernel
