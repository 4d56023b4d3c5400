"""Typed attributes as coordinates whose squared distance is their distance."""

from aggopt.encoding._categories import Categories
from aggopt.encoding._domain import Domain
from aggopt.encoding._encode import encode
from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute

__all__ = [
    "AttributeType",
    "Categories",
    "Domain",
    "Encoded",
    "EncodedAttribute",
    "encode",
]
