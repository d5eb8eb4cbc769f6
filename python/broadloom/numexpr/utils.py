"""numexpr's module of this name, for callers that import it: threads."""

from broadloom.numexpr._threads import (
    MAX_THREADS,
    _init_num_threads,
    detect_number_of_cores,
    detect_number_of_threads,
    get_num_threads,
    get_vml_num_threads,
    get_vml_version,
    set_num_threads,
    set_vml_accuracy_mode,
    set_vml_num_threads,
)

__all__ = [
    "MAX_THREADS",
    "_init_num_threads",
    "detect_number_of_cores",
    "detect_number_of_threads",
    "get_num_threads",
    "get_vml_num_threads",
    "get_vml_version",
    "set_num_threads",
    "set_vml_accuracy_mode",
    "set_vml_num_threads",
]
