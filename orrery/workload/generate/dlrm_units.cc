#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/operators.h"
#include "orrery/workload/model/dlrm.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using kernel::Key;
using kernel::OperatorKind;
using Shards = std::vector<TableShard>;

class DlrmBuilder {
 public:
  DlrmBuilder(const Job& job, const Dlrm& model)
      : job_(job), model_(model), shape_(MicrobatchShapeOf(job)) {}

  ModelUnits Build() {
    const auto shards = ShardTables(model_.tables, job_.plan.tables, job_.plan.dp);
    AddTop();
    for (const Shards& of_rank : shards) {
      units_.program_of_rank.push_back(ProgramOf(of_rank));
    }
    return std::move(units_);
  }

 private:
  // Ranks with shards of the same sizes share a program.
  ProgramId ProgramOf(const Shards& shards) {
    const auto is_alike = [](const TableShard& lhs, const TableShard& rhs) {
      return lhs.rows == rhs.rows && lhs.dim == rhs.dim && lhs.lookups == rhs.lookups;
    };
    for (std::size_t program = 0; program < shards_of_program_.size(); ++program) {
      if (std::ranges::equal(shards_of_program_[program], shards, is_alike)) {
        return static_cast<ProgramId>(program);
      }
    }
    shards_of_program_.push_back(shards);
    AddProgram(shards);
    return static_cast<ProgramId>(shards_of_program_.size() - 1);
  }

  void AddProgram(const Shards& shards) {
    const std::size_t bottom = AddKind(BottomOps(shards), WeightsOf(bottom_input(), model_.bottom));
    units_.stages.push_back({{{bottom, false}, {kTop, false}}});
    std::int64_t elements = 0;
    for (const TableShard& shard : shards) {
      elements += shard.rows * shard.dim;
    }
    units_.table_bytes.push_back(elements * shape_.element_bytes);
  }

  void AddTop() {
    LayerWriter writer(shape_);
    WriteInteraction(writer);
    WriteNetwork(InteractionWidth(model_), model_.top, writer);
    AddKind(writer.Finish(), WeightsOf(InteractionWidth(model_), model_.top));
  }

  std::size_t AddKind(UnitOps steps, std::vector<std::int64_t> tensors) {
    // Inputs and results of all products, with the gradients that the products' weights need.
    const std::int64_t kept = steps.weight_inputs / 2;
    units_.memory.push_back(
        {.whole = kept, .kept = kept, .working = kept, .weight_inputs = steps.weight_inputs});
    units_.kinds.push_back(std::move(steps));
    units_.tensors.push_back({std::move(tensors), {}});
    return units_.kinds.size() - 1;
  }

  [[nodiscard]] std::int64_t bottom_input() const { return model_.dense_features; }

  // Weights and biases.
  static std::vector<std::int64_t> WeightsOf(std::int64_t input,
                                             const std::vector<std::int64_t>& widths) {
    std::vector<std::int64_t> tensors;
    for (const std::int64_t width : widths) {
      tensors.push_back(input * width);
      tensors.push_back(width);
      input = width;
    }
    return tensors;
  }

  void WriteNetwork(std::int64_t input, const std::vector<std::int64_t>& widths,
                    LayerWriter& writer) const {
    const std::int64_t e = shape_.element_bytes;
    for (const std::int64_t width : widths) {
      writer.Linear({"network", shape_.batch, input, width, Cut::kNothing});
      writer.Elements(
          {"activation", "relu", "relu_backward", shape_.batch * width, e, e, 2 * e, e});
      input = width;
    }
  }

  // Dot products of all pairs of vectors of a sample.
  void WriteInteraction(LayerWriter& writer) const {
    const auto vectors = static_cast<std::int64_t>(model_.tables.size()) + 1;
    const std::int64_t dim = model_.bottom.empty() ? model_.dense_features : model_.bottom.back();
    const auto product = [&](std::int64_t n, std::int64_t k) {
      return OperatorOp("interaction", Category::kGemm,
                        BatchedGemm(shape_.batch, vectors, n, k, shape_.type));
    };
    writer.Forward(product(vectors, dim));
    writer.Backward({product(dim, vectors), product(dim, vectors)});
  }

  // Of all ranks, since tables are sharded over them.
  [[nodiscard]] std::int64_t samples() const { return shape_.batch * job_.plan.dp; }

  [[nodiscard]] std::int64_t LookupsOf(const TableShard& shard) const {
    return std::max<std::int64_t>(1, std::llround(shard.lookups * static_cast<double>(samples())));
  }

  // Sums of rows, one for each sample; the rows themselves if few samples hit a shard.
  [[nodiscard]] kernel::Operator LookupOf(const TableShard& shard) const {
    if (shard.lookups < 1) {
      return Lookup(shard.rows, shard.dim, LookupsOf(shard), "fwd", shape_.type);
    }
    return kernel::Operator(OperatorKind::kEmbeddingBag, shape_.type)
        .Set(Key::kRows, shard.rows)
        .Set(Key::kDim, shard.dim)
        .Set(Key::kBags, samples())
        .Set(Key::kPool, std::llround(shard.lookups))
        .Set(Key::kPass, "fwd");
  }

  // Gradients are sparse: each row that was looked up is read, changed and written.
  [[nodiscard]] kernel::Operator RowUpdateOf(const TableShard& shard) const {
    const std::int64_t e = shape_.element_bytes;
    return Elementwise("add", LookupsOf(shard) * shard.dim, 2 * e, e, shape_.type);
  }

  // What a rank sends: pooled vectors of its shards for all samples.
  [[nodiscard]] Communication VectorCommunication(const Shards& shards, bool is_forward) const {
    std::int64_t width = 0;
    for (const TableShard& shard : shards) {
      width += shard.dim;
    }
    Communication communication = {GroupRole::kTables, CollectiveKind::kAllToAll,
                                   samples() * width * shape_.element_bytes, shape_.element, 0};
    if (job_.plan.tables == TableSharding::kRow) {
      communication.kind = is_forward ? CollectiveKind::kReduceScatter : CollectiveKind::kAllGather;
    }
    return communication;
  }

  // Forward: lookups, then the communication beside the network. Backward: the communication beside
  // the network's backward pass, then the gradients of rows.
  [[nodiscard]] UnitOps BottomOps(const Shards& shards) const {
    const bool is_dealt = job_.plan.dp > 1;
    LayerWriter network(shape_);
    WriteNetwork(bottom_input(), model_.bottom, network);
    UnitOps unit = network.Finish();
    std::vector<LayerOp> forward;
    std::vector<LayerOp> backward;
    for (const TableShard& shard : shards) {
      forward.push_back(OperatorOp("lookup", Category::kEmbedding, LookupOf(shard)));
    }
    if (is_dealt) {
      Communication out = VectorCommunication(shards, true);
      out.overlapped_ops = static_cast<int>(unit.forward.size());
      forward.push_back(CommunicationOp("exchange vectors", out));
      Communication back = VectorCommunication(shards, false);
      back.overlapped_ops = static_cast<int>(unit.backward.size());
      backward.push_back(CommunicationOp("exchange gradients of vectors", back));
    }
    std::ranges::move(unit.forward, std::back_inserter(forward));
    std::ranges::move(unit.backward, std::back_inserter(backward));
    for (const TableShard& shard : shards) {
      backward.push_back(OperatorOp("update rows", Category::kEmbedding, RowUpdateOf(shard)));
    }
    unit.forward = std::move(forward);
    unit.backward = std::move(backward);
    return unit;
  }

  static constexpr std::size_t kTop = 0;  // the first kind, which all programs share

  const Job& job_;
  const Dlrm& model_;
  MicrobatchShape shape_;
  ModelUnits units_;
  std::vector<Shards> shards_of_program_;
};

}  // namespace

ModelUnits DlrmUnits(const Job& job) {
  return DlrmBuilder(job, *job.model.dlrm()).Build();
}

}  // namespace orrery::workload
