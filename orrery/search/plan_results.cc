#include "orrery/search/plan_results.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/search/space.h"
#include "orrery/simulate/explain/breakdown.h"

namespace orrery::search {
namespace {

constexpr std::uint8_t kNumTimeKinds = static_cast<std::uint8_t>(simulate::TimeKind::kIdle) + 1;

void WriteReal(ByteWriter& writer, double value) {
  writer.Number(std::bit_cast<std::uint64_t>(value));
}

double ReadReal(ByteReader& reader) {
  return std::bit_cast<double>(reader.Number<std::uint64_t>());
}

void Write(ByteWriter& writer, const BoundedPlan& plan) {
  writer.Number(plan.id);
  writer.Number(plan.base);
  writer.Number(plan.bound_ps);
  writer.Number(plan.memory_bytes);
  WriteReal(writer, plan.bound_joules);
}

BoundedPlan ReadBoundedPlan(ByteReader& reader) {
  BoundedPlan plan;
  plan.id = reader.Number<PlanId>();
  plan.base = reader.Number<std::uint32_t>();
  plan.bound_ps = reader.Number<std::int64_t>();
  plan.memory_bytes = reader.Number<std::int64_t>();
  plan.bound_joules = ReadReal(reader);
  return plan;
}

void Write(ByteWriter& writer, const BoundedPlans& plans) {
  writer.Number(static_cast<std::uint32_t>(plans.size()));
  for (const BoundedPlan& plan : plans) {
    Write(writer, plan);
  }
}

BoundedPlans ReadBoundedPlans(ByteReader& reader) {
  BoundedPlans plans;
  const std::size_t count = reader.Count(4 * sizeof(std::int64_t));
  plans.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    plans.push_back(ReadBoundedPlan(reader));
  }
  return plans;
}

template <typename Answer>
Result<Answer> CheckedAnswer(const ByteReader& reader, Answer answer) {
  if (reader.failed() || reader.skipped_bytes() > 0) {
    return Fail(Error::Kind::kInvalidInput, "the metrics of a plan are truncated or damaged");
  }
  return answer;
}

}  // namespace

std::string Encode(const PlanBounds& plan_bounds) {
  ByteWriter writer;
  writer.Number(plan_bounds.considered);
  writer.Number(plan_bounds.refused);
  writer.Text(plan_bounds.first_refusal);
  writer.Number(plan_bounds.too_large);
  Write(writer, plan_bounds.smallest);
  Write(writer, plan_bounds.plans);
  return writer.bytes();
}

Result<PlanBounds> DecodeBounds(std::string_view bytes) {
  ByteReader reader(bytes);
  PlanBounds plan_bounds;
  plan_bounds.considered = reader.Number<std::uint64_t>();
  plan_bounds.refused = reader.Number<std::uint64_t>();
  plan_bounds.first_refusal = reader.Text();
  plan_bounds.too_large = reader.Number<std::uint64_t>();
  plan_bounds.smallest = ReadBoundedPlan(reader);
  plan_bounds.plans = ReadBoundedPlans(reader);
  return CheckedAnswer(reader, std::move(plan_bounds));
}

std::string Encode(const BoundedPlans& plans) {
  ByteWriter writer;
  Write(writer, plans);
  return writer.bytes();
}

Result<BoundedPlans> DecodeBoundedPlans(std::string_view bytes) {
  ByteReader reader(bytes);
  BoundedPlans plans = ReadBoundedPlans(reader);
  return CheckedAnswer(reader, std::move(plans));
}

std::string Encode(const SimulatedPlan& simulated) {
  ByteWriter writer;
  writer.Number(simulated.id);
  writer.Text(simulated.refusal);
  for (const std::int64_t number : {simulated.step_ps, simulated.low_ps, simulated.high_ps,
                                    simulated.memory_bytes, simulated.usable_bytes}) {
    writer.Number(number);
  }
  for (const double number :
       {simulated.joules, simulated.mfu, simulated.tokens_per_s, simulated.samples_per_s}) {
    WriteReal(writer, number);
  }
  writer.Number(static_cast<std::uint32_t>(simulated.shares.size()));
  for (const simulate::TimeShare& share : simulated.shares) {
    writer.Number(static_cast<std::uint8_t>(share.kind));
    writer.Text(share.what);
    writer.Number(share.ps);
  }
  return writer.bytes();
}

Result<SimulatedPlan> DecodeSimulatedPlan(std::string_view bytes) {
  ByteReader reader(bytes);
  SimulatedPlan simulated;
  simulated.id = reader.Number<PlanId>();
  simulated.refusal = reader.Text();
  for (std::int64_t* const number : {&simulated.step_ps, &simulated.low_ps, &simulated.high_ps,
                                     &simulated.memory_bytes, &simulated.usable_bytes}) {
    *number = reader.Number<std::int64_t>();
  }
  for (double* const number :
       {&simulated.joules, &simulated.mfu, &simulated.tokens_per_s, &simulated.samples_per_s}) {
    *number = ReadReal(reader);
  }
  const std::size_t count = reader.Count(1 + 3 * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count; ++i) {
    simulate::TimeShare& share = simulated.shares.emplace_back();
    share.kind = reader.EnumBelow<simulate::TimeKind>(kNumTimeKinds);
    share.what = reader.Text();
    share.ps = reader.Number<std::int64_t>();
  }
  return CheckedAnswer(reader, std::move(simulated));
}

}  // namespace orrery::search
