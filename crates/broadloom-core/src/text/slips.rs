//! Advice on spellings from other languages and libraries: maps names and operators of NumPy, Python, C and Rust to
//! those of this language, or to the reason why there is none.
//!
//! The tables are data. The parser, the resolver and the evaluator search them only for text that they have refused
//! already, so that a row never changes the meaning of a text. If the language gains a name, its row becomes unused.

use super::built_in::{built_in, constant};
use super::lex::Token;

/// Advice on a name.
#[derive(Clone, Copy)]
enum Advice {
    /// The corresponding name in this language.
    Is(&'static str),
    /// The text to write instead.
    Write(&'static str),
    /// The reason why the language has no equivalent.
    Missing(&'static str),
}
use Advice::{Is, Missing, Write};

impl Advice {
    fn text(self) -> String {
        match self {
            Is(name) => format!("did you mean `{name}`?"),
            Write(text) => format!("write {text}"),
            Missing(why) => why.to_owned(),
        }
    }
}

type Slip = (&'static [&'static str], Advice);

const PRODUCTS: Advice =
    Missing("there is no matrix product; of vectors it is `vecdot(x1, x2)`, or `sum(x1 * x2)`");
const QUANTILES: Advice = Missing("there are no quantiles, but `sort(x)` has the elements in order");
const SETS: Advice = Missing("there are no sets, but `sort(x)` and `searchsorted(sorted, x)`");
const ELEMENTS: Advice = Missing("functions apply to every element of an array");
const LOOPS: Advice = Missing("a loop is the value of a binding: `x = while (x = 0; x < 4) { x = x + 1 }`");
const SHAPES: Advice = Missing("a text can't ask for extents: they are known when it is run");
const SPECIAL: Advice = Missing("it is not among the functions of the Array API standard");
const COMPLEX: Advice = Missing("there are no complex dtypes");

/// Names of functions in other libraries.
const FUNCTIONS: &[Slip] = &[
    // Arithmetic.
    (&["plus"], Is("add")),
    (&["sub", "minus"], Is("subtract")),
    (&["mul", "times"], Is("multiply")),
    (&["div", "true_divide", "truediv"], Is("divide")),
    (&["floordiv", "floor_div", "intdiv", "idiv", "quotient", "quo"], Is("floor_divide")),
    (&["mod", "modulo", "modulus"], Is("remainder")),
    (&["fmod", "rem"], Missing("`remainder` (`%`) has the sign of the divisor, not of the dividend")),
    (&["divmod"], Write("`x // y` and `x % y`, as two results")),
    (&["neg", "opposite"], Is("negative")),
    (&["inv", "recip", "rcp", "inverse"], Is("reciprocal")),
    (&["power", "float_power", "powf", "powi", "expt"], Is("pow")),
    (&["fabs", "absolute", "magnitude"], Is("abs")),
    (&["sgn", "signum"], Is("sign")),
    (&["sqr"], Is("square")),
    (&["cube"], Write("`x ** 3`")),
    (&["rsqrt", "inversesqrt"], Write("`1 / sqrt(x)`")),
    (&["mad", "muladd", "fmadd", "fused_multiply_add", "mul_add"], Is("fma")),
    (&["fmin"], Write("`minimum(x1, x2)`, which is NaN if an operand is")),
    (&["fmax"], Write("`maximum(x1, x2)`, which is NaN if an operand is")),
    (&["clamp", "bound"], Is("clip")),
    (&["saturate", "clamp01"], Write("`clip(x, 0, 1)`")),
    // Rounding.
    (&["rint", "nearbyint", "around", "round_", "roundeven"], Is("round")),
    (&["fix", "truncate", "to_int"], Is("trunc")),
    (&["ceiling", "roundup"], Is("ceil")),
    (&["fract", "frac"], Write("`x - floor(x)`")),
    (&["modf"], Write("`trunc(x)` and `x - trunc(x)`, as two results")),
    // Exponentials, logarithms, angles.
    (&["ln", "loge", "log_e", "logn"], Is("log")),
    (&["lg"], Write("`log2(x)` or `log10(x)`")),
    (&["lb"], Is("log2")),
    (&["ln_1p", "lnp1"], Is("log1p")),
    (&["exp_m1"], Is("expm1")),
    (&["exp10", "pow10"], Write("`10.0 ** x`")),
    (&["arcsin"], Is("asin")),
    (&["arccos"], Is("acos")),
    (&["arctan"], Is("atan")),
    (&["arctan2"], Is("atan2")),
    (&["arcsinh", "arsinh"], Is("asinh")),
    (&["arccosh", "arcosh"], Is("acosh")),
    (&["arctanh", "artanh"], Is("atanh")),
    (&["radians", "deg2rad"], Write("`x * 0.017453292519943295`")),
    (&["degrees", "rad2deg"], Write("`x * 57.29577951308232`")),
    (&["tgamma", "lgamma", "gammaln", "j0", "j1", "i0", "zeta"], SPECIAL),
    (&["sinc"], Write("`where(x == 0, 1.0, sin(x) / x)`, with `pi * x` for x to have NumPy's")),
    // Formulas that have a name elsewhere.
    (&["sigmoid", "expit"], Write("`1 / (1 + exp(-x))`")),
    (&["relu"], Write("`maximum(x, 0)`")),
    (&["softplus"], Write("`logaddexp(x, 0)`")),
    (&["lerp", "mix"], Write("`x1 + (x2 - x1) * t`")),
    (&["heaviside", "step"], Write("`where(x < 0, 0.0, 1.0)`")),
    (&["nan_to_num"], Write("`where(isnan(x), 0, x)`")),
    // Comparisons, logic, bits.
    (&["eq", "isequal"], Is("equal")),
    (&["ne", "neq"], Is("not_equal")),
    (&["lt"], Is("less")),
    (&["le"], Is("less_equal")),
    (&["gt"], Is("greater")),
    (&["ge"], Is("greater_equal")),
    (&["isclose", "allclose"], Write("`abs(x1 - x2) < 1e-6`, with a bound of your own")),
    (&["isna", "isnull", "is_nan"], Is("isnan")),
    (&["select", "choose", "ifelse", "if_else", "iif", "cond", "ternary", "IF", "If", "IIF"], Is("where")),
    (&["xor"], Is("bitwise_xor")),
    (&["bitand", "band"], Is("bitwise_and")),
    (&["bitor", "bor"], Is("bitwise_or")),
    (&["bitxor", "bxor"], Is("bitwise_xor")),
    (&["invert", "bitwise_not", "bitnot", "bnot"], Is("bitwise_invert")),
    (&["left_shift", "lshift", "shl", "shift_left"], Is("bitwise_left_shift")),
    (&["right_shift", "rshift", "shr", "shift_right"], Is("bitwise_right_shift")),
    (&["conj", "conjugate", "real", "imag", "angle", "arg"], COMPLEX),
    // Shapes.
    (&["transpose", "swapaxes", "moveaxis", "permute"], Write("`permute_dims(x, [1, 0])`")),
    (&["flatten", "ravel"], Write("`reshape(x, [-1])`")),
    (&["unsqueeze"], Is("expand_dims")),
    (&["flipud"], Write("`flip(x, 0)`")),
    (&["fliplr"], Write("`flip(x, 1)`")),
    (&["broadcast", "expand"], Is("broadcast_to")),
    (
        &["tile", "repeat"],
        Missing("elements are not repeated: `broadcast_to` adds axes, and widens those of extent 1"),
    ),
    (&["gather", "index_select", "lookup"], Is("take")),
    (&["gather_along_axis", "take_along_dim"], Is("take_along_axis")),
    (&["slice"], Write("`x[1:5]`, with numbers")),
    (&["roll", "rot90", "pad", "diff"], Write("`x[1:] - x[:-1]` and the like: views of one array")),
    (&["len", "shape", "size", "ndim", "numel"], SHAPES),
    (
        &["length"],
        Write("`vector_norm(x)` for the length of a vector, or `count(x)` for how many elements there are"),
    ),
    (&["shift", "lag", "lead"], Write("`x[1:]` and `x[:-1]`: views of one array")),
    (&["smoothstep"], Write("`t * t * (3 - 2 * t)` with `t = clip((x - a) / (b - a), 0, 1)`")),
    (&["cast", "convert", "as_type", "to", "view"], Is("astype")),
    // Reductions.
    (&["amax"], Is("max")),
    (&["amin"], Is("min")),
    (&["product"], Is("prod")),
    (&["total"], Is("sum")),
    (&["average", "avg"], Write("`mean(x)`, or with weights `sum(w * x) / sum(w)`")),
    (&["nanaverage"], Is("nanmean")),
    (&["variance"], Is("var")),
    (&["stdev", "stddev", "sd"], Is("std")),
    (&["sometrue"], Is("any")),
    (&["alltrue"], Is("all")),
    (&["idxmax", "imax"], Is("argmax")),
    (&["idxmin", "imin"], Is("argmin")),
    (&["cumsum"], Is("cumulative_sum")),
    (&["cumprod"], Is("cumulative_prod")),
    (
        &["cummax", "cummin", "accumulate"],
        Missing("of each prefix there are `cumulative_sum` and `cumulative_prod`"),
    ),
    (&["norm", "linalg", "l2_norm"], Write("`vector_norm(x)`, with `ord=1` or `ord=inf` for other norms")),
    (&["dot", "inner", "vdot"], Write("`vecdot(x1, x2)`, or `sum(x1 * x2)`")),
    (&["sumsq", "ssq"], Write("`sum(x * x)`")),
    (&["rms"], Write("`sqrt(mean(x * x))`")),
    (&["ptp"], Write("`max(x) - min(x)`")),
    (
        &["softmax"],
        Write("`t = exp(x - max(x, axis=-1, keepdims=true))`, and `t / sum(t, axis=-1, keepdims=true)`"),
    ),
    (&["logsumexp"], Write("`m + log(sum(exp(x - m)))`, with `m = max(x)`")),
    (&["trapz", "trapezoid"], Write("`sum(y[1:] + y[:-1]) * (dx / 2)`")),
    (&["nanargmax", "nanargmin"], Write("`argmax(where(isnan(x), -inf, x))` and the like")),
    (&["countif", "count_true"], Is("count_nonzero")),
    (&["median", "percentile", "quantile", "nanmedian", "mode"], QUANTILES),
    (&["bincount"], Is("segment_count")),
    (&["argtopk"], Is("topk_indices")),
    (&["matmul", "einsum", "tensordot", "cross", "kron", "conv"], PRODUCTS),
    (&["outer"], Write("`expand_dims(x1, 1) * x2`")),
    (&["concatenate", "hstack", "append"], Is("concat")),
    (&["stack", "vstack"], Write("`concat(expand_dims(x1, 0), expand_dims(x2, 0))`")),
    // Generated arrays.
    (&["rand", "random"], Write("`uniform(key(1), [10])`, with a seed and a shape")),
    (&["randn"], Write("`normal(key(1), [10])`, with a seed and a shape")),
    (&["randint"], Write("`integers(key(1), 0, 6, [10])`, with a seed and a shape")),
    (&["empty"], Is("zeros")),
    (&["identity"], Is("eye")),
    (
        &["zeros_like", "ones_like", "full_like", "empty_like"],
        Missing("a number broadcasts: `0 * x`, or the number alone"),
    ),
    (&["meshgrid", "mgrid", "ogrid"], Write("`indices(x, axis=0)` and `indices(x, axis=1)`")),
    (&["iota", "seq"], Is("arange")),
    (&["logspace"], Write("`10.0 ** linspace(0, 1, 11)`")),
    (&["geomspace"], Write("`exp(linspace(0, 1, 11))`")),
    (&["array", "asarray"], Missing("arrays are inputs; a list is only a shape or axes")),
    (&["tril", "triu"], Write("`where(indices(x, axis=0) >= indices(x, axis=1), x, 0)`")),
    (&["unique", "in1d", "isin"], SETS),
    (&["range"], Is("arange")),
    (&["enumerate", "map", "zip", "filter", "for_each", "vectorize"], ELEMENTS),
    (
        &["reduce", "fold"],
        Missing("a fold is the value of a binding: `s = reduce (s = 0.0; v in x, axis=0) { s = s + v }`"),
    ),
    (&["print", "printf", "println", "display"], Missing("the last expression of a text is its result")),
    (
        &["load", "open", "read", "loadtxt", "read_csv"],
        Missing("a text can't read files: arrays are bound to its names"),
    ),
    (&["eval", "exec", "apply", "call"], Missing("functions are called by their names: `sqrt(x)`")),
];

/// Names of constants and values in other languages.
const NAMES: &[Slip] = &[
    (&["PI", "Pi", "M_PI", "π"], Write("`pi`")),
    (&["tau", "TAU", "M_TAU"], Write("`2 * pi`")),
    (&["E", "M_E"], Write("`e`, or `exp(x)` for its powers")),
    (&["NaN", "NAN", "Nan"], Write("`nan`")),
    (&["Inf", "INF", "Infinity", "infinity", "INFINITY", "oo"], Write("`inf`")),
    (&["TRUE", "YES"], Write("`true`")),
    (&["FALSE", "NO"], Write("`false`")),
    (
        &["None", "null", "nil", "NULL", "nullptr"],
        Missing("every element has a value: `nan` is one for floats"),
    ),
    (&["newaxis"], Write("`expand_dims(x, 0)`")),
    (&["else", "elif", "then"], Write("`where(condition, a, b)` to choose by element")),
];

/// Words that begin a statement in other languages.
const STATEMENTS: &[Slip] = &[
    (
        &["let", "var", "const", "auto", "mut", "val", "set", "local"],
        Write("a binding without a keyword: `y = x * 2`"),
    ),
    (
        &["import", "from", "use", "include", "using", "require"],
        Missing("there are no modules: every function is known by its name"),
    ),
    (&["fn", "func", "function", "lambda", "fun", "proc"], Missing("a function is `def f(x) = x * 2`")),
    (&["for", "while", "loop", "do", "foreach"], LOOPS),
    (&["print", "echo", "puts"], Missing("the last expression of a text is its result")),
    (
        &["class", "struct", "type", "enum", "trait"],
        Missing("there are no types but dtypes with extents, such as `float32[n, 3]`"),
    ),
    (
        &["assert", "raise", "throw", "try", "panic"],
        Missing("a text can't fail on purpose: give a result that says so"),
    ),
    (
        &["else", "elif", "then", "elseif", "switch", "match", "case"],
        Write("`where(condition, a, b)` to choose by element"),
    ),
];

/// Words between two operands in other languages.
const INFIXES: &[Slip] = &[
    (&["is", "eq", "equals"], Write("`==` to compare")),
    (&["isnt", "ne"], Write("`!=` to compare")),
    (&["in", "of"], SETS),
    (&["mod", "rem", "modulo"], Write("`%`")),
    (&["div"], Write("`//`")),
    (&["xor"], Write("`^`")),
    (&["for"], ELEMENTS),
    (&["shl"], Write("`<<`")),
    (&["shr"], Write("`>>`")),
    (&["as", "to"], Write("`astype(x, float32)` to convert")),
    (&["else", "elif", "then"], Write("`where(condition, a, b)` to choose by element")),
];

/// Names of element types in other languages.
const DTYPES: &[Slip] = &[
    (&["int", "integer", "Integer", "signed"], Write("`int32` or `int64`")),
    (&["uint", "unsigned"], Write("`uint32` or `uint64`")),
    (&["float", "Float", "real", "number", "num"], Write("`float32` or `float64`")),
    (&["double", "f64", "float_", "Double"], Write("`float64`")),
    (&["single", "f32"], Write("`float32`")),
    (&["half", "f16"], Write("`float16`")),
    (&["bfloat16", "bf16", "float8"], Missing("the narrow floats are `float16` and `float32`")),
    (&["float128", "f128", "longdouble", "quad", "float80"], Missing("the widest float is `float64`")),
    (&["complex", "complex64", "complex128"], COMPLEX),
    (&["i8", "int8_t"], Write("`int8`")),
    (&["i16", "short", "int16_t"], Write("`int16`")),
    (&["i32", "int32_t", "intc"], Write("`int32`")),
    (&["i64", "long", "longlong", "int64_t", "isize", "intp", "ptrdiff_t"], Write("`int64`")),
    (&["i128", "u128", "int128", "uint128"], Missing("the widest integers are `int64` and `uint64`")),
    (&["u8", "byte", "char", "uchar", "ubyte", "uint8_t"], Write("`uint8`")),
    (&["u16", "ushort", "uint16_t"], Write("`uint16`")),
    (&["u32", "uint32_t"], Write("`uint32`")),
    (&["u64", "ulong", "uint64_t", "usize", "size_t", "uintp"], Write("`uint64`")),
    (&["boolean", "bool_", "Bool", "Boolean", "logical"], Write("`bool`")),
    (&["str", "string", "String", "object", "bytes"], Missing("there are no strings")),
    (
        &["datetime64", "timedelta64", "date", "datetime"],
        Missing("there are no dates: use `int64` or `float64`"),
    ),
];

/// Modules whose functions are called through a `.` in other languages.
const MODULES: &[&str] = &[
    "np", "numpy", "math", "cmath", "cupy", "cp", "jnp", "jax", "torch", "tf", "xp", "scipy", "std", "Math",
];

/// Operators of other languages, each written up to the character that this language refuses, with advice.
const OPERATORS: &[(&str, &str)] = &[
    ("=>", "greater or equal is `>=`; a function is `def f(x) = x * 2`"),
    ("=<", "less or equal is `<=`"),
    ("<>", "not equal is `!=`"),
    ("===", "equal is `==`"),
    ("!==", "not equal is `!=`"),
    ("->", "a function is `def f(x) = x * 2`"),
    (":=", "a binding is `y = x * 2`"),
    ("::", "there are no modules: every function is known by its name"),
    ("++", "there is no increment: write `x + 1`"),
    ("+=", ONCE),
    ("-=", ONCE),
    ("*=", ONCE),
    ("/=", ONCE),
    ("%=", ONCE),
    ("&=", ONCE),
    ("|=", ONCE),
    ("^=", ONCE),
];
const ONCE: &str = "a name is bound once: write `y = x + 1`, with a name of its own";

/// Names of arguments in other libraries. [`Is`] contains the argument's name in this language.
const KEYWORDS: &[Slip] = &[
    (&["keep_dims", "keepdim", "keep", "keep_dim"], Is("keepdims")),
    (&["dim", "dims", "axes", "ax", "along"], Is("axis")),
    (&["ddof"], Is("correction")),
    (&["unbiased", "bias"], Write("`correction=1` for the variance of a sample")),
    (&["type", "dt"], Is("dtype")),
    (&["newshape", "size", "dims"], Is("shape")),
    (&["p"], Is("ord")),
    (&["initial", "prepend"], Is("include_initial")),
    (&["initial", "start"], Write("it beside the result, as in `start + sum(x)`")),
    (&["where", "mask"], Write("`where(m, x, 0)` as the operand, with the value that changes nothing")),
    (&["weights"], Write("`sum(w * x) / sum(w)`")),
    (&["out"], Missing("results are new arrays: who runs the text says where they go")),
    (
        &["order", "copy", "casting", "subok", "device", "like"],
        Missing("memory is laid out by who runs the text"),
    ),
];

/// Advice on calls with as many arguments as the function takes in other libraries: the function, the minimum number of
/// arguments, and the advice.
const ARITIES: &[(&str, usize, &str)] = &[
    ("log", 2, "for another base, write `log(x) / log(base)`"),
    ("atan", 2, "of two arguments it is `atan2(x1, x2)`"),
    ("round", 2, "it rounds to integers; for two digits, write `round(x * 100) / 100`"),
    ("where", 1, "it chooses by element: `where(condition, a, b)`"),
    (
        "gamma",
        1,
        "it draws random numbers: `gamma(key(1), 2.5, [10])`; the function Γ is not among the functions",
    ),
    (
        "logistic",
        1,
        "it draws random numbers: `logistic(key(1), [10])`; the logistic function is `1 / (1 + exp(-x))`",
    ),
    ("reshape", 3, "the shape is one list: `reshape(x, [2, 3])`"),
    ("permute_dims", 1, "the axes are one list: `permute_dims(x, [1, 0])`"),
    ("broadcast_to", 3, "the shape is one list: `broadcast_to(x, [2, 3])`"),
    ("zeros", 2, "the shape is one list: `zeros([2, 3])`"),
    ("ones", 2, "the shape is one list: `ones([2, 3])`"),
    ("full", 3, "the shape is one list: `full([2, 3], 0.5)`"),
    ("linspace", 4, "options have their names: `endpoint=false`"),
    ("linspace", 1, "give the ends and the number of elements: `linspace(0, 1, 11)`"),
    ("squeeze", 1, "give the axis: `squeeze(x, axis=0)`"),
    ("flip", 1, "give the axis: `flip(x, axis=0)`"),
    ("expand_dims", 1, "give the axis: `expand_dims(x, axis=0)`"),
    ("pow", 1, "for powers of e, write `exp(x)`"),
    ("subtract", 1, "for the opposite sign, write `-x`"),
    ("maximum", 3, "of three, write `maximum(maximum(a, b), c)`"),
    ("minimum", 3, "of three, write `minimum(minimum(a, b), c)`"),
    ("maximum", 1, "of all elements it is `max(x)`"),
    ("minimum", 1, "of all elements it is `min(x)`"),
    ("add", 3, "of three, write `a + b + c`"),
    ("multiply", 3, "of three, write `a * b * c`"),
];

fn find(rows: &[Slip], name: &str) -> Option<String> {
    rows.iter().find(|(names, _)| names.contains(&name)).map(|(_, advice)| advice.text())
}

/// Advice on a call of a function that does not exist.
pub(super) fn function(name: &str, arguments: usize) -> Option<String> {
    match (name, arguments) {
        ("arctan", 2) => Some(Is("atan2").text()),
        _ => {
            let conversion = || conversion(name);
            find(FUNCTIONS, name).or_else(conversion).or_else(|| find(STATEMENTS, name))
        }
    }
}

/// Advice on a call of a dtype's name from another language.
fn conversion(name: &str) -> Option<String> {
    let (_, advice) = DTYPES.iter().find(|(names, _)| names.contains(&name))?;
    Some(match advice {
        Write(dtypes) => {
            format!("to convert, write `astype(x, {})`", dtypes.split('`').nth(1).unwrap_or("float64"))
        }
        advice => advice.text(),
    })
}

/// Advice on a name that is not bound.
pub(super) fn name(name: &str) -> Option<String> {
    let module = || MODULES.contains(&name).then(|| "there are no modules: write `sqrt(x)`".to_owned());
    find(NAMES, name).or_else(module)
}

/// Advice on a word directly before an operand, where other languages have a keyword or a type.
pub(super) fn before_operand(word: &str) -> Option<String> {
    let typed = || dtype(word).map(|_| "a binding has no type before its name: write `y = x * 2`".to_owned());
    find(STATEMENTS, word).or_else(typed)
}

/// Advice on a word between two operands.
pub(super) fn infix(word: &str) -> Option<String> {
    find(INFIXES, word)
}

/// Advice on a name in the position of a dtype.
pub(super) fn dtype(name: &str) -> Option<String> {
    find(DTYPES, name)
}

/// Advice on a call with a wrong number of arguments.
pub(super) fn arity(function: &str, arguments: usize) -> Option<&'static str> {
    let row = |(name, least, _): &&(&str, usize, &str)| *name == function && *least <= arguments;
    ARITIES.iter().find(row).map(|(.., advice)| *advice)
}

/// Advice on a named argument that a function with the arguments `known` does not have.
pub(super) fn keyword(function: &str, name: &str, known: &[&str]) -> Option<String> {
    let is_known = |advice: &Advice| !matches!(advice, Is(name) if !known.contains(name));
    let of_numbers = format!("nan{function}");
    if name == "skipna" && built_in(&of_numbers).is_some() {
        return Some(format!("to leave NaN out, write `{of_numbers}(x)`"));
    }
    let rows = KEYWORDS.iter().filter(|(names, _)| names.contains(&name));
    let advice = rows.map(|(_, advice)| *advice).find(is_known)?;
    match advice {
        // The following rows apply to reductions.
        Write(_) if !known.contains(&"axis") => None,
        advice => Some(advice.text()),
    }
}

/// Advice on a second argument of a reduction that is not an axis.
pub(super) fn second(function: &str, first: &str, second: &str) -> Option<String> {
    let (a, b) = (first, second);
    let whole = match function {
        "max" => format!("maximum({a}, {b})"),
        "min" => format!("minimum({a}, {b})"),
        "sum" => format!("{a} + {b}"),
        "prod" => format!("{a} * {b}"),
        "any" => format!("{a} | {b}"),
        "all" => format!("{a} & {b}"),
        "mean" => format!("({a} + {b}) / 2"),
        _ => return None,
    };
    Some(format!("of two arrays it is `{whole}`"))
}

/// Advice on an integer in the position of an argument that must be named.
pub(super) fn named(function: &str, operand: &str, integer: &str) -> Option<String> {
    match function {
        "max" | "min" => Some(format!(
            "for an axis, write `{function}({operand}, axis={integer})`; of two operands it is \
             `{function}imum({operand}, {integer})`"
        )),
        "vector_norm" => Some(format!("write `axis={integer}`, or `ord={integer}`")),
        _ => None,
    }
}

/// Advice on a call of a function that generates an array, with an argument that is not a literal.
pub(super) fn generated(function: &str) -> &'static str {
    match function {
        "full" | "zeros" | "ones" => {
            "its numbers stand in the text; an array without axes broadcasts by itself"
        }
        "indices" => "axes are numbered in the text, from 0 on, or from -1 backwards",
        _ => "its numbers stand in the text; others fit in `start + step * arange(10)`",
    }
}

/// Whether a name denotes the absence of a value in other languages.
pub(super) fn is_none(name: &str) -> bool {
    matches!(name, "None" | "none" | "null" | "nil" | "NULL" | "nullptr")
}

/// Advice on a text that ends in an operator of another language.
pub(super) fn operator(text: &str) -> Option<&'static str> {
    // `!==` ends in `==`, so longer operators come first in the table.
    let row = |(ending, _): &&(&str, &str)| text.ends_with(ending);
    OPERATORS.iter().find(row).map(|(_, advice)| *advice)
}

/// Advice on a `.`, given the text before and after it.
pub(super) fn member(before: &str, after: &str) -> String {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let owner = &before[before.trim_end_matches(is_letter).len()..];
    let member = &after[..after.len() - after.trim_start_matches(is_letter).len()];
    let call = if member.is_empty() || member.len() > 30 { "abs" } else { member };
    match member {
        "T" | "mT" | "t" => "there are no methods: write `permute_dims(x, [1, 0])`".to_owned(),
        "astype" => "there are no methods: write `astype(x, float32)`".to_owned(),
        "shape" | "size" | "ndim" | "len" => SHAPES.text(),
        _ if MODULES.contains(&owner) && constant(member).is_some() => {
            format!("there are no modules: write `{member}`")
        }
        _ if MODULES.contains(&owner) => match find(NAMES, member) {
            Some(advice) => format!("there are no modules: {advice}"),
            None => match function(member, 2) {
                Some(advice) => format!("there are no modules; of `{member}`: {advice}"),
                None => format!("there are no modules: write `{call}(…)`"),
            },
        },
        _ => match find(FUNCTIONS, member) {
            Some(advice) => format!("there are no methods; of `{member}`: {advice}"),
            None => format!("there are no methods: write `{call}(x)`"),
        },
    }
}

/// Advice on an operator whose operands have the wrong dtypes.
pub(super) fn operands(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "^" => "for a power, write `**`",
        "&" => "it takes integers and bools; comparisons beside it need parentheses: `(a < b) & (c < d)`",
        "|" => "it takes integers and bools; comparisons beside it need parentheses: `(a < b) | (c < d)`",
        "<<" | ">>" => "for a float, multiply by a power of 2: `x * 2.0 ** n`",
        _ => return None,
    })
}

/// Whether a token is a comparison operator.
pub(super) fn compares(token: Token) -> bool {
    use Token::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    matches!(token, Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::built_in::built_in_names;

    #[test]
    fn functions_that_exist_are_no_slips() {
        let known = built_in_names().filter(|name| find(FUNCTIONS, name).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [""; 0]);
    }
}
