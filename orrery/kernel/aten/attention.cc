// Attention: the operators of each library have the same arguments at different positions.
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

struct AttentionForm {
  std::string_view name;
  std::string_view backend;
  bool is_backward;
  bool heads_before_length;  // batch × heads × length × size, else batch × length × heads × size
  std::size_t dropout;       // positions
  std::size_t causal;
};

constexpr auto kForms = std::to_array<AttentionForm>({
    {"_cudnn_attention_forward", "cudnn", false, true, 9, 10},
    {"_cudnn_attention_backward", "cudnn", true, true, 13, 14},
    {"_flash_attention_forward", "flash", false, false, 7, 8},
    {"_flash_attention_backward", "flash", true, false, 10, 11},
    {"_efficient_attention_forward", "efficient", false, false, 8, 9},
    {"_efficient_attention_backward", "efficient", true, false, 11, 14},
    {"_scaled_dot_product_cudnn_attention", "cudnn", false, true, 5, 6},
    {"_scaled_dot_product_cudnn_attention_backward", "cudnn", true, true, 13, 14},
    {"_scaled_dot_product_flash_attention", "flash", false, true, 3, 4},
    {"_scaled_dot_product_flash_attention_backward", "flash", true, true, 10, 11},
    {"_scaled_dot_product_efficient_attention", "efficient", false, true, 5, 6},
    {"_scaled_dot_product_efficient_attention_backward", "efficient", true, true, 9, 11},
    {"scaled_dot_product_attention", "auto", false, true, 4, 5},
});

const AttentionForm* FindForm(std::string_view name) {
  const auto found = std::find_if(kForms.begin(), kForms.end(),
                                  [&](const AttentionForm& form) { return form.name == name; });
  return found == kForms.end() ? nullptr : &*found;
}

MappedOperators MapAttention(const AtenCall& call) {
  const AttentionForm* form = FindForm(PlainName(call.name));
  if (form == nullptr) {
    return std::nullopt;
  }
  // The backward pass has the gradient of the result before the query.
  const std::size_t query_at = form->is_backward ? 1 : 0;
  const AtenTensor* query = call.TensorAt(query_at, 4);
  const AtenTensor* key = call.TensorAt(query_at + 1, 4);
  if (query == nullptr || key == nullptr || !query->type) {
    return std::nullopt;
  }
  const std::size_t heads = form->heads_before_length ? 1 : 2;
  const std::size_t length = form->heads_before_length ? 2 : 1;
  Operator op(OperatorKind::kAttention, *query->type);
  op.Set(Key::kB, query->dims[0]).Set(Key::kHeads, query->dims[heads]);
  op.Set(Key::kKvHeads, key->dims[heads]).Set(Key::kHeadSize, query->dims[3]);
  op.Set(Key::kQueryLength, query->dims[length]).Set(Key::kKeyLength, key->dims[length]);
  op.Set(Key::kCausal, call.IsTrueAt(form->causal) ? 1 : 0);
  op.Set(Key::kDropout, call.NumberAt(form->dropout).value_or(0) > 0 ? 1 : 0);
  op.Set(Key::kBackend, form->backend).Set(Key::kPass, form->is_backward ? "bwd" : "fwd");
  return std::vector{op};
}

constexpr auto kMappings = [] {
  std::array<Mapping, kForms.size()> mappings{};
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    // The public operators only add layout copies, which are nested calls.
    const bool only_passes_on = kForms[i].name.find("scaled_dot_product") != std::string_view::npos;
    mappings[i] = {kForms[i].name, MapAttention, only_passes_on};
  }
  return mappings;
}();

}  // namespace

std::span<const Mapping> AttentionMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
