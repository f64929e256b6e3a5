#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

using Rows = Result<std::vector<LayoutRow>>;

tl::unexpected<Error> BadCell(std::string_view column, std::string_view expected) {
  return Invalid("{} is not {}", column, expected);
}

bool HasCell(const Table& table, std::size_t row, std::string_view column) {
  const std::optional<std::size_t> index = table.FindColumn(column);
  return index && !std::holds_alternative<std::monostate>(table.At(row, *index));
}

Result<std::int64_t> SizeIn(const Table& table, std::size_t row, std::string_view column) {
  const std::optional<double> value = table.NumberInText(row, column);
  if (!value || !(*value >= 1) || *value > 1e15) {
    return BadCell(column, "a size of at least 1");
  }
  return static_cast<std::int64_t>(*value);
}

Result<DataType> TypeIn(const Table& table, std::size_t row, std::string_view column) {
  const std::string_view text = table.Text(row, column).value_or("");
  const std::optional<DataType> type = FindDataType(text);
  if (!type) {
    return Invalid("'{}' is not a known data type", text);
  }
  return *type;
}

Result<double> SecondsIn(const Table& table, std::size_t row, std::string_view column,
                         double unit) {
  const std::optional<double> value = table.NumberInText(row, column);
  if (!value || !std::isfinite(*value) || *value <= 0) {
    return BadCell(column, "a time above zero");
  }
  return *value * unit;
}

// --- orrery measure kernels ------------------------------------------------------------------

/// The framework chose a backend; the name of its kernel identifies it.
void ResolveBackend(Operator& op, std::string_view main_kernel) {
  if (op.kind() != OperatorKind::kAttention || op.Word(kBackend) != "auto") {
    return;
  }
  const auto names = [&](std::string_view part) {
    return main_kernel.find(part) != std::string_view::npos;
  };
  if (names("cudnn")) {
    op.Set(kBackend, "cudnn");
  } else if (names("flash")) {
    op.Set(kBackend, "flash");
  } else if (names("fmha")) {
    op.Set(kBackend, "efficient");
  }
}

Rows ReadOurs(const Table& table, std::size_t row) {
  ORRERY_TRY(Operator op, ParseOperator(table.Text(row, "operator").value_or("")));
  ResolveBackend(op, table.Text(row, "main_kernel").value_or(""));
  const std::string_view gpu = table.Text(row, "gpu").value_or("");
  const double spread = table.NumberInText(row, "spread_pct").value_or(0) / 100;
  ORRERY_TRY(const double cold, SecondsIn(table, row, "kernel_us", kMicro));
  std::vector<LayoutRow> rows = {{op, gpu, cold, spread}};
  if (HasCell(table, row, "warm_us")) {
    ORRERY_TRY(const double warm, SecondsIn(table, row, "warm_us", kMicro));
    Operator warmed = op;
    warmed.set_warm(true);
    rows.push_back({warmed, gpu, warm, spread});
  }
  return rows;
}

/// `orrery measure power`: the sustained time. Its bursts are those of `measure kernels`.
Rows ReadOurPower(const Table& table, std::size_t row) {
  ORRERY_TRY(Operator op, ParseOperator(table.Text(row, "operator").value_or("")));
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "sustained_us", kMicro));
  return std::vector<LayoutRow>{
      {op, table.Text(row, "gpu").value_or(""), seconds, 0, /*is_sustained=*/true}};
}

// --- NeuSight --------------------------------------------------------------------------------

Result<Operator> SetSizes(Operator op, const Table& table, std::size_t row,
                          std::span<const std::pair<Key, std::string_view>> columns) {
  for (const auto& [key, column] : columns) {
    ORRERY_TRY(const std::int64_t size, SizeIn(table, row, column));
    op.Set(key, size);
  }
  return op;
}

/// Their N is the length of the reduction.
constexpr auto kGemmColumns =
    std::to_array<std::pair<Key, std::string_view>>({{kB, "B"}, {kM, "M"}, {kK, "N"}, {kN, "K"}});

Result<Operator> NeuSightConv(const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kB, "B"},
                                                       {kC, "Input_Channel"},
                                                       {kOutChannels, "Output_Channel"},
                                                       {kHeight, "Input_Size"},
                                                       {kWidth, "Input_Size"},
                                                       {kKernelHeight, "Kernel_Szie"},
                                                       {kKernelWidth, "Kernel_Szie"},
                                                       {kStride, "Stride"}});
  ORRERY_TRY(Operator op, SetSizes({OperatorKind::kConv, DataType::kFp32}, table, row, kColumns));
  const std::optional<double> padding = table.NumberInText(row, "Padding");
  if (!padding || !(*padding >= 0) || *padding > 1e6) {
    return BadCell("Padding", "a number of pixels");
  }
  return op.Set(kPad, static_cast<std::int64_t>(*padding));
}

struct NeuSightFunction {
  std::string_view name;
  std::string_view function;
  int read_bytes;
};

constexpr auto kNeuSightFunctions = std::to_array<NeuSightFunction>({
    {"add", "add", 8},
    {"addu", "add", 4},
    {"mul", "mul", 8},
    {"mulu", "mul", 4},
    {"div", "div", 8},
    {"divu", "div", 4},
    {"pow", "pow", 8},
    {"powu", "pow", 4},
    {"gelu", "gelu", 4},
    {"relu", "relu", 4},
    {"tanh", "tanh", 4},
});

Result<Operator> NeuSightRows(std::string_view name, const Table& table, std::size_t row) {
  ORRERY_TRY(const std::int64_t rows, SizeIn(table, row, "B"));
  ORRERY_TRY(const std::int64_t cols, SizeIn(table, row, "H"));
  if (name == "softmax" || name == "ln") {
    const OperatorKind kind = name == "ln" ? OperatorKind::kLayerNorm : OperatorKind::kSoftmax;
    return Operator(kind, DataType::kFp32).Set(kRows, rows).Set(kCols, cols);
  }
  for (const NeuSightFunction& function : kNeuSightFunctions) {
    if (function.name == name) {
      return Operator(OperatorKind::kElementwise, DataType::kFp32)
          .Set(kFunction, function.function)
          .Set(kN, rows * cols)
          .Set(kReadBytes, function.read_bytes)
          .Set(kWriteBytes, 4);
    }
  }
  return Invalid("'{}' is not a known OPName", name);
}

Result<Operator> NeuSightOperator(const Table& table, std::size_t row) {
  const std::string_view name = table.Text(row, "OPName").value_or("");
  if (name == "bmm") {
    return SetSizes({OperatorKind::kBatchedGemm, DataType::kFp32}, table, row, kGemmColumns);
  }
  if (name == "linear") {
    Operator linear(OperatorKind::kGemm, DataType::kFp32);
    linear.Set(kLayout, "nt").Set(kBias, 1);
    return SetSizes(linear, table, row, std::span(kGemmColumns).subspan(1));
  }
  return name == "conv" ? NeuSightConv(table, row) : NeuSightRows(name, table, row);
}

Rows ReadNeuSight(const Table& table, std::size_t row) {
  ORRERY_TRY(const Operator op, NeuSightOperator(table, row));
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "Latency", kMilli));
  return std::vector<LayoutRow>{{op, table.Text(row, "Device").value_or(""), seconds, 0}};
}

// --- aiconfigurator --------------------------------------------------------------------------

// Tables with watts are of work that was repeated until they had settled.
std::vector<LayoutRow> OneRow(const Operator& op, const Table& table, std::size_t row,
                              double seconds) {
  const std::string_view gpu = table.Text(row, "device").value_or("");
  return {{op, gpu.empty() ? table.Text(row, "sys").value_or("") : gpu, seconds, 0,
           HasCell(table, row, "power_w")}};
}

Rows ReadServedGemm(const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kM, "m"}, {kN, "n"}, {kK, "k"}});
  ORRERY_TRY(const DataType type, TypeIn(table, row, "gemm_dtype"));
  Operator gemm(OperatorKind::kGemm, type);
  gemm.Set(kLayout, "nt");
  ORRERY_TRY(const Operator op, SetSizes(gemm, table, row, kColumns));
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "latency_ms", kMilli));
  return OneRow(op, table, row, seconds);
}

Rows ReadServedAttention(const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kB, "batch_size"},
                                                       {kHeads, "num_heads"},
                                                       {kQueryLength, "isl"},
                                                       {kKeyLength, "isl"},
                                                       {kHeadSize, "head_dim"}});
  // Attention of encoders looks in both directions and shares no keys.
  const bool is_decoder = table.FindColumn("num_key_value_heads").has_value();
  ORRERY_TRY(const DataType type, table.FindColumn("attn_dtype")
                                      ? TypeIn(table, row, "attn_dtype")
                                      : Result<DataType>(DataType::kBf16));
  Operator attention(OperatorKind::kAttention, type);
  attention.Set(kCausal, is_decoder ? 1 : 0);
  if (table.NumberInText(row, "window_size").value_or(0) != 0) {
    ORRERY_TRY(const std::int64_t window, SizeIn(table, row, "window_size"));
    attention.Set(kWindow, window);
  }
  attention.Set(kKvFp8, table.Text(row, "kv_cache_dtype").value_or("") == "fp8" ? 1 : 0);
  ORRERY_TRY(Operator op, SetSizes(attention, table, row, kColumns));
  ORRERY_TRY(const std::int64_t kv_heads,
             SizeIn(table, row, is_decoder ? "num_key_value_heads" : "num_heads"));
  op.Set(kKvHeads, kv_heads);
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "latency_ms", kMilli));
  return OneRow(op, table, row, seconds);
}

/// "power_law_1.2" is 120, "balanced" 0.
Result<std::int64_t> SkewOf(std::string_view distribution) {
  constexpr std::string_view kPowerLaw = "power_law_";
  if (distribution == "balanced" || distribution == "uniform") {
    return 0;
  }
  if (distribution.starts_with(kPowerLaw)) {
    const std::string_view digits = distribution.substr(kPowerLaw.size());
    double exponent = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error == std::errc() && exponent >= 0 && exponent < 100) {
      return std::llround(exponent * 100);
    }
  }
  return Invalid("'{}' is not a known distribution", distribution);
}

Rows ReadServedExperts(const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kTokens, "num_tokens"},
                                                       {kHidden, "hidden_size"},
                                                       {kIntermediate, "inter_size"},
                                                       {kK, "topk"},
                                                       {kExperts, "num_experts"},
                                                       {kGroups, "moe_ep_size"}});
  ORRERY_TRY(const DataType type, TypeIn(table, row, "moe_dtype"));
  ORRERY_TRY(Operator op, SetSizes({OperatorKind::kMoe, type}, table, row, kColumns));
  ORRERY_TRY(const std::int64_t shards, SizeIn(table, row, "moe_tp_size"));
  op.Set(kIntermediate, std::max<std::int64_t>(op.Get(kIntermediate) / shards, 1));
  ORRERY_TRY(const std::int64_t skew, SkewOf(table.Text(row, "distribution").value_or("")));
  op.Set(kSkew, skew);
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "latency_ms", kMilli));
  return OneRow(op, table, row, seconds);
}

// --- searches for the fastest kernel ---------------------------------------------------------

/// Operands of four bits have a scale for each block, whatever its length.
Result<DataType> TunedTypeIn(const Table& table, std::size_t row) {
  return table.Text(row, "dtype").value_or("") == "fp4_block" ? DataType::kNvfp4
                                                              : TypeIn(table, row, "dtype");
}

Rows ReadTunedGemm(const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kM, "m"}, {kN, "n"}, {kK, "k"}});
  ORRERY_TRY(const DataType type, TunedTypeIn(table, row));
  Operator gemm(OperatorKind::kGemm, type);
  gemm.Set(kLayout, "nt");
  ORRERY_TRY(const Operator op, SetSizes(gemm, table, row, kColumns));
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "latency_us", kMicro));
  return std::vector<LayoutRow>{{op, table.Text(row, "device").value_or(""), seconds, 0}};
}

/// Weights of four bits are one type with 16-bit tokens, another with 8-bit, a third with 4-bit.
Result<DataType> TunedExpertsTypeIn(const Table& table, std::size_t row) {
  const std::string_view tokens = table.Text(row, "act_dtype").value_or("");
  if (table.Text(row, "dtype").value_or("") == "fp4") {
    return tokens.starts_with("float8")     ? DataType::kMxfp4Fp8
           : tokens.starts_with("bfloat16") ? DataType::kMxfp4
                                            : DataType::kNvfp4;
  }
  if (table.Text(row, "dtype").value_or("") != "fp8") {
    return TypeIn(table, row, "dtype");
  }
  const std::string_view scales = table.Text(row, "quant").value_or("");
  if (scales == "per_1x32") {
    return Invalid("fp8 with a scale for each 32 elements is not a known data type of experts");
  }
  return scales.starts_with("per_1x") ? DataType::kFp8Block : DataType::kFp8;
}

/// Both stages of fused experts of which each takes as many tokens as another. Without a gate they
/// are another operator: no row.
Rows ReadTunedExperts(const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kTokens, "tokens"},
                                                       {kHidden, "hidden"},
                                                       {kIntermediate, "inter"},
                                                       {kK, "topk"},
                                                       {kExperts, "experts"}});
  if (table.NumberInText(row, "gated").value_or(0) != 1) {
    return std::vector<LayoutRow>{};
  }
  ORRERY_TRY(const DataType type, TunedExpertsTypeIn(table, row));
  ORRERY_TRY(const Operator op, SetSizes({OperatorKind::kMoe, type}, table, row, kColumns));
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "latency_us", kMicro));
  return std::vector<LayoutRow>{{op, table.Text(row, "device").value_or(""), seconds, 0}};
}

// --- training operators, forward and backward ------------------------------------------------

/// Operand layouts of the GEMMs of a linear layer.
std::string_view LayoutOfPhase(std::string_view phase) {
  return phase == "fwd" ? "nt" : phase == "dgrad" ? "nn" : "tn";
}

Result<Operator> TrainingGemm(DataType type, const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kM, "m"}, {kN, "n"}, {kK, "k"}});
  Operator gemm(OperatorKind::kGemm, type);
  gemm.Set(kLayout, LayoutOfPhase(table.Text(row, "phase").value_or("")));
  return SetSizes(gemm, table, row, kColumns);
}

/// Its m counts the rows of one group.
Result<Operator> TrainingGroupedGemm(DataType type, const Table& table, std::size_t row) {
  constexpr auto kColumns = std::to_array<std::pair<Key, std::string_view>>(
      {{kG, "batch"}, {kM, "m"}, {kN, "n"}, {kK, "k"}});
  ORRERY_TRY(Operator gemm,
             SetSizes(Operator(OperatorKind::kGroupedGemm, type), table, row, kColumns));
  return gemm.Set(kM, gemm.Get(kM) * gemm.Get(kG));
}

Result<Operator> TrainingBatchedGemm(DataType type, const Table& table, std::size_t row) {
  constexpr auto kColumns = std::to_array<std::pair<Key, std::string_view>>(
      {{kB, "batch"}, {kM, "m"}, {kN, "n"}, {kK, "k"}});
  return SetSizes(Operator(OperatorKind::kBatchedGemm, type), table, row, kColumns);
}

Result<Operator> TrainingAttention(DataType type, const Table& table, std::size_t row) {
  constexpr auto kColumns =
      std::to_array<std::pair<Key, std::string_view>>({{kB, "batch"},
                                                       {kHeads, "heads"},
                                                       {kKvHeads, "kv_heads"},
                                                       {kQueryLength, "seq"},
                                                       {kKeyLength, "seq"},
                                                       {kHeadSize, "head_dim"}});
  Operator attention(OperatorKind::kAttention, type);
  attention.Set(kCausal, table.NumberInText(row, "causal").value_or(0) != 0 ? 1 : 0);
  attention.Set(kPass, table.Text(row, "phase").value_or(""));
  return SetSizes(attention, table, row, kColumns);
}

/// Training operators of several projects, in loops of their own. Both gradients of a linear layer
/// together, and operators without an entry here, are no rows.
Rows ReadTrainingOperator(const Table& table, std::size_t row) {
  struct Reader {
    std::string_view op;
    bool has_backward;
    Result<Operator> (*read)(DataType, const Table&, std::size_t);
  };

  static constexpr auto kReaders =
      std::to_array<Reader>({{"gemm", true, TrainingGemm},
                             {"grouped_gemm", true, TrainingGroupedGemm},
                             {"linear", false, TrainingGemm},
                             {"bmm", false, TrainingBatchedGemm},
                             {"attention", true, TrainingAttention}});
  const auto reader = std::ranges::find(kReaders, table.Text(row, "op").value_or(""), &Reader::op);
  const bool is_forward = table.Text(row, "phase").value_or("") == "fwd";
  if (reader == kReaders.end() || !(is_forward || reader->has_backward)) {
    return std::vector<LayoutRow>{};
  }
  ORRERY_TRY(const DataType type, TypeIn(table, row, "dtype"));
  ORRERY_TRY(const Operator op, reader->read(type, table, row));
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "time_us", kMicro));
  // Called in a loop until a host's clock tells the time.
  const bool is_sustained =
      table.Text(row, "how").value_or("").find("host clock") != std::string_view::npos;
  return std::vector<LayoutRow>{
      {op, table.Text(row, "gpu").value_or(""), seconds, 0, is_sustained}};
}

const std::vector<Layout>& Layouts() {
  static const std::vector<Layout> layouts = {
      {"orrery measure kernels", Timing::kKernels, {"operator", "kernel_us", "gpu"}, ReadOurs},
      {"orrery measure power",
       Timing::kKernels,
       {"operator", "burst_us", "sustained_us", "gpu"},
       ReadOurPower},
      {"training operators",
       Timing::kKernels,
       {"op", "phase", "dtype", "time_us", "gpu", "how"},
       ReadTrainingOperator},
      {"NeuSight", Timing::kEager, {"OPName", "Latency", "Device"}, ReadNeuSight},
      {"NeuSight nodes",
       Timing::kEager,
       {"id", "op", "target", "input_shapes", "output_shape", "fw_latency"},
       ReadNeuSightNode},
      {"aiconfigurator gemm",
       Timing::kReplay,
       {"gemm_dtype", "m", "n", "k", "latency_ms", "device"},
       ReadServedGemm},
      {"aiconfigurator attention",
       Timing::kReplay,
       {"isl", "batch_size", "num_heads", "num_key_value_heads", "head_dim", "latency_ms",
        "device"},
       ReadServedAttention},
      {"aiconfigurator encoder attention",
       Timing::kReplay,
       {"isl", "batch_size", "num_heads", "head_dim", "attn_dtype", "latency_ms", "sys"},
       ReadServedAttention},
      {"aiconfigurator moe",
       Timing::kReplay,
       {"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts",
        "moe_tp_size", "moe_ep_size", "distribution", "latency_ms", "device"},
       ReadServedExperts},
      {"tuned GEMMs",
       Timing::kTuned,
       {"library", "dtype", "m", "n", "k", "split_k", "latency_us", "device"},
       ReadTunedGemm},
      {"tuned experts",
       Timing::kTuned,
       {"tokens", "hidden", "inter", "experts", "topk", "gated", "act_dtype", "dtype", "quant",
        "latency_us", "device"},
       ReadTunedExperts},
  };
  return layouts;
}

std::vector<std::string_view> MissingColumns(const Layout& layout, const Table& table) {
  std::vector<std::string_view> missing;
  std::ranges::copy_if(layout.needs, std::back_inserter(missing),
                       [&](std::string_view name) { return !table.FindColumn(name); });
  return missing;
}

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

bool Calls(const Node& node, std::string_view function) {
  return node.call == "call_function" &&
         node.target == fmt::format("<built-in method {} of type object>", function);
}

Operator Gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  return Operator(OperatorKind::kGemm, DataType::kFp32).Set(kM, m).Set(kN, n).Set(kK, k);
}

std::optional<Operator> LinearOf(const Node& node) {
  const std::string_view layer = node.target.substr(node.target.rfind('.') + 1);
  const bool has_bias = IsAmong(kLayersWithBias, layer);
  if (node.call != "call_module" || !(has_bias || IsAmong(kLayersWithoutBias, layer)) ||
      node.inputs.size() != 1 || node.output.empty()) {
    return std::nullopt;
  }
  const std::span<const std::int64_t> input = node.inputs.front();
  return Gemm(CountOf(input.first(input.size() - 1)), node.output.back(), input.back())
      .Set(kLayout, "nt")
      .Set(kBias, has_bias ? 1 : 0);
}

/// A bias, rows and weights as they lie in memory.
std::optional<Operator> AddedGemmOf(const Node& node) {
  if (!Calls(node, "addmm") || node.inputs.size() != 3 || node.inputs[1].size() != 2 ||
      node.inputs[2].size() != 2) {
    return std::nullopt;
  }
  return Gemm(node.inputs[1][0], node.inputs[2][1], node.inputs[1][1]).Set(kBias, 1);
}

std::optional<Operator> BatchedGemmOf(const Node& node) {
  if ((!Calls(node, "bmm") && !Calls(node, "matmul")) || node.inputs.size() != 2 ||
      node.inputs[0].size() < 3 || node.inputs[0].size() != node.inputs[1].size()) {
    return std::nullopt;
  }
  const std::span<const std::int64_t> left = node.inputs[0];
  return Operator(OperatorKind::kBatchedGemm, DataType::kFp32)
      .Set(kB, CountOf(left.first(left.size() - 2)))
      .Set(kM, left[left.size() - 2])
      .Set(kN, node.inputs[1].back())
      .Set(kK, left.back());
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

Result<const Layout*> FindLayout(const Table& table) {
  const Layout* nearest = nullptr;
  double most = 0;
  for (const Layout& layout : Layouts()) {
    const std::size_t missing = MissingColumns(layout, table).size();
    if (missing == 0) {
      return &layout;
    }
    const double share =
        1 - static_cast<double>(missing) / static_cast<double>(layout.needs.size());
    if (share > most) {
      most = share;
      nearest = &layout;
    }
  }
  if (nearest == nullptr) {
    return Fail(Error::Kind::kUnsupported,
                "unknown table of measured kernels; the layouts are in "
                "docs/formats/measured-kernels.md");
  }
  return Invalid("looks like a table of {}, but the column{} {} {} missing", nearest->name,
                 MissingColumns(*nearest, table).size() > 1 ? "s" : "",
                 fmt::join(MissingColumns(*nearest, table), ", "),
                 MissingColumns(*nearest, table).size() > 1 ? "are" : "is");
}

Result<std::vector<LayoutRow>> ReadNeuSightNode(const Table& table, std::size_t row) {
  const std::string_view run = table.Text(row, "id").value_or("");
  const std::optional<Operator> op =
      run.find("-inf-") == std::string_view::npos ? std::nullopt : GemmOf(NodeIn(table, row));
  if (!op) {
    return std::vector<LayoutRow>{};
  }
  ORRERY_TRY(const double seconds, SecondsIn(table, row, "fw_latency", kMilli));
  return std::vector<LayoutRow>{{*op, GpuOf(run), seconds, 0}};
}

}  // namespace orrery::kernel
