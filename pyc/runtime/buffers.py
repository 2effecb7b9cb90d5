"""The buffer protocol for a class written in Python, on Python 3.11, which asks no `__buffer__`.

`give_buffers(cls)` puts native code into the type's slot, which asks the object's `_exported()` for
a NumPy array and gives the buffer of that, or raises what it raises.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from pyc.runtime import layout
from pyc.runtime.native import Part, pointer

TEXT = """
; i32 get_buffer(ptr object, ptr view, i32 flags): 0, or -1 with a Python error
@method = hidden global ptr null

define hidden i32 @get_buffer(ptr %object, ptr %view, i32 %flags) {
entry:
  %call = load ptr, ptr @f_PyObject_CallMethodObjArgs
  %name = load ptr, ptr @method
  %array = call ptr (ptr, ptr, ...) %call(ptr %object, ptr %name, ptr null)
  %refused = icmp eq ptr %array, null
  br i1 %refused, label %none, label %give
none:
  %owner.at = getelementptr i8, ptr %view, i64 8
  store ptr null, ptr %owner.at
  ret i32 -1
give:
  %get = load ptr, ptr @f_PyObject_GetBuffer
  %given = call i32 %get(ptr %array, ptr %view, i32 %flags)
  %drop = load ptr, ptr @f_Py_DecRef
  call void %drop(ptr %array)
  ret i32 %given
}
"""

_METHOD = sys.intern("_exported")

CODE = Part(
    "buffers",
    ("PyObject_CallMethodObjArgs", "PyObject_GetBuffer", "Py_DecRef"),
    (TEXT,),
    lambda found: setattr(pointer(found, "method"), "value", id(_METHOD)),
)


def give_buffers(cls: type) -> None:
    """Gives `memoryview` and its kin the arrays that `_exported()` of an object of `cls` returns;
    nothing if the layout of types is not the one that is known."""
    if layout.problem() is not None:
        return
    slots = ctypes.c_void_p.from_address(id(cls) + layout.TYPE_AS_BUFFER).value or 0
    size: Any = type.__basicsize__
    if id(cls) < slots < id(cls) + size:  # in the type itself, as of any class
        ctypes.c_void_p.from_address(slots).value = CODE.image().address("get_buffer")
