"""The version of numexpr whose behaviour this package follows."""

import platform
from typing import Final

import numpy as np

version: Final = "2.14.2"
__version__: Final = version
numpy_build_version: Final = np.__version__
platform_machine: Final = platform.machine()
