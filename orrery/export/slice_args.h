#pragma once

#include "orrery/export/event_args.h"
#include "orrery/export/rank_layout.h"
#include "orrery/export/slice_names.h"

namespace orrery::exporting {

/// Tells `args` the arguments of an annotation. One that moved aside says where it belongs.
template <typename Args>
void VisitPlacedAnnotation(const trace::Trace& trace, const PlacedSlice& slice, Args& args) {
  if (slice.lane > 0) {
    VisitPlaceArgs(trace, trace.annotations.track[slice.row], args);
  }
  VisitAnnotationArgs(trace, slice.row, args);
}

/// Tells `args` the arguments of any slice.
template <typename Args>
void VisitSliceArgs(const trace::Trace& trace, const SliceNames& names, const PlacedSlice& slice,
                    Args& args) {
  switch (slice.kind) {
    case SliceKind::kActivity:
      return VisitActivityArgs(trace, slice.row, args);
    case SliceKind::kHostOp:
      return VisitHostOpArgs(trace, slice.row, names.CollectiveOfOp(slice.row), args);
    case SliceKind::kRuntimeCall:
      return VisitRuntimeCallArgs(trace, slice.row, args);
    case SliceKind::kAnnotation:
      return VisitPlacedAnnotation(trace, slice, args);
    case SliceKind::kPythonCall:
      return VisitPythonCallArgs(trace, slice.row, args);
    case SliceKind::kSync:
      return VisitSyncArgs(trace, slice.row, args);
    case SliceKind::kOther:
      return args.Fields(trace.other_slices.extra[slice.row]);
    case SliceKind::kStep:
    case SliceKind::kWait:
      return;
  }
}

}  // namespace orrery::exporting
