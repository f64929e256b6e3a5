"""Runs as columns: views without copies that keep their run alive, texts as codes, Arrow streams field by field."""
import ctypes
import gc

import numpy
import orrery
import pytest


def test_columns_are_views_of_the_same_memory(recording):
    kernels = recording.ranks[0].kernels
    first, second = kernels["begin_ns"], recording.ranks[0].kernels["begin_ns"]
    assert first.__array_interface__["data"][0] == second.__array_interface__["data"][0]
    assert not first.flags.owndata
    assert not first.flags.writeable
    assert first.dtype == numpy.int64
    assert len(first) == len(kernels)


def test_kernels_are_kernels_only(recording):
    rank = recording.ranks[0]
    is_kernel = numpy.array(rank.activities.text("kind")) == "kernel"
    assert 0 < is_kernel.sum() < len(rank.activities)
    assert len(rank.kernels) == is_kernel.sum()
    assert rank.kernels.columns == rank.activities.columns
    for column in rank.kernels:
        assert (rank.kernels[column] == rank.activities[column][is_kernel]).all()
    assert f"{len(rank.activities)} kernels, memcpys and memsets" in repr(rank)


def test_links_that_lead_nowhere_are_missing(recording):
    pandas = pytest.importorskip("pandas")
    operators = recording.ranks[0].host_ops
    parents = operators["parent"]
    is_top = parents == 4294967295
    assert operators.is_link("parent") and not operators.is_link("begin_ns")
    assert 0 < is_top.sum() < len(operators)
    frame = operators.to_pandas()
    assert (frame["parent"].isna().to_numpy() == is_top).all()
    assert (frame["parent"].dropna().to_numpy() == parents[~is_top]).all()
    assert operators.to_pandas_head()["parent"][0] is pandas.NA
    column = operators.to_dict()["parent"]
    assert column.tolist()[0] is None
    assert column.data.__array_interface__["data"][0] == parents.__array_interface__["data"][0]  # not a copy
    assert "4294967295" not in operators._repr_html_()


def test_columns_cannot_be_written(recording):
    with pytest.raises(ValueError):
        recording.ranks[0].kernels["begin_ns"][0] = 1


def test_a_view_keeps_its_run_alive(data):
    run = orrery.read(data / "h200" / "fake-tp8.kineto.json.gz")
    begins = run.ranks[0].kernels["begin_ns"]
    before = begins.copy()
    del run
    gc.collect()
    ballast = [bytes(1 << 20) for _ in range(64)]  # would take the memory of the run, were it free
    assert (begins == before).all()
    del ballast


def test_texts_are_codes(recording):
    kernels = recording.ranks[0].kernels
    names = kernels.categories("name")
    codes = kernels["name"]
    assert codes.dtype == numpy.uint32
    assert kernels.text("name")[0] == names[codes[0]]
    assert set(recording.ranks[0].activities.text("kind")) <= {"kernel", "memcpy", "memset", "other"}


def test_all_tables_have_columns_of_one_length(recording):
    rank = recording.ranks[0]
    assert {"activities", "host_ops", "steps", "collectives"} <= set(rank.tables)
    for name in rank.tables:
        table = rank.table(name)
        assert all(len(column) == len(table) for column in table.to_dict().values())
        assert getattr(rank, name).columns == table.columns


def test_pandas(recording):
    pandas = pytest.importorskip("pandas")
    kernels = recording.ranks[0].kernels
    frame = kernels.to_pandas()
    assert list(frame["name"]) == kernels.text("name")
    assert (frame["duration_ns"].to_numpy() == kernels["duration_ns"]).all()
    assert isinstance(frame, pandas.DataFrame)
    assert len(kernels.to_pandas_head(3)) == 3
    assert "<table" in kernels._repr_html_()


def test_matched_collectives(data):
    run = orrery.read(data / "h200" / "fake-tp8.kineto.json.gz")
    matched = run.match()
    assert len(matched.instances) == len(matched)
    assert matched.members.columns == ["rank_index", "collective", "begin_ns", "end_ns"]


def test_members_name_their_ranks(data):
    """Also where files do not come in the order of ranks."""
    folder = data / "analyze" / "tp2_dp2"
    run = orrery.read([folder / f"rank{rank}.json" for rank in (2, 0, 3, 1)])
    assert [rank.rank for rank in run.ranks] == [0, 1, 2, 3]
    of_index = {rank.rank_index: rank for rank in run.ranks}
    members = run.match().members
    assert len(members) > 0
    for index, row, begin_ns in zip(members["rank_index"], members["collective"], members["begin_ns"]):
        assert of_index[index].collectives["begin_ns"][row] == begin_ns


def test_steps_and_problems(recording):
    assert len(recording.steps) > 0
    assert (recording.steps["duration_ns"] > 0).all()
    assert all(set(problem) == {"what", "first", "count", "is_loss", "rank"} for problem in recording.problems)


def test_names_that_are_not_there(recording):
    with pytest.raises(KeyError, match="begin_ns"):
        recording.ranks[0].kernels["begin"]
    with pytest.raises(KeyError, match="activities"):
        recording.ranks[0].table("kernel")
    with pytest.raises(AttributeError, match="host_ops"):
        recording.ranks[0].host_operators
    with pytest.raises(TypeError, match="not slice"):
        recording.ranks[0].kernels[0:5]
    with pytest.raises(KeyError, match="numbers"):
        recording.ranks[0].kernels.text("begin_ns")


class ArrowSchema(ctypes.Structure):
    pass


ArrowSchema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
                        ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
                        ("dictionary", ctypes.POINTER(ArrowSchema)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))),
                        ("private_data", ctypes.c_void_p)]


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                       ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                       ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))), ("dictionary", ctypes.POINTER(ArrowArray)),
                       ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))), ("private_data", ctypes.c_void_p)]


class ArrowArrayStream(ctypes.Structure):
    pass


ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))), ("private_data", ctypes.c_void_p)]

FORMATS = {b"l": numpy.int64, b"L": numpy.uint64, b"i": numpy.int32, b"I": numpy.uint32, b"C": numpy.uint8, b"c": numpy.int8,
           b"g": numpy.float64, b"f": numpy.float32}


def stream_of(table):
    capsule = table.__arrow_c_stream__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return capsule, ctypes.cast(get(capsule, b"arrow_array_stream"), ctypes.POINTER(ArrowArrayStream))


def numbers(array, schema):
    kind = FORMATS[schema.format]
    size = array.length * numpy.dtype(kind).itemsize
    return numpy.frombuffer((ctypes.c_char * size).from_address(array.buffers[1]), kind) if size else numpy.empty(0, kind)


def is_null(array, row):
    if not array.buffers[0]:
        return False
    return not ctypes.cast(array.buffers[0], ctypes.POINTER(ctypes.c_uint8))[row // 8] >> row % 8 & 1


def texts(array):
    offsets = (ctypes.c_int64 * (array.length + 1)).from_address(array.buffers[1])
    characters = ctypes.string_at(array.buffers[2], offsets[array.length]) if offsets[array.length] else b""
    return [characters[offsets[i]:offsets[i + 1]].decode(errors="replace") for i in range(array.length)]


@pytest.mark.parametrize("name", ["kernels", "activities", "host_ops"])
def test_arrow_stream_field_by_field(recording, name):
    table = getattr(recording.ranks[0], name)
    capsule, stream = stream_of(table)
    schema, array, end = ArrowSchema(), ArrowArray(), ArrowArray()
    assert stream.contents.get_schema(stream, schema) == 0
    assert stream.contents.get_next(stream, array) == 0
    assert schema.format == b"+s" and array.length == len(table) and array.n_buffers == 1
    assert [schema.children[i].contents.name.decode() for i in range(schema.n_children)] == table.columns
    for i, column in enumerate(table.columns):
        field, values = schema.children[i].contents, array.children[i].contents
        assert (numbers(values, field) == table[column]).all()
        if len(table):
            assert values.buffers[1] == table[column].__array_interface__["data"][0]  # not a copy
        is_missing = (table[column] == 4294967295) & table.is_link(column)
        assert values.null_count == is_missing.sum()
        assert [is_null(values, row) for row in range(len(table))] == list(is_missing)
        assert field.flags == (2 if table.is_link(column) else 0)
        if table.categories(column):
            assert field.dictionary.contents.format == b"U"
            assert texts(values.dictionary.contents) == table.categories(column)
    assert stream.contents.get_next(stream, end) == 0
    assert not end.release  # the end of the stream
    array.release(array)
    schema.release(schema)
    assert not array.release and not schema.release
    del capsule


def test_an_arrow_stream_that_nobody_reads_is_freed(recording):
    for _ in range(1000):
        recording.ranks[0].kernels.__arrow_c_stream__()


def test_pyarrow(recording):
    pyarrow = pytest.importorskip("pyarrow", minversion="14")
    table = pyarrow.table(recording.ranks[0].kernels)
    assert table.num_rows == len(recording.ranks[0].kernels)
