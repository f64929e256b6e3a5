#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/kernel/data_type.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

struct AtenTensor {
  std::vector<std::int64_t> dims = {};
  std::vector<std::int64_t> strides = {};  // in elements; empty: row major
  std::optional<DataType> type = {};
  bool on_gpu = true;
  bool is_defined = true;  // lists may have undefined tensors
  std::optional<std::int64_t> storage = {};
  std::int64_t offset = 0;       // of the first element in the storage
  double element_bytes = 0;      // also of types that operators do not have; 0: that of `type`
  std::optional<std::int64_t> id = {};
  bool is_sparse = false;  // has no elements of its own, but indices and values

  /// Saturates at 2^50.
  [[nodiscard]] std::int64_t Elements() const;

  /// Of its elements; 0 if neither their type nor their size is known.
  [[nodiscard]] double Bytes() const;

  [[nodiscard]] std::int64_t Stride(std::size_t dim) const;
};

/// An argument of a call. Booleans are the integers 0 and 1.
using AtenValue = std::variant<std::monostate, AtenTensor, std::vector<AtenTensor>, std::int64_t,
                               double, std::vector<std::int64_t>, std::string>;

/// One call of an operator of PyTorch ("aten::addmm"), its inputs in the order of its schema.
/// Outputs are empty if not recorded.
struct AtenCall {
  std::string_view name;
  std::vector<AtenValue> inputs = {};
  std::vector<AtenTensor> outputs = {};
  std::string_view schema = {};  // "aten::t(Tensor(a) self) -> Tensor(a)"; empty if not recorded
  bool has_sparse = false;       // a tensor was replaced by its indices and values
  // Settings of the framework, which calls do not contain; these are its defaults.
  bool products_allow_tf32 = false;
  bool convolutions_allow_tf32 = true;
  [[nodiscard]] const AtenTensor* TensorAt(std::size_t position) const;
  [[nodiscard]] const AtenTensor* TensorAt(std::size_t position, std::size_t num_dims) const;

  /// The tensors of a list, including undefined ones; empty for other arguments.
  [[nodiscard]] std::span<const AtenTensor> TensorsAt(std::size_t position) const;
  [[nodiscard]] std::vector<std::int64_t> IntegersAt(std::size_t position) const;

  [[nodiscard]] std::optional<std::int64_t> IntegerAt(std::size_t position) const;
  [[nodiscard]] std::optional<double> NumberAt(std::size_t position) const;

  [[nodiscard]] bool IsTrueAt(std::size_t position) const;

  [[nodiscard]] std::string_view TextAt(std::size_t position) const;

  /// The first output; nothing if outputs are not recorded.
  [[nodiscard]] const AtenTensor* Output() const;
  [[nodiscard]] std::vector<const AtenTensor*> InputTensors() const;
};

/// The result of translating a call.
enum class AtenMeaning : std::uint8_t {
  kPriced,    // its operators are known
  kMeasured,  // its own kernels have a measured latency and throughput; calls below are their own
  kNoKernel,  // a view, an allocation, host work or communication
  kUnknown,   // has the throughput of operators of its class, and is counted
};

/// The operators of a framework call, including all nested calls: calls nested in an estimated call
/// are not estimated separately. Calls that are not estimated are searched for nested calls.
struct AtenOperators {
  AtenMeaning meaning = AtenMeaning::kNoKernel;
  std::vector<Operator> operators;
  bool only_passes_on = false;  // nested calls, if recorded, are more precise
  std::int64_t launches = 0;    // of its own kernels; 0: as many as when it was measured
};

/// Translates a call by the name of its operator (aten/mapping.h lists the families). Layouts
/// follow from strides; fp32 GEMMs are true fp32 and fp32 convolutions tf32, the framework's
/// defaults, unless the call specifies otherwise. Operators without elements are omitted.
[[nodiscard]] AtenOperators OperatorsOf(const AtenCall& call);

/// Translates a Triton kernel that torch.compile launches (a node whose kernel backend is "triton")
/// by its name and its tensors; `OperatorsOf` does so for names that start with "triton_". A kernel
/// whose tensors are not recorded is unknown.
[[nodiscard]] AtenOperators TritonOperators(const AtenCall& call);

}  // namespace orrery::kernel
