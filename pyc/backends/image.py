"""`Image`: native code mapped into this process from a relocatable object, without LLVM.

Takes the bytes of an x86-64 ELF object file, returns the addresses of the symbols it defines. The
sections lie in one mapping: code (read and execute), constants (read), and variables (read and
write) only if the object has any; no page is ever writable and executable. Relocations are applied
to a copy of the bytes before they are placed, so reading a malformed object raises `CompileError`
and never touches memory outside. The object must define all it uses: addresses of other code reach
it through its arguments or through a table variable that the caller fills.

The code stays mapped as long as the `Image` lives.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from pyc.errors import CompileError

PAGE = mmap.PAGESIZE

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")
_WORD, _HALF = struct.Struct("<Q"), struct.Struct("<I")

_RELOCATABLE, _X86_64 = 1, 62
_SYMBOL_TABLE, _WITH_ADDENDS, _ZEROED, _WITHOUT_ADDENDS = 2, 4, 8, 9
_CONTENTS = (1, 0x70000001)  # program bits, and the unwind section's own type
_WRITABLE, _ALLOCATED, _EXECUTABLE, _THREAD_LOCAL = 1, 2, 4, 0x400
_UNDEFINED, _ABSOLUTE, _COMMON, _RESERVED = 0, 0xFFF1, 0xFFF2, 0xFF00
_SECTION_KIND, _FILE_KIND = 3, 4
_MOST_BYTES = 1 << 30

# Relocation numbers of the x86-64 psABI, by what is stored.
_WORD_ABSOLUTE = 1
_HALF_RELATIVE = (2, 4)  # PC32, and PLT32: a defined symbol needs no jump stub
_HALF_ABSOLUTE, _HALF_ABSOLUTE_SIGNED = 10, 11
_TABLE_RELATIVE = (9, 41, 42, 43)  # GOTPCREL and its relaxable forms: the address of an address

_CODE, _CONSTANT, _VARIABLE = 0, 1, 2
_PROTECTION = {
    _CODE: mmap.PROT_READ | mmap.PROT_EXEC,
    _CONSTANT: mmap.PROT_READ,
    _VARIABLE: mmap.PROT_READ | mmap.PROT_WRITE,
}

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_mprotect = _libc.mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_munmap = _libc.munmap
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value


class _Section:
    """A section as the file states it; offset: its place in the image, or -1; data: the bytes of
    its file; first_symbol: the number of the file's first symbol among those of all."""

    def __init__(self, name: str, row: tuple[int, ...]) -> None:
        """row: of the section table."""
        self.name = name
        _, self.kind, self.flags, _, self.start, self.nbytes, self.link, self.info = row[:8]
        self.alignment = row[8] or 1
        self.offset = -1
        self.data = b""
        self.first_symbol = 0

    @property
    def placed(self) -> bool:
        """Whether it is part of the image. Unwind tables are not: no exception crosses our code."""
        return bool(self.flags & _ALLOCATED) and self.name != ".eh_frame"

    @property
    def group(self) -> int:
        if self.flags & _EXECUTABLE:
            return _CODE
        # Tables of addresses are written while they are relocated, and constant afterwards.
        if self.flags & _WRITABLE and not self.name.startswith(".data.rel.ro"):
            return _VARIABLE
        return _CONSTANT


def _refuse(problem: str) -> NoReturn:
    raise CompileError(f"object code cannot be loaded: {problem}")


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


class _Object:
    """The sections and symbols of an object file, all indices and ranges checked."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        if len(data) < _HEADER.size:
            _refuse(f"{len(data)} bytes are too few for an ELF header")
        header = _HEADER.unpack_from(data)
        identity, kind, machine = header[:3]
        if identity[:6] != b"\x7fELF\x02\x01" or kind != _RELOCATABLE or machine != _X86_64:
            _refuse("it is not a relocatable x86-64 ELF file")
        table, entry_size, count, names = header[6], header[11], header[12], header[13]
        if entry_size != _SECTION.size or table + count * entry_size > len(data):
            _refuse("the section table lies outside the file")
        if not 0 < names < count:
            _refuse("it has no section names")
        raw = list(_SECTION.iter_unpack(data[table : table + count * entry_size]))
        strings = self._slice(raw[names][4], raw[names][5])
        self.sections = [_Section(self._name(strings, r[0]), r) for r in raw]
        self.symbols: list[tuple[str, int, int, int]] = []
        tables = [s for s in self.sections if s.kind == _SYMBOL_TABLE]
        if len(tables) > 1:
            _refuse("it has more than one symbol table")
        for table_section in tables:
            self._read_symbols(table_section)

    def _slice(self, start: int, nbytes: int) -> bytes:
        if start + nbytes > len(self.data):
            _refuse("a section lies outside the file")
        return self.data[start : start + nbytes]

    @staticmethod
    def _name(strings: bytes, start: int) -> str:
        end = strings.find(b"\0", start)
        if end < 0 or start >= len(strings):
            _refuse("a name lies outside the names")
        return strings[start:end].decode("utf-8", "backslashreplace")

    def _read_symbols(self, table: _Section) -> None:
        if not 0 < table.link < len(self.sections):
            _refuse("the symbols have no names")
        strings = self.contents(self.sections[table.link])
        found = self.contents(table)
        if len(found) % _SYMBOL.size:
            _refuse("the symbol table ends inside a symbol")
        self.symbols = [
            (self._name(strings, name), info, index, value)
            for name, info, _, index, value, _ in _SYMBOL.iter_unpack(found)
        ]

    def contents(self, section: _Section) -> bytes:
        """The bytes of a section; none for a zeroed one."""
        return b"" if section.kind == _ZEROED else self._slice(section.start, section.nbytes)


class _Objects:
    """The sections and symbols of all object files, numbered through: what one needs and another
    defines is the other's symbol."""

    def __init__(self, objects: Sequence[_Object]) -> None:
        self.sections: list[_Section] = []
        self.symbols: list[tuple[str, int, int, int]] = []
        for each in objects:
            before, first = len(self.sections), len(self.symbols)
            for section in each.sections:
                section.data, section.first_symbol = each.data, first
                if section.kind == _WITH_ADDENDS:
                    if not 0 < section.info < len(each.sections):
                        _refuse("relocations of no section")
                    section.info += before
            self.sections += each.sections
            self.symbols += [
                (name, info, index + before if _UNDEFINED < index < _RESERVED else index, value)
                for name, info, index, value in each.symbols
            ]
        defined: dict[str, tuple[str, int, int, int]] = {}
        for symbol in self.symbols:
            name, info, index, _ = symbol
            if not info >> 4 or not name or index == _UNDEFINED:
                continue
            if name in defined:
                _refuse(f"{name} is defined twice")
            defined[name] = symbol
        self.symbols = [defined.get(s[0], s) if s[2] == _UNDEFINED else s for s in self.symbols]

    def contents(self, section: _Section) -> bytes:
        """The bytes of a section; none for a zeroed one."""
        if section.kind == _ZEROED:
            return b""
        return section.data[section.start : section.start + section.nbytes]


class _Layout:
    """The image before it is placed: section offsets, contents, and the end of each group."""

    def __init__(self, parsed: _Objects) -> None:
        self.parsed = parsed
        self.slots: dict[int, int] = {}
        placed = [s for s in parsed.sections if s.placed]
        for section in placed:
            self._check(section)
        relocations = [
            s for s in parsed.sections if s.kind == _WITH_ADDENDS and self._target(s).placed
        ]
        self.relocations = [(self._target(s), r) for s in relocations for r in self._entries(s)]
        wanted = {symbol for _, (_, kind, symbol, _) in self.relocations if kind in _TABLE_RELATIVE}
        self.groups: list[tuple[int, int, int]] = []
        end = 0
        for group in (_CODE, _CONSTANT, _VARIABLE):
            start = end = _aligned(end, PAGE)
            # Zeroed sections come last in their group: only their pages exist, no bytes.
            members = [s for s in placed if s.group == group]
            for section in sorted(members, key=lambda s: s.kind == _ZEROED):
                section.offset = _aligned(end, section.alignment)
                end = section.offset + section.nbytes
            if group == _CONSTANT:
                end = _aligned(end, 8)
                for symbol in sorted(wanted):
                    self.slots[symbol], end = end, end + 8
            if end > start:
                self.groups.append((start, end, group))
            if end > _MOST_BYTES:
                _refuse("it needs more than a gigabyte")
        self.nbytes = _aligned(end, PAGE)
        self.image = bytearray(self._filled(placed))
        for section in placed:
            contents = parsed.contents(section)
            self.image[section.offset : section.offset + len(contents)] = contents

    def _filled(self, placed: list[_Section]) -> int:
        """Bytes of the image up to the last one that is not zero from the start."""
        ends = [s.offset + s.nbytes for s in placed if s.kind != _ZEROED]
        return max([*ends, *(slot + 8 for slot in self.slots.values())], default=0)

    def _check(self, section: _Section) -> None:
        if section.flags & _THREAD_LOCAL:
            _refuse(f"section {section.name} is thread-local")
        if section.kind not in (*_CONTENTS, _ZEROED):
            _refuse(f"section {section.name} has the unknown type {section.kind:#x}")
        if section.flags & _EXECUTABLE and section.flags & _WRITABLE:
            _refuse(f"section {section.name} is writable and executable")
        if section.alignment & (section.alignment - 1) or section.alignment > PAGE:
            _refuse(f"section {section.name} has the alignment {section.alignment}")
        if section.kind != _ZEROED and section.start + section.nbytes > len(section.data):
            _refuse(f"section {section.name} lies outside the file")

    def _target(self, relocations: _Section) -> _Section:
        return self.parsed.sections[relocations.info]

    def _entries(self, section: _Section) -> list[tuple[int, int, int, int]]:
        contents = self.parsed.contents(section)
        if len(contents) % _RELOCATION.size:
            _refuse("the relocations end inside an entry")
        first = section.first_symbol
        entries = [
            (offset, kind, symbol + first, addend)
            for offset, kind, symbol, addend in _RELOCATION.iter_unpack(contents)
        ]
        if any(symbol >= len(self.parsed.symbols) for _, _, symbol, _ in entries):
            _refuse("a relocation names no symbol")
        return entries

    def refuse_undefined(self) -> None:
        """Raises if a relocation needs a symbol that is not in the object, naming all of them."""
        symbols = self.parsed.symbols
        used = {symbol for _, (_, _, symbol, _) in self.relocations}
        named = [symbols[s] for s in used if symbols[s][0]]
        missing = sorted({s[0] for s in named if s[2] == _UNDEFINED})
        if missing:
            _refuse(f"it needs symbols that it does not define: {', '.join(missing)}")

    def symbol_address(self, symbol: int, base: int) -> int:
        """Address of a symbol once the image lies at `base`."""
        name, _, index, value = self.parsed.symbols[symbol]
        if index == _ABSOLUTE:
            return value
        if index == _COMMON:
            _refuse(f"{name} is a common symbol")
        if index >= len(self.parsed.sections) or index == _UNDEFINED:
            _refuse(f"symbol {name} is in no section")
        section = self.parsed.sections[index]
        if section.offset < 0 or value > section.nbytes:
            _refuse(f"symbol {name} is in no section of the image")
        return base + section.offset + value

    def relocate(self, base: int) -> None:
        """Applies the relocations for an image that will lie at `base`."""
        for symbol, slot in self.slots.items():
            _WORD.pack_into(self.image, slot, self.symbol_address(symbol, base))
        for section, (offset, kind, symbol, addend) in self.relocations:
            if kind == 0:
                continue
            word = kind == _WORD_ABSOLUTE
            if section.kind == _ZEROED or offset + (8 if word else 4) > section.nbytes:
                _refuse(f"a relocation lies outside section {section.name}")
            at = section.offset + offset
            if kind in _TABLE_RELATIVE:
                value = base + self.slots[symbol] + addend - (base + at)
            else:
                value = self.symbol_address(symbol, base) + addend
            if kind in _HALF_RELATIVE:
                value -= base + at
            if word:
                _WORD.pack_into(self.image, at, value & (1 << 64) - 1)
                continue
            self._check_half(kind, symbol, value)
            _HALF.pack_into(self.image, at, value & (1 << 32) - 1)

    def _check_half(self, kind: int, symbol: int, value: int) -> None:
        name = self.parsed.symbols[symbol][0]
        if kind == _HALF_ABSOLUTE:
            fits = 0 <= value < 1 << 32
        elif kind in (*_HALF_RELATIVE, *_TABLE_RELATIVE, _HALF_ABSOLUTE_SIGNED):
            fits = -(1 << 31) <= value < 1 << 31
        else:
            _refuse(f"relocation type {kind} of {name!r} is not supported")
        if not fits:
            _refuse(f"the address of {name!r} does not fit in 32 bits; emit it with reloc='pic'")


class Image:
    """Code and data of object files, mapped and ready to run.

    objects: the files; raises CompileError if one is malformed, needs a symbol that none defines,
    or cannot be mapped, and if two define the same.
    """

    __slots__ = ("__weakref__", "_symbols", "base", "nbytes")

    def __init__(self, *objects: bytes) -> None:
        layout = _Layout(_Objects([_Object(data) for data in objects]))
        layout.refuse_undefined()
        self.nbytes = layout.nbytes
        if not self.nbytes:
            _refuse("it has no code")
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        base = _mmap(None, self.nbytes, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if base == _FAILED or base is None:
            _refuse(f"no memory for it: {os.strerror(ctypes.get_errno())}")
        self.base: int = base
        unmap = weakref.finalize(self, _munmap, base, self.nbytes)
        # Threads of the pool may still run code while the interpreter ends.
        unmap.atexit = False
        self._symbols = self._place(layout, base)

    @staticmethod
    def _place(layout: _Layout, base: int) -> dict[str, int]:
        layout.relocate(base)
        ctypes.memmove(base, bytes(layout.image), len(layout.image))
        for start, end, group in layout.groups:
            if _mprotect(base + start, _aligned(end - start, PAGE), _PROTECTION[group]):
                _refuse(f"its pages cannot be protected: {os.strerror(ctypes.get_errno())}")
        return {
            name: layout.symbol_address(number, base)
            for number, (name, info, index, _) in enumerate(layout.parsed.symbols)
            if name
            and info & 15 not in (_SECTION_KIND, _FILE_KIND)
            and _UNDEFINED < index < min(_RESERVED, len(layout.parsed.sections))
            and layout.parsed.sections[index].offset >= 0
        }

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the functions and variables in it, in the order of the object file."""
        return tuple(self._symbols)

    def address(self, name: str) -> int:
        """Address of the function or variable `name`; CompileError if there is none such."""
        found = self._symbols.get(name)
        if found is None:
            _refuse(f"it does not define {name}; it has {', '.join(self._symbols) or 'nothing'}")
        return found

    def function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """`name` as a ctypes function (the GIL released while it runs); it keeps the image."""
        made = ctypes.CFUNCTYPE(result, *arguments)(self.address(name))
        made.image = self  # type: ignore[attr-defined]
        return made
