#pragma once

#include "orrery/base/data_type.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/trace.h"

/// The arguments of events, under the names that Kineto gives them. Each function passes the
/// arguments of one row to a visitor, in a fixed order, without unknown values. A visitor has
///   Integer(key, int64), Unsigned(key, uint64), Flag(key, bool), Words(key, string_view),
///   Text(key, StringId)   a string,
///   Json(key, StringId)   a value that is JSON text already,
///   Triple(key, x, y, z)  an array of three,
///   Fields(StringId)      the fields of a JSON object, without braces,
/// and leaves out empty strings.

namespace orrery::exporting {

template <typename Args>
void KnownInteger(Args& args, std::string_view key, std::int64_t value) {
  if (value >= 0) {
    args.Integer(key, value);
  }
}

template <typename Args>
void VisitGroupArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::ProcessGroups& groups = trace.process_groups;
  args.Text("Process Group Name", groups.name[row]);
  args.Text("Process Group Description", groups.description[row]);
  args.Text("Process Group Ranks", groups.ranks[row]);
  KnownInteger(args, "Group size", groups.num_ranks[row]);
  KnownInteger(args, "Global rank start", groups.rank_start[row]);
  KnownInteger(args, "Global rank stride", groups.rank_stride[row]);
  if (groups.communicator[row] != 0) {
    args.Unsigned("Communicator", groups.communicator[row]);
  }
}

/// The size in elements as PyTorch has it, and in bytes where the elements do not give them.
template <typename Args>
void VisitMessageSizes(const trace::Collectives& collectives, RowId row, Args& args) {
  const auto visit = [&](std::string_view elements_key, std::int64_t elements,
                         std::string_view bytes_key, std::int64_t bytes) {
    KnownInteger(args, elements_key, elements);
    if (SizeInBytes(elements, collectives.data_type[row]) != bytes) {
      KnownInteger(args, bytes_key, bytes);
    }
  };
  visit("In msg nelems", collectives.in_elements[row], "In msg bytes", collectives.in_bytes[row]);
  visit("Out msg nelems", collectives.out_elements[row], "Out msg bytes",
        collectives.out_bytes[row]);
}

template <typename Args>
void VisitPeer(const trace::Collectives& collectives, RowId row, Args& args) {
  const bool receives = collectives.kind[row] == CollectiveKind::kRecv;
  KnownInteger(args, receives ? "Src Rank" : "Dst Rank", collectives.peer[row]);
}

/// Nothing for a collective without a name: the file had no arguments, and a reader derives the
/// rest again.
template <typename Args>
void VisitCollectiveArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::Collectives& collectives = trace.collectives;
  if (collectives.name[row] == StringId::kEmpty) {
    return;
  }
  args.Text("Collective name", collectives.name[row]);
  if (collectives.kind[row] != trace::ParseCollectiveName(trace.Text(collectives.name[row]))
                                   .value_or(CollectiveKind::kUnknown)) {
    args.Words("Collective kind", CollectiveKindName(collectives.kind[row]));
  }
  VisitMessageSizes(collectives, row, args);
  if (collectives.data_type[row] != DataType::kUnknown) {
    args.Words("dtype", TorchTypeName(collectives.data_type[row]));
  }
  args.Text("In split size", collectives.in_splits[row]);
  args.Text("Out split size", collectives.out_splits[row]);
  if (collectives.group[row] != kNoRow) {
    VisitGroupArgs(trace, collectives.group[row], args);
  }
  VisitPeer(collectives, row, args);
  KnownInteger(args, "Seq", collectives.sequence[row]);
  if (collectives.comms_id[row] != 0) {
    args.Unsigned("Comms Id", collectives.comms_id[row]);
  }
}

template <typename Args>
void VisitLaunchShapeArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::LaunchShapes::Row shape = trace.launch_shapes.At(row);
  KnownInteger(args, "registers per thread", shape.registers_per_thread);
  KnownInteger(args, "shared memory", shape.shared_memory_bytes);
  if (shape.grid_x >= 0) {
    args.Triple("grid", shape.grid_x, shape.grid_y, shape.grid_z);
  }
  if (shape.block_x >= 0) {
    args.Triple("block", shape.block_x, shape.block_y, shape.block_z);
  }
  KnownInteger(args, "est. achieved occupancy %", shape.occupancy_percent);
  args.Fields(shape.extra);
}

/// The stream a row ran on; its thread may be another one, where slices overlap.
template <typename Args>
void VisitPlaceArgs(const trace::Trace& trace, RowId track, Args& args) {
  if (track < trace.tracks.size() && trace.tracks.kind[track] == trace::TrackKind::kDevice) {
    KnownInteger(args, "device", trace.tracks.device[track]);
    args.Integer("stream", trace.tracks.thread[track]);
  }
}

template <typename Args>
void VisitActivityArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::Activities& activities = trace.activities;
  // Without a launch to find the operator by, the id of the operator itself.
  const RowId op = activities.launch[row] == kNoRow ? activities.host_op[row] : kNoRow;
  const bool names_op = activities.external_id[row] < 0 && op != kNoRow;
  KnownInteger(args, "External id",
               names_op ? trace.host_ops.external_id[op] : activities.external_id[row]);
  VisitPlaceArgs(trace, activities.track[row], args);
  KnownInteger(args, "correlation", activities.correlation[row]);
  KnownInteger(args, "bytes", activities.bytes[row]);
  KnownInteger(args, "graph node id", activities.graph_node[row]);
  if (activities.shape[row] != kNoRow) {
    VisitLaunchShapeArgs(trace, activities.shape[row], args);
  }
  if (activities.collective[row] != kNoRow) {
    VisitCollectiveArgs(trace, activities.collective[row], args);
  }
  args.Fields(activities.extra[row]);
}

/// `collective` is the call that the operator stands for, or kNoRow.
template <typename Args>
void VisitHostOpArgs(const trace::Trace& trace, RowId row, RowId collective, Args& args) {
  const trace::HostOps& ops = trace.host_ops;
  KnownInteger(args, "External id", ops.external_id[row]);
  if (ops.record_function_id[row] != 0) {
    args.Integer("Record function id", ops.record_function_id[row]);
  }
  KnownInteger(args, "Sequence number", ops.sequence[row]);
  KnownInteger(args, "Fwd thread id", ops.forward_thread[row]);
  args.Json("Concrete Inputs", ops.concrete_inputs[row]);
  args.Json("Input type", ops.input_types[row]);
  args.Json("Input Strides", ops.input_strides[row]);
  args.Json("Input Dims", ops.input_dims[row]);
  KnownInteger(args, "Ev Idx", ops.event_index[row]);
  args.Text("Call stack", ops.call_stack[row]);
  args.Text("Module Hierarchy", ops.module_hierarchy[row]);
  if (collective != kNoRow) {
    VisitCollectiveArgs(trace, collective, args);
    if (trace.collectives.is_async[collective] != 0) {
      args.Flag("Is asynchronized op", true);
    }
  }
  args.Fields(ops.extra[row]);
}

template <typename Args>
void VisitRuntimeCallArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::RuntimeCalls& calls = trace.runtime_calls;
  KnownInteger(args, "External id", calls.external_id[row]);
  KnownInteger(args, "cbid", calls.callback_id[row]);
  KnownInteger(args, "correlation", calls.correlation[row]);
  if (calls.return_value[row] != 0) {
    args.Integer("return value", calls.return_value[row]);
  }
  args.Fields(calls.extra[row]);
}

template <typename Args>
void VisitAnnotationArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::Annotations& annotations = trace.annotations;
  KnownInteger(args, "External id", annotations.external_id[row]);
  if (annotations.record_function_id[row] != 0) {
    args.Integer("Record function id", annotations.record_function_id[row]);
  }
  args.Text("domain", annotations.domain[row]);
  args.Fields(annotations.extra[row]);
}

template <typename Args>
void VisitPythonCallArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::PythonCalls& calls = trace.python_calls;
  KnownInteger(args, "Python id", calls.python_id[row]);
  KnownInteger(args, "Python parent id", calls.python_parent_id[row]);
  KnownInteger(args, "Python module id", calls.module_id[row]);
  KnownInteger(args, "Ev Idx", calls.event_index[row]);
  args.Fields(calls.extra[row]);
}

template <typename Args>
void VisitSyncArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::Syncs& syncs = trace.syncs;
  const bool records = syncs.kind[row] == trace::SyncKind::kEventRecord;
  if (!records &&
      trace.Text(syncs.extra[row]).find("\"cuda_sync_kind\":") == std::string_view::npos) {
    args.Text("cuda_sync_kind", syncs.name[row]);
  }
  args.Integer("stream", syncs.stream[row]);
  KnownInteger(args, "correlation", syncs.correlation[row]);
  KnownInteger(args, "device", syncs.device[row]);
  KnownInteger(args, "wait_on_stream", syncs.wait_on_stream[row]);
  KnownInteger(args, "wait_on_cuda_event_record_corr_id", syncs.record_correlation[row]);
  KnownInteger(args, records ? "event_id" : "wait_on_cuda_event_id", syncs.event_id[row]);
  args.Fields(syncs.extra[row]);
}

template <typename Args>
void VisitMemoryEventArgs(const trace::Trace& trace, RowId row, Args& args) {
  const trace::MemoryEvents& events = trace.memory_events;
  args.Integer("Device Type", static_cast<std::int64_t>(events.device_kind[row]));
  args.Integer("Device Id", events.device[row]);
  if (events.address[row] != 0) {
    args.Unsigned("Addr", events.address[row]);
  }
  args.Integer("Bytes", events.bytes[row]);
  KnownInteger(args, "Total Allocated", events.total_allocated_bytes[row]);
  KnownInteger(args, "Total Reserved", events.total_reserved_bytes[row]);
  args.Fields(events.extra[row]);
}

/// An annotation on another lane has the stream it belongs to as arguments.
template <typename Args>
void VisitPlacedAnnotation(const trace::Trace& trace, const PlacedSlice& slice, Args& args) {
  if (slice.lane > 0) {
    VisitPlaceArgs(trace, trace.annotations.track[slice.row], args);
  }
  VisitAnnotationArgs(trace, slice.row, args);
}

/// The arguments of any slice.
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
