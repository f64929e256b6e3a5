#include "orrery/kernel/aten.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

constexpr std::string_view kLibrary = "aten::";

// Sorted. These read or change only tensor metadata; calls that may copy ("to", "contiguous") call
// another operator that does.
constexpr std::string_view kWithoutKernel[] = {"_has_compatible_shallow_copy_type",
                                               "_nested_tensor_size",
                                               "_reshape_alias",
                                               "_unsafe_view",
                                               "_version",
                                               "alias",
                                               "as_strided",
                                               "chunk",
                                               "contiguous",
                                               "data",
                                               "detach",
                                               "diagonal",
                                               "dropout",
                                               "empty",
                                               "empty_like",
                                               "empty_strided",
                                               "expand",
                                               "expand_as",
                                               "flatten",
                                               "is_floating_point",
                                               "is_nonzero",
                                               "is_pinned",
                                               "is_same_size",
                                               "item",
                                               "lift_fresh",
                                               "movedim",
                                               "narrow",
                                               "new_empty",
                                               "new_empty_strided",
                                               "numel",
                                               "permute",
                                               "pin_memory",
                                               "record_stream",
                                               "requires_grad",
                                               "reshape",
                                               "resize",
                                               "resolve_conj",
                                               "resolve_neg",
                                               "result_type",
                                               "select",
                                               "set",
                                               "set_data",
                                               "size",
                                               "slice",
                                               "split",
                                               "split_with_sizes",
                                               "squeeze",
                                               "stride",
                                               "swapaxes",
                                               "t",
                                               "to",
                                               "transpose",
                                               "type_as",
                                               "unbind",
                                               "unflatten",
                                               "unfold",
                                               "unsafe_split",
                                               "unsqueeze",
                                               "view",
                                               "view_as",
                                               "view_as_complex",
                                               "view_as_real"};
static_assert(std::ranges::is_sorted(kWithoutKernel));

using MappingIndex = std::unordered_map<std::string_view, const Mapping*>;

MappingIndex IndexMappings() {
  MappingIndex index;
  for (const std::span<const Mapping> family :
       {MatrixMappings(), AttentionMappings(), ConvolutionMappings(), RowMappings(),
        LookupMappings(), ElementwiseMappings(), CopyMappings(), ListMappings(),
        PoolingMappings()}) {
    for (const Mapping& mapping : family) {
      ForEachWord(mapping.names, [&](std::string_view name) { index.emplace(name, &mapping); });
    }
  }
  return index;
}

const Mapping* FindMapping(std::string_view name) {
  static const MappingIndex kIndex = IndexMappings();
  const auto found = kIndex.find(PlainName(name));
  return found == kIndex.end() || !name.starts_with(kLibrary) ? nullptr : found->second;
}

bool TouchesGpu(const AtenCall& call) {
  const auto is_on_gpu = [](const AtenTensor* tensor) { return tensor->on_gpu; };
  const auto is_defined_on_gpu = [](const AtenTensor& tensor) {
    return tensor.is_defined && tensor.on_gpu;
  };
  const std::vector<const AtenTensor*> inputs = call.InputTensors();
  return std::ranges::any_of(inputs, is_on_gpu) ||
         std::ranges::any_of(call.outputs, is_defined_on_gpu);
}

// Calls outside of any library that only forward tensors. Their kernels have calls of their own;
// collectives are modelled elsewhere.
constexpr auto kPassAlong = std::to_array<std::string_view>(
    {"PythonDispatchMode", "PythonSubclass", "Redistribute", "RedistributeBackward",
     "_FromTorchTensor", "_FromTorchTensorBackward", "_ToTorchTensor", "_ToTorchTensorBackward",
     "detach", "detach_", "record_param_comms"});
static_assert(std::ranges::is_sorted(kPassAlong));

constexpr auto kPrefixesWithoutKernel = std::to_array<std::string_view>(
    {"c10d::", "_c10d_functional::", "nccl:", "autograd::", "torch::autograd::"});

// "AddBackward0": the framework's own nodes end in a number, user-defined ones do not and may
// launch kernels themselves.
bool IsGeneratedBackward(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  return last != std::string_view::npos && last + 1 < name.size() &&
         name.substr(0, last + 1).ends_with("Backward");
}

bool NeedsNoKernel(std::string_view name) {
  if (name.starts_with(kLibrary)) {
    return std::ranges::binary_search(kWithoutKernel, PlainName(name));
  }
  return std::ranges::binary_search(kPassAlong, name) || IsGeneratedBackward(name) ||
         std::ranges::any_of(kPrefixesWithoutKernel,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool HasElements(const Operator& op) {
  const std::span<const Field> fields = SchemaOf(op.kind()).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].type == FieldType::kSize && op.values()[i] < 1) {
      return false;
    }
  }
  return true;
}

AtenOperators Finish(std::vector<Operator> operators, AtenMeaning meaning) {
  std::erase_if(operators, [](const Operator& op) { return !HasElements(op); });
  return {.meaning = operators.empty() ? AtenMeaning::kNoKernel : meaning,
          .operators = std::move(operators)};
}

}  // namespace

std::string_view PlainName(std::string_view name) {
  if (name.starts_with(kLibrary)) {
    name.remove_prefix(kLibrary.size());
  }
  if (name.ends_with('_')) {
    name.remove_suffix(1);
  }
  return name;
}

AtenOperators OperatorsOf(const AtenCall& call) {
  // Compiler-generated kernels are launched even if their tensors are not recorded.
  const bool is_compiled = call.name.starts_with("triton_");
  if (NeedsNoKernel(call.name) || (!TouchesGpu(call) && !is_compiled)) {
    return {};
  }
  if (const Mapping* mapping = FindMapping(call.name)) {
    if (auto operators = mapping->map(call)) {
      AtenOperators priced = Finish(*std::move(operators), AtenMeaning::kPriced);
      priced.only_passes_on = mapping->only_passes_on;
      return priced;
    }
  }
  auto moved = ElementwiseOperator(call, "other");
  return moved ? Finish(*std::move(moved), AtenMeaning::kUnknown)
               : AtenOperators{.meaning = AtenMeaning::kUnknown, .operators = {}};
}

}  // namespace orrery::kernel
