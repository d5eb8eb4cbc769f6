//! An independent model of the functions, on single values.
//!
//! [`apply`] returns the right result, or `None` if the function does not accept the dtypes. [`accepts`] decides whether a
//! result is acceptable, for functions that may differ from the exact result by less than an ulp. The model was written only
//! from the Array API standard and SONNX's specification of Div, not from an executor. Integers are computed in `i128`, and
//! floats in exact integer arithmetic that rounds once. Values that are not exact come from [`reference`](crate::reference)
//! with 100 bits, which is independent of the executors as well.

mod bits;
mod casts;
mod exact;
mod floats;
mod integers;
mod outcome;
pub mod philox;
mod transcendental;

use std::sync::LazyLock;

use crate::reference::{Edition, Function};
pub use crate::value::Value;
use crate::value::ValueKind;
use outcome::{NumericResult, store};

pub use casts::cast;
pub(crate) use exact::{Dyadic, ExactReal};

/// A function of the model: its number of arguments, the kinds of dtypes that it accepts, and the kind of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSignature {
    /// The name in the Array API. A function of ONNX has a name in the same style (`trunc_divide`).
    pub name: &'static str,
    /// The number of arguments.
    pub arity: usize,
    /// Whether it accepts bool, whether it accepts the eight integer dtypes, and whether it accepts the three float dtypes.
    pub takes: [bool; 3],
    /// Whether the result is always bool.
    pub is_predicate: bool,
    /// Whether float results may differ from the exact one by less than an ulp; see [`accepts`].
    pub is_approximate: bool,
    /// The edition of the standard that the function comes from.
    pub edition: Edition,
}

/// Declares the exact functions: name, arity, accepted kinds (bool, integer, float), whether the result is bool, edition.
macro_rules! signatures {
    ($($name:ident $arity:literal $b:literal $i:literal $f:literal $predicate:literal $edition:ident;)*) => {
        const EXACT: &[ModelSignature] = &[$(ModelSignature {
            name: stringify!($name),
            arity: $arity,
            takes: [$b == 1, $i == 1, $f == 1],
            is_predicate: $predicate == 1,
            is_approximate: false,
            edition: edition!($edition),
        }),*];
    };
}

macro_rules! edition {
    (standard) => {
        Edition::Standard
    };
    (later) => {
        Edition::Later
    };
    (none) => {
        Edition::None
    };
}

signatures! {
    // Columns: name, arity, whether bool, int and float are accepted, whether a predicate, edition.
    abs                 1    0   1    1     0         standard;
    add                 2    0   1    1     0         standard;
    bitwise_and         2    1   1    0     0         standard;
    bitwise_invert      1    1   1    0     0         standard;
    bitwise_left_shift  2    0   1    0     0         standard;
    bitwise_or          2    1   1    0     0         standard;
    bitwise_right_shift 2    0   1    0     0         standard;
    bitwise_xor         2    1   1    0     0         standard;
    ceil                1    0   1    1     0         standard;
    clip                3    0   1    1     0         later;
    copysign            2    0   0    1     0         later;
    divide              2    0   1    1     0         standard;
    equal               2    1   1    1     1         standard;
    floor               1    0   1    1     0         standard;
    floor_divide        2    0   1    1     0         standard;
    fma                 3    0   0    1     0         none;
    greater             2    0   1    1     1         standard;
    greater_equal       2    0   1    1     1         standard;
    isfinite            1    0   1    1     1         standard;
    isinf               1    0   1    1     1         standard;
    isnan               1    0   1    1     1         standard;
    less                2    0   1    1     1         standard;
    less_equal          2    0   1    1     1         standard;
    logical_and         2    1   0    0     1         standard;
    logical_not         1    1   0    0     1         standard;
    logical_or          2    1   0    0     1         standard;
    logical_xor         2    1   0    0     1         standard;
    maximum             2    0   1    1     0         later;
    minimum             2    0   1    1     0         later;
    multiply            2    0   1    1     0         standard;
    negative            1    0   1    1     0         standard;
    nextafter           2    0   0    1     0         later;
    not_equal           2    1   1    1     1         standard;
    philox_high         3    0   1    0     0         none;
    philox_low          3    0   1    0     0         none;
    positive            1    0   1    1     0         standard;
    reciprocal          1    0   0    1     0         later;
    remainder           2    0   1    1     0         standard;
    round               1    0   1    1     0         standard;
    sign                1    0   1    1     0         standard;
    signbit             1    0   0    1     1         later;
    square              1    0   1    1     0         standard;
    subtract            2    0   1    1     0         standard;
    trunc               1    0   1    1     0         standard;
    trunc_divide        2    0   1    0     0         none;
    where               3    1   1    1     0         later;
}

/// All functions of the model, by name. Casts are separate, in [`cast`].
///
/// The exact functions are declared in this module, the others in [`reference`](crate::reference).
pub static SIGNATURES: LazyLock<Vec<ModelSignature>> = LazyLock::new(|| {
    let approximate = Function::ALL.into_iter().map(|function| {
        let model = function.model();
        ModelSignature {
            name: model.name,
            arity: model.arity(),
            takes: [false, model.takes_integers, true],
            is_predicate: false,
            is_approximate: !model.is_nearest,
            edition: model.edition,
        }
    });
    let mut all: Vec<ModelSignature> = EXACT.iter().copied().chain(approximate).collect();
    all.sort_by_key(|signature| signature.name);
    all
});

impl ModelSignature {
    /// The signature of a function.
    pub fn of(function: &str) -> Option<&'static ModelSignature> {
        SIGNATURES.iter().find(|s| s.name == function)
    }

    /// Whether the function accepts arguments of this dtype (for `where`: as the second and third argument).
    pub fn takes_dtype(&self, dtype: &str) -> bool {
        crate::value::kind_of(dtype).is_some_and(|kind| self.takes_kind(kind))
    }

    fn takes_kind(&self, kind: ValueKind) -> bool {
        match kind {
            ValueKind::Bool => self.takes[0],
            // The words of a random stream have one dtype.
            ValueKind::Int(int) if self.name.starts_with("philox") => int.bits == 64 && !int.signed,
            ValueKind::Int(_) => self.takes[1],
            ValueKind::Float(_) => self.takes[2],
        }
    }

    /// The dtype of the result for arguments of a dtype: bool for predicates, float64 for `divide` of integers, and the same
    /// dtype otherwise.
    pub fn result_dtype<'d>(&self, dtype: &'d str) -> &'d str {
        match crate::value::kind_of(dtype) {
            _ if self.is_predicate => "bool",
            Some(ValueKind::Int(_)) if self.name == "divide" => "float64",
            _ => dtype,
        }
    }
}

/// The result of a function on single values, or `None` if it isn't defined for these dtypes or this number of arguments.
///
/// All arguments have the same dtype, except for the condition of `where`, which is bool. Integer arithmetic wraps, and an
/// integer divided by zero gives 0. Floats follow IEEE 754 with the Array API's special cases, rounding to nearest even. A
/// computed NaN is the positive quiet one without payload. `where`, `positive`, `abs`, `negative` and `copysign` copy the bits
/// of a NaN; the last three also set its sign. For an approximate function, the result is the exact one, rounded; [`accepts`]
/// may accept others.
///
/// ```
/// use broadloom_testkit::{Value, oracle};
///
/// let sum = oracle::apply("add", &[Value::I8(127), Value::I8(1)]);
/// assert!(sum.is_some_and(|sum| sum.same(&Value::I8(-128))));
/// assert!(oracle::apply("add", &[Value::I8(127), Value::F32(1.0)]).is_none());
/// ```
pub fn apply(function: &str, args: &[Value]) -> Option<Value> {
    let signature = ModelSignature::of(function)?;
    if args.len() != signature.arity {
        return None;
    }
    let numbers = match function {
        "where" => &args[1..],
        _ => args,
    };
    let kind = numbers[0].kind();
    if !signature.takes_kind(kind) || numbers.iter().any(|x| x.kind() != kind) {
        return None;
    }
    if function == "where" {
        return match args[0] {
            Value::Bool(condition) => Some(if condition { args[1] } else { args[2] }),
            _ => None,
        };
    }
    if signature.result_dtype(args[0].dtype()) == "float64" && matches!(kind, ValueKind::Int(_)) {
        return apply(function, &args.iter().map(|x| cast(*x, "float64")).collect::<Vec<_>>());
    }
    let raw: Vec<u64> = args.iter().map(Value::raw).collect();
    if let ValueKind::Float(format) = kind
        && let Some(bits) = floats::moved(function, &raw, format)
    {
        return Some(Value::from_raw(kind, bits));
    }
    let outcome = match kind {
        ValueKind::Bool => on_bools(function, &args.iter().map(|x| x.raw() == 1).collect::<Vec<_>>()),
        ValueKind::Int(int) => integers::apply(
            function,
            &args.iter().map(|x| bits::decode(x.raw(), int)).collect::<Vec<_>>(),
            int,
        ),
        ValueKind::Float(format) => floats::apply(
            function,
            &args.iter().map(|x| ExactReal::decode(x.raw(), format)).collect::<Vec<_>>(),
            format,
        ),
    }?;
    Some(store(outcome, if signature.is_predicate { ValueKind::Bool } else { kind }))
}

/// Whether a result is acceptable, or `None` if [`apply`] returns `None`.
///
/// In general, only the exact bits of [`apply`] are acceptable. For an approximate function of floats whose result is not NaN,
/// any float less than an ulp away from the exact result is acceptable, with three exceptions: if the result is defined (by
/// special cases of the standard, or for `pow` with an exponent of 1, 2 or -1), if the exact result is within 2^-40 ulp of a
/// float, and for float16 functions of one argument. An ulp is the distance between floats in the exact result's binade. An
/// infinity counts as the power of two after the largest number.
///
/// ```
/// use broadloom_testkit::{Value, oracle};
///
/// let (nearest, other) = (1.6487212707001282, 1.648721270700128);
/// assert_eq!(oracle::accepts("exp", &[Value::F64(0.5)], Value::F64(nearest)), Some(true));
/// assert_eq!(oracle::accepts("exp", &[Value::F64(0.5)], Value::F64(other)), Some(true));
/// assert_eq!(oracle::accepts("exp", &[Value::F64(0.5)], Value::F64(1.6487212707001278)), Some(false));
/// assert_eq!(oracle::accepts("exp", &[Value::F64(0.0)], Value::F64(1.0000000000000002)), Some(false));
/// ```
pub fn accepts(function: &str, args: &[Value], got: Value) -> Option<bool> {
    let nearest = apply(function, args)?;
    match got.kind() {
        _ if got.same(&nearest) => Some(true),
        _ if got.is_nan() || nearest.is_nan() => Some(false),
        ValueKind::Float(format) if got.kind() == nearest.kind() && may_be_off(function, args) => {
            let args: Vec<ExactReal> = args.iter().map(|x| ExactReal::decode(x.raw(), format)).collect();
            let exact = transcendental::apply(function, &args)?;
            Some(transcendental::is_near(exact, ExactReal::decode(got.raw(), format), format))
        }
        _ => Some(false),
    }
}

/// Whether [`accepts`] may accept other results than that of [`apply`].
fn may_be_off(function: &str, args: &[Value]) -> bool {
    match args {
        [Value::F16(_)] => false,
        [_, exponent] if function == "pow" => match exponent.kind() {
            ValueKind::Float(format) => {
                let exponent = ExactReal::decode(exponent.raw(), format);
                ![1, 2, -1].into_iter().any(|defined| exponent.is(defined))
            }
            _ => false,
        },
        _ => ModelSignature::of(function).is_some_and(|s| s.is_approximate),
    }
}

fn on_bools(function: &str, args: &[bool]) -> Option<NumericResult> {
    let truth = match (function, args) {
        ("bitwise_and" | "logical_and", &[x, y]) => x && y,
        ("bitwise_or" | "logical_or", &[x, y]) => x || y,
        ("bitwise_xor" | "logical_xor" | "not_equal", &[x, y]) => x != y,
        ("equal", &[x, y]) => x == y,
        ("bitwise_invert" | "logical_not", &[x]) => !x,
        _ => return None,
    };
    Some(NumericResult::Truth(truth))
}
