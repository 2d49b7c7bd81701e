"""Loads the module `hipscope_native` of the native parts into this process.

Takes nothing; gives the module, whose functions release the interpreter's lock while they work.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

from hipscope.emulator.runner import NativePartsMissing, native_library_dir

_NAME = "hipscope_native"


@cache
def native_module() -> Any:
    """The module (native/python/module.cpp lists its functions). Raises NativePartsMissing."""
    path = native_library_dir() / f"{_NAME}{EXTENSION_SUFFIXES[0]}"
    if not path.exists():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise NativePartsMissing(
            f"{path}: not built, or built for another Python than {version}; run `make setup`"
        )
    spec = spec_from_file_location(_NAME, path, loader=ExtensionFileLoader(_NAME, str(path)))
    assert spec is not None
    assert spec.loader is not None
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise NativePartsMissing(f"{path}: cannot be loaded: {error}") from error
    return module
