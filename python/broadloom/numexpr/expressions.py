"""The module of this name that numexpr's callers import: variables and constants for expressions written in Python."""

from broadloom.numexpr._nodes import ConstantNode, E, Expression, ExpressionNode, VariableNode

__all__ = ["ConstantNode", "E", "Expression", "ExpressionNode", "VariableNode"]
