#pragma once

#include <cstdint>

#include "orrery/collective/request.h"
#include "orrery/kernel/data_type.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// What every layer of a job sees: the sizes of one micro-batch on one rank.
struct MicrobatchShape {
  const Job* job = nullptr;
  std::int64_t batch = 1;           // samples
  std::int64_t sequence = 1;        // tokens of a sample, all of them
  std::int64_t tokens = 1;          // of this rank: batch · sequence / cp
  std::int64_t sharded_tokens = 1;  // the same where sequence parallelism cuts
  std::int64_t hidden = 0;
  int tp = 1;
  kernel::DataType type = kernel::DataType::kBf16;      // of activations
  kernel::DataType products = kernel::DataType::kBf16;  // of products
  collective::Element element = collective::Element::kBfloat16;
  std::int64_t element_bytes = 2;

  [[nodiscard]] const Plan& plan() const { return job->plan; }

  /// Layers are a kernel for each operation.
  [[nodiscard]] bool is_unfused() const {
    return framework().has_unfused_layers && !framework().is_compiled;
  }

  [[nodiscard]] const Framework& framework() const { return job->framework; }

  /// Whether products read narrower copies of activations; TF32 reads what is there.
  [[nodiscard]] bool is_fp8() const {
    return products != type && products != kernel::DataType::kTf32;
  }

  /// Whether adapters are trained and nothing else: gradients of weights are not computed.
  [[nodiscard]] bool is_frozen() const { return job->training.adapter_rank > 0; }

  /// Of an element that a product reads.
  [[nodiscard]] std::int64_t gemm_bytes() const;

  /// Of products without weights, in attention.
  [[nodiscard]] kernel::DataType score_gemms() const {
    return products == kernel::DataType::kTf32 ? products : type;
  }
};

/// The shape of a transformer's decoder (or of an encoder that stands alone).
[[nodiscard]] MicrobatchShape MicrobatchShapeOf(const Job& job, const Transformer& model);

/// The shape of a model without sequences: a token is a sample.
[[nodiscard]] MicrobatchShape MicrobatchShapeOf(const Job& job);

/// How many bytes the type takes as a whole number: of those that activations have.
[[nodiscard]] std::int64_t BytesOf(kernel::DataType type);

/// As collectives know the type.
[[nodiscard]] collective::Element ElementOf(kernel::DataType type);

}  // namespace orrery::workload
