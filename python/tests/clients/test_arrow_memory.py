"""Tests who owns Arrow's structs, and for how long: with structs made by hand, whose releases are counted, and with
hostile ones."""

from __future__ import annotations

import ctypes
import gc
import resource
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import broadloom as bl
from broadloom import _core
from broadloom.arrow import NullableArray

pa = pytest.importorskip("pyarrow")

Pointer = ctypes.c_void_p
Release = ctypes.CFUNCTYPE(None, Pointer)


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", Pointer),
        ("dictionary", Pointer),
        ("release", Pointer),
        ("private_data", Pointer),
    ]


class Struct(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", Pointer),
        ("children", Pointer),
        ("dictionary", Pointer),
        ("release", Pointer),
        ("private_data", Pointer),
    ]


GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(Schema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.POINTER(Struct))
GetLastError = ctypes.CFUNCTYPE(Pointer, Pointer)


class Stream(ctypes.Structure):
    _fields_ = [
        ("get_schema", Pointer),
        ("get_next", Pointer),
        ("get_last_error", Pointer),
        ("release", Pointer),
        ("private_data", Pointer),
    ]


#: The byte of a struct where `release` is.
RELEASE = {Schema: Schema.release.offset, Struct: Struct.release.offset, Stream: Stream.release.offset}
capsule_of = ctypes.pythonapi.PyCapsule_New
capsule_of.restype, capsule_of.argtypes = ctypes.py_object, [Pointer, ctypes.c_char_p, Pointer]
pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.restype, pointer_in.argtypes = Pointer, [ctypes.py_object, ctypes.c_char_p]


def address_of(function: Any) -> int:
    return ctypes.cast(function, Pointer).value or 0


#: Functions in structs must outlive them, as the code of a library does.
LIBRARY: list[Any] = []


class Producer:
    """Creates structs for a format and buffers, and counts their releases."""

    def __init__(self, kind: bytes = b"l", memory: list[Any] | None = None, **fields: Any) -> None:
        self.released: list[str] = []
        self.threads: list[int] = []
        given = [None, np.arange(8, dtype=np.int64)] if memory is None else memory
        self.memory = given
        self.pointers = (Pointer * len(given))(
            *(None if b is None else b.ctypes.data if isinstance(b, np.ndarray) else b for b in given)
        )
        self.fields = {"length": 8, "null_count": 0, "n_buffers": len(given), **fields}
        self.kind = kind
        self.functions = {which: Release(self._releaser(which)) for which in (Schema, Struct, Stream)}
        LIBRARY.append(self)

    def _releaser(self, which: Any) -> Callable[[int], None]:
        def release(at: int) -> None:
            self.released.append(which.__name__)
            self.threads.append(threading.get_ident())
            Pointer.from_address(at + RELEASE[which]).value = None

        return release

    def schema(self) -> Schema:
        return Schema(
            self.kind,
            b"",
            None,
            2,
            self.fields.get("n_children_of_type", 0),
            None,
            None,
            address_of(self.functions[Schema]),
            None,
        )

    def struct(self) -> Struct:
        made = Struct(buffers=ctypes.addressof(self.pointers), release=address_of(self.functions[Struct]))
        for name, value in self.fields.items():
            if hasattr(made, name):
                setattr(made, name, value)
        return made

    def capsules(self) -> tuple[Any, Any]:
        # The capsule has no destructor: a struct that the consumer does not take is never released.
        self.held = self.schema(), self.struct()
        names = b"arrow_schema", b"arrow_array"
        return tuple(capsule_of(ctypes.addressof(one), name, None) for one, name in zip(self.held, names))  # type: ignore[return-value]

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.capsules()


class StreamOf(Producer):
    """A stream of the given number of structs, or a stream that fails with an error code."""

    def __init__(
        self, chunks: int, code: int = 0, words: bytes | None = b"no more", at: str = "next", **fields: Any
    ) -> None:
        super().__init__(**fields)
        self.left, self.code, self.at = chunks, code, at
        self.words = ctypes.create_string_buffer(words) if words is not None else None
        self.calls = GetSchema(self._schema), GetNext(self._next), GetLastError(self._last)

    def _schema(self, _: int, out: Any) -> int:
        if self.at == "schema":
            return self.code
        ctypes.memmove(out, ctypes.byref(self.schema()), ctypes.sizeof(Schema))
        return 0

    def _next(self, _: int, out: Any) -> int:
        if self.left == 0:
            if self.code == 0:
                ctypes.memset(out, 0, ctypes.sizeof(Struct))
            return self.code
        self.left -= 1
        ctypes.memmove(out, ctypes.byref(self.struct()), ctypes.sizeof(Struct))
        return 0

    def _last(self, _: int) -> int | None:
        return None if self.words is None else ctypes.addressof(self.words)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.stream = Stream(*(address_of(call) for call in self.calls), address_of(self.functions[Stream]), None)
        return capsule_of(ctypes.addressof(self.stream), b"arrow_array_stream", None)

    @property
    def __arrow_c_array__(self) -> Any:  # type: ignore[override]
        raise AttributeError


# A struct that was taken is released once, when nothing reads it any more.


def test_memory_is_released_once_when_the_last_array_dies() -> None:
    producer = Producer()
    x = bl.from_arrow(producer)
    y, view = x + 1, np.asarray(x)
    assert producer.released == []
    del x
    assert y.tolist() == list(range(1, 9)) and producer.released == []
    del y
    assert producer.released == [] and view.tolist() == list(range(8))
    del view
    assert producer.released == ["Struct"]


def test_memory_that_is_copied_is_released_at_once() -> None:
    bits = np.array([0b01010101], np.uint8)
    for producer in (
        Producer(b"b", [None, bits]),
        Producer(b"b", [bits, bits], null_count=-1),
        Producer(b"i", [None, np.zeros(33, np.uint8)[1:]]),
    ):
        x = bl.from_arrow(producer)
        assert producer.released == ["Struct"]
        assert len(x) == 8
    producer = Producer(memory=[np.array([0b11111110], np.uint8), np.arange(8)], null_count=1)
    x = bl.from_arrow(producer)
    assert x.tolist() == [None, 1, 2, 3, 4, 5, 6, 7] and producer.released == []
    del x
    assert producer.released == ["Struct"]


def test_memory_that_goes_on_to_another_library() -> None:
    producer = Producer()
    there = pa.array(bl.from_arrow(producer))
    assert producer.released == [] and there.buffers()[1].address == producer.memory[1].ctypes.data
    del there
    assert producer.released == ["Struct"]


def test_streams_release_everything() -> None:
    for chunks in range(4):
        producer = StreamOf(chunks)
        x = bl.from_arrow(producer)
        assert x.tolist() == list(range(8)) * chunks
        # One chunk is shared, several are copied.
        assert producer.released.count("Struct") == (0 if chunks == 1 else chunks)
        assert producer.released.count("Schema") == producer.released.count("Stream") == 1
        del x
        assert producer.released.count("Struct") == chunks


@pytest.mark.parametrize(
    ("code", "kind"), [(22, ValueError), (12, MemoryError), (5, OSError), (38, OSError), (1234, OSError)]
)
def test_streams_that_fail(code: int, kind: type[Exception]) -> None:
    for chunks in (0, 1, 2):
        producer = StreamOf(chunks, code)
        with pytest.raises(kind, match="stream failed: no more") as raised:
            bl.from_arrow(producer)
        if kind is OSError:
            assert raised.value.errno == code  # type: ignore[attr-defined]
        del raised
        gc.collect()
        assert producer.released.count("Struct") == chunks and producer.released.count("Stream") == 1
    producer = StreamOf(0, code, None, at="schema")
    with pytest.raises(kind, match="gives no reason"):
        bl.from_arrow(producer)
    gc.collect()
    assert producer.released == ["Stream"]


def test_other_types_are_left_to_the_producer() -> None:
    for kind in (b"u", b"tdD", b"+s", b"d:5,2", b"no such", b""):
        producer = Producer(kind)
        with pytest.raises(TypeError, match="broadloom has"):
            bl.from_arrow(producer)
        assert producer.released == []
        stream = StreamOf(2, kind=kind)
        with pytest.raises(TypeError, match="broadloom has"):
            bl.from_arrow(stream)
        gc.collect()
        assert sorted(stream.released) == ["Schema", "Stream"]


def test_a_capsule_is_taken_once() -> None:
    producer = Producer()

    class Given:
        def __init__(self, capsules: Any) -> None:
            self.capsules = capsules

        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return self.capsules

    given = Given(producer.capsules())
    x = bl.from_arrow(given)
    with pytest.raises(ValueError, match="consumed before"):
        bl.from_arrow(given)
    del x
    assert producer.released == ["Struct"]
    for wrong in (None, (1, 2), (producer.capsules()[1], producer.capsules()[0]), producer.capsules()[:1]):
        with pytest.raises(TypeError):
            bl.from_arrow(Given(wrong))
    ours = bl.asarray([1, 2]).__arrow_c_array__()
    assert bl.from_arrow(Given(ours)).tolist() == [1, 2]
    with pytest.raises(ValueError, match="consumed before"):
        bl.from_arrow(Given(ours))


# Hostile structs.

HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "negative length": ({"length": -1}, "the length is -1"),
    "negative offset": ({"offset": -1}, "the offset is -1"),
    "smallest length": ({"length": -(2**63)}, "the length is"),
    "no buffers": ({"n_buffers": 0}, "0 buffers, not 2"),
    "one buffer": ({"n_buffers": 1}, "1 buffers, not 2"),
    "three buffers": ({"n_buffers": 3}, "3 buffers, not 2"),
    "negative number of buffers": ({"n_buffers": -2}, "-2 buffers, not 2"),
    "no array of buffers": ({"buffers": None}, "2 buffers, not 2"),
    "children": ({"n_children": 1}, "children"),
    "negative number of children": ({"n_children": -1}, "children"),
    "a dictionary": ({"dictionary": 4096}, "dictionary"),
    "children of the type": ({"n_children_of_type": 3}, "3 children"),
    "too many nulls": ({"null_count": 9}, "9 nulls among 8"),
    "less than no nulls": ({"null_count": -2}, "-2 nulls"),
    "nulls without a bitmap": ({"null_count": 3}, "3 nulls without"),
    "more bytes than memory": ({"length": 2**61}, "more than memory has"),
    "a length that overflows": ({"length": 2**63 - 1}, "more than memory has"),
    "an offset that overflows": ({"offset": 2**63 - 1}, "more than memory has"),
    "an end that overflows": ({"length": 2**62, "offset": 2**62}, "more than memory has"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_structs_are_refused(name: str) -> None:
    fields, words = HOSTILE[name]
    producer = Producer(**fields)
    with pytest.raises(ValueError, match=words):
        bl.from_arrow(producer)
    # Refused structs stay in their capsules.
    assert producer.released == [] and producer.held[1].release
    stream = StreamOf(3, **fields)
    with pytest.raises(ValueError, match=words):
        bl.from_arrow(stream)
    gc.collect()
    assert stream.released.count("Struct") == 3 - stream.left and stream.released.count("Stream") == 1


def test_hostile_buffers_are_refused() -> None:
    for buffers, words in [
        ([None, None], "without a buffer of values"),
        ([None, 2**64 - 8], "more than memory has"),
        ([2**64 - 1, np.arange(8)], None),
    ]:
        producer = Producer(memory=buffers)
        if words is None:
            # If there are no nulls, the bitmap's address is not used, even if the buffer would exceed memory. The
            # values' length is checked.
            producer.fields["length"] = 100
            words = "more than memory has"
        with pytest.raises(ValueError, match=words):
            bl.from_arrow(producer)
    producer = Producer(memory=[None, None], length=0)
    assert bl.from_arrow(producer).tolist() == []
    producer = Producer(memory=[None, None], length=0, offset=5, null_count=-1)
    assert bl.from_arrow(producer).tolist() == []
    # If there is no bitmap and the number of nulls is unknown, there are no nulls.
    assert isinstance(bl.from_arrow(Producer(null_count=-1)), bl.Array)
    # A bitmap is not read if the null count is 0.
    assert bl.from_arrow(Producer(memory=[np.zeros(1, np.uint8), np.arange(8)])).tolist() == list(range(8))


def test_a_schema_without_a_format() -> None:
    producer = Producer()
    producer.kind = None  # type: ignore[assignment]
    with pytest.raises(ValueError, match="without a format"):
        bl.from_arrow(producer)


def test_offsets_are_of_elements_and_bits() -> None:
    values, valid = np.arange(64, dtype=np.int16), np.arange(64) % 3 > 0
    bits, flags = np.packbits(valid, bitorder="little"), np.packbits(values % 5 == 0, bitorder="little")
    for offset in range(20):
        for length in (0, 1, 7, 8, 9, 44):
            part = slice(offset, offset + length)
            expected = np.where(valid, values.astype(object), None)[part].tolist()
            for null_count in (-1, int(np.count_nonzero(~valid[part]))):
                fields = {"offset": offset, "length": length, "null_count": null_count}
                found = bl.from_arrow(Producer(b"s", [bits, values], **fields))
                assert found.tolist() == expected
                found = bl.from_arrow(Producer(b"b", [bits, flags], **fields))
                assert found.tolist() == [None if v is None else v % 5 == 0 for v in expected]


def test_no_byte_after_the_last_element_is_read() -> None:
    """Tests buffers that end at the end of a page, followed by a page that must not be read."""
    import mmap

    page = mmap.PAGESIZE
    library = ctypes.CDLL(None)
    memory = mmap.mmap(-1, 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert library.mprotect(Pointer(start + page), ctypes.c_size_t(page), 0) == 0
    try:
        for length, bit in ((8, 0), (9, 7), (3, 5)):
            bitmap = start + page - (length + bit + 7) // 8
            producer = Producer(b"c", [bitmap, start + page - length - bit], length=length, offset=bit, null_count=-1)
            assert bl.from_arrow(producer).tolist() == [None] * length
            producer = Producer(b"b", [None, bitmap], length=length, offset=bit)
            assert bl.from_arrow(producer).tolist() == [False] * length
    finally:
        assert library.mprotect(Pointer(start + page), ctypes.c_size_t(page), 3) == 0


# Shared memory lives until the struct is released, and no longer.


def lent(x: Any) -> tuple[Any, Struct]:
    """A capsule and the struct in it."""
    capsule = x.__arrow_c_array__()[1]
    return capsule, Struct.from_address(pointer_in(capsule, b"arrow_array"))


def released(struct: Struct) -> None:
    """Calls `release`, as a consumer does."""
    ctypes.CFUNCTYPE(None, Pointer)(struct.release)(ctypes.addressof(struct))


def moved(struct: Struct) -> Struct:
    """Moves a struct out of its capsule."""
    copy = Struct.from_buffer_copy(struct)
    struct.release = None
    return copy


class Memory(bytearray):
    """Memory whose release can be observed."""


def watched() -> tuple[Any, weakref.ref[Any]]:
    memory = Memory(np.arange(1000.0).tobytes())
    return bl.asarray(np.frombuffer(memory)), weakref.ref(memory)


def test_a_capsule_that_nobody_takes_releases_its_struct() -> None:
    x, alive = watched()
    capsule, _ = lent(x)
    del x
    assert alive() is not None
    del capsule
    assert alive() is None


def test_a_struct_that_was_moved_keeps_memory_alive_without_its_capsule() -> None:
    x, alive = watched()
    capsule, struct = lent(x)
    mine = moved(struct)
    del capsule, struct, x
    assert alive() is not None and mine.release
    buffers = (Pointer * 2).from_address(mine.buffers)
    assert np.ctypeslib.as_array(ctypes.cast(buffers[1], ctypes.POINTER(ctypes.c_double)), (1000,))[999] == 999.0
    assert (mine.length, mine.null_count, mine.offset, mine.n_buffers, buffers[0]) == (1000, 0, 0, 2, None)
    released(mine)
    assert not mine.release
    assert alive() is None


def test_a_struct_that_was_released_in_its_capsule_is_not_released_again() -> None:
    x, alive = watched()
    capsule, struct = lent(x)
    del x
    released(struct)
    assert alive() is None
    del capsule, struct


def test_structs_are_released_by_threads_without_python() -> None:
    """A thread that Python does not know calls `release`, while the test's thread either holds the GIL or waits
    without it."""
    library = ctypes.CDLL(None)
    Start = ctypes.CFUNCTYPE(Pointer, Pointer)
    structs, alive = [], []
    for _ in range(4):
        x, ref = watched()
        capsule, struct = lent(x)
        structs.append(moved(struct))
        alive.append(ref)
        del x, capsule, struct
    threads = []
    for struct in structs:
        thread = ctypes.c_ulong()
        # The thread starts in the C function itself, so it runs no Python code except the code that this function
        # calls.
        start = ctypes.cast(struct.release, Start)
        assert library.pthread_create(ctypes.byref(thread), None, start, Pointer(ctypes.addressof(struct))) == 0
        threads.append(thread)
    for thread in threads:
        assert library.pthread_join(thread, None) == 0
    assert all(not struct.release for struct in structs)
    assert all(ref() is None for ref in alive)


def test_threads_export_and_import_at_once() -> None:
    x = bl.sqrt(bl.asarray(np.arange(5000.0))) + 1
    expected = np.sqrt(np.arange(5000.0)) + 1
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                assert np.array_equal(np.asarray(bl.from_arrow(pa.array(x))), expected)
                assert np.array_equal(np.asarray(bl.from_arrow(pa.chunked_array(x))), expected)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_a_stream_of_ours_may_be_left_at_any_place() -> None:
    def memory() -> tuple[Any, weakref.ref[Any], Stream]:
        x, alive = watched()
        capsule = x.__arrow_c_stream__()
        return capsule, alive, Stream.from_address(pointer_in(capsule, b"arrow_array_stream"))

    capsule, alive, stream = memory()
    assert alive() is not None
    del capsule
    assert alive() is None
    capsule, alive, stream = memory()
    at = ctypes.addressof(stream)
    for _ in range(2):
        schema = Schema()
        assert ctypes.cast(stream.get_schema, GetSchema)(at, ctypes.byref(schema)) == 0
        assert (schema.format, schema.flags, schema.n_children) == (b"g", 2, 0)
        ctypes.cast(schema.release, Release)(ctypes.addressof(schema))
        assert not schema.release
    first, second = Struct(), Struct()
    assert ctypes.cast(stream.get_next, GetNext)(at, ctypes.byref(first)) == 0
    assert ctypes.cast(stream.get_next, GetNext)(at, ctypes.byref(second)) == 0
    assert first.release and first.length == 1000 and not second.release
    assert not ctypes.cast(stream.get_last_error, GetLastError)(at)
    del capsule
    assert alive() is not None
    released(first)
    assert alive() is None


def bytes_in_use() -> int:
    """The number of bytes that the C library has allocated or, if it does not report that, the peak memory of the
    process."""
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"

    class Info(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

    mallinfo2 = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo2 is None:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    mallinfo2.restype = Info
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)


def test_ten_thousand_round_trips_leak_nothing() -> None:
    values, valid = np.arange(4096.0), np.arange(4096) % 7 > 0

    def trip(times: int) -> None:
        for _ in range(times):
            x = NullableArray(values, valid)
            assert len(bl.from_arrow(pa.array(x * 1))) == 4096
            x.values.__arrow_c_array__()
            x.__arrow_c_stream__()
            bl.from_arrow(pa.chunked_array(x.values))

    trip(500)
    gc.collect()
    before, of_pyarrow = bytes_in_use(), pa.total_allocated_bytes()
    trip(10_000)
    gc.collect()
    # A struct alone takes 80 bytes, so leaking one at each call would take 800 000.
    assert bytes_in_use() - before < 400_000
    assert pa.total_allocated_bytes() == of_pyarrow


def test_the_end_of_the_interpreter() -> None:
    """Structs may outlive modules, and their owners may be destroyed in any order."""
    code = """
import atexit, ctypes, sys
import numpy as np, pyarrow as pa, polars as pl
import broadloom as bl
x = bl.sqrt(bl.asarray(np.arange(100000.0)))
kept = pa.array(x), pl.Series(x), pa.chunked_array(x), x.__arrow_c_array__(), x.__arrow_c_stream__()
taken = bl.from_arrow(pa.array([1.0, None])), bl.from_arrow(pl.Series([1, 2]))
sys.kept, pa.kept = kept, kept
# A struct that is released when there is no interpreter any more: after Py_Finalize, by the C library.
capsule = x.__arrow_c_array__()[1]
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
at = get(capsule, b"arrow_array")
release = ctypes.c_void_p.from_address(at + 64).value
copy = ctypes.create_string_buffer(ctypes.string_at(at, 80), 80)
ctypes.c_void_p.from_address(at + 64).value = None
for held in (copy, capsule):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
library = ctypes.CDLL(None)
assert library.__cxa_atexit(ctypes.c_void_p(release), ctypes.c_void_p(ctypes.addressof(copy)), None) == 0
print("done")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


def test_the_extension_lends_no_more_than_there_is() -> None:
    values, bits = np.arange(9.0), np.zeros(2, np.uint8)
    assert _core.arrow_array(np.float64, 9, 9, values, bits)
    for dtype, length, nulls, memory, validity in [
        (np.float64, 10, 0, values, None),
        (np.float64, 2**61, 0, values, None),
        (np.float64, 9, 1, values, None),
        (np.float64, 9, 10, values, bits),
        (np.float64, 9, 1, values, bits[:1]),
        (np.float64, 3, 0, values[::2], None),
        (np.bool_, 17, 0, bits, None),
    ]:
        with pytest.raises(ValueError):
            _core.arrow_array(dtype, length, nulls, memory, validity)
