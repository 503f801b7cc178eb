"""Passes a named tuple of tables to compiled kernels as one address.

Numba passes a named tuple as the numbers of all its members, seven for a table. With the simulated world that makes
more than three hundred arguments of a call: translating and optimising those took longer than all that the kernels do,
and a kernel that is not put in line copied them. The address is that of a block with the members, which lies where it
is as long as plain Python's call lasts. Kernels read the members; none makes such a tuple.

All of it is numba's interface for extensions (its documentation, "Low-level extension API").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
from numba import extending
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, models

_numba: Any = extending
_blocks: set[Any] = set()
"""The types of addresses that were met."""


class AddressOfTables(types.Type):
    """Where the members of a named tuple lie."""

    def __init__(self, members: types.NamedTuple) -> None:
        self.members = members
        super().__init__(f"AddressOf{members.instance_class.__name__}")

    @property
    def key(self) -> tuple[str, types.NamedTuple]:
        return self.name, self.members


@extending.register_model(AddressOfTables)
class _AddressModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: AddressOfTables) -> None:
        address = dmm.lookup(fe_type.members).get_value_type().as_pointer()
        _blocks.add(address)
        begin: Any = super().__init__
        begin(dmm, fe_type, address)


def _type_of_member(_: object, typ: AddressOfTables, attr: str) -> Any:
    members: Any = typ.members
    return members[members.fields.index(attr)] if attr in members.fields else None


@extending.infer_getattr
class _Members(AttributeTemplate):
    key = AddressOfTables
    generic_resolve: Any = _type_of_member


def _read_member(_: object, builder: Any, typ: AddressOfTables, address: Any, attr: str) -> Any:
    members: Any = typ.members
    return builder.load(cgutils.gep_inbounds(builder, address, 0, members.fields.index(attr)))


def _put_down(typ: AddressOfTables, tables: Any, c: Any) -> NativeValue:
    """The members in a block of the function that plain Python calls, which ends last."""
    members = c.unbox(typ.members, tables)
    block = cgutils.alloca_once_value(c.builder, members.value)
    return NativeValue(block, cleanup=members.cleanup, is_error=members.is_error)


_numba.lower_getattr_generic(AddressOfTables)(_read_member)
_numba.unbox(AddressOfTables)(_put_down)


def mark_addresses(module: Any) -> None:
    """Tell who optimises a module that nothing else leads to the blocks: what was read of them stays as it is, whatever
    is written to tables."""
    for function in module.functions:
        for argument in function.args:
            if argument.type in _blocks:
                argument.add_attribute("noalias")


def known_types(arguments: Sequence[object]) -> tuple[Any, ...]:
    """Numba's types of arguments, with named tuples of tables, and those in them, by their addresses."""
    for argument in arguments:
        _pass_by_address(argument)
    return tuple(map(numba.typeof, arguments))


def _pass_by_address(value: object) -> None:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        _numba.typeof_impl.register(type(value))(_type_of)
        for member in value:
            _pass_by_address(member)


def _type_of(tables: Any, c: Any) -> AddressOfTables:
    members: Any = types.BaseTuple.from_types([_numba.typeof_impl(member, c) for member in tables], type(tables))
    return AddressOfTables(members)
