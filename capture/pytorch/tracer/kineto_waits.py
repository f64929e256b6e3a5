"""Writes into a Kineto trace which stream waited for which, from ranges left by StreamOrder."""

import bisect

RECORD = "orrery.record#"
WAIT = "orrery.wait#"
STREAM = "orrery.stream#"
_RUNTIME = ("cuda_runtime", "cuda_driver")
_ON_DEVICE = ("kernel", "gpu_memset", "gpu_memcpy")
_SYNC = "cuda_sync"
_STREAM_WAITS = "Stream Wait Event"


def _ranges(events, prefix):
    """[(thread, begin, end, number)] of host ranges with that name."""
    return [((one["pid"], one["tid"]), one["ts"], one["ts"] + one.get("dur", 0),
             int(one["name"][len(prefix):]))
            for one in events
            if one.get("ph") == "X" and one.get("name", "").startswith(prefix)
            and one.get("cat") in ("cpu_op", "user_annotation")]


class _Calls:
    """Runtime calls of one kind by thread and time."""

    def __init__(self, events, *kinds):
        self.by_time = sorted((one for one in events if one.get("cat") in _RUNTIME and
                               one.get("name", "").startswith(kinds)), key=lambda one: one["ts"])
        self._threads = {}
        for one in self.by_time:
            times, calls = self._threads.setdefault((one["pid"], one["tid"]), ([], []))
            times.append(one["ts"])
            calls.append(one)

    def inside(self, thread, begin, end):
        """The first call in a range; None where there is none."""
        times, calls = self._threads.get(thread, ((), ()))
        place = bisect.bisect_left(times, begin)
        return calls[place] if place < len(times) and times[place] <= end else None


def _correlation(call):
    return call.get("args", {}).get("correlation")


def stream_ids(trace):
    """{handle: Kineto's number} from a recording with one activity inside each `orrery.stream#`."""
    events = trace["traceEvents"]
    on_device = {_correlation(one): one["args"].get("stream") for one in events
                 if one.get("cat") in _ON_DEVICE}
    launches = _Calls(events, "cudaLaunch", "cuLaunch", "cudaMemset")
    ids = {}
    for thread, begin, end, handle in _ranges(events, STREAM):
        call = launches.inside(thread, begin, end)
        if call is not None and _correlation(call) in on_device:
            ids[handle] = on_device[_correlation(call)]
    return ids


def add_waits(trace, ids, recorded_on, waited_on, futures):
    """Completes the waits of streams for events.

    ids: {handle: stream}; recorded_on: {number of a record: handle}; waited_on: {number: handles
    that waited for it, by time}; futures: numbers whose wait is PyTorch's own, by time. Returns how
    many waits are complete now."""
    events = trace["traceEvents"]
    records, waits = _Calls(events, "cudaEventRecord"), _Calls(events, "cudaStreamWaitEvent")
    record_calls = {number: records.inside(thread, begin, end)
                    for thread, begin, end, number in _ranges(events, RECORD)}
    waiting = {number: list(handles) for number, handles in waited_on.items()}
    found = []
    for thread, begin, end, number in sorted(_ranges(events, WAIT), key=lambda one: one[1]):
        call = waits.inside(thread, begin, end)
        handles = waiting.get(number, [])
        handle = handles.pop(0) if handles else 0
        if call is not None:
            found.append((number, handle, call))
    found += _of_futures(waits, found, [n for n in futures if record_calls.get(n)], record_calls)
    noted = {_correlation(one): one for one in events
             if one.get("cat") == _SYNC and one.get("name") == _STREAM_WAITS}
    whole = [wait for wait in found if _is_known(ids, recorded_on, record_calls, wait)]
    for number, handle, call in whole:
        one = noted.get(_correlation(call))
        if one is None:
            one = _wait_event(ids[handle], call)
            events.append(one)
        one["args"].update({
            "wait_on_stream": ids[recorded_on[number]],
            "wait_on_cuda_event_record_corr_id": _correlation(record_calls[number]),
            "wait_on_cuda_event_id": number})
    return len(whole)


def _of_futures(waits, found, futures, record_calls):
    """PyTorch waits for futures in the order in which they were made, on the caller's stream."""
    known = {_correlation(call) for _, _, call in found}
    rest = [call for call in waits.by_time if _correlation(call) not in known]
    pairs = []
    for number in futures:
        after = record_calls[number]["ts"]
        call = next((one for one in rest if one["ts"] >= after), None)
        if call is not None:
            rest.remove(call)
            pairs.append((number, 0, call))
    return pairs


def _is_known(ids, recorded_on, record_calls, wait):
    number, handle, _ = wait
    return recorded_on.get(number) in ids and handle in ids and record_calls.get(number) is not None


def _wait_event(stream, call):
    """Returns the event that Kineto would have written for a wait that it does not show."""
    return {"ph": "X", "cat": _SYNC, "name": _STREAM_WAITS, "pid": 0, "tid": stream,
            "ts": call["ts"], "dur": 0,
            "args": {"device": 0, "stream": stream, "correlation": _correlation(call)}}
