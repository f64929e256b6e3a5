#include "orrery/kernel/aten/aten.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

constexpr std::string_view kLibrary = "aten::";

// These read or change only tensor metadata; calls that may copy ("to", "contiguous") call another
// operator that does.
constexpr std::string_view kWithoutKernel =
    "_assert_scalar _assert_tensor_metadata _coalesced _conj _debug_has_internal_overlap _fw_primal "
    "_has_compatible_shallow_copy_type _has_same_storage_numel _is_zerotensor _make_dual "
    "_neg_view _nested_tensor_size _nested_tensor_strides _reshape_alias _unsafe_view "
    "_use_cudnn_ctc_loss _use_cudnn_rnn_flatten_weight _version adjoint alias as_strided "
    "atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to can_cast chunk conj "
    "contiguous cudnn_is_acceptable data detach diagonal dim dropout dsplit empty empty_like "
    "empty_permuted empty_strided expand expand_as flatten get_device hsplit imag is_coalesced "
    "is_complex is_conj is_contiguous is_cuda is_floating_point is_inference is_leaf is_meta "
    "is_neg is_nonzero is_pinned is_same_size is_set_to is_signed item lift lift_fresh mH mT "
    "matrix_H meshgrid moveaxis movedim narrow new_empty new_empty_strided numel numpy_T "
    "output_nr permute pin_memory promote_types ravel real record_stream requires_grad reshape "
    "resize resize_as resolve_conj resolve_neg result_type retain_grad retains_grad select set "
    "set_data size slice split split_with_sizes squeeze storage_offset stride swapaxes swapdims "
    "sym_constrain_range sym_constrain_range_for_size sym_numel sym_size sym_storage_offset "
    "sym_stride t tensor_split to transpose type_as unbind unflatten unfold unsafe_chunk "
    "unsafe_split unsafe_split_with_sizes unsqueeze view view_as view_as_complex view_as_real "
    "vsplit";

bool IsWithoutKernel(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames = [] {
    std::unordered_set<std::string_view> names;
    ForEachWord(kWithoutKernel, [&](std::string_view word) { names.insert(word); });
    return names;
  }();
  return kNames.contains(PlainName(name));
}

using MappingIndex = std::unordered_map<std::string_view, const Mapping*>;

MappingIndex IndexMappings() {
  MappingIndex index;
  for (const std::span<const Mapping> family :
       {MatrixMappings(), AttentionMappings(), ConvolutionMappings(), RowMappings(), LossMappings(),
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
  constexpr std::string_view kAnyList = "_foreach_mul";
  const std::string_view plain = PlainName(name);
  auto found = kIndex.find(plain);
  if (found == kIndex.end() && plain.starts_with("_foreach_")) {
    found = kIndex.find(kAnyList);
  }
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

// Calls outside any library that only forward tensors. Their kernels have calls of their own;
// collectives are modelled elsewhere.
constexpr auto kPassAlong = std::to_array<std::string_view>(
    {"PythonDispatchMode", "PythonSubclass", "Redistribute", "RedistributeBackward",
     "_FromTorchTensor", "_FromTorchTensorBackward", "_ToTorchTensor", "_ToTorchTensorBackward",
     "detach", "detach_", "record_param_comms"});
static_assert(std::ranges::is_sorted(kPassAlong));

constexpr auto kPrefixesWithoutKernel = std::to_array<std::string_view>(
    {"c10d::", "_c10d_functional::", "nccl:", "autograd::", "torch::autograd::"});

// "AddBackward0", "ViewBackwardAutogradNestedTensor0": the framework's own nodes end in a number,
// user-defined ones do not and may launch kernels themselves.
bool IsGeneratedBackward(std::string_view name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  return last != std::string_view::npos && last + 1 < name.size() &&
         name.find("Backward") != std::string_view::npos &&
         name.find(':') == std::string_view::npos;
}

bool NeedsNoKernel(std::string_view name) {
  if (name.starts_with(kLibrary)) {
    return IsWithoutKernel(name);
  }
  return std::ranges::binary_search(kPassAlong, name) || IsGeneratedBackward(name) ||
         std::ranges::any_of(kPrefixesWithoutKernel,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Every result is an alias of an argument, and none is written to: "-> (Tensor(a), Tensor(a)[])".
bool ReturnsViews(std::string_view schema) {
  const std::size_t arrow = schema.rfind("->");
  const std::string_view results =
      arrow == std::string_view::npos ? std::string_view() : schema.substr(arrow);
  std::size_t num_results = 0;
  std::size_t num_views = 0;
  constexpr std::string_view kTensor = "Tensor";
  for (std::size_t at = results.find(kTensor); at != std::string_view::npos;
       at = results.find(kTensor, at + 1)) {
    const std::string_view behind = results.substr(at + kTensor.size());
    ++num_results;
    num_views += behind.starts_with('(') && !behind.substr(0, behind.find(')')).ends_with('!');
  }
  return num_results > 0 && num_views == num_results;
}

// The results are in the memory of arguments, of which none is written to; only the framework's own
// schemas can be relied on to say so.
bool ReturnsArguments(const AtenCall& call) {
  const std::vector<const AtenTensor*> inputs = call.InputTensors();
  const bool writes = call.name.ends_with('_') || call.schema.find('!') != std::string_view::npos;
  return call.name.starts_with(kLibrary) && !writes && !call.outputs.empty() &&
         std::ranges::all_of(call.outputs, [&](const AtenTensor& output) {
           return output.is_defined && output.storage &&
                  std::ranges::any_of(inputs, [&](const AtenTensor* input) {
                    return input->storage == output.storage;
                  });
         });
}

// Numbers and settings of a tensor are known to the host.
bool ReturnsNoTensor(const AtenCall& call) {
  return call.name.starts_with(kLibrary) && !call.outputs.empty() &&
         std::ranges::none_of(call.outputs, &AtenTensor::is_defined);
}

// A form of a name that has others, which run kernels: "aten::mul_.Scalar" calls "aten::mul".
bool IsOtherComposite(const AtenCall& call) {
  return call.schema.starts_with(call.name) && call.schema.size() > call.name.size() &&
         call.schema[call.name.size()] == '.' && IsComposite(call.schema);
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

// The launches that operators tell; several element-wise ones stand for a kernel each.
std::int64_t LaunchesOf(const AtenCall& call, const std::vector<Operator>& operators) {
  const bool are_kernels = operators.size() > 1 && std::ranges::all_of(operators, [](auto& op) {
                             return op.kind() == OperatorKind::kElementwise;
                           });
  std::int64_t launches = are_kernels ? std::ssize(operators) : 0;
  for (const Operator& op : operators) {
    const bool is_rnn = op.kind() == OperatorKind::kRnn;
    launches += is_rnn ? RnnLaunches(op, BatchesOfSteps(call)) : ListLaunches(call, op);
  }
  return launches;
}

AtenOperators Finish(std::vector<Operator> operators, AtenMeaning meaning) {
  std::erase_if(operators, [](const Operator& op) { return !HasElements(op); });
  return {.meaning = operators.empty() ? AtenMeaning::kNoKernel : meaning,
          .operators = std::move(operators)};
}

}  // namespace

AtenOperators TritonOperators(const AtenCall& call) {
  auto operators = TritonKernel(call);
  return operators ? Finish(*std::move(operators), AtenMeaning::kPriced)
                   : AtenOperators{.meaning = AtenMeaning::kUnknown, .operators = {}};
}

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
  if (call.name.starts_with("triton_")) {
    return TritonOperators(call);
  }
  if (NeedsNoKernel(call.name) || !TouchesGpu(call)) {
    return {};
  }
  const Mapping* const mapping = FindMapping(call.name);
  if (mapping != nullptr && !call.has_sparse) {
    if (auto operators = mapping->map(call)) {
      AtenOperators priced = Finish(*std::move(operators), AtenMeaning::kPriced);
      priced.only_passes_on = mapping->only_passes_on || IsOtherComposite(call);
      priced.launches = LaunchesOf(call, priced.operators);
      return priced;
    }
  }
  if (!call.has_sparse && IsComposite(call.schema)) {
    return {};
  }
  // Times of dense tensors say nothing of sparse ones, whose work is done by calls below.
  const bool is_measured = IsMeasured(call.name) && (mapping == nullptr || !call.has_sparse);
  if (!is_measured && (ReturnsViews(call.schema) || ReturnsArguments(call) || ReturnsNoTensor(call))) {
    return {};
  }
  AtenOperators unlisted = UnlistedOperators(call);
  unlisted.meaning = is_measured ? AtenMeaning::kMeasured : AtenMeaning::kUnknown;
  unlisted.launches = std::ssize(unlisted.operators);
  return unlisted;
}

}  // namespace orrery::kernel
