"""numexpr's module of this name, for callers that import it: threads."""

from broadloom.numexpr import _threads
from broadloom.numexpr._threads import *

__all__: list[str] = []
__all__ += _threads.__all__
