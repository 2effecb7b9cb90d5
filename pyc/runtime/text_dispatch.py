"""LLVM IR of the native call: from a Python call to an entry and back to its results.

    PyObject *dispatch(self, args, nargs, kwnames)     the vectorcall of a `Dispatcher`

`self` heads a list of records, one per specialisation, each inside a Python object, its owner. The first whose steps all hold is run: its
steps check the arguments and put their addresses and values into the 16-byte slots of the entry's
argument area; then the results are allocated, the entry is called, and the results are returned.
If no record fits, or no arena is free, `slow` is called with the same arguments: always correct.

Steps only look: none runs Python code. So an argument cannot change between its check and its use
as long as the GIL is held. Where the entry runs without it, what was taken out of lists and dicts
is held by a reference of our own; the caller holds the arguments themselves. The record's owner is
held from before its steps to the end of the call.

Records, steps and results are plain data that `dispatch` writes; their layouts are the structures
below, field by field.
"""

from __future__ import annotations

from string import Template

MAXIMUM_SLOTS = 256
"""Slots, and objects inside containers, of one call at most."""

MAXIMUM_RESULTS = 64
"""Results of one call at most."""

ARENAS = 8
"""Arenas that native calls may claim, in all."""

KINDS = (
    *("array", "same", "float_f64", "float_f32", "int", "int_f64", "int_f32", "bool"),
    *("complex_c128", "complex_c64", "bytes8", "bytes16", "tuple", "list", "dict"),
    *("name", "word"),
)
"""Kinds of steps; a step's `kind` is the place in this row.

array: the data address of an array of this element type, rank, layout and shape; same: the very
object, no slot; X_Y: a Python X as a Y; int: within [low, high]; bytes: a NumPy scalar's value;
tuple, list, dict: `low` items go to the values from `high` on (a dict's keys are the very objects,
in this order); name: a dict maps a key to the very object, or lacks it; word: the same of an address.
"""

RELEASE, TUPLE = 1, 2
"""Flags of a record: run without the GIL and interruptible; return a tuple even of one result."""

_TEMPLATE = Template("""
; --- native calls
%record = type { ptr, i64, ptr, ptr, ptr, i64, i64, ptr, i64, ptr, i64, ptr, i64, ptr, ptr, i64,
                 [8 x i64] }
;   next, arguments, keyword names, valid, entry, flags, calls, owner, step count, steps,
;   result count, results, arena bytes, failure, wrap, value count, context
%step = type { i64, i64, ptr, i64, ptr, ptr, i64, i64, ptr }
;   kind, position, object, slot, type, identity, low, high, more
%result = type { ptr, i64, ptr, ptr }
;   descriptor, rank, dimensions, maker
%arena = type { i64, i64, ptr }
;   claimed, bytes, data
%callable = type { [$header x i8], ptr, ptr, ptr }
;   header, vectorcall, owner of the first record, slow

@arenas = hidden global [$arenas x %arena] zeroinitializer, align 64

define internal ptr @type_of(ptr %object) alwaysinline nounwind {
  %at = getelementptr i8, ptr %object, i64 $type
  %type = load ptr, ptr %at
  ret ptr %type
}

; Whether an array has the element type, rank, layout and shape of a step.
define internal i1 @fits(ptr %object, ptr %step) alwaysinline nounwind {
entry:
  %descriptor.at = getelementptr i8, ptr %object, i64 $descriptor
  %rank.at = getelementptr i8, ptr %object, i64 $rank
  %flags.at = getelementptr i8, ptr %object, i64 $flags
  %dimensions.at = getelementptr i8, ptr %object, i64 $dimensions
  %wanted.at = getelementptr %step, ptr %step, i64 0, i32 5
  %wanted.rank.at = getelementptr %step, ptr %step, i64 0, i32 6
  %wanted.flags.at = getelementptr %step, ptr %step, i64 0, i32 7
  %shape.at = getelementptr %step, ptr %step, i64 0, i32 8
  %descriptor = load ptr, ptr %descriptor.at
  %wanted = load ptr, ptr %wanted.at
  %same.type = icmp eq ptr %descriptor, %wanted
  %rank = load i32, ptr %rank.at
  %rank.wide = zext i32 %rank to i64
  %wanted.rank = load i64, ptr %wanted.rank.at
  %same.rank = icmp eq i64 %rank.wide, %wanted.rank
  %flags = load i32, ptr %flags.at
  %flags.wide = zext i32 %flags to i64
  %wanted.flags = load i64, ptr %wanted.flags.at
  %has = and i64 %flags.wide, %wanted.flags
  %same.flags = icmp eq i64 %has, %wanted.flags
  %both = and i1 %same.type, %same.rank
  %all = and i1 %both, %same.flags
  br i1 %all, label %shape, label %no
shape:
  %dimensions = load ptr, ptr %dimensions.at
  %shape.wanted = load ptr, ptr %shape.at
  br label %next
next:
  %k = phi i64 [0, %shape], [%k.next, %compare]
  %left = icmp ult i64 %k, %wanted.rank
  br i1 %left, label %compare, label %yes
compare:
  %extent.at = getelementptr i64, ptr %dimensions, i64 %k
  %extent.wanted.at = getelementptr i64, ptr %shape.wanted, i64 %k
  %extent = load i64, ptr %extent.at
  %extent.wanted = load i64, ptr %extent.wanted.at
  %k.next = add i64 %k, 1
  %same = icmp eq i64 %extent, %extent.wanted
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether two tuples of names hold the same objects. One call site always passes one tuple.
define internal i1 @same_names(ptr %given, ptr %wanted) nounwind {
entry:
  %given.none = icmp eq ptr %given, null
  %wanted.none = icmp eq ptr %wanted, null
  %none = or i1 %given.none, %wanted.none
  br i1 %none, label %no, label %sizes
sizes:
  %given.size.at = getelementptr i8, ptr %given, i64 $header
  %wanted.size.at = getelementptr i8, ptr %wanted, i64 $header
  %given.size = load i64, ptr %given.size.at
  %wanted.size = load i64, ptr %wanted.size.at
  %same.size = icmp eq i64 %given.size, %wanted.size
  br i1 %same.size, label %next, label %no
next:
  %k = phi i64 [0, %sizes], [%k.next, %compare]
  %left = icmp ult i64 %k, %given.size
  br i1 %left, label %compare, label %yes
compare:
  %given.items = getelementptr i8, ptr %given, i64 $tuple_items
  %wanted.items = getelementptr i8, ptr %wanted, i64 $tuple_items
  %given.at = getelementptr ptr, ptr %given.items, i64 %k
  %wanted.at = getelementptr ptr, ptr %wanted.items, i64 %k
  %given.item = load ptr, ptr %given.at
  %wanted.item = load ptr, ptr %wanted.at
  %k.next = add i64 %k, 1
  %same = icmp eq ptr %given.item, %wanted.item
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Copies the items of a dict with exactly these keys to `into`; false if it has others.
define internal i1 @take_dict(ptr %object, ptr %keys, i64 %count, ptr %into) nounwind {
entry:
  %position = alloca i64
  %key = alloca ptr
  %value = alloca ptr
  store i64 0, ptr %position
  %size = load ptr, ptr @f_PyDict_Size
  %next.item = load ptr, ptr @f_PyDict_Next
  %found = call i64 %size(ptr %object)
  %right = icmp eq i64 %found, %count
  br i1 %right, label %next, label %no
next:
  %k = phi i64 [0, %entry], [%k.next, %take]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %step, label %yes
step:
  %there = call i32 %next.item(ptr %object, ptr %position, ptr %key, ptr %value)
  %is = icmp ne i32 %there, 0
  br i1 %is, label %compare, label %no
compare:
  %wanted.at = getelementptr ptr, ptr %keys, i64 %k
  %wanted = load ptr, ptr %wanted.at
  %given = load ptr, ptr %key
  %same = icmp eq ptr %given, %wanted
  br i1 %same, label %take, label %no
take:
  %item = load ptr, ptr %value
  %into.at = getelementptr ptr, ptr %into, i64 %k
  store ptr %item, ptr %into.at
  %k.next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a call fits a record. Fills `slots`, and `values` with what is inside containers.
define internal i1 @match(ptr %record, ptr %args, i64 %count, ptr %names, ptr %values, ptr %slots)
    nounwind {
entry:
  %overflow = alloca i32
  %count.at = getelementptr %record, ptr %record, i64 0, i32 1
  %names.at = getelementptr %record, ptr %record, i64 0, i32 2
  %valid.at = getelementptr %record, ptr %record, i64 0, i32 3
  %steps.count.at = getelementptr %record, ptr %record, i64 0, i32 8
  %steps.at = getelementptr %record, ptr %record, i64 0, i32 9
  %count.wanted = load i64, ptr %count.at
  %same.count = icmp eq i64 %count, %count.wanted
  br i1 %same.count, label %valid, label %no
valid:
  %valid.flag = load ptr, ptr %valid.at
  %valid.now = load i32, ptr %valid.flag
  %is.valid = icmp ne i32 %valid.now, 0
  br i1 %is.valid, label %names.check, label %no
names.check:
  %names.wanted = load ptr, ptr %names.at
  %identical = icmp eq ptr %names, %names.wanted
  br i1 %identical, label %start, label %names.compare
names.compare:
  %alike = call i1 @same_names(ptr %names, ptr %names.wanted)
  br i1 %alike, label %start, label %no
start:
  %steps.count = load i64, ptr %steps.count.at
  %steps = load ptr, ptr %steps.at
  br label %next
next:
  %k = phi i64 [0, %start], [%k.next, %ok]
  %left = icmp ult i64 %k, %steps.count
  br i1 %left, label %look, label %yes
look:
  %step = getelementptr %step, ptr %steps, i64 %k
  %position.at = getelementptr %step, ptr %step, i64 0, i32 1
  %object.at = getelementptr %step, ptr %step, i64 0, i32 2
  %slot.at = getelementptr %step, ptr %step, i64 0, i32 3
  %type.at = getelementptr %step, ptr %step, i64 0, i32 4
  %identity.at = getelementptr %step, ptr %step, i64 0, i32 5
  %low.at = getelementptr %step, ptr %step, i64 0, i32 6
  %high.at = getelementptr %step, ptr %step, i64 0, i32 7
  %more.at = getelementptr %step, ptr %step, i64 0, i32 8
  %kind = load i64, ptr %step
  %fixed = load ptr, ptr %object.at
  %is.fixed = icmp ne ptr %fixed, null
  br i1 %is.fixed, label %have, label %fetch
fetch:
  %position = load i64, ptr %position.at
  %is.argument = icmp ult i64 %position, %count
  %beyond = sub i64 %position, %count
  %argument.at = getelementptr ptr, ptr %args, i64 %position
  %value.at = getelementptr ptr, ptr %values, i64 %beyond
  %given.at = select i1 %is.argument, ptr %argument.at, ptr %value.at
  %given = load ptr, ptr %given.at
  br label %have
have:
  %object = phi ptr [%fixed, %look], [%given, %fetch]
  %slot.number = load i64, ptr %slot.at
  %slot = getelementptr [16 x i8], ptr %slots, i64 %slot.number
  %identity = load ptr, ptr %identity.at
  %content = getelementptr i8, ptr %object, i64 $header
  switch i64 %kind, label %typed [ i64 $same, label %same
                                   i64 $name, label %name
                                   i64 $word, label %word ]
same:
  %is.same = icmp eq ptr %object, %identity
  br i1 %is.same, label %ok, label %no
word:
  %word.now = load ptr, ptr %object
  %same.word = icmp eq ptr %word.now, %identity
  br i1 %same.word, label %ok, label %no
name:
  %key = load ptr, ptr %more.at
  %get = load ptr, ptr @f_PyDict_GetItem
  %named = call ptr %get(ptr %object, ptr %key)
  %same.named = icmp eq ptr %named, %identity
  br i1 %same.named, label %ok, label %no
typed:
  %type = call ptr @type_of(ptr %object)
  %type.wanted = load ptr, ptr %type.at
  %same.type = icmp eq ptr %type, %type.wanted
  br i1 %same.type, label %convert, label %no
convert:
  switch i64 %kind, label %no [ i64 $array, label %array
                                i64 $float_f64, label %bytes8
                                i64 $float_f32, label %float.f32
                                i64 $int, label %int
                                i64 $int_f64, label %int
                                i64 $int_f32, label %int
                                i64 $bool, label %bool
                                i64 $complex_c128, label %bytes16
                                i64 $complex_c64, label %complex.c64
                                i64 $bytes8, label %bytes8
                                i64 $bytes16, label %bytes16
                                i64 $tuple, label %tuple
                                i64 $list, label %list
                                i64 $dict, label %dict ]
array:
  %fits = call i1 @fits(ptr %object, ptr %step)
  br i1 %fits, label %address, label %no
address:
  %data = load ptr, ptr %content
  store ptr %data, ptr %slot
  br label %ok
bytes8:
  %eight = load i64, ptr %content
  store i64 %eight, ptr %slot
  br label %ok
bytes16:
  %sixteen = load [2 x i64], ptr %content
  store [2 x i64] %sixteen, ptr %slot
  br label %ok
float.f32:
  %double = load double, ptr %content
  %float = fptrunc double %double to float
  store float %float, ptr %slot
  br label %ok
complex.c64:
  %imaginary.at = getelementptr double, ptr %content, i64 1
  %real = load double, ptr %content
  %imaginary = load double, ptr %imaginary.at
  %real.f32 = fptrunc double %real to float
  %imaginary.f32 = fptrunc double %imaginary to float
  %second = getelementptr float, ptr %slot, i64 1
  store float %real.f32, ptr %slot
  store float %imaginary.f32, ptr %second
  br label %ok
bool:
  %is.true = icmp eq ptr %object, %identity
  %truth = zext i1 %is.true to i64
  store i64 %truth, ptr %slot
  br label %ok
int:
  %as.long = load ptr, ptr @f_PyLong_AsLongLongAndOverflow
  %long = call i64 %as.long(ptr %object, ptr %overflow)
  %overflowed = load i32, ptr %overflow
  %whole = icmp eq i32 %overflowed, 0
  %low = load i64, ptr %low.at
  %high = load i64, ptr %high.at
  %not.below = icmp sge i64 %long, %low
  %not.above = icmp sle i64 %long, %high
  %between = and i1 %not.below, %not.above
  %in.range = and i1 %whole, %between
  br i1 %in.range, label %int.store, label %no
int.store:
  ; NumPy goes by way of a double, also to float32.
  %long.double = sitofp i64 %long to double
  %long.float = fptrunc double %long.double to float
  switch i64 %kind, label %int.whole [ i64 $int_f64, label %int.double
                                       i64 $int_f32, label %int.float ]
int.whole:
  store i64 %long, ptr %slot
  br label %ok
int.double:
  store double %long.double, ptr %slot
  br label %ok
int.float:
  store float %long.float, ptr %slot
  br label %ok
tuple:
  %tuple.items = getelementptr i8, ptr %object, i64 $tuple_items
  br label %items
list:
  %list.items.at = getelementptr i8, ptr %object, i64 $list_items
  %list.items = load ptr, ptr %list.items.at
  br label %items
items:
  %from = phi ptr [%tuple.items, %tuple], [%list.items, %list]
  %size = load i64, ptr %content
  %size.wanted = load i64, ptr %low.at
  %base = load i64, ptr %high.at
  %base.value = sub i64 %base, %count
  %to = getelementptr ptr, ptr %values, i64 %base.value
  %same.size = icmp eq i64 %size, %size.wanted
  br i1 %same.size, label %item, label %no
item:
  %i = phi i64 [0, %items], [%i.next, %item.copy]
  %more.items = icmp ult i64 %i, %size
  br i1 %more.items, label %item.copy, label %ok
item.copy:
  %item.at = getelementptr ptr, ptr %from, i64 %i
  %item.to = getelementptr ptr, ptr %to, i64 %i
  %item.value = load ptr, ptr %item.at
  store ptr %item.value, ptr %item.to
  %i.next = add i64 %i, 1
  br label %item
dict:
  %keys = load ptr, ptr %more.at
  %dict.size = load i64, ptr %low.at
  %dict.base = load i64, ptr %high.at
  %dict.value = sub i64 %dict.base, %count
  %dict.to = getelementptr ptr, ptr %values, i64 %dict.value
  %taken = call i1 @take_dict(ptr %object, ptr %keys, i64 %dict.size, ptr %dict.to)
  br i1 %taken, label %ok, label %no
ok:
  %k.next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; An arena of so many bytes, claimed; null if none is free.
define hidden ptr @claim_arena(i64 %bytes) nounwind {
entry:
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %look]
  %left = icmp ult i64 %k, $arenas
  br i1 %left, label %look, label %none
look:
  %arena = getelementptr [$arenas x %arena], ptr @arenas, i64 0, i64 %k
  %size.at = getelementptr %arena, ptr %arena, i64 0, i32 1
  %claimed = load i64, ptr %arena
  %size = load i64, ptr %size.at
  %free = icmp eq i64 %claimed, 0
  %large = icmp uge i64 %size, %bytes
  %good = and i1 %free, %large
  %k.next = add i64 %k, 1
  br i1 %good, label %claim, label %next
claim:
  store i64 1, ptr %arena
  ret ptr %arena
none:
  ret ptr null
}

define internal void @drop_all(ptr %objects, i64 %count) nounwind {
entry:
  %drop = load ptr, ptr @f_Py_DecRef
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %at
  call void %drop(ptr %object)
  %k.next = add i64 %k, 1
  br label %next
end:
  ret void
}

define internal void @hold_all(ptr %objects, i64 %count) nounwind {
entry:
  %hold = load ptr, ptr @f_Py_IncRef
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %at
  call void %hold(ptr %object)
  %k.next = add i64 %k, 1
  br label %next
end:
  ret void
}

; Allocates the results: arrays, and 16 bytes of `scalars` each for those of rank 0. False if a
; Python error is set; nothing is then left allocated.
define internal i1 @allocate(ptr %record, ptr %objects, ptr %addresses, ptr %scalars) nounwind {
entry:
  %count.at = getelementptr %record, ptr %record, i64 0, i32 10
  %results.at = getelementptr %record, ptr %record, i64 0, i32 11
  %count = load i64, ptr %count.at
  %results = load ptr, ptr %results.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %put]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %yes
one:
  %result = getelementptr %result, ptr %results, i64 %k
  %rank.at = getelementptr %result, ptr %result, i64 0, i32 1
  %dimensions.at = getelementptr %result, ptr %result, i64 0, i32 2
  %maker.at = getelementptr %result, ptr %result, i64 0, i32 3
  %object.at = getelementptr ptr, ptr %objects, i64 %k
  %address.at = getelementptr ptr, ptr %addresses, i64 %k
  %scalar = getelementptr [16 x i8], ptr %scalars, i64 %k
  %descriptor = load ptr, ptr %result
  %rank = load i64, ptr %rank.at
  %dimensions = load ptr, ptr %dimensions.at
  %maker = load ptr, ptr %maker.at
  %makes = icmp ne ptr %maker, null
  br i1 %makes, label %make, label %plain
make:
  %call = load ptr, ptr @f_PyObject_CallNoArgs
  %made = call ptr %call(ptr %maker)
  br label %array
plain:
  %is.scalar = icmp eq i64 %rank, 0
  br i1 %is.scalar, label %put, label %new
new:
  %hold = load ptr, ptr @f_Py_IncRef
  call void %hold(ptr %descriptor)
  %rank.half = trunc i64 %rank to i32
  %create = load ptr, ptr @f_PyArray_NewFromDescr
  %array.type = load ptr, ptr @f_PyArray_Type
  %created = call ptr %create(ptr %array.type, ptr %descriptor, i32 %rank.half, ptr %dimensions,
                              ptr null, ptr null, i32 0, ptr null)
  br label %array
array:
  %object = phi ptr [%made, %make], [%created, %new]
  %failed = icmp eq ptr %object, null
  br i1 %failed, label %undo, label %filled
filled:
  %data.at = getelementptr i8, ptr %object, i64 $header
  %data = load ptr, ptr %data.at
  br label %put
put:
  %keep = phi ptr [null, %plain], [%object, %filled]
  %address = phi ptr [%scalar, %plain], [%data, %filled]
  store ptr %keep, ptr %object.at
  store ptr %address, ptr %address.at
  %k.next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
undo:
  call void @drop_all(ptr %objects, i64 %k)
  ret i1 false
}

; What the call returns; takes over the references in `objects`. Null if a Python error is set.
define internal ptr @give(ptr %record, ptr %objects, ptr %addresses) nounwind {
entry:
  %flags.at = getelementptr %record, ptr %record, i64 0, i32 5
  %count.at = getelementptr %record, ptr %record, i64 0, i32 10
  %results.at = getelementptr %record, ptr %record, i64 0, i32 11
  %wrap.at = getelementptr %record, ptr %record, i64 0, i32 14
  %flags = load i64, ptr %flags.at
  %count = load i64, ptr %count.at
  %results = load ptr, ptr %results.at
  %wrap = load ptr, ptr %wrap.at
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %done]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %one, label %pack
one:
  %object.at = getelementptr ptr, ptr %objects, i64 %k
  %object = load ptr, ptr %object.at
  %k.next = add i64 %k, 1
  %is.scalar = icmp eq ptr %object, null
  br i1 %is.scalar, label %scalar, label %done
scalar:
  %address.at = getelementptr ptr, ptr %addresses, i64 %k
  %address = load ptr, ptr %address.at
  %result = getelementptr %result, ptr %results, i64 %k
  %descriptor = load ptr, ptr %result
  %box = load ptr, ptr @f_PyArray_Scalar
  %boxed = call ptr %box(ptr %address, ptr %descriptor, ptr null)
  store ptr %boxed, ptr %object.at
  %unboxed = icmp eq ptr %boxed, null
  br i1 %unboxed, label %drop, label %done
done:
  br label %next
pack:
  %as.tuple = and i64 %flags, $tuple_flag
  %single = icmp eq i64 %as.tuple, 0
  br i1 %single, label %first, label %tuple
first:
  %only = load ptr, ptr %objects
  br label %wrapped
tuple:
  %create = load ptr, ptr @f_PyTuple_New
  %made = call ptr %create(i64 %count)
  %unmade = icmp eq ptr %made, null
  br i1 %unmade, label %drop, label %fill
fill:
  %set = load ptr, ptr @f_PyTuple_SetItem
  br label %fill.next
fill.next:
  %i = phi i64 [0, %fill], [%i.next, %fill.one]
  %unfilled = icmp ult i64 %i, %count
  br i1 %unfilled, label %fill.one, label %wrapped
fill.one:
  %item.at = getelementptr ptr, ptr %objects, i64 %i
  %item = load ptr, ptr %item.at
  %ok = call i32 %set(ptr %made, i64 %i, ptr %item)
  %i.next = add i64 %i, 1
  br label %fill.next
wrapped:
  %value = phi ptr [%only, %first], [%made, %fill.next]
  %wraps = icmp ne ptr %wrap, null
  br i1 %wraps, label %call, label %end
call:
  %call.one = load ptr, ptr @f_PyObject_CallOneArg
  %drop.value = load ptr, ptr @f_Py_DecRef
  %shaped = call ptr %call.one(ptr %wrap, ptr %value)
  call void %drop.value(ptr %value)
  ret ptr %shaped
end:
  ret ptr %value
drop:
  call void @drop_all(ptr %objects, i64 %count)
  ret ptr null
}

; Calls failure(owner, code, site, value); what it returns, null if it raised.
define internal ptr @fail(ptr %record, i32 %code, i64 %site, i64 %value) nounwind noinline {
entry:
  %arguments = alloca [4 x ptr]
  %owner.at = getelementptr %record, ptr %record, i64 0, i32 7
  %failure.at = getelementptr %record, ptr %record, i64 0, i32 13
  %owner = load ptr, ptr %owner.at
  %failure = load ptr, ptr %failure.at
  %number = load ptr, ptr @f_PyLong_FromLongLong
  %call = load ptr, ptr @f_PyObject_Vectorcall
  %code.wide = sext i32 %code to i64
  %code.object = call ptr %number(i64 %code.wide)
  %site.object = call ptr %number(i64 %site)
  %value.object = call ptr %number(i64 %value)
  %code.at = getelementptr ptr, ptr %arguments, i64 1
  %site.at = getelementptr ptr, ptr %arguments, i64 2
  %value.at = getelementptr ptr, ptr %arguments, i64 3
  store ptr %owner, ptr %arguments
  store ptr %code.object, ptr %code.at
  store ptr %site.object, ptr %site.at
  store ptr %value.object, ptr %value.at
  %made.code = icmp ne ptr %code.object, null
  %made.site = icmp ne ptr %site.object, null
  %made.value = icmp ne ptr %value.object, null
  %made.two = and i1 %made.code, %made.site
  %made = and i1 %made.two, %made.value
  br i1 %made, label %raise, label %end
raise:
  %raised = call ptr %call(ptr %failure, ptr %arguments, i64 4, ptr null)
  br label %end
end:
  %result = phi ptr [%raised, %raise], [null, %entry]
  call void @drop_all(ptr %code.at, i64 3)
  ret ptr %result
}

; Runs a record whose steps held, in a claimed arena or without one.
define internal ptr @run(ptr %record, ptr %arena, ptr %slots, ptr %values, i64 %held) nounwind {
entry:
  %objects = alloca [$results x ptr], align 16
  %addresses = alloca [$results x ptr], align 16
  %scalars = alloca [$results x [16 x i8]], align 16
  %context = alloca [8 x i64], align 64
  %entry.at = getelementptr %record, ptr %record, i64 0, i32 4
  %flags.at = getelementptr %record, ptr %record, i64 0, i32 5
  %calls.at = getelementptr %record, ptr %record, i64 0, i32 6
  %count.at = getelementptr %record, ptr %record, i64 0, i32 10
  %template = getelementptr %record, ptr %record, i64 0, i32 16
  %count = load i64, ptr %count.at
  %has.arena = icmp ne ptr %arena, null
  call void @hold_all(ptr %values, i64 %held)
  %allocated = call i1 @allocate(ptr %record, ptr %objects, ptr %addresses, ptr %scalars)
  br i1 %allocated, label %prepare, label %unclaim
prepare:
  %calls = load i64, ptr %calls.at
  %calls.new = add i64 %calls, 1
  store i64 %calls.new, ptr %calls.at
  %fields = load <8 x i64>, ptr %template, align 8
  store <8 x i64> %fields, ptr %context, align 64
  br i1 %has.arena, label %place, label %call
place:
  %data.at = getelementptr %arena, ptr %arena, i64 0, i32 2
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %context
  br label %call
call:
  %function = load ptr, ptr %entry.at
  %flags = load i64, ptr %flags.at
  %release.bit = and i64 %flags, $release
  %release = trunc i64 %release.bit to i32
  %code = call i32 @invoke(ptr %function, ptr %context, ptr %slots, ptr %addresses, i32 %release)
  %good = icmp eq i32 %code, 0
  br i1 %good, label %results, label %failed
results:
  %given = call ptr @give(ptr %record, ptr %objects, ptr %addresses)
  br label %unclaim
failed:
  call void @drop_all(ptr %objects, i64 %count)
  %interrupted = icmp eq i32 %code, -2
  br i1 %interrupted, label %unclaim, label %tell
tell:
  %site.at = getelementptr [8 x i64], ptr %context, i64 0, i64 4
  %value.at = getelementptr [8 x i64], ptr %context, i64 0, i64 5
  %site = load i64, ptr %site.at
  %value = load i64, ptr %value.at
  %told = call ptr @fail(ptr %record, i32 %code, i64 %site, i64 %value)
  br label %unclaim
unclaim:
  %result = phi ptr [null, %entry], [%given, %results], [null, %failed], [%told, %tell]
  br i1 %has.arena, label %free, label %end
free:
  store i64 0, ptr %arena
  br label %end
end:
  call void @drop_all(ptr %values, i64 %held)
  ret ptr %result
}

define hidden ptr @dispatch(ptr %self, ptr %args, i64 %count.flag, ptr %names) nounwind {
entry:
  %values = alloca [$slots x ptr], align 16
  %slots = alloca [$slots x [16 x i8]], align 16
  %positional = and i64 %count.flag, 9223372036854775807
  %first.owner.at = getelementptr %callable, ptr %self, i64 0, i32 2
  %slow.at = getelementptr %callable, ptr %self, i64 0, i32 3
  %first.owner = load ptr, ptr %first.owner.at
  %hold = load ptr, ptr @f_Py_IncRef
  %drop = load ptr, ptr @f_Py_DecRef
  %has.names = icmp ne ptr %names, null
  br i1 %has.names, label %named, label %begin
named:
  %names.size.at = getelementptr i8, ptr %names, i64 $header
  %names.size = load i64, ptr %names.size.at
  %with.names = add i64 %positional, %names.size
  br label %begin
begin:
  %count = phi i64 [%positional, %entry], [%with.names, %named]
  %any = icmp ne ptr %first.owner, null
  br i1 %any, label %hold.first, label %fallback
hold.first:
  %first.at = getelementptr i8, ptr %first.owner, i64 $header
  %first = load ptr, ptr %first.at
  call void %hold(ptr %first.owner)
  br label %try
try:
  %record = phi ptr [%first, %hold.first], [%next, %advance]
  %owner = phi ptr [%first.owner, %hold.first], [%next.owner, %advance]
  %hit = call i1 @match(ptr %record, ptr %args, i64 %count, ptr %names, ptr %values, ptr %slots)
  br i1 %hit, label %found, label %miss
miss:
  ; The next record lives while this one is held, for its owner holds the next owner.
  %next = load ptr, ptr %record
  %has.next = icmp ne ptr %next, null
  br i1 %has.next, label %advance, label %give.up
advance:
  %next.owner.at = getelementptr %record, ptr %next, i64 0, i32 7
  %next.owner = load ptr, ptr %next.owner.at
  call void %hold(ptr %next.owner)
  call void %drop(ptr %owner)
  br label %try
found:
  %bytes.at = getelementptr %record, ptr %record, i64 0, i32 12
  %values.count.at = getelementptr %record, ptr %record, i64 0, i32 15
  %bytes = load i64, ptr %bytes.at
  %values.count = load i64, ptr %values.count.at
  %held = sub i64 %values.count, %count
  %needs = icmp ne i64 %bytes, 0
  br i1 %needs, label %claim, label %go
claim:
  %claimed = call ptr @claim_arena(i64 %bytes)
  %none = icmp eq ptr %claimed, null
  br i1 %none, label %give.up, label %go
go:
  %arena = phi ptr [null, %found], [%claimed, %claim]
  %result = call ptr @run(ptr %record, ptr %arena, ptr %slots, ptr %values, i64 %held)
  call void %drop(ptr %owner)
  ret ptr %result
give.up:
  call void %drop(ptr %owner)
  br label %fallback
fallback:
  %slow = load ptr, ptr %slow.at
  %has.slow = icmp ne ptr %slow, null
  br i1 %has.slow, label %python, label %broken
python:
  call void %hold(ptr %slow)
  %call = load ptr, ptr @f_PyObject_Vectorcall
  %answer = call ptr %call(ptr %slow, ptr %args, i64 %count.flag, ptr %names)
  call void %drop(ptr %slow)
  ret ptr %answer
broken:
  %bad = load ptr, ptr @f_PyErr_BadInternalCall
  call void %bad()
  ret ptr null
}
""")

EXTERNALS = (
    *("Py_IncRef", "Py_DecRef", "PyObject_Vectorcall", "PyObject_CallNoArgs"),
    *("PyObject_CallOneArg", "PyTuple_New", "PyTuple_SetItem", "PyDict_Size", "PyDict_Next"),
    *("PyDict_GetItem", "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong"),
    *("PyErr_BadInternalCall", "PyArray_Type", "PyArray_NewFromDescr"),
    "PyArray_Scalar",
)
"""C functions (and NumPy's array type) that the code reaches through a variable `f_NAME` each."""


def text(offsets: dict[str, int]) -> str:
    """The IR, for objects whose fields lie at `offsets`."""
    sizes = {"slots": MAXIMUM_SLOTS, "results": MAXIMUM_RESULTS, "arenas": ARENAS}
    flags = {"release": RELEASE, "tuple_flag": TUPLE}
    kinds = {name: number for number, name in enumerate(KINDS)}
    return _TEMPLATE.substitute(**offsets, **sizes, **flags, **kinds)
