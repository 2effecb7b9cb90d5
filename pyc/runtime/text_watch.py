"""LLVM IR of the two hooks through which `pyc.purity` watches a trace, so that what it is not told
of costs next to nothing.

    i32 audit(ptr event, ptr arguments, ptr unused)
        An audit hook (PEP 578): calls `listener(event, arguments)` while `listening` is not 0.
        Events that come with every few lines of Python are never told.
    i32 profile(ptr hook, ptr frame, i32 what, ptr argument)
        A profiler of CPython 3.11: calls `hook(frame, what, argument)` for functions that are
        called or entered by code that is not marked as quiet. The mark is 1 in the extra word
        `quiet_index` of a code object.

Both are called with the GIL, and return what CPython expects: 0, or -1 with an error set.
"""

import sys

_AUDIT = """
; --- watching a trace
@listening = hidden global i32 0
@listener = hidden global ptr null

define hidden i32 @audit(ptr %event, ptr %arguments, ptr %unused) nounwind {
entry:
  %count = load atomic i32, ptr @listening monotonic, align 4
  %idle = icmp eq i32 %count, 0
  br i1 %idle, label %end, label %look
look:
  ; object.__getattr__, sys._getframe and builtins.id
  %letter.0 = load i8, ptr %event
  switch i8 %letter.0, label %tell [ i8 111, label %object i8 115, label %sys i8 98, label %id ]
object:
  %object.1.at = getelementptr i8, ptr %event, i64 1
  %object.1 = load i8, ptr %object.1.at
  %is.object = icmp eq i8 %object.1, 98
  br i1 %is.object, label %end, label %tell
sys:
  %sys.at = getelementptr i8, ptr %event, i64 3
  %compare.sys = load ptr, ptr @f_strncmp
  %sys.found = call i32 %compare.sys(ptr %event, ptr @sys_dot, i64 4)
  %is.sys = icmp eq i32 %sys.found, 0
  br i1 %is.sys, label %end, label %tell
id:
  %compare.id = load ptr, ptr @f_strncmp
  %id.found = call i32 %compare.id(ptr %event, ptr @builtins_id, i64 12)
  %is.id = icmp eq i32 %id.found, 0
  br i1 %is.id, label %end, label %tell
tell:
  %make = load ptr, ptr @f_PyUnicode_FromString
  %name = call ptr %make(ptr %event)
  %no.name = icmp eq ptr %name, null
  br i1 %no.name, label %failed, label %call
call:
  %listener = load ptr, ptr @listener
  %pair = alloca [2 x ptr], align 8
  store ptr %name, ptr %pair
  %second = getelementptr [2 x ptr], ptr %pair, i64 0, i64 1
  store ptr %arguments, ptr %second
  %vectorcall = load ptr, ptr @f_PyObject_Vectorcall
  %answer = call ptr %vectorcall(ptr %listener, ptr %pair, i64 2, ptr null)
  %drop = load ptr, ptr @f_Py_DecRef
  call void %drop(ptr %name)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %failed, label %done
done:
  call void %drop(ptr %answer)
  br label %end
end:
  ret i32 0
failed:
  ret i32 -1
}

@sys_dot = internal constant [5 x i8] c"sys.\\00"
@builtins_id = internal constant [12 x i8] c"builtins.id\\00"
"""

_PROFILE = """
@quiet_index = hidden global i64 0

define hidden i32 @profile(ptr %hook, ptr %frame, i32 %what, ptr %argument) nounwind {
entry:
  %extra = alloca ptr, align 8
  %triple = alloca [3 x ptr], align 8
  ; 0: a function begins, 4: one written in C is called
  switch i32 %what, label %end [ i32 0, label %look i32 4, label %look ]
look:
  %code.of = load ptr, ptr @f_PyFrame_GetCode
  %code = call ptr %code.of(ptr %frame)
  store ptr null, ptr %extra
  %read = load ptr, ptr @f__PyCode_GetExtra
  %index = load i64, ptr @quiet_index
  %status = call i32 %read(ptr %code, i64 %index, ptr %extra)
  %drop = load ptr, ptr @f_Py_DecRef
  call void %drop(ptr %code)
  %mark = load ptr, ptr %extra
  %quiet = icmp eq ptr %mark, inttoptr (i64 1 to ptr)
  br i1 %quiet, label %end, label %tell
tell:
  %number = sext i32 %what to i64
  %integer = load ptr, ptr @f_PyLong_FromLongLong
  %kind = call ptr %integer(i64 %number)
  %given = icmp ne ptr %argument, null
  %third = select i1 %given, ptr %argument, ptr %kind
  store ptr %frame, ptr %triple
  %triple.1 = getelementptr [3 x ptr], ptr %triple, i64 0, i64 1
  store ptr %kind, ptr %triple.1
  %triple.2 = getelementptr [3 x ptr], ptr %triple, i64 0, i64 2
  store ptr %third, ptr %triple.2
  %vectorcall = load ptr, ptr @f_PyObject_Vectorcall
  %answer = call ptr %vectorcall(ptr %hook, ptr %triple, i64 3, ptr null)
  call void %drop(ptr %kind)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %failed, label %done
done:
  call void %drop(ptr %answer)
  br label %end
end:
  ret i32 0
failed:
  ret i32 -1
}
"""

HAS_PROFILE = sys.version_info < (3, 12)
"""Later versions have `sys.monitoring`, and another name for the extra words."""

_EXTERNALS = ("strncmp", "PyUnicode_FromString", "PyObject_Vectorcall", "Py_DecRef")
_OF_PROFILE = ("PyFrame_GetCode", "_PyCode_GetExtra", "PyLong_FromLongLong")


def parts(*, profile: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The C functions that the code reaches through a variable `f_NAME` each, and its texts."""
    if profile:
        return (*_EXTERNALS, *_OF_PROFILE), (_AUDIT + _PROFILE,)
    return _EXTERNALS, (_AUDIT,)
