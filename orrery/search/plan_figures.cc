#include "orrery/search/plan_figures.h"

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

void Write(ByteWriter& writer, const ScreenedPlan& plan) {
  writer.Number(plan.id);
  writer.Number(plan.base);
  writer.Number(plan.bound_ps);
  writer.Number(plan.memory_bytes);
  WriteReal(writer, plan.bound_joules);
}

ScreenedPlan ReadScreened(ByteReader& reader) {
  ScreenedPlan plan;
  plan.id = reader.Number<PlanId>();
  plan.base = reader.Number<std::uint32_t>();
  plan.bound_ps = reader.Number<std::int64_t>();
  plan.memory_bytes = reader.Number<std::int64_t>();
  plan.bound_joules = ReadReal(reader);
  return plan;
}

void Write(ByteWriter& writer, const ScreenedPlans& plans) {
  writer.Number(static_cast<std::uint32_t>(plans.size()));
  for (const ScreenedPlan& plan : plans) {
    Write(writer, plan);
  }
}

ScreenedPlans ReadScreenedPlans(ByteReader& reader) {
  ScreenedPlans plans;
  const std::size_t count = reader.Count(4 * sizeof(std::int64_t));
  plans.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    plans.push_back(ReadScreened(reader));
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

std::string Encode(const Screening& screening) {
  ByteWriter writer;
  writer.Number(screening.considered);
  writer.Number(screening.refused);
  writer.Text(screening.first_refusal);
  writer.Number(screening.too_large);
  Write(writer, screening.smallest);
  Write(writer, screening.plans);
  return writer.bytes();
}

Result<Screening> DecodeScreening(std::string_view bytes) {
  ByteReader reader(bytes);
  Screening screening;
  screening.considered = reader.Number<std::uint64_t>();
  screening.refused = reader.Number<std::uint64_t>();
  screening.first_refusal = reader.Text();
  screening.too_large = reader.Number<std::uint64_t>();
  screening.smallest = ReadScreened(reader);
  screening.plans = ReadScreenedPlans(reader);
  return CheckedAnswer(reader, std::move(screening));
}

std::string Encode(const ScreenedPlans& plans) {
  ByteWriter writer;
  Write(writer, plans);
  return writer.bytes();
}

Result<ScreenedPlans> DecodeScreenedPlans(std::string_view bytes) {
  ByteReader reader(bytes);
  ScreenedPlans plans = ReadScreenedPlans(reader);
  return CheckedAnswer(reader, std::move(plans));
}

std::string Encode(const PlayedPlan& played) {
  ByteWriter writer;
  writer.Number(played.id);
  writer.Text(played.refusal);
  for (const std::int64_t number :
       {played.step_ps, played.low_ps, played.high_ps, played.memory_bytes, played.usable_bytes}) {
    writer.Number(number);
  }
  for (const double number :
       {played.joules, played.mfu, played.tokens_per_s, played.samples_per_s}) {
    WriteReal(writer, number);
  }
  writer.Number(static_cast<std::uint32_t>(played.shares.size()));
  for (const simulate::TimeShare& share : played.shares) {
    writer.Number(static_cast<std::uint8_t>(share.kind));
    writer.Text(share.what);
    writer.Number(share.ps);
  }
  return writer.bytes();
}

Result<PlayedPlan> DecodePlayed(std::string_view bytes) {
  ByteReader reader(bytes);
  PlayedPlan played;
  played.id = reader.Number<PlanId>();
  played.refusal = reader.Text();
  for (std::int64_t* const number : {&played.step_ps, &played.low_ps, &played.high_ps,
                                     &played.memory_bytes, &played.usable_bytes}) {
    *number = reader.Number<std::int64_t>();
  }
  for (double* const number :
       {&played.joules, &played.mfu, &played.tokens_per_s, &played.samples_per_s}) {
    *number = ReadReal(reader);
  }
  const std::size_t count = reader.Count(1 + 3 * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count; ++i) {
    simulate::TimeShare& share = played.shares.emplace_back();
    share.kind = reader.EnumBelow<simulate::TimeKind>(kNumTimeKinds);
    share.what = reader.Text();
    share.ps = reader.Number<std::int64_t>();
  }
  return CheckedAnswer(reader, std::move(played));
}

}  // namespace orrery::search
