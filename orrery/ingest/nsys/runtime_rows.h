#pragma once

#include <string_view>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {

/// The name of a call without the version of its binary interface: "cudaLaunchKernel_v7000" is
/// "cudaLaunchKernel".
[[nodiscard]] std::string_view WithoutInterfaceVersion(std::string_view call);

/// Tells from the name which library a call belongs to.
[[nodiscard]] trace::ApiKind ApiOfName(std::string_view call);

/// Reads runtime and driver calls.
void ReadRuntimeCalls(ExportContext& context, RankSet& ranks);

}  // namespace orrery::ingest::nsys
