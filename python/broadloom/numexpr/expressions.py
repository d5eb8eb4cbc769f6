"""numexpr's module of this name, for callers that import it: variables and constants for expressions written in Python."""

from broadloom.numexpr._nodes import ConstantNode, E, Expression, ExpressionNode, VariableNode

__all__ = ["ConstantNode", "E", "Expression", "ExpressionNode", "VariableNode"]
