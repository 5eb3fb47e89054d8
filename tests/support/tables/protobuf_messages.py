"""Protobuf messages for tests, written and read by Protobuf's own library for Python."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_TYPES = descriptor_pb2.FieldDescriptorProto
_ORDER = (
    ("id", _TYPES.TYPE_INT64, ""),
    ("text", _TYPES.TYPE_STRING, ""),
    ("small", _TYPES.TYPE_UINT32, ""),
    ("big", _TYPES.TYPE_UINT64, ""),
    ("ok", _TYPES.TYPE_BOOL, ""),
    ("data", _TYPES.TYPE_BYTES, ""),
    ("state", _TYPES.TYPE_ENUM, ".shop.State"),
    ("at", _TYPES.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
    ("line", _TYPES.TYPE_MESSAGE, ".shop.Line"),
)


def descriptor_set() -> descriptor_pb2.FileDescriptorSet:
    """Return the descriptors of `shop.Order` (with `shop.Line`), `shop.Strict` and `shop.Tree`."""
    files = descriptor_pb2.FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    shop = files.file.add(name="shop.proto", package="shop", syntax="proto3")
    shop.dependency.append("google/protobuf/timestamp.proto")
    state = shop.enum_type.add(name="State")
    for number, name in enumerate(("OPEN", "PAID")):
        state.value.add(name=name, number=number)
    line = shop.message_type.add(name="Line")
    _field(line, "article", _TYPES.TYPE_STRING)
    _field(line, "n", _TYPES.TYPE_INT32)
    order = shop.message_type.add(name="Order")
    for name, type_, of in _ORDER:
        _field(order, name, type_, of)
    _field(order, "tags", _TYPES.TYPE_STRING).label = _TYPES.LABEL_REPEATED
    order.oneof_decl.add(name="_note")
    note = _field(order, "note", _TYPES.TYPE_STRING)
    note.proto3_optional, note.oneof_index = True, 0
    entry = order.nested_type.add(name="StockEntry")
    _field(entry, "key", _TYPES.TYPE_STRING)
    _field(entry, "value", _TYPES.TYPE_INT32)
    entry.options.map_entry = True
    _field(order, "stock", _TYPES.TYPE_MESSAGE, ".shop.Order.StockEntry").label = _TYPES.LABEL_REPEATED
    tree = shop.message_type.add(name="Tree")
    _field(tree, "id", _TYPES.TYPE_INT64)
    _field(tree, "next", _TYPES.TYPE_MESSAGE, ".shop.Tree")
    old = files.file.add(name="old.proto", package="shop", syntax="proto2")
    strict = old.message_type.add(name="Strict")
    _field(strict, "id", _TYPES.TYPE_INT64).label = _TYPES.LABEL_REQUIRED
    _field(strict, "text", _TYPES.TYPE_STRING)
    return files


def _field(
    message: descriptor_pb2.DescriptorProto, name: str, type_: Any, of: str = ""
) -> descriptor_pb2.FieldDescriptorProto:
    number = len(message.field) + 1
    label = _TYPES.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, type=type_, label=label)
    if of:
        field.type_name = of
    return field


def message_class(name: str) -> Any:
    """Return the Python class of a message."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_set().file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
