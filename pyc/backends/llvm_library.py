"""LLVM: a module's text to object code or assembly, through the library that llvmlite installs.

    machine(triple, cpu, features, level)      a `Machine`, made once per process
    Machine.object_of(text, passes)            bytes of a relocatable object
    Machine.assembly_of(text, passes)          assembler text, or PTX
    Machine.data_layout                        LLVM's text for it
    host_features(), version()

pyc needs some thirty C functions of `libllvmlite.so`. Importing `llvmlite.binding` costs 28 ms, 6
of which load the library; so the library is loaded from here, and those functions are declared
here. Their types are known for the releases in `KNOWN`; with any other one llvmlite declares them
itself, for a recorded reason.

Each module has an LLVM context of its own, which is freed with it: different machines compile at
the same time, and nothing that was compiled before can change what comes out.
"""

from __future__ import annotations

import ctypes
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from threading import RLock
from typing import Any

from pyc.backends import llvm_binding
from pyc.errors import CompileError
from pyc.fingerprint import find, versions
from pyc.forks import in_child
from pyc.reasons import Reason, record

KNOWN = ("0.50.",)
"""Releases of llvmlite, by how their version begins, whose C functions are those below."""

ALWAYS_INLINE, SROA, SIMPLIFY = "always_inliner", "sroa", "simplify_cfg"
"""Passes that can be asked for one by one."""

Passes = Sequence[str] | int
"""Passes by name, or the whole pipeline of a level from 1 to 3."""

_ADDERS = {ALWAYS_INLINE: "AlwaysInliner", SROA: "SROA", SIMPLIFY: "SimplifyCFG"}
_HOST = "x86_64"
"""The architecture of this process: it alone is initialised unless another one is asked for."""

_NOTHING, _ADDRESS, _INT, _FLAG = None, ctypes.c_void_p, ctypes.c_int, ctypes.c_bool
_SIZE, _TEXT = ctypes.c_size_t, ctypes.c_char_p

PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "GetVersionInfo": (ctypes.c_uint,),
    "InitializeAllTargetInfos": (_NOTHING,),
    "InitializeAllTargets": (_NOTHING,),
    "InitializeAllTargetMCs": (_NOTHING,),
    "InitializeAllAsmPrinters": (_NOTHING,),
    "InitializeNativeTarget": (_NOTHING,),
    "InitializeNativeAsmPrinter": (_NOTHING,),
    "GetHostCPUFeatures": (_INT, _ADDRESS),
    "GetTargetFromTriple": (_ADDRESS, _TEXT, _ADDRESS),
    "CreateTargetMachine": (
        *(_ADDRESS, _ADDRESS, _TEXT, _TEXT, _TEXT, _INT, _TEXT, _TEXT, _INT, _INT, _TEXT),
    ),
    "CreateTargetMachineData": (_ADDRESS, _ADDRESS),
    "CopyStringRepOfTargetData": (_NOTHING, _ADDRESS, _ADDRESS),
    "DisposeTargetData": (_NOTHING, _ADDRESS),
    "ContextCreate": (_ADDRESS,),
    "ContextDispose": (_NOTHING, _ADDRESS),
    "ParseAssembly": (_ADDRESS, _ADDRESS, _TEXT, _ADDRESS),
    "VerifyModule": (_FLAG, _ADDRESS, _ADDRESS),
    "DisposeModule": (_NOTHING, _ADDRESS),
    "CreatePipelineTuningOptions": (_ADDRESS,),
    "DisposePipelineTuningOptions": (_NOTHING, _ADDRESS),
    "CreatePassBuilder": (_ADDRESS, _ADDRESS, _ADDRESS),
    "DisposePassBuilder": (_NOTHING, _ADDRESS),
    "CreateNewModulePassManager": (_ADDRESS,),
    "buildPerModuleDefaultPipeline": (_ADDRESS, _ADDRESS, _INT),
    "module_AddAlwaysInlinerPass": (_NOTHING, _ADDRESS),
    "module_AddSROAPass": (_NOTHING, _ADDRESS),
    "module_AddSimplifyCFGPass": (_NOTHING, _ADDRESS),
    "RunNewModulePassManager": (_NOTHING, _ADDRESS, _ADDRESS, _ADDRESS),
    "DisposeNewModulePassManger": (_NOTHING, _ADDRESS),
    "TargetMachineEmitToMemory": (_ADDRESS, _ADDRESS, _ADDRESS, _INT, _ADDRESS),
    "GetBufferStart": (_ADDRESS, _ADDRESS),
    "GetBufferSize": (_SIZE, _ADDRESS),
    "DisposeMemoryBuffer": (_NOTHING, _ADDRESS),
    "DisposeString": (_NOTHING, _ADDRESS),
}
"""What each C function `LLVMPY_NAME` returns, and then what it takes."""

LONG = {"ParseAssembly", "VerifyModule", "RunNewModulePassManager", "TargetMachineEmitToMemory"}
"""Those that let other threads of Python run meanwhile."""


class Machine(ABC):
    """LLVM's code generator for one processor. Errors of a text raise `CompileError`."""

    data_layout: str

    def object_of(self, text: str, passes: Passes = ()) -> bytes:
        """The object file of a module; equal texts give equal bytes."""
        return self._emitted(text, passes, True)

    def assembly_of(self, text: str, passes: Passes = ()) -> str:
        """The assembler text of a module."""
        return self._emitted(text, passes, False).decode()

    @abstractmethod
    def busy(self) -> bool:
        """Whether it may be at work, in any thread."""

    @abstractmethod
    def _emitted(self, text: str, passes: Passes, as_object: bool) -> bytes:
        """The object or assembler text, after these passes."""


# --- by the functions above -----------------------------------------------------------------------


class _LibraryMachine(Machine):
    def __init__(self, triple: str, *options: Any) -> None:
        c = _library()
        _initialise(triple.startswith(_HOST))
        self._lock: Any = RLock()  # a signal handler may compile in the middle of a compilation
        message = _Message()
        target = c.GetTargetFromTriple(triple.encode(), message.out)
        if not target:
            raise CompileError(f"LLVM has no target {triple}: {message.take()}")
        cpu, features, level, reloc, model = options
        texts = (cpu.encode(), features.encode(), level, reloc.encode(), model.encode())
        self._address = c.CreateTargetMachine(target, triple.encode(), *texts, 0, 0, b"")
        if not self._address:
            raise CompileError(f"LLVM has no machine {triple} {cpu} {features}")
        layout = c.CreateTargetMachineData(self._address)
        c.CopyStringRepOfTargetData(layout, message.out)
        c.DisposeTargetData(layout)
        self.data_layout = message.take()

    def busy(self) -> bool:
        if self._lock._is_owned() or not self._lock.acquire(blocking=False):
            return True
        self._lock.release()
        return False

    def _emitted(self, text: str, passes: Passes, as_object: bool) -> bytes:
        c = _library()
        context, message = c.ContextCreate(), _Message()
        module = c.ParseAssembly(context, text.encode(), message.out)
        try:
            if not module or c.VerifyModule(module, message.out):
                raise CompileError(f"LLVM refuses the text: {message.take()}")
            with self._lock:
                self._run(module, passes)
                found = c.TargetMachineEmitToMemory(self._address, module, as_object, message.out)
            if not found:
                raise CompileError(f"LLVM emits nothing: {message.take()}")
            emitted = ctypes.string_at(c.GetBufferStart(found), c.GetBufferSize(found))
            c.DisposeMemoryBuffer(found)
            return emitted
        finally:
            if module:
                c.DisposeModule(module)
            c.ContextDispose(context)

    def _run(self, module: int, passes: Passes) -> None:
        if not passes:
            return
        c = _library()
        options = c.CreatePipelineTuningOptions()
        builder = c.CreatePassBuilder(self._address, options)
        if isinstance(passes, int):
            manager = c.buildPerModuleDefaultPipeline(builder, passes)
        else:
            manager = c.CreateNewModulePassManager()
            for name in passes:
                getattr(c, f"module_Add{_ADDERS[name]}Pass")(manager)
        c.RunNewModulePassManager(manager, module, builder)
        c.DisposeNewModulePassManger(manager)
        c.DisposePassBuilder(builder)
        c.DisposePipelineTuningOptions(options)


class _Message:
    """A text that LLVM returns through a pointer to its address."""

    def __init__(self) -> None:
        self._address = ctypes.c_void_p()
        self.out = ctypes.byref(self._address)

    def take(self) -> str:
        """The text, which is freed; "" if there is none."""
        address, self._address.value = self._address.value, None
        if not address:
            return ""
        text = ctypes.string_at(address).decode(errors="replace")
        _library().DisposeString(address)
        return text


class _Library:
    """The C functions, as attributes without their prefix."""

    def __init__(self, path: str) -> None:
        # One that takes the GIL again waits for up to 5 ms if another thread computes.
        quick, long = ctypes.PyDLL(path), ctypes.CDLL(path)
        for name, (returned, *taken) in PROTOTYPES.items():
            function = getattr(long if name in LONG else quick, f"LLVMPY_{name}")
            function.restype, function.argtypes = returned, taken
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"LLVMPY_{name} is not among the prototypes")


@cache
def _library() -> _Library:
    path = _path()
    assert path is not None
    return _Library(path)


@cache
def _path() -> str | None:
    """Where the library lies; None, with a reason in the log, if its functions are not known."""
    version_, spec = versions(("llvmlite",))["llvmlite"], find("llvmlite")
    if version_.startswith(KNOWN) and spec is not None and spec.origin is not None:
        path = os.path.join(os.path.dirname(spec.origin), "binding", "libllvmlite.so")
        if os.path.exists(path):
            return path
    record(Reason.LLVM_UNKNOWN_RELEASE, llvmlite=version_)
    return None


@cache
def _initialise(host: bool) -> None:
    c = _library()
    if host:
        c.InitializeNativeTarget()
        c.InitializeNativeAsmPrinter()
        return
    c.InitializeAllTargetInfos()
    c.InitializeAllTargets()
    c.InitializeAllTargetMCs()
    c.InitializeAllAsmPrinters()


# --- by llvmlite.binding --------------------------------------------------------------------------


class _BindingMachine(Machine):
    def __init__(self, triple: str, *options: Any) -> None:
        self._llvm = llvm_binding()
        cpu, features, level, reloc, model = options
        self._machine = self._llvm.Target.from_triple(triple).create_target_machine(
            cpu=cpu, features=features, opt=level, reloc=reloc, codemodel=model
        )
        self.data_layout = str(self._machine.target_data)

    def busy(self) -> bool:
        return True  # it has no lock that would say

    def _emitted(self, text: str, passes: Passes, as_object: bool) -> bytes:
        try:
            module = self._llvm.parse_assembly(text, self._llvm.create_context())
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM refuses the text: {error}") from error
        if passes:
            level = passes if isinstance(passes, int) else 1
            tuning = self._llvm.create_pipeline_tuning_options(speed_level=level)
            builder = self._llvm.create_pass_builder(self._machine, tuning)
            manager = builder.getModulePassManager()
            if not isinstance(passes, int):
                manager = self._llvm.create_new_module_pass_manager()
                for name in passes:
                    getattr(manager, f"add_{name}_pass")()
            manager.run(module, builder)
        if as_object:
            return bytes(self._machine.emit_object(module))
        return str(self._machine.emit_assembly(module)).encode()


# --- by either ------------------------------------------------------------------------------------


@cache
def machine(
    triple: str,
    cpu: str = "",
    features: str = "",
    level: int = 2,
    reloc: str = "default",
    model: str = "jitdefault",
) -> Machine:
    """The code generator for a processor, one for all threads: making one takes 0.3 ms. level: 0
    to 3; reloc, model: as llvmlite names them.

    raises CompileError: LLVM has no such target
    """
    kind = _BindingMachine if _path() is None else _LibraryMachine
    made = kind(triple, cpu, features, level, reloc, model)
    _machines.append(made)
    return made


_machines: list[Machine] = []
"""Those that were made."""


def host_features() -> dict[str, bool]:
    """Which features of the host's architecture this processor has, by LLVM's names."""
    if _path() is None:
        return dict(llvm_binding().get_host_cpu_features())
    message = _Message()
    _library().GetHostCPUFeatures(message.out)
    return {name[1:]: name[0] == "+" for name in message.take().split(",") if name}


def version() -> str:
    """LLVM's version, such as "22.1.0"."""
    if _path() is None:
        return ".".join(map(str, llvm_binding().llvm_version_info))
    packed = _library().GetVersionInfo()
    return ".".join(str(packed >> shift & 255) for shift in (16, 8, 0))


def _forget() -> None:
    """In a forked child: machines that were at work in the parent are made anew. They were so where
    the fork could not wait for the compiler, or came in the middle of it, from a signal handler;
    the others are whole, and what LLVM has made for them takes milliseconds."""
    if any(made.busy() for made in _machines):
        machine.cache_clear()
        _machines.clear()


in_child(_forget)
