"""Typed attributes as coordinates whose squared distance is their distance."""

from aggopt.encoding.attribute_type import AttributeType
from aggopt.encoding.domain import Domain
from aggopt.encoding.encode_table import encode
from aggopt.encoding.encoded_table import Encoded, EncodedAttribute
from aggopt.encoding.levels import Categories

__all__ = [
    "AttributeType",
    "Categories",
    "Domain",
    "Encoded",
    "EncodedAttribute",
    "encode",
]
