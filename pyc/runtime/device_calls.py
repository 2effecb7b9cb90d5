"""Native calls of programs on a GPU: the entry that starts a Plan's kernels.

    i32 start(context, arguments, results)

has the form of every entry (`pyc.ir.plan`), so the dispatcher runs it as it runs code of the CPU.
What it starts is a `Program`, whose address stands where a program of the CPU has its externals:
the table of buffer addresses, rows that say which argument, result or piece of the arena goes to
which place of it, and the launches and copies in order. Nothing is waited for here. Arguments and
results are `pyc.Array`s, whose address is a Python int. Numbers stand in the table too, and are
parameters of the launches; those that many launches read, or one cannot take so, are copied to the
device together, if they are others than at the last call.

Calls replay a CUDA graph of the launches (`device_graph`): a launch whose addresses are others than
at the last call is told so before.

The interpreter's lock is held from the first write to the table to the last launch, which copies
its parameters, so one table serves all threads; what they start runs in the order of the stream.
"""

from __future__ import annotations

import ctypes

from pyc.ir.plan import DEVICE_FAILED, NO_MEMORY
from pyc.runtime.native import Part

_WORD, _ADDRESS = ctypes.c_int64, ctypes.c_void_p


class Row(ctypes.Structure):
    """place: in the table; source: number of an argument or result, or offset in the arena."""

    _fields_ = (("place", _WORD), ("source", _WORD))


class Number(ctypes.Structure):
    """to: the address of 16 bytes for a number; source: number of the argument; low, high: the bits
    of its two words that it has."""

    _fields_ = (("to", _ADDRESS), ("source", _WORD), ("low", _WORD), ("high", _WORD))


class Map(ctypes.Structure):
    """A tensor map, and the place in the table of the array it is for."""

    _fields_ = (("map", _ADDRESS), ("place", _WORD))


class Launch(ctypes.Structure):
    """A kernel and its parameters; without a kernel, a copy of `nbytes` within the device, between
    two places. node: of the graph, with its parameters, which it is told again when the address in
    one of `places` is another one than at the last call."""

    _fields_ = (
        *(("function", _ADDRESS), ("grid", ctypes.c_int32 * 3), ("threads", ctypes.c_int32)),
        *(("shared_bytes", _WORD), ("parameters", _ADDRESS), ("maps", _ADDRESS)),
        *(("map_count", _WORD), ("destination", _WORD), ("source", _WORD), ("nbytes", _WORD)),
        *(("node", _ADDRESS), ("node_parameters", _ADDRESS), ("places", _ADDRESS)),
        ("place_count", _WORD),
    )


class CopyParameters(ctypes.Structure):
    """CUDA_MEMCPY3D of the driver's interface, of one row of bytes within the device."""

    _fields_ = (
        *(("from_offsets", _WORD * 4), ("from_kind", _WORD), ("from_host", _ADDRESS)),
        *(("source", _WORD), ("from_array", _ADDRESS), ("from_other", _WORD * 3)),
        *(("to_offsets", _WORD * 4), ("to_kind", _WORD), ("to_host", _ADDRESS)),
        *(("destination", _WORD), ("to_array", _ADDRESS), ("to_other", _WORD * 3)),
        *(("nbytes", _WORD), ("rows", _WORD), ("layers", _WORD)),
    )


class Program(ctypes.Structure):
    """What a call starts, and the driver's functions for it. words: the places of the numbers that
    come by value; sent: those that are copied to the device; is_sent: whether what is `staged` has
    arrived there."""

    _fields_ = (
        *((f"f_{name}", _ADDRESS) for name in ("enter", "launch", "allocate", "free", "copy")),
        *((f"f_{name}", _ADDRESS) for name in ("upload", "replace", "replay", "change")),
        ("f_move", _ADDRESS),
        *(("context", _ADDRESS), ("stream", _ADDRESS), ("table", _ADDRESS), ("last", _ADDRESS)),
        *(("arrays", _ADDRESS), ("array_count", _WORD)),
        *(("numbers", _ADDRESS), ("number_count", _WORD)),
        *(("words", _ADDRESS), ("word_count", _WORD)),
        *(("sent", _ADDRESS), ("sent_count", _WORD), ("is_sent", _WORD)),
        *(("staged", _ADDRESS), ("number_address", _WORD)),
        *(("results", _ADDRESS), ("result_count", _WORD)),
        *(("pieces", _ADDRESS), ("piece_count", _WORD), ("arena_bytes", _WORD)),
        *(("launches", _ADDRESS), ("launch_count", _WORD), ("graph", _ADDRESS)),
    )


STRUCTURES: dict[str, type[ctypes.Structure]] = {
    "row": Row,
    "number": Number,
    "map": Map,
    "launch": Launch,
    "copy": CopyParameters,
    "program": Program,
}

OUT_OF_MEMORY = 2
"""The driver's status for an allocation that failed."""

TEXT = """
; --- programs on a GPU
; The address of an array: the Python int that its first field is.
define internal i64 @address_of(ptr %number) alwaysinline nounwind {
  %convert = load ptr, ptr @f_PyLong_AsLongLong
  %address = call i64 %convert(ptr %number)
  ret i64 %address
}

; Writes what rows say to their places.
define internal void @place(ptr %program, ptr %rows, i64 %count, ptr %from, i64 %stride)
    alwaysinline nounwind {
entry:
  %table.at = getelementptr %program, ptr %program, i64 0, i32 $program_table
  %table = load ptr, ptr %table.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %row = getelementptr %row, ptr %rows, i64 %k
  %source.at = getelementptr %row, ptr %row, i64 0, i32 $row_source
  %place = load i64, ptr %row
  %source = load i64, ptr %source.at
  %offset = mul i64 %source, %stride
  %given.at = getelementptr i8, ptr %from, i64 %offset
  %given = load ptr, ptr %given.at
  %address = call i64 @address_of(ptr %given)
  %to = getelementptr i64, ptr %table, i64 %place
  store i64 %address, ptr %to
  %k.next = add i64 %k, 1
  br label %next
end:
  ret void
}

; Puts numbers among the arguments where rows say; whether one is another than what was there.
define internal i1 @take(ptr %rows, i64 %count, ptr %arguments) nounwind {
entry:
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %differs = phi i64 [0, %entry], [%differs.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %row = getelementptr %number, ptr %rows, i64 %k
  %source.at = getelementptr %number, ptr %row, i64 0, i32 $number_source
  %low.at = getelementptr %number, ptr %row, i64 0, i32 $number_low
  %high.at = getelementptr %number, ptr %row, i64 0, i32 $number_high
  %to = load ptr, ptr %row
  %source = load i64, ptr %source.at
  %low = load i64, ptr %low.at
  %high = load i64, ptr %high.at
  %from = getelementptr [16 x i8], ptr %arguments, i64 %source
  %from.high = getelementptr i64, ptr %from, i64 1
  %to.high = getelementptr i64, ptr %to, i64 1
  %given.low = load i64, ptr %from
  %given.high = load i64, ptr %from.high
  %now.low = and i64 %given.low, %low
  %now.high = and i64 %given.high, %high
  %then.low = load i64, ptr %to
  %then.high = load i64, ptr %to.high
  %differs.low = xor i64 %now.low, %then.low
  %differs.high = xor i64 %now.high, %then.high
  %differs.one = or i64 %differs.low, %differs.high
  %differs.next = or i64 %differs, %differs.one
  store i64 %now.low, ptr %to
  store i64 %now.high, ptr %to.high
  %k.next = add i64 %k, 1
  br label %next
end:
  %other = icmp ne i64 %differs, 0
  ret i1 %other
}

; Copies numbers to the device, if one is another than what is there.
define internal i32 @send(ptr %program, ptr %arguments) nounwind {
entry:
  %rows.at = getelementptr %program, ptr %program, i64 0, i32 $program_sent
  %count.at = getelementptr %program, ptr %program, i64 0, i32 $program_sent_count
  %sent.at = getelementptr %program, ptr %program, i64 0, i32 $program_is_sent
  %rows = load ptr, ptr %rows.at
  %count = load i64, ptr %count.at
  %sent = load i64, ptr %sent.at
  %other = call i1 @take(ptr %rows, i64 %count, ptr %arguments)
  %unsent = icmp eq i64 %sent, 0
  %uploads = or i1 %other, %unsent
  br i1 %uploads, label %upload, label %same
same:
  ret i32 0
upload:
  ; The driver has copied what is so small and not pinned when it returns.
  %staged.at = getelementptr %program, ptr %program, i64 0, i32 $program_staged
  %address.at = getelementptr %program, ptr %program, i64 0, i32 $program_number_address
  %upload.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_upload
  %stream.at = getelementptr %program, ptr %program, i64 0, i32 $program_stream
  %staged = load ptr, ptr %staged.at
  %address = load i64, ptr %address.at
  %stream = load ptr, ptr %stream.at
  %f.upload = load ptr, ptr %upload.at
  %nbytes = mul i64 %count, 16
  store i64 0, ptr %sent.at
  %status = call i32 %f.upload(i64 %address, ptr %staged, i64 %nbytes, ptr %stream)
  %good = icmp eq i32 %status, 0
  %arrived = zext i1 %good to i64
  store i64 %arrived, ptr %sent.at
  ret i32 %status
}

; Tells the tensor maps of a launch where their arrays are.
define internal i32 @aim(ptr %program, ptr %launch) nounwind {
entry:
  %maps.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_maps
  %count.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_map_count
  %table.at = getelementptr %program, ptr %program, i64 0, i32 $program_table
  %replace.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_replace
  %maps = load ptr, ptr %maps.at
  %count = load i64, ptr %count.at
  %table = load ptr, ptr %table.at
  %replace = load ptr, ptr %replace.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %row = getelementptr %map, ptr %maps, i64 %k
  %place.at = getelementptr %map, ptr %row, i64 0, i32 $map_place
  %place = load i64, ptr %place.at
  %map = load ptr, ptr %row
  %address.at = getelementptr i64, ptr %table, i64 %place
  %address = load i64, ptr %address.at
  %status = call i32 %replace(ptr %map, i64 %address)
  %good = icmp eq i32 %status, 0
  %k.next = add i64 %k, 1
  br i1 %good, label %next, label %failed
failed:
  ret i32 %status
end:
  ret i32 0
}

; Starts a kernel or a copy.
define internal i32 @launch(ptr %program, ptr %launch) nounwind {
entry:
  %stream.at = getelementptr %program, ptr %program, i64 0, i32 $program_stream
  %stream = load ptr, ptr %stream.at
  %function = load ptr, ptr %launch
  %is.kernel = icmp ne ptr %function, null
  br i1 %is.kernel, label %aim, label %copy
aim:
  %aimed = call i32 @aim(ptr %program, ptr %launch)
  %is.aimed = icmp eq i32 %aimed, 0
  br i1 %is.aimed, label %kernel, label %failed
failed:
  ret i32 %aimed
kernel:
  %x.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_grid, i64 0
  %y.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_grid, i64 1
  %z.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_grid, i64 2
  %threads.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_threads
  %shared.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_shared_bytes
  %parameters.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_parameters
  %start.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_launch
  %x = load i32, ptr %x.at
  %y = load i32, ptr %y.at
  %z = load i32, ptr %z.at
  %threads = load i32, ptr %threads.at
  %shared.wide = load i64, ptr %shared.at
  %shared = trunc i64 %shared.wide to i32
  %parameters = load ptr, ptr %parameters.at
  %start = load ptr, ptr %start.at
  %started = call i32 %start(ptr %function, i32 %x, i32 %y, i32 %z, i32 %threads, i32 1, i32 1,
                             i32 %shared, ptr %stream, ptr %parameters, ptr null)
  ret i32 %started
copy:
  %table.at = getelementptr %program, ptr %program, i64 0, i32 $program_table
  %copy.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_copy
  %to.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_destination
  %from.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_source
  %nbytes.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_nbytes
  %table = load ptr, ptr %table.at
  %f.copy = load ptr, ptr %copy.at
  %to = load i64, ptr %to.at
  %from = load i64, ptr %from.at
  %nbytes = load i64, ptr %nbytes.at
  %to.address.at = getelementptr i64, ptr %table, i64 %to
  %from.address.at = getelementptr i64, ptr %table, i64 %from
  %to.address = load i64, ptr %to.address.at
  %from.address = load i64, ptr %from.address.at
  %same = icmp eq i64 %to.address, %from.address
  br i1 %same, label %nothing, label %move
nothing:
  ret i32 0
move:
  %moved = call i32 %f.copy(i64 %to.address, i64 %from.address, i64 %nbytes, ptr %stream)
  ret i32 %moved
}

; Tells a node of the graph the addresses that its launch has now, if they are others.
define internal i32 @change(ptr %program, ptr %launch) nounwind {
entry:
  %table.at = getelementptr %program, ptr %program, i64 0, i32 $program_table
  %last.at = getelementptr %program, ptr %program, i64 0, i32 $program_last
  %places.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_places
  %count.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_place_count
  %table = load ptr, ptr %table.at
  %last = load ptr, ptr %last.at
  %places = load ptr, ptr %places.at
  %count = load i64, ptr %count.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %same
one:
  %place.at = getelementptr i64, ptr %places, i64 %k
  %place = load i64, ptr %place.at
  %now.at = getelementptr i64, ptr %table, i64 %place
  %then.at = getelementptr i64, ptr %last, i64 %place
  %now = load i64, ptr %now.at
  %then = load i64, ptr %then.at
  %equal = icmp eq i64 %now, %then
  %k.next = add i64 %k, 1
  br i1 %equal, label %next, label %other
same:
  ret i32 0
other:
  %graph.at = getelementptr %program, ptr %program, i64 0, i32 $program_graph
  %node.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_node
  %parameters.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_node_parameters
  %graph = load ptr, ptr %graph.at
  %node = load ptr, ptr %node.at
  %parameters = load ptr, ptr %parameters.at
  %function = load ptr, ptr %launch
  %is.kernel = icmp ne ptr %function, null
  br i1 %is.kernel, label %aim, label %move
aim:
  %aimed = call i32 @aim(ptr %program, ptr %launch)
  %is.aimed = icmp eq i32 %aimed, 0
  br i1 %is.aimed, label %tell, label %failed
failed:
  ret i32 %aimed
move:
  %move.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_move
  %context.at = getelementptr %program, ptr %program, i64 0, i32 $program_context
  %to.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_destination
  %from.at = getelementptr %launch, ptr %launch, i64 0, i32 $launch_source
  %to.place = load i64, ptr %to.at
  %from.place = load i64, ptr %from.at
  %to.address.at = getelementptr i64, ptr %table, i64 %to.place
  %from.address.at = getelementptr i64, ptr %table, i64 %from.place
  %to.address = load i64, ptr %to.address.at
  %from.address = load i64, ptr %from.address.at
  %copied.to = getelementptr %copy, ptr %parameters, i64 0, i32 $copy_destination
  %copied.from = getelementptr %copy, ptr %parameters, i64 0, i32 $copy_source
  store i64 %to.address, ptr %copied.to
  store i64 %from.address, ptr %copied.from
  %f.move = load ptr, ptr %move.at
  %context = load ptr, ptr %context.at
  %moved = call i32 %f.move(ptr %graph, ptr %node, ptr %parameters, ptr %context)
  ret i32 %moved
tell:
  %change.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_change
  %f.change = load ptr, ptr %change.at
  %status = call i32 %f.change(ptr %graph, ptr %node, ptr %parameters)
  ret i32 %status
}

; Starts everything in order, or replays the graph.
define internal i32 @run(ptr %program) nounwind {
entry:
  %graph.at = getelementptr %program, ptr %program, i64 0, i32 $program_graph
  %launches.at = getelementptr %program, ptr %program, i64 0, i32 $program_launches
  %count.at = getelementptr %program, ptr %program, i64 0, i32 $program_launch_count
  %graph = load ptr, ptr %graph.at
  %launches = load ptr, ptr %launches.at
  %count = load i64, ptr %count.at
  %replays = icmp ne ptr %graph, null
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %done]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %launch = getelementptr %launch, ptr %launches, i64 %k
  br i1 %replays, label %change, label %start
change:
  %changed = call i32 @change(ptr %program, ptr %launch)
  br label %done
start:
  %started = call i32 @launch(ptr %program, ptr %launch)
  br label %done
done:
  %status = phi i32 [%changed, %change], [%started, %start]
  %k.next = add i64 %k, 1
  %good = icmp eq i32 %status, 0
  br i1 %good, label %next, label %failed
failed:
  ret i32 %status
end:
  br i1 %replays, label %replay, label %good.end
good.end:
  ret i32 0
replay:
  %replay.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_replay
  %stream.at = getelementptr %program, ptr %program, i64 0, i32 $program_stream
  %f.replay = load ptr, ptr %replay.at
  %stream = load ptr, ptr %stream.at
  %replayed = call i32 %f.replay(ptr %graph, ptr %stream)
  ret i32 %replayed
}

; The pieces of an arena of this call.
define internal void @cut(ptr %program, i64 %arena) nounwind {
entry:
  %rows.at = getelementptr %program, ptr %program, i64 0, i32 $program_pieces
  %count.at = getelementptr %program, ptr %program, i64 0, i32 $program_piece_count
  %table.at = getelementptr %program, ptr %program, i64 0, i32 $program_table
  %rows = load ptr, ptr %rows.at
  %count = load i64, ptr %count.at
  %table = load ptr, ptr %table.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %row = getelementptr %row, ptr %rows, i64 %k
  %source.at = getelementptr %row, ptr %row, i64 0, i32 $row_source
  %place = load i64, ptr %row
  %offset = load i64, ptr %source.at
  %address = add i64 %arena, %offset
  %to = getelementptr i64, ptr %table, i64 %place
  store i64 %address, ptr %to
  %k.next = add i64 %k, 1
  br label %next
end:
  ret void
}

; What changed is known now.
define internal void @remember(ptr %program, ptr %rows, i64 %count) nounwind {
entry:
  %table.at = getelementptr %program, ptr %program, i64 0, i32 $program_table
  %last.at = getelementptr %program, ptr %program, i64 0, i32 $program_last
  %table = load ptr, ptr %table.at
  %last = load ptr, ptr %last.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %row = getelementptr %row, ptr %rows, i64 %k
  %place = load i64, ptr %row
  %from = getelementptr i64, ptr %table, i64 %place
  %to = getelementptr i64, ptr %last, i64 %place
  %address = load i64, ptr %from
  store i64 %address, ptr %to
  %k.next = add i64 %k, 1
  br label %next
end:
  ret void
}

define hidden i32 @start(ptr %context, ptr %arguments, ptr %results) nounwind {
entry:
  %arena.new = alloca i64
  %program.at = getelementptr [8 x ptr], ptr %context, i64 0, i64 $context_externals
  %program = load ptr, ptr %program.at
  %arrays.at = getelementptr %program, ptr %program, i64 0, i32 $program_arrays
  %array.count.at = getelementptr %program, ptr %program, i64 0, i32 $program_array_count
  %numbers.at = getelementptr %program, ptr %program, i64 0, i32 $program_numbers
  %number.count.at = getelementptr %program, ptr %program, i64 0, i32 $program_number_count
  %words.at = getelementptr %program, ptr %program, i64 0, i32 $program_words
  %word.count.at = getelementptr %program, ptr %program, i64 0, i32 $program_word_count
  %sent.count.at = getelementptr %program, ptr %program, i64 0, i32 $program_sent_count
  %results.at = getelementptr %program, ptr %program, i64 0, i32 $program_results
  %result.count.at = getelementptr %program, ptr %program, i64 0, i32 $program_result_count
  %pieces.at = getelementptr %program, ptr %program, i64 0, i32 $program_pieces
  %piece.count.at = getelementptr %program, ptr %program, i64 0, i32 $program_piece_count
  %bytes.at = getelementptr %program, ptr %program, i64 0, i32 $program_arena_bytes
  %enter.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_enter
  %cuda.context.at = getelementptr %program, ptr %program, i64 0, i32 $program_context
  %stream.at = getelementptr %program, ptr %program, i64 0, i32 $program_stream
  %graph.at = getelementptr %program, ptr %program, i64 0, i32 $program_graph
  %arrays = load ptr, ptr %arrays.at
  %array.count = load i64, ptr %array.count.at
  %numbers = load ptr, ptr %numbers.at
  %number.count = load i64, ptr %number.count.at
  %words = load ptr, ptr %words.at
  %word.count = load i64, ptr %word.count.at
  %sent.count = load i64, ptr %sent.count.at
  %result.rows = load ptr, ptr %results.at
  %result.count = load i64, ptr %result.count.at
  %pieces = load ptr, ptr %pieces.at
  %piece.count = load i64, ptr %piece.count.at
  %bytes = load i64, ptr %bytes.at
  %stream = load ptr, ptr %stream.at
  %graph = load ptr, ptr %graph.at
  store i64 0, ptr %arena.new
  %enter = load ptr, ptr %enter.at
  %cuda.context = load ptr, ptr %cuda.context.at
  %entered = call i32 %enter(ptr %cuda.context)
  %inside = icmp eq i32 %entered, 0
  br i1 %inside, label %place, label %failed
place:
  call void @place(ptr %program, ptr %arrays, i64 %array.count, ptr %arguments, i64 16)
  call void @place(ptr %program, ptr %result.rows, i64 %result.count, ptr %results, i64 8)
  call i1 @take(ptr %numbers, i64 %number.count, ptr %arguments)
  %sends = icmp ne i64 %sent.count, 0
  br i1 %sends, label %send, label %memory
send:
  %sent = call i32 @send(ptr %program, ptr %arguments)
  %is.sent = icmp eq i32 %sent, 0
  br i1 %is.sent, label %memory, label %failed
memory:
  %needs = icmp ne i64 %bytes, 0
  br i1 %needs, label %allocate, label %run
allocate:
  %allocate.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_allocate
  %f.allocate = load ptr, ptr %allocate.at
  %allocated = call i32 %f.allocate(ptr %arena.new, i64 %bytes, ptr %stream)
  %is.allocated = icmp eq i32 %allocated, 0
  br i1 %is.allocated, label %cut, label %failed
cut:
  %arena = load i64, ptr %arena.new
  call void @cut(ptr %program, i64 %arena)
  br label %run
run:
  %ran = call i32 @run(ptr %program)
  %is.run = icmp eq i32 %ran, 0
  %replays = icmp ne ptr %graph, null
  %replayed = and i1 %replays, %is.run
  br i1 %replayed, label %remember, label %free
remember:
  call void @remember(ptr %program, ptr %arrays, i64 %array.count)
  call void @remember(ptr %program, ptr %result.rows, i64 %result.count)
  call void @remember(ptr %program, ptr %pieces, i64 %piece.count)
  call void @remember(ptr %program, ptr %words, i64 %word.count)
  br label %free
free:
  br i1 %needs, label %free.arena, label %end
free.arena:
  %free.at = getelementptr %program, ptr %program, i64 0, i32 $program_f_free
  %f.free = load ptr, ptr %free.at
  %arena.old = load i64, ptr %arena.new
  %freed = call i32 %f.free(i64 %arena.old, ptr %stream)
  br label %end
end:
  br i1 %is.run, label %good, label %failed
good:
  ret i32 0
failed:
  %status = phi i32 [%entered, %entry], [%sent, %send], [%allocated, %allocate], [%ran, %end]
  %status.wide = sext i32 %status to i64
  %status.at = getelementptr [8 x i64], ptr %context, i64 0, i64 $context_error_value
  store i64 %status.wide, ptr %status.at
  %lacks = icmp eq i32 %status, $out_of_memory
  %code = select i1 %lacks, i32 $no_memory, i32 $device_failed
  ret i32 %code
}
"""

NUMBERS = {
    "out_of_memory": OUT_OF_MEMORY,
    "no_memory": NO_MEMORY,
    "device_failed": DEVICE_FAILED,
}
"""The numbers of this text, under the names that it has for them."""

CODE = Part(
    "device calls",
    ("PyLong_AsLongLong",),
    (TEXT,),
    lambda found: None,
    own=STRUCTURES,
    numbers=NUMBERS,
)
