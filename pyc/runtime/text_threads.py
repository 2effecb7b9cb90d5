"""LLVM IR of the worker pool.

    void parallel(ptr pool, ptr function, ptr frame, i64 tasks)
        calls function(frame, begin, end) so that [0, |tasks|) is covered once, and returns after
        the last call. Below zero the ranges are even shares, one for each of four threads and
        more, as each reads what all tasks read: fewer run nothing. Else they are quarters of even
        shares. A pool that is busy (another thread, or a nested call) runs nothing: the caller
        then does all tasks itself
    i32 stop_workers(ptr pool)      ends and joins the workers; 1 if the pool is busy

One word, `state`, makes helping optional. It holds the number of the region (32 bits), whether it
is open (1), how many threads may take part (15), and how many workers are inside (16). A worker
enters by compare-and-exchange, and only while the region is open. The caller closes the region
when no tasks are left, then waits for the workers inside: a worker that wakes late finds the
region closed, and nobody waits for it. So a call never takes longer than waking the sleepers plus
the work that the caller would have done alone.

Tasks are handed out by a counter, in runs. A worker spins for a bounded time before it sleeps on a
futex. The bound doubles with each region that comes while it spins. It falls back to 20 us when
the worker had to be woken: the kernel often puts it on the caller's processor, and a long spin
there would keep the caller off (2 to 5 ms were measured). It is halved when two readings of the
cycle counter lie far apart: the worker was taken off its processor, so processors are scarce.
"""

from __future__ import annotations

from pyc.runtime.structures import MASK_BYTES

TEXT = """
; --- worker pool
@pool = hidden global %pool zeroinitializer, align 64

declare i64 @llvm.abs.i64(i64, i1)
declare i64 @llvm.readcyclecounter()
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.ldmxcsr(ptr)

; Sleeps while the word is as expected, until somebody wakes who sleeps there (or for no reason).
define internal void @sleep_on(ptr %word, i32 %expected) alwaysinline nounwind {
  %syscall = load ptr, ptr @f_syscall
  %slept = call i64 (i64, ...) %syscall(i64 $futex, ptr %word, i32 $futex_wait, i32 %expected,
                                        ptr null, ptr null, i32 0)
  ret void
}

; Wakes so many of those who sleep on the word.
define internal void @wake(ptr %word, i32 %count) alwaysinline nounwind {
  %syscall = load ptr, ptr @f_syscall
  %woken = call i64 (i64, ...) %syscall(i64 $futex, ptr %word, i32 $futex_wake, i32 %count,
                                        ptr null, ptr null, i32 0)
  ret void
}

; Runs the tasks that the counter hands out, until none are left.
define internal void @run_share(ptr %pool) nounwind {
entry:
  %next.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_next
  %function.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_function
  %frame.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_frame
  %tasks.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_tasks
  %run.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_run
  %function = load ptr, ptr %function.at
  %frame = load ptr, ptr %frame.at
  %tasks = load i64, ptr %tasks.at
  %run = load i64, ptr %run.at
  br label %take
take:
  %begin = atomicrmw add ptr %next.at, i64 %run monotonic
  %left = icmp ult i64 %begin, %tasks
  br i1 %left, label %do, label %end
do:
  %full = add i64 %begin, %run
  %short = icmp ult i64 %tasks, %full
  %stop = select i1 %short, i64 %tasks, i64 %full
  call void %function(ptr %frame, i64 %begin, i64 %stop)
  br label %take
end:
  ret void
}

define hidden ptr @worker_main(ptr %self) nounwind {
entry:
  %pool.at = getelementptr %worker, ptr %self, i64 0, i32 $worker_pool
  %number.at = getelementptr %worker, ptr %self, i64 0, i32 $worker_number
  %first.at = getelementptr %worker, ptr %self, i64 0, i32 $worker_last
  %pinned.at = getelementptr %worker, ptr %self, i64 0, i32 $worker_pinned
  %mask = getelementptr %worker, ptr %self, i64 0, i32 $worker_processors
  %pool = load ptr, ptr %pool.at
  %number = load i32, ptr %number.at
  %number64 = zext i32 %number to i64
  %first = load i32, ptr %first.at
  %pinned = load i32, ptr %pinned.at
  %region.at = getelementptr i8, ptr %pool, i64 4
  %sleepers.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_sleepers
  %caller.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_caller_asleep
  %stop.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_stop
  %longest.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_longest
  %helped.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_helped
  %slept.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_slept
  %longest = load i64, ptr %longest.at
  ; Threads inherit the floating-point mode of their creator; ours is the default one.
  %mode = alloca i32
  store i32 8064, ptr %mode
  call void @llvm.x86.sse.ldmxcsr(ptr %mode)
  %syscall = load ptr, ptr @f_syscall
  %pin = icmp ne i32 %pinned, 0
  br i1 %pin, label %place, label %wait
place:
  %placed = call i64 (i64, ...) %syscall(i64 $sched_setaffinity, i64 0, i64 $mask_bytes, ptr %mask)
  br label %wait
wait:
  %last = phi i32 [%first, %entry], [%first, %place], [%region, %outside], [%region, %out],
                  [%region, %rouse]
  %bound = phi i64 [600000, %entry], [600000, %place], [%bound.seen, %outside],
                   [%bound.seen, %out], [%bound.seen, %rouse]
  %start = call i64 @llvm.readcyclecounter()
  br label %spin
spin:
  %before = phi i64 [%start, %wait], [%now, %again]
  %bound.spin = phi i64 [%bound, %wait], [%bound.next, %again]
  %state = load atomic i64, ptr %pool acquire, align 8
  %region.wide = lshr i64 %state, 32
  %region.now = trunc i64 %region.wide to i32
  %new = icmp ne i32 %region.now, %last
  br i1 %new, label %hot, label %pause
pause:
  call void @llvm.x86.sse2.pause()
  %now = call i64 @llvm.readcyclecounter()
  %gap = sub i64 %now, %before
  %late = icmp ugt i64 %gap, 100000
  %half = lshr i64 %bound.spin, 1
  %low = icmp ult i64 %half, 4096
  %halved = select i1 %low, i64 4096, i64 %half
  %bound.next = select i1 %late, i64 %halved, i64 %bound.spin
  %spent = sub i64 %now, %start
  %over = icmp ugt i64 %spent, %bound.next
  br i1 %over, label %sleep, label %polite
polite:
  %early = icmp ult i64 %spent, 30000
  br i1 %early, label %again, label %yield
yield:
  %yielded = call i64 (i64, ...) %syscall(i64 $sched_yield)
  br label %again
again:
  br label %spin
sleep:
  %asleep = atomicrmw add ptr %sleepers.at, i32 1 seq_cst
  call void @sleep_on(ptr %region.at, i32 %last)
  %awake = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst
  %state.woken = load atomic i64, ptr %pool acquire, align 8
  %woken.wide = lshr i64 %state.woken, 32
  %woken = trunc i64 %woken.wide to i32
  %called = icmp ne i32 %woken, %last
  br i1 %called, label %woken.up, label %sleep
woken.up:
  %counted = atomicrmw add ptr %slept.at, i64 1 monotonic
  br label %seen
hot:
  %twice = shl i64 %bound.spin, 1
  %high = icmp ugt i64 %twice, %longest
  %bound.grown = select i1 %high, i64 %longest, i64 %twice
  br label %seen
seen:
  %state.seen = phi i64 [%state, %hot], [%state.woken, %woken.up], [%state.other, %enter]
  %bound.seen = phi i64 [%bound.grown, %hot], [600000, %woken.up], [%bound.seen, %enter]
  %ended = load atomic i32, ptr %stop.at acquire, align 4
  %end = icmp ne i32 %ended, 0
  br i1 %end, label %leave, label %look
look:
  %region.seen = lshr i64 %state.seen, 32
  %region = trunc i64 %region.seen to i32
  %open.bit = and i64 %state.seen, 2147483648
  %open = icmp ne i64 %open.bit, 0
  %active.high = lshr i64 %state.seen, 16
  %active = and i64 %active.high, 32767
  %mine = icmp ult i64 %number64, %active
  %welcome = and i1 %open, %mine
  br i1 %welcome, label %enter, label %outside
outside:
  br label %wait
enter:
  %inside = add i64 %state.seen, 1
  %pair = cmpxchg ptr %pool, i64 %state.seen, i64 %inside acq_rel acquire
  %state.other = extractvalue { i64, i1 } %pair, 0
  %entered = extractvalue { i64, i1 } %pair, 1
  br i1 %entered, label %share, label %seen
share:
  %help = atomicrmw add ptr %helped.at, i64 1 monotonic
  call void @run_share(ptr %pool)
  %old = atomicrmw sub ptr %pool, i64 1 seq_cst
  %old.inside = and i64 %old, 2147549183
  %closed.last = icmp eq i64 %old.inside, 1
  br i1 %closed.last, label %caller, label %out
out:
  br label %wait
caller:
  %waiting = load atomic i32, ptr %caller.at seq_cst, align 4
  %is.waiting = icmp ne i32 %waiting, 0
  br i1 %is.waiting, label %rouse, label %out
rouse:
  call void @wake(ptr %pool, i32 1)
  br label %wait
leave:
  ret ptr null
}

; Starts workers until `active` threads are there; how many are then there, the caller included.
define internal i32 @start_workers(ptr %pool, i32 %active) nounwind noinline {
entry:
  %every = alloca [$mask_bytes x i8], align 8
  %old = alloca [$mask_bytes x i8], align 8
  call void @llvm.memset.inline.p0.i64(ptr %every, i8 -1, i64 $mask_bytes, i1 false)
  %mask = load ptr, ptr @f_pthread_sigmask
  %create = load ptr, ptr @f_pthread_create
  %started.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_started
  %state = load atomic i64, ptr %pool monotonic, align 8
  %region.wide = lshr i64 %state, 32
  %region = trunc i64 %region.wide to i32
  ; Workers inherit the mask: signals go to threads that Python knows.
  %blocked = call i32 %mask(i32 2, ptr %every, ptr %old)
  br label %check
check:
  %started = load i32, ptr %started.at
  %number = add i32 %started, 1
  %more = icmp ult i32 %number, %active
  br i1 %more, label %start, label %end
start:
  %index = zext i32 %number to i64
  %worker = getelementptr %pool, ptr %pool, i64 0, i32 $pool_workers, i64 %index
  %pool.at = getelementptr %worker, ptr %worker, i64 0, i32 $worker_pool
  %number.at = getelementptr %worker, ptr %worker, i64 0, i32 $worker_number
  %first.at = getelementptr %worker, ptr %worker, i64 0, i32 $worker_last
  store ptr %pool, ptr %pool.at
  store i32 %number, ptr %number.at
  store i32 %region, ptr %first.at
  %failed = call i32 %create(ptr %worker, ptr null, ptr @worker_main, ptr %worker)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %end, label %count
count:
  store i32 %number, ptr %started.at
  br label %check
end:
  %unblocked = call i32 %mask(i32 2, ptr %old, ptr null)
  %there = load i32, ptr %started.at
  %all = add i32 %there, 1
  ret i32 %all
}

define hidden void @parallel(ptr %pool, ptr %function, ptr %frame, i64 %asked) nounwind {
entry:
  %even = icmp slt i64 %asked, 0
  %tasks = call i64 @llvm.abs.i64(i64 %asked, i1 true)
  %wanted.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_wanted
  %wanted = load atomic i32, ptr %wanted.at monotonic, align 4
  %wanted64 = zext i32 %wanted to i64
  %few = icmp ult i64 %tasks, %wanted64
  %useful = select i1 %few, i64 %tasks, i64 %wanted64
  %least = select i1 %even, i64 4, i64 2
  %alone = icmp ult i64 %useful, %least
  br i1 %alone, label %serial, label %lock
serial:
  %any = icmp ne i64 %tasks, 0
  br i1 %any, label %all, label %end
all:
  call void %function(ptr %frame, i64 0, i64 %tasks)
  br label %end
lock:
  %lock.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_lock
  %locked = cmpxchg ptr %lock.at, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %locked, 1
  br i1 %mine, label %ready, label %busy
busy:
  %busy.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_busy
  %counted = atomicrmw add ptr %busy.at, i64 1 monotonic
  br label %all
ready:
  %active = trunc i64 %useful to i32
  %started.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_started
  %started = load i32, ptr %started.at
  %there = add i32 %started, 1
  %enough = icmp uge i32 %there, %active
  br i1 %enough, label %open, label %hire
hire:
  %hired = call i32 @start_workers(ptr %pool, i32 %active)
  br label %open
open:
  %caller.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_caller_asleep
  %sleepers.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_sleepers
  %next.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_next
  %function.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_function
  %frame.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_frame
  %tasks.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_tasks
  %run.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_run
  %regions.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_regions
  %regions = load i64, ptr %regions.at
  %regions.new = add i64 %regions, 1
  store i64 %regions.new, ptr %regions.at
  store atomic i64 0, ptr %next.at monotonic, align 8
  store ptr %function, ptr %function.at
  store ptr %frame, ptr %frame.at
  store i64 %tasks, ptr %tasks.at
  ; Runs of a quarter of an even share: late workers still find work, neighbours stay together.
  %quarters = shl i64 %useful, 2
  %share = udiv i64 %tasks, %quarters
  %tiny = icmp eq i64 %share, 0
  %several = select i1 %tiny, i64 1, i64 %share
  %rounded = add i64 %tasks, %useful
  %above = sub i64 %rounded, 1
  %whole = udiv i64 %above, %useful
  %run = select i1 %even, i64 %whole, i64 %several
  store i64 %run, ptr %run.at
  %old = load atomic i64, ptr %pool monotonic, align 8
  %region = lshr i64 %old, 32
  %region.new = add i64 %region, 1
  %region.high = shl i64 %region.new, 32
  %active.high = shl i64 %useful, 16
  %open.active = or i64 %active.high, 2147483648
  %state = or i64 %region.high, %open.active
  %was = atomicrmw xchg ptr %pool, i64 %state seq_cst
  %sleepers = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %asleep = icmp ne i32 %sleepers, 0
  br i1 %asleep, label %wake, label %work
wake:
  %region.at = getelementptr i8, ptr %pool, i64 4
  call void @wake(ptr %region.at, i32 2147483647)
  br label %work
work:
  call void @run_share(ptr %pool)
  %closed = atomicrmw and ptr %pool, i64 -2147483649 seq_cst
  %closed.inside = and i64 %closed, 65535
  %empty = icmp eq i64 %closed.inside, 0
  br i1 %empty, label %release, label %join
join:
  %start = call i64 @llvm.readcyclecounter()
  br label %spin
spin:
  %state.now = load atomic i64, ptr %pool acquire, align 8
  %inside = and i64 %state.now, 65535
  %done = icmp eq i64 %inside, 0
  br i1 %done, label %release, label %pause
pause:
  call void @llvm.x86.sse2.pause()
  %now = call i64 @llvm.readcyclecounter()
  %spent = sub i64 %now, %start
  %over = icmp ugt i64 %spent, 60000
  br i1 %over, label %sleep, label %spin
sleep:
  store atomic i32 1, ptr %caller.at seq_cst, align 4
  %state.last = load atomic i64, ptr %pool seq_cst, align 8
  %inside.last = and i64 %state.last, 65535
  %done.last = icmp eq i64 %inside.last, 0
  br i1 %done.last, label %awake, label %doze
doze:
  %expected = trunc i64 %state.last to i32
  call void @sleep_on(ptr %pool, i32 %expected)
  br label %sleep
awake:
  store atomic i32 0, ptr %caller.at seq_cst, align 4
  br label %release
release:
  store atomic i32 0, ptr %lock.at release, align 4
  br label %end
end:
  ret void
}

define hidden i32 @stop_workers(ptr %pool) nounwind {
entry:
  %lock.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_lock
  %stop.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_stop
  %started.at = getelementptr %pool, ptr %pool, i64 0, i32 $pool_started
  %region.at = getelementptr i8, ptr %pool, i64 4
  %locked = cmpxchg ptr %lock.at, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %locked, 1
  br i1 %mine, label %call, label %busy
busy:
  ret i32 1
call:
  store atomic i32 1, ptr %stop.at release, align 4
  %old = atomicrmw add ptr %pool, i64 4294967296 seq_cst
  call void @wake(ptr %region.at, i32 2147483647)
  %join = load ptr, ptr @f_pthread_join
  %started = load i32, ptr %started.at
  %count = zext i32 %started to i64
  br label %check
check:
  %k = phi i64 [0, %call], [%number, %each]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %each, label %end
each:
  %number = add i64 %k, 1
  %worker = getelementptr %pool, ptr %pool, i64 0, i32 $pool_workers, i64 %number
  %thread = load i64, ptr %worker
  %joined = call i32 %join(i64 %thread, ptr null)
  br label %check
end:
  store i32 0, ptr %started.at
  store atomic i32 0, ptr %stop.at release, align 4
  store atomic i32 0, ptr %lock.at release, align 4
  ret i32 0
}

declare void @llvm.memset.inline.p0.i64(ptr, i8, i64, i1)
"""

NUMBERS = {
    "sched_yield": 24,
    "futex": 202,
    "sched_setaffinity": 203,
    "futex_wait": 128,
    "futex_wake": 129,
    "mask_bytes": MASK_BYTES,
}
"""System calls of x86-64 Linux, operations of a futex inside a process: under the text's names."""

EXTERNALS = ("syscall", "pthread_create", "pthread_join", "pthread_sigmask")
"""C functions that the code reaches through a variable `f_NAME` each."""
