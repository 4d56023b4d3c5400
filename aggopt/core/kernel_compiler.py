"""A pipeline of numba that compiles many small kernels in less time.

Numba optimises each function and makes machine code of it before it is copied into
its callers, which are optimised again.  A kernel that only kernels call needs neither:
it is typed, lowered and linked, and each kernel that Python calls is optimised as a
whole.  Numba also tries some ten rules at each operation to find the type of its
result, when it types and again when it lowers; this pipeline does so only once for
operands of equal types.  Last, the code of an entry of an array, `x[i, j]`, and of a
loop over a range is less than half as long as numba's, which copies descriptions.

Neither changes the results of a kernel.  Importing this imports numba.
"""
# mypy: disallow_untyped_calls=False

import operator
import re
from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from numba.core import cgutils, compiler, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary, ll  # type: ignore[attr-defined]
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.ir_utils import get_definition, guard
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering, NopythonTypeInference
from numba.np.arrayobj import fix_integer_index, load_item, store_item

LINKED = "aggopt-linked"  # name of this kind of a library in a cache
ENVIRONMENT = "_ZN08NumbaEnv"  # name of the Python environment in a module
RECURSIVE = ".numba.unresolved$"  # a call whose machine code is looked up by name

ITERATIONS = ("getiter", "iternext", "pair_first", "pair_second")

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


class _LoweringContext(_TypingContext):
    """A typing context for lowering, which looks up the rules of operations again."""

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a value, as the context does; signatures are kept."""
        function = self._context.resolve_value_type(value)
        if type(function) is not types.Function:
            return function
        key = id(function), self._flags
        kept = _functions.get(key)
        if kept is None:  # it refers to the function, whose number none can have then
            kept = _functions[key] = _keep_signatures(function)
        return kept


_functions: dict[Any, Any] = {}  # with their signatures, for the life of the process


def _keep_signatures(function: Any) -> Any:
    """Return a copy of a function type that finds the rule of some operands once."""
    rules: dict[Any, Any] = {}

    def get_call_type(context: Any, args: Any, kws: Any) -> Any:
        operands = tuple(args)
        if operands not in rules:
            signature = function.get_call_type(context, operands, kws)
            rules[operands] = signature, function.get_impl_key(signature)
        signature, rule = rules[operands]
        function._impl_keys[signature.args] = rule
        return signature

    kept: Any = object.__new__(types.Function)
    kept.__dict__.update(function.__dict__, get_call_type=get_call_type)
    return kept


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


class _Lower(Lower):
    """Numba's lowering, but for entries of arrays and loops over ranges."""

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Return the value of an expression."""
        kind = self.typeof(expr.value.name) if expr.op in ITERATIONS else None
        if expr.op == "getiter" and self._counts_up(expr.value, kind):
            return self._begin_range(expr.value, resty)
        if expr.op == "iternext" and isinstance(kind, types.RangeIteratorType):
            return self._continue_range(expr.value, resty)
        if isinstance(kind, types.Pair) and isinstance(kind.first_type, types.Integer):
            place = 0 if expr.op == "pair_first" else 1
            return self.builder.extract_value(self.loadvar(expr.value.name), place)
        return super().lower_expr(resty, expr)

    def _counts_up(self, iterable: Any, kind: Any) -> bool:
        """Whether a variable is a range with steps of 1."""
        if not isinstance(kind, types.RangeType):
            return False
        call = guard(get_definition, self.func_ir, iterable)
        return getattr(call, "op", "") == "call" and len(call.args) < 3

    def _begin_range(self, iterable: Any, resty: Any) -> Any:
        """Return an iterator: the next number, end, step, and how many are left."""
        builder = self.builder
        state = self.loadvar(iterable.name)
        start, stop, step = (builder.extract_value(state, i) for i in range(3))
        size = builder.sub(stop, start)
        zero = size.type(0)
        is_empty = builder.icmp_signed("<=", size, zero)
        left = builder.select(is_empty, zero, size)
        next_, count = (cgutils.alloca_once(builder, size.type) for _ in range(2))
        builder.store(start, next_)
        builder.store(left, count)
        iterator = self.context.get_constant_undef(resty)
        for place, value in enumerate((next_, stop, step, count)):
            iterator = builder.insert_value(iterator, value, place)
        return iterator

    def _continue_range(self, iterator: Any, resty: Any) -> Any:
        """Return the next number of a range, and whether there is one."""
        builder = self.builder
        state = self.loadvar(iterator.name)
        next_, _, step, count = (builder.extract_value(state, i) for i in range(4))
        left, value = builder.load(count), builder.load(next_)
        is_valid = builder.icmp_signed(">", left, left.type(0))
        with builder.if_then(is_valid):
            builder.store(builder.sub(left, left.type(1), flags=["nsw"]), count)
            builder.store(builder.add(value, step), next_)
        pair = builder.insert_value(self.context.get_constant_undef(resty), value, 0)
        return builder.insert_value(pair, is_valid, 1)

    def lower_getitem(
        self, resty: Any, expr: Any, value: Any, index: Any, signature: Any
    ) -> Any:
        """Return the value of `value[index]`."""
        array = self.typeof(value.name)
        if not self._is_entry(array, signature.args[1]):
            return super().lower_getitem(resty, expr, value, index, signature)
        place = self._find_entry(value, index, signature.args[1])
        entry = load_item(self.context, self.builder, array, place)
        return self.context.cast(self.builder, entry, signature.return_type, resty)

    def lower_setitem(self, target: Any, index: Any, value: Any, signature: Any) -> Any:
        """Set `target[index]` to a value."""
        array = self.typeof(target.name)
        if not self._is_entry(array, signature.args[1]):
            return super().lower_setitem(target, index, value, signature)
        context, builder = self.context, self.builder
        place = self._find_entry(target, index, signature.args[1])
        new, kind = self.loadvar(value.name), self.typeof(value.name)
        new = context.cast(builder, new, kind, signature.args[2])
        new = context.cast(builder, new, signature.args[2], array.dtype)
        return store_item(context, builder, array, new, place)

    def _is_entry(self, array: Any, index: Any) -> bool:
        """Whether an index of some types denotes one number of an array."""
        if not isinstance(array, types.Array) or self.context.enable_boundscheck:
            return False
        indices = _list_indices(index)
        return (
            isinstance(array.dtype, types.Number | types.Boolean)
            and len(indices) == array.ndim
            and all(isinstance(each, types.Integer) for each in indices)
        )

    def _find_entry(self, array: Any, index: Any, index_type: Any) -> Any:
        """Return the pointer to an entry; a negative index counts from the end."""
        context, builder = self.context, self.builder
        array_type = self.typeof(array.name)
        values, axes = self.loadvar(array.name), range(array_type.ndim)
        model = context.data_model_manager[array_type]

        def extract(field: str, *axis: int) -> Any:
            place = model.get_field_position(field)
            return builder.extract_value(values, [place, *axis])

        at = self.loadvar(index.name)
        at = context.cast(builder, at, self.typeof(index.name), index_type)
        kinds = _list_indices(index_type)
        indices = [at] if kinds == (index_type,) else cgutils.unpack_tuple(builder, at)
        shape = [extract("shape", axis) for axis in axes]
        strides = None
        if array_type.layout == "A":
            strides = [extract("strides", axis) for axis in axes]
        return cgutils.get_item_pointer2(
            context,
            builder,
            extract("data"),
            shape,
            strides,
            array_type.layout,
            [
                fix_integer_index(context, builder, kind, each, size)
                for kind, each, size in zip(kinds, indices, shape, strict=True)
            ],
        )


def _list_indices(index: Any) -> tuple[Any, ...]:
    """Return the types in the type of an index, one or a tuple of them."""
    return getattr(index, "types", (index,))


def _lower(run_pass: Callable[[Any], bool], state: Any) -> bool:
    """Lower a function with the rules of earlier operations."""
    context = state.targetctx
    plain = context.typing_context
    context.typing_context = _LoweringContext(plain, state.flags)
    try:
        return run_pass(state)
    finally:
        context.typing_context = plain


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Lowering into a library that callers link."""

    _name = "aggopt_linked_lowering"
    lowering_class = _Lower

    def run_pass(self, state: Any) -> bool:
        """Lower a function."""
        name = state.func_id.func_qualname
        state.library = _LinkedLibrary(state.targetctx.codegen(), name)
        state.library.enable_object_caching()
        return _lower(super().run_pass, state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """Numba's lowering, and environments for all that is linked."""

    _name = "aggopt_lowering"
    lowering_class = _Lower

    def run_pass(self, state: Any) -> bool:
        """Lower a function."""
        done = _lower(super().run_pass, state)
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
