#pragma once

#include <string_view>

#include "orrery/api/fields.h"
#include "orrery/api/input/job_input.h"

namespace orrery::api {

namespace internal {

// A member of the part of a request that says how its job is changed.
template <auto kPart, auto kMember>
[[nodiscard]] constexpr auto JobField(std::string_view name, std::string_view doc) {
  using Request = typename MemberTypes<decltype(kPart)>::Object;
  using Member = typename MemberTypes<decltype(kMember)>::Member;
  Field<Request> field{.name = name, .unit = "", .doc = doc};
  field.get = [](const Request& request) { return ToValue((request.*kPart).*kMember); };
  field.schema = &Schema<Member>;
  field.target = [](Request& request) { return FieldTarget(&((request.*kPart).*kMember)); };
  return field;
}

}  // namespace internal

/// Fields of the part of a request that says how its job is changed:
/// `JobFields<&SimulateRequest::job>::kSet`.
template <auto kPart>
struct JobFields {
  static constexpr auto kSet = internal::JobField<kPart, &JobInput::settings>(
                                   "set", "change a key of the job: plan.tp=4; may be repeated")
                                   .Placeholder("KEY=VALUE")
                                   .Repeats();
  static constexpr auto kGpu =
      internal::JobField<kPart, &JobInput::gpu>("gpu", "another GPU (orrery list gpus)")
          .Placeholder("NAME");
  static constexpr auto kCluster = internal::JobField<kPart, &JobInput::cluster>(
                                       "cluster", "another machine (orrery list clusters)")
                                       .Placeholder("NAME");
  static constexpr auto kModels =
      internal::JobField<kPart, &JobInput::kernel_models>(
          "models", "models of `orrery fit kernels`, instead of the shipped ones")
          .Placeholder("FILE");
};

}  // namespace orrery::api
