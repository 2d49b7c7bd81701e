"""Cursors and types of libclang with names for what is asked of them; each keeps its translation unit alive.

Takes raw cursors of a loaded library, gives kinds, children, types, file offsets, constants. Cursors die with the next
parse of their unit: whoever reads them turns them into records before that.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from hipscope.analysis.semantics.bindings import Bindings, CCursor, CLocation, CType, FieldVisitor, Visitor


class Kind(IntEnum):
    """CXCursorKind, as far as it is asked for (clang-c/Index.h)."""

    UNEXPOSED_DECL = 1
    STRUCT = 2
    UNION = 3
    CLASS = 4
    FIELD = 6
    FUNCTION = 8
    VARIABLE = 9
    PARAMETER = 10
    METHOD = 21
    NAMESPACE = 22
    LINKAGE = 23
    CONSTRUCTOR = 24
    DESTRUCTOR = 25
    CONVERSION = 26
    TEMPLATE_TYPE_PARAMETER = 27
    TEMPLATE_VALUE_PARAMETER = 28
    FUNCTION_TEMPLATE = 30
    CLASS_TEMPLATE = 31
    CLASS_PARTIAL = 32
    TYPE_REF = 43
    BASE = 44
    TEMPLATE_REF = 45
    NAMESPACE_REF = 46
    MEMBER_REF = 47
    OVERLOADED = 49
    UNEXPOSED = 100
    NAME = 101
    MEMBER = 102
    CALL = 103
    INTEGER = 106
    FLOAT = 107
    PARENTHESES = 111
    UNARY = 112
    SUBSCRIPT = 113
    BINARY = 114
    COMPOUND_ASSIGNMENT = 115
    CONDITIONAL = 116
    C_CAST = 117
    INITIALISERS = 119
    STATIC_CAST = 124
    REINTERPRET_CAST = 126
    CONST_CAST = 127
    FUNCTIONAL_CAST = 128
    SIZEOF = 136
    LAMBDA = 144
    FOR = 209
    BLOCK = 202
    WHILE = 207
    DO = 208
    RETURN = 214
    RANGE_FOR = 225
    CONSTANT_ATTRIBUTE = 412
    DEVICE_ATTRIBUTE = 413
    KERNEL_ATTRIBUTE = 414
    HOST_ATTRIBUTE = 415
    SHARED_ATTRIBUTE = 416
    MACRO_USE = 502


FUNCTIONS = frozenset((Kind.FUNCTION, Kind.METHOD, Kind.CONSTRUCTOR, Kind.DESTRUCTOR, Kind.CONVERSION))
RECORDS = frozenset((Kind.STRUCT, Kind.UNION, Kind.CLASS))
CASTS = frozenset(
    (Kind.UNEXPOSED, Kind.PARENTHESES, Kind.C_CAST, Kind.STATIC_CAST, Kind.REINTERPRET_CAST, Kind.CONST_CAST)
)
POINTER, LVALUE_REFERENCE, RVALUE_REFERENCE, RECORD = 101, 103, 104, 105
CONSTANT_ARRAY, VECTOR, INCOMPLETE_ARRAY, VARIABLE_ARRAY, DEPENDENT_ARRAY, EXTENDED_VECTOR = (
    112,
    113,
    114,
    115,
    116,
    176,
)
ARRAYS = frozenset((CONSTANT_ARRAY, INCOMPLETE_ARRAY, VARIABLE_ARRAY, DEPENDENT_ARRAY))
REFERENCES = frozenset((LVALUE_REFERENCE, RVALUE_REFERENCE))
INTEGERS = frozenset((*range(3, 21), 106))  # CXType_Bool to CXType_Int128, CXType_Enum
VECTORS = frozenset((VECTOR, EXTENDED_VECTOR))
_INVALID = frozenset(range(70, 74)) | {0}
_DEPENDENT_TYPE = 26
_PLACEHOLDERS = frozenset((1, 25, _DEPENDENT_TYPE))  # CXType_Unexposed, _Overload, _Dependent
_DEPENDENT = -3  # CXTypeLayoutError_Dependent

# CXBinaryOperatorKind and CXUnaryOperatorKind.
BINARY = {
    3: "*", 4: "/", 5: "%", 6: "+", 7: "-", 8: "<<", 9: ">>", 10: "<=>", 11: "<", 12: ">", 13: "<=", 14: ">=",
    15: "==", 16: "!=", 17: "&", 18: "^", 19: "|", 20: "&&", 21: "||", 22: "=", 23: "*=", 24: "/=", 25: "%=",
    26: "+=", 27: "-=", 28: "<<=", 29: ">>=", 30: "&=", 31: "^=", 32: "|=", 33: ",",
}  # fmt: skip
UNARY = {1: "++", 2: "--", 3: "++", 4: "--", 5: "&", 6: "*", 7: "+", 8: "-", 9: "~", 10: "!"}


class Owner(Protocol):
    """What a cursor belongs to: a translation unit."""

    @property
    def bindings(self) -> Bindings:
        """The library that it was read with."""

    def file_name(self, handle: int | None) -> str:
        """The name of a file of the unit, as the compiler has it; "" for none."""


@dataclass(frozen=True)
class Offset:
    """A file as the compiler names it and a byte in it."""

    file: str
    offset: int
    line: int


class ClangType:
    """A CXType."""

    __slots__ = ("owner", "raw")

    def __init__(self, owner: Owner, raw: CType) -> None:
        self.owner, self.raw = owner, raw

    @property
    def kind(self) -> int:
        """CXTypeKind; 0 is no type."""
        return int(self.raw.kind)

    @property
    def key(self) -> tuple[int, int, int]:
        """Equal for the same type of one unit."""
        return self.kind, self.raw.data[0] or 0, self.raw.data[1] or 0

    @property
    def spelling(self) -> str:
        """As it is written or printed."""
        return self._bindings.string(self._bindings.getTypeSpelling(self.raw))

    @property
    def canonical(self) -> ClangType:
        """Behind all aliases."""
        return self._made(self._bindings.getCanonicalType(self.raw))

    @property
    def unqualified(self) -> ClangType:
        """Without const and volatile of its own."""
        return self._made(self._bindings.getUnqualifiedType(self.raw))

    @property
    def referred(self) -> ClangType:
        """What a reference refers to; itself for other types."""
        return self._made(self._bindings.getNonReferenceType(self.raw))

    @property
    def pointee(self) -> ClangType:
        """What a pointer or reference leads to."""
        return self._made(self._bindings.getPointeeType(self.raw))

    @property
    def array_element(self) -> ClangType:
        """What an array is made of."""
        return self._made(self._bindings.getArrayElementType(self.raw))

    @property
    def vector_element(self) -> ClangType:
        """What a vector is made of."""
        return self._made(self._bindings.getElementType(self.raw))

    @property
    def array_size(self) -> int:
        """Elements of an array, -1 where that is not said."""
        return int(self._bindings.getArraySize(self.raw))

    @property
    def fields(self) -> list[Cursor]:
        """The members of a structure, those without a name as well, in their order."""
        found: list[CCursor] = []

        def visit(field: CCursor, _data: object) -> int:
            found.append(field)
            return 1  # CXVisit_Continue

        self._bindings.Type_visitFields(self.raw, FieldVisitor(visit), None)
        return [Cursor(self.owner, raw) for raw in found]

    @property
    def size(self) -> int:
        """sizeof, negative where there is none (an error of CXTypeLayoutError).

        The compiler's stand-ins (`<builtin fn type>`) are not asked: libclang ends the process on them.
        """
        if self.placeholder:
            return _DEPENDENT if self.kind == _DEPENDENT_TYPE else -1
        return int(self._bindings.Type_getSizeOf(self.raw))

    @property
    def placeholder(self) -> bool:
        """Whether it is a name of the compiler's own for what has no type yet."""
        return self.kind in _PLACEHOLDERS and self.spelling.startswith("<")

    @property
    def dependent(self) -> bool:
        """Whether the size depends on the arguments of a template."""
        return self.size == _DEPENDENT

    @property
    def constant(self) -> bool:
        """const at the top."""
        return bool(self._bindings.isConstQualifiedType(self.raw))

    @property
    def declaration(self) -> Cursor:
        """The structure or alias that it names."""
        return Cursor(self.owner, self._bindings.getTypeDeclaration(self.raw))

    @property
    def arguments(self) -> list[ClangType]:
        """The parameters of a function type."""
        count = self._bindings.getNumArgTypes(self.raw)
        return [self._made(self._bindings.getArgType(self.raw, i)) for i in range(max(0, count))]

    @property
    def _bindings(self) -> Bindings:
        return self.owner.bindings

    def _made(self, raw: Any) -> ClangType:
        return ClangType(self.owner, raw)


class Cursor:
    """A CXCursor."""

    __slots__ = ("owner", "raw")

    def __init__(self, owner: Owner, raw: CCursor) -> None:
        self.owner, self.raw = owner, raw

    @property
    def kind(self) -> int:
        """CXCursorKind; compare with `Kind`."""
        return int(self.raw.kind)

    @property
    def exists(self) -> bool:
        """False for the cursor that stands for no answer."""
        return self.raw.kind not in _INVALID

    @property
    def key(self) -> int:
        """The same for every cursor of one declaration."""
        return self.raw.data[0] or 0

    @property
    def node(self) -> int:
        """The same for every cursor of one expression or statement, whatever declaration it was reached from."""
        return self.raw.data[1] or self.raw.data[0] or 0

    @property
    def spelling(self) -> str:
        """The name."""
        return self._bindings.string(self._bindings.getCursorSpelling(self.raw))

    @property
    def mangled(self) -> str:
        """The symbol of a function."""
        return self._bindings.string(self._bindings.Cursor_getMangling(self.raw))

    @property
    def type(self) -> ClangType:
        """The type of a declaration or expression."""
        return ClangType(self.owner, self._bindings.getCursorType(self.raw))

    @property
    def result(self) -> ClangType:
        """What a function returns."""
        return ClangType(self.owner, self._bindings.getCursorResultType(self.raw))

    @property
    def referenced(self) -> Cursor:
        """The declaration that a name, member, call or type means; of a call of a template, the instance."""
        return self._made(self._bindings.getCursorReferenced(self.raw))

    @property
    def definition(self) -> Cursor:
        """Where it is defined."""
        return self._made(self._bindings.getCursorDefinition(self.raw))

    @property
    def parent(self) -> Cursor:
        """What a declaration belongs to."""
        return self._made(self._bindings.getCursorSemanticParent(self.raw))

    @property
    def is_virtual(self) -> bool:
        """Whether a member may be called through a pointer to a base class, or a base is shared with other classes."""
        if self.kind == Kind.BASE:
            return bool(self._bindings.isVirtualBase(self.raw))
        called = self.kind in (Kind.METHOD, Kind.DESTRUCTOR)
        return called and bool(self._bindings.CXXMethod_isVirtual(self.raw))

    @property
    def template(self) -> Cursor:
        """The template that it is an instance of."""
        return self._made(self._bindings.getSpecializedCursorTemplate(self.raw))

    @property
    def initialiser(self) -> Cursor:
        """What a variable starts with."""
        return self._made(self._bindings.Cursor_getVarDeclInitializer(self.raw))

    @property
    def defines(self) -> bool:
        """Whether this is a definition, not only a declaration."""
        return bool(self._bindings.isCursorDefinition(self.raw))

    @property
    def constant_method(self) -> bool:
        """Whether a method leaves its object alone."""
        return bool(self._bindings.CXXMethod_isConst(self.raw))

    @property
    def field_offset(self) -> int | None:
        """Bytes from the start of its structure; None for a bit-field and where there is no layout."""
        bits = self._bindings.Cursor_getOffsetOfField(self.raw)
        return None if bits < 0 or self._bindings.Cursor_isBitField(self.raw) else int(bits) // 8

    @property
    def operator(self) -> str:
        """The operator of a unary, binary or assigning expression; "" for others."""
        if self.kind == Kind.UNARY:
            return UNARY.get(self._bindings.getCursorUnaryOperatorKind(self.raw), "")
        if self.kind in (Kind.BINARY, Kind.COMPOUND_ASSIGNMENT):
            return BINARY.get(self._bindings.getCursorBinaryOperatorKind(self.raw), "")
        return ""

    @property
    def arguments(self) -> list[Cursor]:
        """The arguments of a call, the parameters of a function."""
        count = self._bindings.Cursor_getNumArguments(self.raw)
        return [self._made(self._bindings.Cursor_getArgument(self.raw, i)) for i in range(max(0, count))]

    @property
    def children(self) -> list[Cursor]:
        """What is directly below, in the order of the text; without roles."""
        found: list[CCursor] = []

        def visit(child: CCursor, _parent: CCursor, _data: object) -> int:
            found.append(child)
            return 1  # CXChildVisit_Continue

        self._bindings.visitChildren(self.raw, Visitor(visit), None)
        return [self._made(raw) for raw in found]

    @property
    def start(self) -> Offset:
        """Where it begins in the text that a person reads: the start of the macro's use for what a macro makes."""
        return self._expansion(self._bindings.getRangeStart(self._bindings.getCursorExtent(self.raw)))

    @property
    def end(self) -> Offset:
        """Behind it; behind the whole macro's use for anything inside one."""
        return self._expansion(self._bindings.getRangeEnd(self._bindings.getCursorExtent(self.raw)))

    @property
    def file_start(self) -> Offset:
        """As `start`, but for what stands in an argument of a macro: there in the argument."""
        start = self._bindings.getRangeStart(self._bindings.getCursorExtent(self.raw))
        return self._offset(self._bindings.getFileLocation, start)

    @property
    def written(self) -> Offset:
        """Where its first character was written: inside the macro's definition for what a macro makes.

        A library older than 19 says the same as `file_start`.
        """
        start = self._bindings.getRangeStart(self._bindings.getCursorExtent(self.raw))
        return self._offset(self._bindings.getSpellingLocation, start)

    @property
    def name_offset(self) -> Offset:
        """Where a declaration has its name."""
        return self._expansion(self._bindings.getCursorLocation(self.raw))

    @property
    def file(self) -> str:
        """The file that it stands in, as the compiler names it; "" for what the compiler made up."""
        return self.name_offset.file

    @property
    def value(self) -> int | float | None:
        """The constant that an expression or the initialiser of a variable is; do not ask where it is dependent."""
        result = self._bindings.Cursor_Evaluate(self.raw)
        if not result:
            return None
        try:
            kind = self._bindings.EvalResult_getKind(result)
            if kind == 1:  # CXEval_Int
                if self._bindings.EvalResult_isUnsignedInt(result):
                    return int(self._bindings.EvalResult_getAsUnsigned(result))
                return int(self._bindings.EvalResult_getAsLongLong(result))
            return float(self._bindings.EvalResult_getAsDouble(result)) if kind == 2 else None
        finally:
            self._bindings.EvalResult_dispose(result)

    def template_arguments(self) -> list[ClangType | int | str]:
        """The arguments of an instance: types, numbers (by the type of the parameter), "" for what is neither.

        A bool that is true comes as -1 from the signed question (a number of one bit).
        """
        found: list[ClangType | int | str] = []
        for i in range(max(0, self._bindings.Cursor_getNumTemplateArguments(self.raw))):
            kind = self._bindings.Cursor_getTemplateArgumentKind(self.raw, i)
            if kind == 1:  # CXTemplateArgumentKind_Type
                raw = self._bindings.Cursor_getTemplateArgumentType(self.raw, i)
                found.append(ClangType(self.owner, raw))
            elif kind == 4:  # CXTemplateArgumentKind_Integral
                found.append(int(self._bindings.Cursor_getTemplateArgumentValue(self.raw, i)))
            else:
                found.append("")
        return found

    def unsigned_argument(self, index: int) -> int:
        """A number among the arguments of an instance, without a sign."""
        return int(self._bindings.Cursor_getTemplateArgumentUnsignedValue(self.raw, index))

    @property
    def _bindings(self) -> Bindings:
        return self.owner.bindings

    def _made(self, raw: Any) -> Cursor:
        return Cursor(self.owner, raw)

    def _expansion(self, location: CLocation) -> Offset:
        return self._offset(self._bindings.getExpansionLocation, location)

    def _offset(self, question: Any, location: CLocation) -> Offset:
        return offset_of(self.owner, question, location)


def offset_of(owner: Owner, question: Any, location: CLocation) -> Offset:
    """A location by one of the library's questions (expansion, file, spelling)."""
    file, line, offset = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
    question(location, ctypes.byref(file), ctypes.byref(line), None, ctypes.byref(offset))
    return Offset(owner.file_name(file.value), offset.value, line.value)


def walk(cursor: Cursor) -> list[Cursor]:
    """The cursor and all below it, parents first."""
    found, waiting = [], [cursor]
    while waiting:
        current = waiting.pop()
        found.append(current)
        waiting.extend(reversed(current.children))
    return found
