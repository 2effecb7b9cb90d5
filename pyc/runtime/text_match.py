"""LLVM IR that decides whether a call fits a specialisation, and prepares its arguments.

    i1 match(record, args, count, names, values, slots)

goes through the steps of the record. They look at the arguments and put their addresses and values
into the 16-byte slots of the entry's argument area; what lies inside tuples, lists and dicts is
copied to `values`. A step may also look at an object of its own: a capture or a guard.

Steps only look: none runs Python code (the keys of the dicts they search are interned names), so
nothing changes while they look. Afterwards the arguments are held alive; to resize an array in
place while a function works on it is as wrong as it is with NumPy.
"""

from __future__ import annotations

MAXIMUM_SLOTS = 256
"""Slots, and objects inside containers, of one call at most."""

KINDS = (
    *("array", "same", "float_f64", "float_f32", "int", "int_f64", "int_f32", "bool"),
    *("complex_c128", "complex_c64", "bytes8", "bytes16", "tuple", "list", "dict"),
    *("name", "word", "element", "load_name", "load_word", "attribute", "lacks", "typed", "bits"),
    *("half", "apart", "hold", "device", "alias"),
)
"""Kinds of steps; a step's `kind` is the place in this row.

array: the data address of an array of this element type, rank, layout and shape;
same: the very object, no slot; X_Y: a Python X as a Y; int: within [low, high];
bytes: a NumPy scalar's value; tuple, list, dict: `low` items go to the values from `high` on (a
dict's keys are the very objects, in this order); name: a dict maps a key to the very object, or
lacks it; word: an address holds the very object; element: the value in an array of rank 0;
load_name, load_word: what is there goes to the value `high`; attribute: of an object, to the value
`high` (read without running Python code); lacks: the object's own dict lacks a name; typed: only
the type; bits: the 8 bytes of a scalar; half: an address holds these 32 bits; apart: `low` bytes
from the address in a slot on and `more` bytes from the one in slot `high` on do not overlap; hold:
the object goes to the value `high`; device: an array on a device, whose fields are an int, `more`
and `identity`: the int, as an object; alias: the very object that is the argument or value `low`.
"""

TEXT = """
; --- do the arguments of a call fit
define internal ptr @type_of(ptr %object) alwaysinline nounwind {
  %at = getelementptr i8, ptr %object, i64 $type
  %type = load ptr, ptr %at
  ret ptr %type
}

define internal i1 @same_words(ptr %given, ptr %wanted, i64 %count) alwaysinline nounwind {
entry:
  br label %next
next:
  %k = phi i64 [0, %entry], [%k.next, %compare]
  %left = icmp ult i64 %k, %count
  br i1 %left, label %compare, label %yes
compare:
  %given.at = getelementptr i64, ptr %given, i64 %k
  %wanted.at = getelementptr i64, ptr %wanted, i64 %k
  %given.word = load i64, ptr %given.at
  %wanted.word = load i64, ptr %wanted.at
  %k.next = add i64 %k, 1
  %same = icmp eq i64 %given.word, %wanted.word
  br i1 %same, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether an array has the element type, rank, layout and shape of a step.
define internal i1 @fits(ptr %object, ptr %step) alwaysinline nounwind {
entry:
  %descriptor.at = getelementptr i8, ptr %object, i64 $descriptor
  %rank.at = getelementptr i8, ptr %object, i64 $rank
  %flags.at = getelementptr i8, ptr %object, i64 $flags
  %dimensions.at = getelementptr i8, ptr %object, i64 $dimensions
  %wanted.at = getelementptr %step, ptr %step, i64 0, i32 $step_identity
  %wanted.rank.at = getelementptr %step, ptr %step, i64 0, i32 $step_low
  %wanted.flags.at = getelementptr %step, ptr %step, i64 0, i32 $step_high
  %shape.at = getelementptr %step, ptr %step, i64 0, i32 $step_more
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
  %same = call i1 @same_words(ptr %dimensions, ptr %shape.wanted, i64 %wanted.rank)
  ret i1 %same
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
  br i1 %same.size, label %items, label %no
items:
  %given.items = getelementptr i8, ptr %given, i64 $tuple_items
  %wanted.items = getelementptr i8, ptr %wanted, i64 $tuple_items
  %same = call i1 @same_words(ptr %given.items, ptr %wanted.items, i64 %given.size)
  ret i1 %same
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
    alwaysinline nounwind {
entry:
  %overflow = alloca i32
  %count.at = getelementptr %record, ptr %record, i64 0, i32 $record_arguments
  %names.at = getelementptr %record, ptr %record, i64 0, i32 $record_names
  %valid.at = getelementptr %record, ptr %record, i64 0, i32 $record_valid
  %steps.count.at = getelementptr %record, ptr %record, i64 0, i32 $record_step_count
  %steps.at = getelementptr %record, ptr %record, i64 0, i32 $record_steps
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
  %position.at = getelementptr %step, ptr %step, i64 0, i32 $step_position
  %object.at = getelementptr %step, ptr %step, i64 0, i32 $step_object
  %slot.at = getelementptr %step, ptr %step, i64 0, i32 $step_slot
  %type.at = getelementptr %step, ptr %step, i64 0, i32 $step_type
  %identity.at = getelementptr %step, ptr %step, i64 0, i32 $step_identity
  %low.at = getelementptr %step, ptr %step, i64 0, i32 $step_low
  %high.at = getelementptr %step, ptr %step, i64 0, i32 $step_high
  %more.at = getelementptr %step, ptr %step, i64 0, i32 $step_more
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
                                   i64 $word, label %word
                                   i64 $load_name, label %load.name
                                   i64 $load_word, label %load.word
                                   i64 $attribute, label %attribute
                                   i64 $lacks, label %lacks
                                   i64 $half, label %half
                                   i64 $apart, label %apart
                                   i64 $alias, label %alias
                                   i64 $hold, label %loaded.value ]
apart:
  %other.number = load i64, ptr %high.at
  %other.slot = getelementptr [16 x i8], ptr %slots, i64 %other.number
  %own.bytes = load i64, ptr %low.at
  %other.bytes = load i64, ptr %more.at
  %own.start = load i64, ptr %slot
  %other.start = load i64, ptr %other.slot
  %own.end = add i64 %own.start, %own.bytes
  %other.end = add i64 %other.start, %other.bytes
  %is.before = icmp ule i64 %own.end, %other.start
  %is.behind = icmp ule i64 %other.end, %own.start
  %is.apart = or i1 %is.before, %is.behind
  br i1 %is.apart, label %ok, label %no
half:
  %half.now = load i32, ptr %object
  %half.wide = zext i32 %half.now to i64
  %half.wanted = load i64, ptr %low.at
  %same.half = icmp eq i64 %half.wide, %half.wanted
  br i1 %same.half, label %ok, label %no
load.name:
  %load.key = load ptr, ptr %more.at
  %load.get = load ptr, ptr @f_PyDict_GetItem
  %loaded = call ptr %load.get(ptr %object, ptr %load.key)
  br label %loaded.value
load.word:
  %loaded.word = load ptr, ptr %object
  br label %loaded.value
attribute:
  %attribute.key = load ptr, ptr %more.at
  %attribute.get = load ptr, ptr @f_PyObject_GetAttr
  %attribute.value = call ptr %attribute.get(ptr %object, ptr %attribute.key)
  %no.attribute = icmp eq ptr %attribute.value, null
  br i1 %no.attribute, label %clear, label %attribute.drop
clear:
  %clear.error = load ptr, ptr @f_PyErr_Clear
  call void %clear.error()
  br label %no
attribute.drop:
  ; The object or its class holds it too, and nothing runs meanwhile.
  %attribute.release = load ptr, ptr @f_Py_DecRef
  call void %attribute.release(ptr %attribute.value)
  br label %loaded.value
loaded.value:
  %load.value = phi ptr [%loaded, %load.name], [%loaded.word, %load.word],
                        [%attribute.value, %attribute.drop], [%object, %have]
  %nothing = icmp eq ptr %load.value, null
  br i1 %nothing, label %no, label %load.store
load.store:
  %load.place = load i64, ptr %high.at
  %load.beyond = sub i64 %load.place, %count
  %load.to = getelementptr ptr, ptr %values, i64 %load.beyond
  store ptr %load.value, ptr %load.to
  br label %ok
lacks:
  %own.get = load ptr, ptr @f_PyObject_GenericGetDict
  %own = call ptr %own.get(ptr %object, ptr null)
  %no.own = icmp eq ptr %own, null
  br i1 %no.own, label %clear, label %own.look
own.look:
  %own.key = load ptr, ptr %more.at
  %own.item = load ptr, ptr @f_PyDict_GetItem
  %own.found = call ptr %own.item(ptr %own, ptr %own.key)
  %own.release = load ptr, ptr @f_Py_DecRef
  call void %own.release(ptr %own)
  %is.lacking = icmp eq ptr %own.found, null
  br i1 %is.lacking, label %ok, label %no
same:
  %is.same = icmp eq ptr %object, %identity
  br i1 %is.same, label %ok, label %no
alias:
  %alias.position = load i64, ptr %low.at
  %alias.is.argument = icmp ult i64 %alias.position, %count
  %alias.beyond = sub i64 %alias.position, %count
  %alias.argument.at = getelementptr ptr, ptr %args, i64 %alias.position
  %alias.value.at = getelementptr ptr, ptr %values, i64 %alias.beyond
  %alias.at = select i1 %alias.is.argument, ptr %alias.argument.at, ptr %alias.value.at
  %alias.of = load ptr, ptr %alias.at
  %is.alias = icmp eq ptr %object, %alias.of
  br i1 %is.alias, label %ok, label %no
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
                                i64 $dict, label %dict
                                i64 $typed, label %ok
                                i64 $bits, label %bits
                                i64 $device, label %device
                                i64 $element, label %element ]
device:
  %device.at = getelementptr i8, ptr %content, i64 8
  %device.type.at = getelementptr i8, ptr %content, i64 16
  %device.number = load ptr, ptr %content
  %device.now = load ptr, ptr %device.at
  %device.type = load ptr, ptr %device.type.at
  %device.wanted = load ptr, ptr %more.at
  %number.type = call ptr @type_of(ptr %device.number)
  %number.wanted = load ptr, ptr %low.at
  %same.device = icmp eq ptr %device.now, %device.wanted
  %same.device.type = icmp eq ptr %device.type, %identity
  %is.number = icmp eq ptr %number.type, %number.wanted
  %device.both = and i1 %same.device, %same.device.type
  %device.all = and i1 %device.both, %is.number
  br i1 %device.all, label %device.store, label %no
device.store:
  store ptr %device.number, ptr %slot
  br label %ok
bits:
  %bits.now = load i64, ptr %content
  %bits.wanted = load i64, ptr %low.at
  %same.bits = icmp eq i64 %bits.now, %bits.wanted
  br i1 %same.bits, label %ok, label %no
element:
  %is.element = call i1 @fits(ptr %object, ptr %step)
  br i1 %is.element, label %element.copy, label %no
element.copy:
  %element.data = load ptr, ptr %content
  %element.bytes = load i64, ptr %more.at
  br label %byte
byte:
  ; Byte by byte: there may be nothing readable behind the element.
  %b = phi i64 [0, %element.copy], [%b.next, %byte]
  %byte.from = getelementptr i8, ptr %element.data, i64 %b
  %byte.to = getelementptr i8, ptr %slot, i64 %b
  %byte.value = load i8, ptr %byte.from
  store i8 %byte.value, ptr %byte.to
  %b.next = add i64 %b, 1
  %more.bytes = icmp ult i64 %b.next, %element.bytes
  br i1 %more.bytes, label %byte, label %ok
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
"""

EXTERNALS = (
    *("PyDict_Size", "PyDict_Next", "PyDict_GetItem", "PyLong_AsLongLongAndOverflow"),
    *("PyObject_GetAttr", "PyObject_GenericGetDict", "PyErr_Clear"),
)
"""C functions that the code reaches through a variable `f_NAME` each."""

NUMBERS = {name: k for k, name in enumerate(KINDS)}
"""The numbers of this text, under the names that it has for them."""
