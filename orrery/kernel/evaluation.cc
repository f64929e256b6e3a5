#include "orrery/kernel/evaluation.h"

#include <map>
#include <tuple>
#include <utility>

namespace orrery::kernel {

namespace {

constexpr std::size_t kWorstRows = 10;

struct Times {
  std::vector<double> predicted;
  std::vector<double> measured;

  void Add(const EvaluatedRow& row) {
    predicted.push_back(row.predicted.seconds);
    measured.push_back(row.measured.seconds);
  }

  [[nodiscard]] learn::Evaluation Figures() const { return learn::Evaluate(predicted, measured); }
};

Times TimesOf(std::span<const EvaluatedRow> rows) {
  Times times;
  for (const EvaluatedRow& row : rows) {
    times.Add(row);
  }
  return times;
}

}  // namespace

std::vector<EvaluatedRow> Evaluate(const ModelSet& models, std::span<const Measurement> rows) {
  std::map<std::pair<const hardware::Gpu*, Timing>, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    places[{rows[i].gpu, rows[i].timing}].push_back(i);
  }
  std::vector<EvaluatedRow> evaluated(rows.size());
  for (const auto& [key, indices] : places) {
    std::vector<Operator> operators;
    operators.reserve(indices.size());
    for (const std::size_t index : indices) {
      operators.push_back(rows[index].op);
    }
    std::vector<Estimate> estimates(operators.size());
    models.PredictAs(key.second, operators, *key.first, estimates);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      evaluated[indices[i]] = {rows[indices[i]], estimates[i]};
    }
  }
  return evaluated;
}

std::vector<EvaluatedRow> EvaluateHeldOut(const ModelSet& models,
                                          std::span<const Measurement> rows) {
  std::map<std::string_view, std::vector<Measurement>> rows_of_gpu;
  for (const Measurement& row : rows) {
    rows_of_gpu[row.gpu->name].push_back(row);
  }
  std::vector<EvaluatedRow> evaluated;
  for (const auto& [gpu, own] : rows_of_gpu) {
    std::vector<EvaluatedRow> part = Evaluate(models.Without(gpu), own);
    evaluated.insert(evaluated.end(), part.begin(), part.end());
  }
  return evaluated;
}

std::vector<EvaluatedGroup> GroupsOf(std::span<const EvaluatedRow> rows, GroupBy by) {
  std::map<std::tuple<std::string_view, std::string, Timing, std::string_view>, Times> times;
  for (const EvaluatedRow& row : rows) {
    const Measurement& measured = row.measured;
    const std::string_view type =
        by == GroupBy::kOperatorGpuType ? DataTypeName(measured.op.type()) : "";
    times[{SchemaOf(measured.op.kind()).name, measured.gpu->name, measured.timing, type}].Add(row);
  }
  std::vector<EvaluatedGroup> groups;
  for (const auto& [key, group] : times) {
    const auto& [name, gpu, timing, type] = key;
    groups.push_back({std::string(name), gpu, std::string(type), timing, group.Figures()});
  }
  return groups;
}

KernelEvaluation Summarize(std::span<const EvaluatedRow> rows) {
  const Times times = TimesOf(rows);
  KernelEvaluation evaluation;
  evaluation.overall = times.Figures();
  evaluation.groups = GroupsOf(rows, GroupBy::kOperatorGpuType);
  for (const std::size_t place : learn::WorstRows(times.predicted, times.measured, kWorstRows)) {
    evaluation.worst.push_back(rows[place]);
  }
  return evaluation;
}

}  // namespace orrery::kernel
