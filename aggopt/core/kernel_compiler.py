"""A pipeline of numba that compiles many small kernels in less time.

Numba optimises each function and makes machine code of it before it is copied into
its callers, which are optimised again.  A kernel that only kernels call needs neither:
it is typed, lowered and linked, and each kernel that Python calls is optimised as a
whole.  Numba also tries some ten rules at each operation to find the type of its
result; this pipeline does so only once for operands of equal types.

Neither changes the results of a kernel.  Importing this imports numba.
"""
# mypy: disallow_untyped_calls=False

import operator
import re
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from numba.core import compiler, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary, ll  # type: ignore[attr-defined]
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

LINKED = "aggopt-linked"  # name of this kind of a library in a cache
ENVIRONMENT = "_ZN08NumbaEnv"  # name of the Python environment in a module
RECURSIVE = ".numba.unresolved$"  # a call whose machine code is looked up by name

INHERITED = ("nrt", "error_model", "fastmath", "boundscheck", "debuginfo")
"""Flags of a kernel that the compiled code of an operation depends on."""

_signatures: dict[Any, Any] = {}  # of operations, for the life of the process


class _TypingContext:
    """A typing context that resolves each built-in operation on some types once."""

    def __init__(self, context: Any, flags: Any) -> None:
        self._context = context
        self._flags = tuple(str(getattr(flags, name)) for name in INHERITED)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call, as the context does."""
        resolve = partial(self._context.resolve_function_type, function, args, kws)
        if kws or not _is_built_in(function):
            return resolve()
        return self._resolve_once(function, tuple(args), resolve)

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of `target[index] = value`, as the context does."""
        resolve = partial(self._context.resolve_setitem, target, index, value)
        return self._resolve_once(operator.setitem, (target, index, value), resolve)

    def _resolve_once(self, function: Any, args: Any, resolve: Any) -> Any:
        key = self._context, function, args, self._flags
        signature = _signatures.get(key)
        if signature is None:  # a rule that is loaded later may have one
            signature = _signatures[key] = resolve()
        return signature


def _is_built_in(function: Any) -> bool:
    """Whether a function is numba's, or an operator of Python, not a kernel."""
    return isinstance(function, types.Function | BuiltinFunctionType)


@register_pass(mutates_CFG=True, analysis_only=False)
class _TypeInference(NopythonTypeInference):
    """Numba's type inference, with the signatures of earlier operations."""

    _name = "aggopt_type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer all types of a function."""
        context = state.typingctx
        state.typingctx = _TypingContext(context, state.flags)
        try:
            done: bool = super().run_pass(state)
        finally:
            state.typingctx = context
        return done


class _Codegen:
    """A code generator for a library without machine code, thus without addresses."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the kernels that link the library set it."""


class _LinkedLibrary(JITCodeLibrary):
    """The code of a kernel that is copied into its callers, and never run itself."""

    @property
    def codegen(self) -> Any:
        """Return the code generator."""
        return _Codegen(self._codegen)

    def finalize(self) -> None:
        """Link the functions that the kernel calls; its callers optimise it."""
        self._raise_if_finalized()
        variables = self._final_module.global_variables
        if any(variable.name.startswith(RECURSIVE) for variable in variables):
            raise NotImplementedError(f"{self.name} is called by what it calls")
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(library, "_reload_init"):  # newer than numba 0.60
                self._reload_init.update(library._reload_init)
            module = library._get_module_for_linking()
            self._final_module.link_in(module, preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _finalize_dynamic_globals(self) -> None:
        super()._finalize_dynamic_globals()
        if self._dynamic_globals:
            text = str(self._final_module)  # with unused definitions
            names = self._dynamic_globals
            self._dynamic_globals = [name for name in names if _is_used(name, text)]

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: the library has no machine code."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """Return the data for a cache."""
        return self.name, LINKED, self._get_module_for_linking().as_bitcode()

    @classmethod
    def read(cls, codegen: Any, state: Any) -> "_LinkedLibrary":
        """Return the library that a cache kept."""
        name, _, bitcode = state
        library = cls(codegen, name)
        library._final_module = ll.parse_bitcode(bitcode)
        library._finalized = True
        return library


def _is_used(name: str, text: str) -> bool:
    return len(re.findall(rf'@"?{re.escape(name)}"?(?![\w.$])', text)) > 1


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Lowering into a library that callers link."""

    _name = "aggopt_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function."""
        name = state.func_id.func_qualname
        state.library = _LinkedLibrary(state.targetctx.codegen(), name)
        state.library.enable_object_caching()
        done: bool = super().run_pass(state)
        return done


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's lowering, and environments for all that is linked."""

    _name = "aggopt_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function."""
        done: bool = super().run_pass(state)
        library = state.library
        for variable in library._final_module.global_variables:
            if variable.name.startswith(ENVIRONMENT):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    library.codegen.set_env(variable.name, environment)
        return done


class KernelCompiler(compiler.CompilerBase):
    """Compiles a kernel that Python calls."""

    lowering: Any = _Lowering

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, two of them replaced."""
        replaced = {
            NopythonTypeInference: _TypeInference,
            NativeLowering: self.lowering,
        }
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (replaced.get(a_pass, a_pass), about) for a_pass, about in passes.passes
        ]
        passes.finalize()
        return [passes]


class LinkedCompiler(KernelCompiler):
    """Compiles a kernel that only kernels call."""

    lowering = _LinkedLowering


class _LinkedCacheImpl(CompileResultCacheImpl):
    """A cache for kernels without machine code."""

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        """Return a name that no other cache has: numba cannot read these files."""
        return f"linked-{super().get_filename_base(fullname, abiflags)}"

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return the kernel that a cache kept."""
        result = super().rebuild(_LinkedContext(target_context), payload)
        return result._replace(target_context=target_context)


class _LinkedContext:
    """A target context whose libraries are linked ones."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def codegen(self) -> Any:
        """Return a code generator that reads these libraries."""
        return _LinkedReader(self._context.codegen())


class _LinkedReader(_Codegen):
    """A code generator that reads a linked library."""

    def unserialize_library(self, state: Any) -> _LinkedLibrary:
        """Return the library that a cache kept."""
        return _LinkedLibrary.read(self._codegen, state)


class LinkedCache(FunctionCache):
    """A cache of kernels that only kernels call."""

    _impl_class = _LinkedCacheImpl
