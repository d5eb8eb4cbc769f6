/* broadloom: array expressions compiled to one fused loop.
 *
 * Made by cbindgen from crates/broadloom-capi; do not edit. docs/c-abi.md is the guide.
 *
 * Every function may be called from any thread. One that answers a bl_status writes nothing unless it answers BL_OK, but for
 * the outputs of a run that failed while it ran. Handles are checked: one that was released, or is none, is BL_HANDLE.
 * What stands under "Safety" can't be checked, and is the caller's to keep.
 */

#ifndef BROADLOOM_H
#define BROADLOOM_H

#include <stddef.h>
#include <stdint.h>

/** In place of a text's length: the text ends at the first zero byte. */
#define BL_NUL_TERMINATED SIZE_MAX


// The version of this header: major × 10000 + minor × 100 + patch.
#define BL_VERSION 100

// An explanation as text: the graph and the plan.
#define BL_EXPLAIN_PLAN 0

// An explanation as text: the plan, and the code of each loop.
#define BL_EXPLAIN_CODE 1

// An explanation as an HTML page, with the code.
#define BL_EXPLAIN_HTML 2

// A byte each, 0 or 1; as an input, anything but 0 is true.
#define BL_DTYPE_BOOL 0

// `int8_t`
#define BL_DTYPE_INT8 1

// `int16_t`
#define BL_DTYPE_INT16 2

// `int32_t`
#define BL_DTYPE_INT32 3

// `int64_t`
#define BL_DTYPE_INT64 4

// `uint8_t`
#define BL_DTYPE_UINT8 5

// `uint16_t`
#define BL_DTYPE_UINT16 6

// `uint32_t`
#define BL_DTYPE_UINT32 7

// `uint64_t`
#define BL_DTYPE_UINT64 8

// The 16-bit format of IEEE 754, two bytes each.
#define BL_DTYPE_FLOAT16 9

// `float`
#define BL_DTYPE_FLOAT32 10

// `double`
#define BL_DTYPE_FLOAT64 11

// Whichever executor is estimated to be done first.
#define BL_EXECUTOR_AUTO 0

// Precompiled loops over tiles.
#define BL_EXECUTOR_INTERP 1

// Machine code, where the host has a compiler and allows executable memory.
#define BL_EXECUTOR_JIT 2

// Vectors of machine code are as wide as the host's.
#define BL_VECTOR_WIDTH_AUTO 0

// Vectors of machine code have at most 128 bits.
#define BL_VECTOR_WIDTH_128 128

// Vectors of machine code have at most 256 bits, where the host has as many.
#define BL_VECTOR_WIDTH_256 256

// Vectors of machine code have at most 512 bits, where the host has as many.
#define BL_VECTOR_WIDTH_512 512

// Dtypes promote as the Python Array API standard has it: different kinds are an error.
#define BL_PROMOTION_STRICT 0

// Dtypes promote as NumPy 2 does it.
#define BL_PROMOTION_NUMPY 1

// An integer divided by zero is 0.
#define BL_INT_DIVISION_ZERO 0

// An integer divided by zero is BL_ZERO_DIVISION.
#define BL_INT_DIVISION_ERROR 1

// An operand that is read.
#define BL_INPUT 0

// An operand that is written.
#define BL_OUTPUT 1

// An extent that is a number.
#define BL_DIM_FIXED 0

// An extent that a run decides, the same wherever its symbol stands.
#define BL_DIM_SYMBOL 1

// Any number of leading axes.
#define BL_DIM_REST 2

// What a call answers. Numbers are never given another meaning; a later version may have more of them.
enum bl_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // It was done.
  BL_OK = 0,
  // A pointer that must not be null is null.
  BL_NULL = 1,
  // A pointer is not aligned for what it points to.
  BL_MISALIGNED = 2,
  // A handle is 0, was released, or is one of another kind of object.
  BL_HANDLE = 3,
  // A struct's size, a code or a flag is none that this version knows.
  BL_ARGUMENT = 4,
  // A text is not UTF-8.
  BL_UTF8 = 5,
  // A buffer is too small for the answer; nothing was written to it, but the size that it needs was given.
  BL_TOO_SMALL = 6,
  // Dtypes that don't promote, that a function doesn't take, or that a kernel was not built for.
  BL_DTYPE = 7,
  // Shapes that don't broadcast or are not what a kernel was built for; a wrong rank; a range outside of an axis.
  BL_SHAPE = 8,
  // A literal that its dtype can't hold.
  BL_LITERAL = 9,
  // A name that is not bound, or a function that does not exist.
  BL_NAME = 10,
  // A wrong number of arguments, inputs or outputs.
  BL_ARITY = 11,
  // Text that is not a program.
  BL_SYNTAX = 12,
  // An integer divided by zero, where the options make that an error.
  BL_ZERO_DIVISION = 13,
  // A limit was exceeded, or an allocation refused.
  BL_LIMIT = 14,
  // Memory that overlaps as it must not, or is not aligned to its elements.
  BL_MEMORY = 15,
  // The run was cancelled; the outputs are unspecified.
  BL_CANCELLED = 16,
  // An error of the operating system.
  BL_IO = 17,
  // A defect of broadloom: please report it.
  BL_INTERNAL = 18,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum bl_status bl_status;
#else
typedef int32_t bl_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// How a kernel is built and run; fill it with `bl_options_init` first.
typedef struct bl_options {
  // sizeof(bl_options)
  size_t size;
  // A BL_EXECUTOR constant. The bits are the same.
  uint32_t executor;
  // A BL_PROMOTION constant.
  uint32_t promotion;
  // A BL_INT_DIVISION constant.
  uint32_t int_division;
  // A BL_VECTOR_WIDTH constant. The bits of results are the same.
  uint32_t vector_width;
  // The most threads that a run uses; 0 for as many as the host has processors.
  size_t threads;
  // The most bytes that results and temporaries may take.
  size_t max_bytes;
  // The most nodes of an expression.
  size_t max_nodes;
  // The most operations on the longest way from an output to an input.
  size_t max_depth;
  // The highest rank of an operand.
  size_t max_rank;
  // The most vector instructions per element of a kernel that is compiled; 0 compiles nothing.
  size_t max_compiled_cost;
} bl_options;

// A handle of a builder. 0 is no builder.
typedef struct bl_builder {
  // Nothing to look into.
  uint64_t id;
} bl_builder;

// The dtype of an operand's elements: one of the BL_DTYPE constants.
typedef uint32_t bl_dtype;

// An extent: a number, or a symbol for one that a run decides.
typedef struct bl_dim {
  // Null for a number; else a name, or "..." for any number of leading axes, zero-terminated.
  const char *symbol;
  // The number, where there is no symbol.
  size_t extent;
} bl_dim;

// A value of one builder: an input, a literal, or the result of an operation. It lives as long as its builder.
typedef struct bl_value {
  // Nothing to look into.
  uint64_t id;
} bl_value;

// A handle of a kernel. 0 is no kernel.
//
// A kernel may be used by any number of threads at once. It is there until it was released as often as it was made and
// retained.
typedef struct bl_kernel {
  // Nothing to look into.
  uint64_t id;
} bl_kernel;

// An extent for a symbol.
typedef struct bl_extent {
  // The symbol's name, zero-terminated.
  const char *symbol;
  // The number that it stands for.
  size_t extent;
} bl_extent;

// A handle of a prepared call. 0 is no call.
typedef struct bl_call {
  // Nothing to look into.
  uint64_t id;
} bl_call;

// A handle of a flag. 0 is no flag.
typedef struct bl_flag {
  // Nothing to look into.
  uint64_t id;
} bl_flag;

// A function that is told how far a run is: in elements of all of its loops, from whichever thread computed them, and
// from several at once. It must return: neither by `longjmp`, nor by an exception.
typedef void (*bl_progress)(void *context, uint64_t done, uint64_t total);

// How a run is watched and stopped; set its size, and to zero what is not used.
typedef struct bl_control {
  // sizeof(bl_control)
  size_t size;
  // Looked at before each chunk of the work; 0 for none.
  struct bl_flag cancel;
  // Called after each chunk; null for none.
  bl_progress progress;
  // Handed to `progress`.
  void *context;
} bl_control;

// What there is to say of an operand; its size must be set.
typedef struct bl_operand {
  // sizeof(bl_operand)
  size_t size;
  // The number of its dims, "..." being one.
  size_t rank;
  // The length of its name in bytes, without a zero.
  size_t name_length;
  // A BL_DTYPE constant.
  bl_dtype dtype;
  // 1 if "..." is its first dim, else 0.
  uint32_t has_rest;
} bl_operand;

// An operand of a run.
//
// It never grows: arrays of it are handed over.
typedef struct bl_view {
  // The element with index 0 in every dimension; of an input it is only read. Null is fine where there is no element.
  void *data;
  // The extents, outermost first; null is fine for a rank of 0.
  const size_t *shape;
  // For each dimension, how many elements (not bytes) it is from one index to the next: of any sign, and of an input
  // also 0. Null for row-major order without gaps.
  const ptrdiff_t *strides;
  // The number of dimensions.
  uint32_t rank;
  // A BL_DTYPE constant.
  bl_dtype dtype;
} bl_view;

// Every status.
#define bl_status_ALL { BL_OK, BL_NULL, BL_MISALIGNED, BL_HANDLE, BL_ARGUMENT, BL_UTF8, BL_TOO_SMALL, BL_DTYPE, BL_SHAPE, BL_LITERAL, BL_NAME, BL_ARITY, BL_SYNTAX, BL_ZERO_DIVISION, BL_LIMIT, BL_MEMORY, BL_CANCELLED, BL_IO, BL_INTERNAL, }

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library, as BL_VERSION is that of the header. Before 1.0 both must have the same minor version.
uint32_t bl_version(void);

// The version of the library as text, such as "0.1.0"; in static memory.
const char *bl_version_string(void);

// Makes an empty builder, for kernels with these options (null for the usual ones).
//
// # Safety
// `options` is null or to as many bytes as its size says; `out` is null or valid for a write.
bl_status bl_builder_new(const struct bl_options *options, struct bl_builder *out);

// Gives a builder up, with its values. Kernels that were built stay.
bl_status bl_builder_release(struct bl_builder handle);

// Adds an input: an array of this dtype with `rank` extents, or with none a scalar parameter. A kernel's inputs are in
// the order of these calls.
//
// # Safety
// `name` is null or ends with a zero; `extents` is null or valid for `rank` reads, their symbols likewise; `out` is null
// or valid for a write.
bl_status bl_builder_input(struct bl_builder handle,
                           const char *name,
                           bl_dtype dtype_code,
                           const struct bl_dim *extents,
                           size_t rank,
                           struct bl_value *out);

// Adds a truth value: 0 is false.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_bool(struct bl_builder handle, int32_t value, struct bl_value *out);

// Adds an integer, which takes its dtype from what it meets.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_int(struct bl_builder handle, int64_t value, struct bl_value *out);

// Adds an integer above those of `bl_builder_int`.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_uint(struct bl_builder handle, uint64_t value, struct bl_value *out);

// Adds a real number, which takes its dtype from what it meets.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_float(struct bl_builder handle, double value, struct bl_value *out);

// Adds what a function, such as "add" or "where", gives for these values; docs/ops.md lists the functions.
//
// # Safety
// `function` is null or ends with a zero; `values` is null or valid for `count` reads; `out` is null or valid for a write.
bl_status bl_builder_apply(struct bl_builder handle,
                           const char *function,
                           const struct bl_value *values,
                           size_t count,
                           struct bl_value *out);

// Adds a value converted to another dtype.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_cast(struct bl_builder handle,
                          struct bl_value value,
                          bl_dtype dtype_code,
                          struct bl_value *out);

// Adds a value with its axes in another order: axis `i` of the result is axis `axes[i]`, counted from the end if
// negative.
//
// # Safety
// `axes` is null or valid for `count` reads; `out` is null or valid for a write.
bl_status bl_builder_permute(struct bl_builder handle,
                             struct bl_value value,
                             const ptrdiff_t *axes,
                             size_t count,
                             struct bl_value *out);

// Makes a value an output; a kernel's outputs are in the order of these calls.
//
// # Safety
// `name` is null or ends with a zero.
bl_status bl_builder_output(struct bl_builder handle, const char *name, struct bl_value value);

// Compiles a kernel with one reference to it; the builder can go on.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_compile(struct bl_builder handle, struct bl_kernel *out);

// Binds a kernel's symbols to extents, all operands being row-major without gaps: what is left for a run is memory.
//
// The call keeps the kernel alive.
//
// # Safety
// `extents` is null or valid for `count` reads, its symbols end with a zero; `out` is null or valid for a write.
bl_status bl_kernel_bind(struct bl_kernel handle,
                         const struct bl_extent *extents,
                         size_t count,
                         struct bl_call *out);

// One reference more to a call.
bl_status bl_call_retain(struct bl_call handle);

// One reference less; with the last one the handle is no call's any more. Runs that are under way end as they would.
bl_status bl_call_release(struct bl_call handle);

// Compiles now what the first runs would have to wait for.
bl_status bl_call_compile(struct bl_call handle);

// Gives the extents of an output, and its rank; BL_TOO_SMALL if `capacity` is less.
//
// # Safety
// `rank` is null or valid for a write; `extents` is null or valid for `capacity` writes.
bl_status bl_call_output_shape(struct bl_call handle,
                               size_t index,
                               size_t *extents,
                               size_t capacity,
                               size_t *rank);

// Gives how the call runs: a BL_EXPLAIN constant says as what. As of `bl_kernel_explain`, for the bound extents.
//
// # Safety
// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_call_explain(struct bl_call handle,
                          uint32_t form,
                          char *buffer,
                          size_t capacity,
                          size_t *length);

// Runs a call: one pointer for each input and each output, in their order, to row-major memory of the bound shapes.
//
// An output may be an input, or overlap it; no two outputs may overlap.
//
// # Safety
// `inputs` and `outputs` are null or valid for so many reads. Their memory is, until the call returns, initialised and
// valid for reads, of an output also for writes; nothing else writes to it, nor reads what is an output's.
bl_status bl_call_run(struct bl_call handle,
                      const void *const *inputs,
                      size_t input_count,
                      void *const *outputs,
                      size_t output_count);

// Runs a call as `bl_call_run` does, watched.
//
// # Safety
// As of `bl_call_run`; `control` is null, or to as many bytes as its size says.
bl_status bl_call_run_with(struct bl_call handle,
                           const void *const *inputs,
                           size_t input_count,
                           void *const *outputs,
                           size_t output_count,
                           const struct bl_control *control);

// Computes rows `begin` to `end` (without it) of the outputs, on the calling thread: for hosts that share the work among
// threads of their own. Inputs are given whole, outputs as the memory of these rows alone.
//
// BL_SHAPE for rows that are not there, outputs without a common first axis, and kernels with views in them.
//
// # Safety
// As of `bl_call_run`; but other threads may write to rows of inputs that are not among these.
bl_status bl_call_run_range(struct bl_call handle,
                            size_t begin,
                            size_t end,
                            const void *const *inputs,
                            size_t input_count,
                            void *const *outputs,
                            size_t output_count);

// The bytes of one element; 0 for a code that is none.
size_t bl_dtype_size(bl_dtype dtype_code);

// The name of a dtype, such as "float32", in static memory; null for a code that is none.
const char *bl_dtype_name(bl_dtype dtype_code);

// Fills options with what is chosen where nothing is said; their size must be set.
//
// # Safety
// The pointer is null, or to as many bytes as its size says.
bl_status bl_options_init(struct bl_options *options);

// Makes a flag that is down.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_flag_new(struct bl_flag *out);

// Raises a flag: runs that look at it end with BL_CANCELLED, each after the chunks that it has begun.
bl_status bl_flag_raise(struct bl_flag handle);

// Lowers a flag, for other runs.
bl_status bl_flag_lower(struct bl_flag handle);

// Gives a flag up.
bl_status bl_flag_release(struct bl_flag handle);

// Compiles a program in the text language (docs/language.md), with options or null for the usual ones.
//
// `length` is the text's in bytes, or BL_NUL_TERMINATED. Where the text is wrong, `bl_last_error_span` says where.
//
// # Safety
// `program` is null or valid for reads of the text; `options` is null or to as many bytes as its size says; `out` is
// null or valid for a write.
bl_status bl_kernel_parse(const char *program,
                          size_t length,
                          const struct bl_options *options,
                          struct bl_kernel *out);

// One reference more to a kernel.
bl_status bl_kernel_retain(struct bl_kernel handle);

// One reference less; with the last one the handle is no kernel's any more. Runs that are under way end as they would.
bl_status bl_kernel_release(struct bl_kernel handle);

// The kernel's identity: 32 bytes, the same for the same program and options on every host.
//
// # Safety
// `out` is null or valid for a write of 32 bytes.
bl_status bl_kernel_id(struct bl_kernel handle, uint8_t *out);

// What a kernel's operands are: the number of inputs and of outputs.
//
// # Safety
// `inputs` and `outputs` are null or valid for a write.
bl_status bl_kernel_arity(struct bl_kernel handle, size_t *inputs, size_t *outputs);

// Says what an operand is: BL_INPUT or BL_OUTPUT, and which of them.
//
// # Safety
// `out` is null, or to as many bytes as its size says.
bl_status bl_kernel_operand(struct bl_kernel handle,
                            uint32_t side,
                            size_t index,
                            struct bl_operand *out);

// Gives the name of an operand, with a zero after it, and its length without.
//
// # Safety
// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_kernel_operand_name(struct bl_kernel handle,
                                 uint32_t side,
                                 size_t index,
                                 char *buffer,
                                 size_t capacity,
                                 size_t *length);

// Gives a dim of an operand: its kind, its extent (0 if that is open), and as text: a number, a symbol or "...".
//
// # Safety
// `kind`, `extent` and `length` are null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_kernel_operand_dim(struct bl_kernel handle,
                                uint32_t side,
                                size_t index,
                                size_t axis,
                                uint32_t *kind,
                                size_t *extent,
                                char *buffer,
                                size_t capacity,
                                size_t *length);

// Gives the plan of the kernel as text, with a zero after it, and the text's length; extents that are open are taken as
// 1000. The text is for people: its form may change in any version, and its length from one call to the next.
//
// # Safety
// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_kernel_explain(struct bl_kernel handle,
                            char *buffer,
                            size_t capacity,
                            size_t *length);

// Runs a kernel on memory with shapes: one view for each input and each output, in their order.
//
// Symbols take their extents from the inputs. An output has the shape that follows; its memory may be that of inputs:
// the same elements, or others, and then results are computed aside. No two outputs may overlap. `control` may be null.
//
// # Safety
// `inputs` and `outputs` are null or valid for so many reads, and so are their shapes and strides. What a view reaches is
// in one allocation and, until the call returns, initialised and valid for reads, of an output also for writes; nothing
// else writes to it, nor reads what is an output's. `control` is null, or to as many bytes as its size says.
bl_status bl_kernel_run(struct bl_kernel handle,
                        const struct bl_view *inputs,
                        size_t input_count,
                        const struct bl_view *outputs,
                        size_t output_count,
                        const struct bl_control *control);

// A few words for a status, in static memory; never null.
//
// A status is an `int32_t`; for a number that is none the words say so.
const char *bl_status_name(int32_t status);

// What this thread's last call that did not answer BL_OK had to say, as UTF-8; empty if all did. Never null.
//
// The text is valid until the next call of this thread that does not answer BL_OK.
const char *bl_last_error(void);

// Where in the program's text this thread's last error is: the first byte at fault, and the one after the last.
//
// BL_ARGUMENT if that error is not about a text; it then stays the last one.
//
// # Safety
// Both pointers are null, or valid for a write.
bl_status bl_last_error_span(size_t *start,
                             size_t *end);

// A few words for a status, in static memory; never null.
//
// A status is an `int32_t`; for a number that is none the words say so.
const char *bl_status_name(int32_t status);

// What this thread's last call that did not answer BL_OK had to say, as UTF-8; empty if all did. Never null.
//
// The text is valid until the next call of this thread that does not answer BL_OK.
const char *bl_last_error(void);

// Where in the program's text this thread's last error is: the first byte at fault, and the one after the last.
//
// BL_ARGUMENT if that error is not about a text; it then stays the last one.
//
// # Safety
// Both pointers are null, or valid for a write.
bl_status bl_last_error_span(size_t *start,
                             size_t *end);

// The bytes of one element; 0 for a code that is none.
size_t bl_dtype_size(bl_dtype dtype_code);

// The name of a dtype, such as "float32", in static memory; null for a code that is none.
const char *bl_dtype_name(bl_dtype dtype_code);

// Fills options with what is chosen where nothing is said; their size must be set.
//
// # Safety
// The pointer is null, or to as many bytes as its size says.
bl_status bl_options_init(struct bl_options *options);

// Makes an empty builder, for kernels with these options (null for the usual ones).
//
// # Safety
// `options` is null or to as many bytes as its size says; `out` is null or valid for a write.
bl_status bl_builder_new(const struct bl_options *options, struct bl_builder *out);

// Gives a builder up, with its values. Kernels that were built stay.
bl_status bl_builder_release(struct bl_builder handle);

// Adds an input: an array of this dtype with `rank` extents, or with none a scalar parameter. A kernel's inputs are in
// the order of these calls.
//
// # Safety
// `name` is null or ends with a zero; `extents` is null or valid for `rank` reads, their symbols likewise; `out` is null
// or valid for a write.
bl_status bl_builder_input(struct bl_builder handle,
                           const char *name,
                           bl_dtype dtype_code,
                           const struct bl_dim *extents,
                           size_t rank,
                           struct bl_value *out);

// Adds a truth value: 0 is false.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_bool(struct bl_builder handle, int32_t value, struct bl_value *out);

// Adds an integer, which takes its dtype from what it meets.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_int(struct bl_builder handle, int64_t value, struct bl_value *out);

// Adds an integer above those of `bl_builder_int`.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_uint(struct bl_builder handle, uint64_t value, struct bl_value *out);

// Adds a real number, which takes its dtype from what it meets.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_float(struct bl_builder handle, double value, struct bl_value *out);

// Adds what a function, such as "add" or "where", gives for these values; docs/ops.md lists the functions.
//
// # Safety
// `function` is null or ends with a zero; `values` is null or valid for `count` reads; `out` is null or valid for a write.
bl_status bl_builder_apply(struct bl_builder handle,
                           const char *function,
                           const struct bl_value *values,
                           size_t count,
                           struct bl_value *out);

// Adds a value converted to another dtype.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_cast(struct bl_builder handle,
                          struct bl_value value,
                          bl_dtype dtype_code,
                          struct bl_value *out);

// Adds a value with its axes in another order: axis `i` of the result is axis `axes[i]`, counted from the end if
// negative.
//
// # Safety
// `axes` is null or valid for `count` reads; `out` is null or valid for a write.
bl_status bl_builder_permute(struct bl_builder handle,
                             struct bl_value value,
                             const ptrdiff_t *axes,
                             size_t count,
                             struct bl_value *out);

// Makes a value an output; a kernel's outputs are in the order of these calls.
//
// # Safety
// `name` is null or ends with a zero.
bl_status bl_builder_output(struct bl_builder handle, const char *name, struct bl_value value);

// Compiles a kernel with one reference to it; the builder can go on.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_builder_compile(struct bl_builder handle, struct bl_kernel *out);

// Compiles a program in the text language (docs/language.md), with options or null for the usual ones.
//
// `length` is the text's in bytes, or BL_NUL_TERMINATED. Where the text is wrong, `bl_last_error_span` says where.
//
// # Safety
// `program` is null or valid for reads of the text; `options` is null or to as many bytes as its size says; `out` is
// null or valid for a write.
bl_status bl_kernel_parse(const char *program,
                          size_t length,
                          const struct bl_options *options,
                          struct bl_kernel *out);

// One reference more to a kernel.
bl_status bl_kernel_retain(struct bl_kernel handle);

// One reference less; with the last one the handle is no kernel's any more. Runs that are under way end as they would.
bl_status bl_kernel_release(struct bl_kernel handle);

// The kernel's identity: 32 bytes, the same for the same program and options on every host.
//
// # Safety
// `out` is null or valid for a write of 32 bytes.
bl_status bl_kernel_id(struct bl_kernel handle, uint8_t *out);

// What a kernel's operands are: the number of inputs and of outputs.
//
// # Safety
// `inputs` and `outputs` are null or valid for a write.
bl_status bl_kernel_arity(struct bl_kernel handle, size_t *inputs, size_t *outputs);

// Says what an operand is: BL_INPUT or BL_OUTPUT, and which of them.
//
// # Safety
// `out` is null, or to as many bytes as its size says.
bl_status bl_kernel_operand(struct bl_kernel handle,
                            uint32_t side,
                            size_t index,
                            struct bl_operand *out);

// Gives the name of an operand, with a zero after it, and its length without.
//
// # Safety
// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_kernel_operand_name(struct bl_kernel handle,
                                 uint32_t side,
                                 size_t index,
                                 char *buffer,
                                 size_t capacity,
                                 size_t *length);

// Gives a dim of an operand: its kind, its extent (0 if that is open), and as text: a number, a symbol or "...".
//
// # Safety
// `kind`, `extent` and `length` are null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_kernel_operand_dim(struct bl_kernel handle,
                                uint32_t side,
                                size_t index,
                                size_t axis,
                                uint32_t *kind,
                                size_t *extent,
                                char *buffer,
                                size_t capacity,
                                size_t *length);

// Gives the plan of the kernel as text, with a zero after it, and the text's length; extents that are open are taken as
// 1000. The text is for people: its form may change in any version, and its length from one call to the next.
//
// # Safety
// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_kernel_explain(struct bl_kernel handle,
                            char *buffer,
                            size_t capacity,
                            size_t *length);

// Runs a kernel on memory with shapes: one view for each input and each output, in their order.
//
// Symbols take their extents from the inputs. An output has the shape that follows; its memory may be that of inputs:
// the same elements, or others, and then results are computed aside. No two outputs may overlap. `control` may be null.
//
// # Safety
// `inputs` and `outputs` are null or valid for so many reads, and so are their shapes and strides. What a view reaches is
// in one allocation and, until the call returns, initialised and valid for reads, of an output also for writes; nothing
// else writes to it, nor reads what is an output's. `control` is null, or to as many bytes as its size says.
bl_status bl_kernel_run(struct bl_kernel handle,
                        const struct bl_view *inputs,
                        size_t input_count,
                        const struct bl_view *outputs,
                        size_t output_count,
                        const struct bl_control *control);

// Binds a kernel's symbols to extents, all operands being row-major without gaps: what is left for a run is memory.
//
// The call keeps the kernel alive.
//
// # Safety
// `extents` is null or valid for `count` reads, its symbols end with a zero; `out` is null or valid for a write.
bl_status bl_kernel_bind(struct bl_kernel handle,
                         const struct bl_extent *extents,
                         size_t count,
                         struct bl_call *out);

// One reference more to a call.
bl_status bl_call_retain(struct bl_call handle);

// One reference less; with the last one the handle is no call's any more. Runs that are under way end as they would.
bl_status bl_call_release(struct bl_call handle);

// Compiles now what the first runs would have to wait for.
bl_status bl_call_compile(struct bl_call handle);

// Gives the extents of an output, and its rank; BL_TOO_SMALL if `capacity` is less.
//
// # Safety
// `rank` is null or valid for a write; `extents` is null or valid for `capacity` writes.
bl_status bl_call_output_shape(struct bl_call handle,
                               size_t index,
                               size_t *extents,
                               size_t capacity,
                               size_t *rank);

// Gives how the call runs: a BL_EXPLAIN constant says as what. As of `bl_kernel_explain`, for the bound extents.
//
// # Safety
// `length` is null or valid for a write; `buffer` is null or valid for writes of `capacity` bytes.
bl_status bl_call_explain(struct bl_call handle,
                          uint32_t form,
                          char *buffer,
                          size_t capacity,
                          size_t *length);

// Runs a call: one pointer for each input and each output, in their order, to row-major memory of the bound shapes.
//
// An output may be an input, or overlap it; no two outputs may overlap.
//
// # Safety
// `inputs` and `outputs` are null or valid for so many reads. Their memory is, until the call returns, initialised and
// valid for reads, of an output also for writes; nothing else writes to it, nor reads what is an output's.
bl_status bl_call_run(struct bl_call handle,
                      const void *const *inputs,
                      size_t input_count,
                      void *const *outputs,
                      size_t output_count);

// Runs a call as `bl_call_run` does, watched.
//
// # Safety
// As of `bl_call_run`; `control` is null, or to as many bytes as its size says.
bl_status bl_call_run_with(struct bl_call handle,
                           const void *const *inputs,
                           size_t input_count,
                           void *const *outputs,
                           size_t output_count,
                           const struct bl_control *control);

// Computes rows `begin` to `end` (without it) of the outputs, on the calling thread: for hosts that share the work among
// threads of their own. Inputs are given whole, outputs as the memory of these rows alone.
//
// BL_SHAPE for rows that are not there, outputs without a common first axis, and kernels with views in them.
//
// # Safety
// As of `bl_call_run`; but other threads may write to rows of inputs that are not among these.
bl_status bl_call_run_range(struct bl_call handle,
                            size_t begin,
                            size_t end,
                            const void *const *inputs,
                            size_t input_count,
                            void *const *outputs,
                            size_t output_count);

// Makes a flag that is down.
//
// # Safety
// `out` is null or valid for a write.
bl_status bl_flag_new(struct bl_flag *out);

// Raises a flag: runs that look at it end with BL_CANCELLED, each after the chunks that it has begun.
bl_status bl_flag_raise(struct bl_flag handle);

// Lowers a flag, for other runs.
bl_status bl_flag_lower(struct bl_flag handle);

// Gives a flag up.
bl_status bl_flag_release(struct bl_flag handle);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BROADLOOM_H */
