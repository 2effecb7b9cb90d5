"""LLVM IR that runs an entry so that Ctrl-C ends it.

    i32 invoke(ptr entry, ptr context, ptr arguments, ptr results, i32 release)
        entry(context, arguments, results); if `release`, without the GIL and interruptible.
        INTERRUPTED if a Python error is set (a signal handler raised before the start).

While the main thread is in such a call, SIGINT sets `cancel`, which the entry polls; then the
handler that was there before (Python's, which notes the signal for the interpreter) runs as it
would have. The hook goes in front of that handler at the first long call and is looked for again
at each (one system call), since `signal.signal` puts its own handler in place; SIG_DFL and SIG_IGN
are left alone. Calls of other threads are not cancelled: a KeyboardInterrupt is for the main
thread.
"""

INTERRUPTED = -2
"""What `invoke` returns if a Python error is set and the entry did not run."""

TEXT = """
; --- calls that Ctrl-C can end
@cancel = hidden global i32 0
@never = hidden global i32 0
@depth = internal global i32 0
@previous = internal global ptr null
@earlier = internal global ptr null
@chaining = internal global i32 0
@main_thread = hidden global i64 0

define hidden void @on_interrupt(i32 %signal, ptr %info, ptr %machine)
    noinline optnone nounwind {
entry:
  %depth = load atomic i32, ptr @depth monotonic, align 4
  %inside = icmp ne i32 %depth, 0
  br i1 %inside, label %set, label %chain
set:
  store atomic i32 1, ptr @cancel monotonic, align 4
  br label %chain
chain:
  ; Somebody who hooked in front of us, and whom we hooked in turn, calls us again: then it is
  ; the turn of the handler that we chained to before.
  %level = atomicrmw add ptr @chaining, i32 1 seq_cst
  %first = icmp eq i32 %level, 0
  %deep = icmp ugt i32 %level, 1
  %next.at = select i1 %first, ptr @previous, ptr @earlier
  %next = load atomic ptr, ptr %next.at monotonic, align 8
  %none = icmp eq ptr %next, null
  %nothing = or i1 %none, %deep
  br i1 %nothing, label %end, label %call
call:
  call void %next(i32 %signal, ptr %info, ptr %machine)
  br label %end
end:
  %back = atomicrmw sub ptr @chaining, i32 1 seq_cst
  ret void
}

define internal void @hook() nounwind {
entry:
  %action = alloca [256 x i8], align 16
  %sigaction = load ptr, ptr @f_sigaction
  %read = call i32 %sigaction(i32 2, ptr null, ptr %action)
  %handler = load ptr, ptr %action
  %number = ptrtoint ptr %handler to i64
  ; 0 is SIG_DFL and 1 SIG_IGN: there is nothing to chain to.
  %plain = icmp ult i64 %number, 2
  %there = icmp eq ptr %handler, @on_interrupt
  %nothing = or i1 %plain, %there
  br i1 %nothing, label %end, label %put
put:
  %known = load atomic ptr, ptr @previous monotonic, align 8
  %same = icmp eq ptr %known, %handler
  br i1 %same, label %replace, label %shift
shift:
  store atomic ptr %known, ptr @earlier monotonic, align 8
  store atomic ptr %handler, ptr @previous monotonic, align 8
  br label %replace
replace:
  store ptr @on_interrupt, ptr %action
  %written = call i32 %sigaction(i32 2, ptr %action, ptr null)
  br label %end
end:
  ret void
}

define hidden i32 @invoke(ptr %function, ptr %context, ptr %arguments, ptr %results, i32 %release)
    nounwind {
entry:
  %long = icmp ne i32 %release, 0
  br i1 %long, label %prepare, label %short
short:
  %code.short = call i32 %function(ptr %context, ptr %arguments, ptr %results)
  ret i32 %code.short
prepare:
  %identify = load ptr, ptr @f_PyThread_get_thread_ident
  %thread = call i64 %identify()
  %main.thread = load i64, ptr @main_thread
  %main = icmp eq i64 %thread, %main.thread
  %flag = select i1 %main, ptr @cancel, ptr @never
  %flag.at = getelementptr [8 x ptr], ptr %context, i64 0, i64 $context_cancel
  store ptr %flag, ptr %flag.at
  %depth = load atomic i32, ptr @depth monotonic, align 4
  br i1 %main, label %arm, label %run
arm:
  call void @hook()
  %outer = icmp eq i32 %depth, 0
  br i1 %outer, label %clear, label %enter
clear:
  store atomic i32 0, ptr @cancel monotonic, align 4
  br label %enter
enter:
  %deeper = add i32 %depth, 1
  store atomic i32 %deeper, ptr @depth monotonic, align 4
  ; A signal that came before the flag counted is only noted in the interpreter: look there.
  %check = load ptr, ptr @f_PyErr_CheckSignals
  %pending = call i32 %check()
  %raised = icmp slt i32 %pending, 0
  br i1 %raised, label %interrupted, label %run
interrupted:
  store atomic i32 %depth, ptr @depth monotonic, align 4
  ret i32 -2
run:
  %save = load ptr, ptr @f_PyEval_SaveThread
  %restore = load ptr, ptr @f_PyEval_RestoreThread
  %state = call ptr %save()
  %code = call i32 %function(ptr %context, ptr %arguments, ptr %results)
  call void %restore(ptr %state)
  br i1 %main, label %leave, label %end
leave:
  store atomic i32 %depth, ptr @depth monotonic, align 4
  br label %end
end:
  ret i32 %code
}
"""

EXTERNALS = (
    *("sigaction", "PyThread_get_thread_ident", "PyErr_CheckSignals"),
    *("PyEval_SaveThread", "PyEval_RestoreThread"),
)
"""C functions that the code reaches through a variable `f_NAME` each."""
