#pragma once

#include <array>
#include <limits>
#include <span>

#include "orrery/api/fields.h"
#include "orrery/api/fields/field_parts.h"
#include "orrery/api/input/run_input.h"

namespace orrery::api {

/// Options of reading a run, for the lists of requests that read one.
inline constexpr auto kRunOptionFields = std::to_array<Field<RunInput>>({
    MakeField<&RunInput::threads>("threads", "", "threads to use (default: one for each core)")
        .Range(0, 1024),
    MakeField<&RunInput::max_unpack_ratio>("max_unpack_ratio", "",
                                           "refuse packed files that grow by more than this factor")
        .Range(1, std::numeric_limits<double>::infinity())
        .ShowsDefault(),
    MakeField<&RunInput::step_marker>(
        "step_marker", "", "regular expression (of RE2) for the names of ranges that are steps"),
});

/// A run and how it is read.
inline constexpr auto kRunFields =
    JoinFields(std::to_array<Field<RunInput>>(
                   {MakeField<&RunInput::paths>("paths", "", "files and folders of one run")}),
               kRunOptionFields);

template <>
struct FieldList<RunInput> {
  static std::span<const Field<RunInput>> Get();
};

}  // namespace orrery::api
