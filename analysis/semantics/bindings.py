"""The part of libclang's C interface that is used here, for any library from 17 to 22.

Takes the path of a library, gives its functions with their types set. Every structure and number below is fixed by
clang-c/Index.h, whose ABI only grows. Written out rather than taken from the package `clang`, because that package can
load one library for a process, lacks some of these functions, and shares its name with the wheel `libclang`.
"""

from __future__ import annotations

import ctypes
import functools
import re
from ctypes import POINTER, Structure, c_char_p, c_int, c_longlong, c_uint, c_ulong, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import MissingTool

OLDEST = 17  # the first with clang_getCursorBinaryOperatorKind and clang_createIndexWithOptions


class CString(Structure):
    """CXString."""

    _fields_ = (("data", c_void_p), ("flags", c_uint))


class CCursor(Structure):
    """CXCursor."""

    _fields_ = (("kind", c_int), ("xdata", c_int), ("data", c_void_p * 3))


class CType(Structure):
    """CXType."""

    _fields_ = (("kind", c_int), ("data", c_void_p * 2))


class CLocation(Structure):
    """CXSourceLocation."""

    _fields_ = (("data", c_void_p * 2), ("offset", c_uint))


class CRange(Structure):
    """CXSourceRange."""

    _fields_ = (("data", c_void_p * 2), ("begin", c_uint), ("end", c_uint))


class CUnsavedFile(Structure):
    """CXUnsavedFile."""

    _fields_ = (("name", c_char_p), ("contents", c_char_p), ("length", c_ulong))


class CIndexOptions(Structure):
    """CXIndexOptions; bit 2 of `flags` is StorePreamblesInMemory: a process that ends leaves no precompiled file."""

    _fields_ = (
        ("size", c_uint),
        ("indexing_priority", ctypes.c_ubyte),
        ("editing_priority", ctypes.c_ubyte),
        ("flags", ctypes.c_ushort),
        ("preamble_path", c_char_p),
        ("emission_path", c_char_p),
    )


Visitor = ctypes.CFUNCTYPE(c_int, CCursor, CCursor, c_void_p)
FieldVisitor = ctypes.CFUNCTYPE(c_int, CCursor, c_void_p)
InclusionVisitor = ctypes.CFUNCTYPE(None, c_void_p, POINTER(CLocation), c_uint, c_void_p)

_PLACE = [CLocation, POINTER(c_void_p), POINTER(c_uint), POINTER(c_uint), POINTER(c_uint)]
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "clang_getClangVersion": (CString, []),
    "clang_getCString": (c_char_p, [CString]),
    "clang_disposeString": (None, [CString]),
    "clang_createIndexWithOptions": (c_void_p, [POINTER(CIndexOptions)]),
    "clang_disposeIndex": (None, [c_void_p]),
    "clang_parseTranslationUnit2": (
        c_int,
        [
            c_void_p,
            c_char_p,
            POINTER(c_char_p),
            c_int,
            POINTER(CUnsavedFile),
            c_uint,
            c_uint,
            POINTER(c_void_p),
        ],
    ),
    "clang_reparseTranslationUnit": (c_int, [c_void_p, c_uint, POINTER(CUnsavedFile), c_uint]),
    "clang_disposeTranslationUnit": (None, [c_void_p]),
    "clang_getTranslationUnitCursor": (CCursor, [c_void_p]),
    "clang_getInclusions": (None, [c_void_p, InclusionVisitor, c_void_p]),
    "clang_visitChildren": (c_uint, [CCursor, Visitor, c_void_p]),
    # places
    "clang_getCursorLocation": (CLocation, [CCursor]),
    "clang_getCursorExtent": (CRange, [CCursor]),
    "clang_getRangeStart": (CLocation, [CRange]),
    "clang_getRangeEnd": (CLocation, [CRange]),
    "clang_getExpansionLocation": (None, _PLACE),
    "clang_getFileLocation": (None, _PLACE),
    "clang_getSpellingLocation": (None, _PLACE),
    "clang_getFileName": (CString, [c_void_p]),
    # cursors
    "clang_getCursorSpelling": (CString, [CCursor]),
    "clang_Cursor_getMangling": (CString, [CCursor]),
    "clang_getCursorReferenced": (CCursor, [CCursor]),
    "clang_getCursorDefinition": (CCursor, [CCursor]),
    "clang_getCursorSemanticParent": (CCursor, [CCursor]),
    "clang_getSpecializedCursorTemplate": (CCursor, [CCursor]),
    "clang_isCursorDefinition": (c_uint, [CCursor]),
    "clang_getCursorBinaryOperatorKind": (c_int, [CCursor]),
    "clang_getCursorUnaryOperatorKind": (c_int, [CCursor]),
    "clang_Cursor_getNumArguments": (c_int, [CCursor]),
    "clang_Cursor_getArgument": (CCursor, [CCursor, c_uint]),
    "clang_Cursor_getVarDeclInitializer": (CCursor, [CCursor]),
    "clang_CXXMethod_isConst": (c_uint, [CCursor]),
    "clang_CXXMethod_isVirtual": (c_uint, [CCursor]),
    "clang_isVirtualBase": (c_uint, [CCursor]),
    "clang_Cursor_getOffsetOfField": (c_longlong, [CCursor]),
    "clang_Cursor_isBitField": (c_uint, [CCursor]),
    "clang_Cursor_getNumTemplateArguments": (c_int, [CCursor]),
    "clang_Cursor_getTemplateArgumentKind": (c_int, [CCursor, c_uint]),
    "clang_Cursor_getTemplateArgumentType": (CType, [CCursor, c_uint]),
    "clang_Cursor_getTemplateArgumentValue": (c_longlong, [CCursor, c_uint]),
    "clang_Cursor_getTemplateArgumentUnsignedValue": (c_ulonglong, [CCursor, c_uint]),
    # types
    "clang_getCursorType": (CType, [CCursor]),
    "clang_getCursorResultType": (CType, [CCursor]),
    "clang_getTypeSpelling": (CString, [CType]),
    "clang_getCanonicalType": (CType, [CType]),
    "clang_getUnqualifiedType": (CType, [CType]),
    "clang_getNonReferenceType": (CType, [CType]),
    "clang_getPointeeType": (CType, [CType]),
    "clang_getArrayElementType": (CType, [CType]),
    "clang_getArraySize": (c_longlong, [CType]),
    "clang_getElementType": (CType, [CType]),
    "clang_getNumArgTypes": (c_int, [CType]),
    "clang_getArgType": (CType, [CType, c_uint]),
    "clang_isConstQualifiedType": (c_uint, [CType]),
    "clang_getTypeDeclaration": (CCursor, [CType]),
    "clang_Type_getSizeOf": (c_longlong, [CType]),
    "clang_Type_visitFields": (c_uint, [CType, FieldVisitor, c_void_p]),
    # values
    "clang_Cursor_Evaluate": (c_void_p, [CCursor]),
    "clang_EvalResult_getKind": (c_int, [c_void_p]),
    "clang_EvalResult_getAsLongLong": (c_longlong, [c_void_p]),
    "clang_EvalResult_isUnsignedInt": (c_uint, [c_void_p]),
    "clang_EvalResult_getAsUnsigned": (c_ulonglong, [c_void_p]),
    "clang_EvalResult_getAsDouble": (ctypes.c_double, [c_void_p]),
    "clang_EvalResult_dispose": (None, [c_void_p]),
    # diagnostics
    "clang_getNumDiagnostics": (c_uint, [c_void_p]),
    "clang_getDiagnostic": (c_void_p, [c_void_p, c_uint]),
    "clang_disposeDiagnostic": (None, [c_void_p]),
    "clang_getDiagnosticSeverity": (c_int, [c_void_p]),
    "clang_getDiagnosticLocation": (CLocation, [c_void_p]),
    "clang_getDiagnosticSpelling": (CString, [c_void_p]),
}


class Bindings:
    """One loaded library. Its functions are attributes by their names without `clang_`; they release the GIL."""

    def __init__(self, path: Path) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
            for name, (result, arguments) in _FUNCTIONS.items():
                function = getattr(self._library, name)
                function.restype, function.argtypes = result, arguments
                setattr(self, name.removeprefix("clang_"), function)
        except (OSError, AttributeError) as error:
            raise MissingTool(
                f"{path}: not a libclang of version {OLDEST} or newer ({error})",
                "install the libclang of the compiler that builds",
            ) from error
        self.version = self.string(self.getClangVersion())
        match = re.search(r"version (\d+)", self.version)
        self.major = int(match[1]) if match else OLDEST

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"libclang's clang_{name} is not bound")

    def string(self, value: Any) -> str:
        """A CXString as text; it is disposed of."""
        data = self.getCString(value)
        self.disposeString(value)
        return data.decode("utf-8", "replace") if data is not None else ""


@functools.lru_cache(maxsize=8)
def load(path: Path) -> Bindings:
    """The library, loaded once for the process. Raises MissingTool for a file that is none, or too old."""
    return Bindings(path)
