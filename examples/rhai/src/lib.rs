//! A Rhai script engine with lazy arrays, whose expressions broadloom compiles.
//!
//! Scripts may be hostile, and may read the `.npy` files of one folder. Operators and functions only build
//! expressions. Values are computed when a script prints or reads them, within its [`Limits`]. The functions are
//! registered from broadloom's op table.
#![forbid(unsafe_code)]

mod load;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use broadloom::{Array, DType, Error, ErrorKind, Op, Options, Promotion};
use broadloom::{try_while_loop, typed_graph, with_promotion};
use rhai::{Dynamic, Engine, EvalAltResult, FLOAT, FnPtr, INT, NativeCallContext, Position};

/// The limits of a script.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximum number of Rhai's operations: statements, calls, iterations. It also bounds the number of
    /// expressions that can be built.
    pub operations: u64,
    /// The maximum sum, over all evaluations, of the number of computed elements times the number of operations for
    /// each. A loop is not counted by its iterations.
    pub work: usize,
    /// The maximum time of all evaluations together, which ends loops.
    pub time: Duration,
    /// The maximum number of bytes of all arrays that the script makes by loading, writing them in the script, or
    /// computing.
    pub bytes: usize,
    /// The maximum number of operations in one expression.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let time = Duration::from_secs(10);
        Limits { operations: 100_000, work: 2_000_000_000, time, bytes: 256 << 20, nodes: 10_000 }
    }
}

/// A result, or an error, to which Rhai adds the position of the call.
type Answer<T> = Result<T, Box<EvalAltResult>>;

fn error(why: impl ToString) -> Box<EvalAltResult> {
    EvalAltResult::ErrorRuntime(why.to_string().into(), Position::NONE).into()
}

/// The part of a script's limits that has not been used yet.
struct Budget {
    nodes: usize,
    work: Cell<usize>,
    time: Cell<Duration>,
    bytes: Cell<usize>,
}

impl Budget {
    fn spend(left: &Cell<usize>, amount: usize, what: &str) -> Answer<()> {
        let rest = left.get().checked_sub(amount);
        left.set(rest.ok_or_else(|| error(format!("the script's limit of {what} is reached")))?);
        Ok(())
    }

    /// Subtracts the bytes of an array from the budget, before the array is made.
    fn make(&self, elements: usize, dtype: DType) -> Answer<()> {
        Budget::spend(&self.bytes, elements.saturating_mul(dtype.size()), "bytes")
    }

    /// Computes the values of an array, within the limits.
    fn eval(&self, x: &Array<'static>) -> Answer<Array<'static>> {
        if x.is_evaluated() {
            return Ok(x.clone());
        }
        let (max_bytes, max_nodes, time) = (self.bytes.get(), self.nodes, self.time.get());
        let options = Options { max_bytes, max_nodes, max_time: Some(time), ..Options::default() };
        // No function for scripts selects a part of an array, so no operand has more elements than the result.
        let nodes = typed_graph(&[x], &options).map_err(error)?.graph.nodes().len();
        Budget::spend(&self.work, x.len().saturating_mul(nodes), "work")?;
        self.make(x.len(), x.dtype())?;
        let begun = Instant::now();
        let values = x.eval_with(&options).map_err(error);
        self.time.set(time.saturating_sub(begun.elapsed()));
        values
    }
}

/// The operators, each with the function that has the same meaning.
#[rustfmt::skip]
const OPERATORS: &[(&str, Op)] = &[
    ("+", Op::Add), ("-", Op::Subtract), ("*", Op::Multiply), ("/", Op::Divide), ("%", Op::Remainder), ("**", Op::Pow),
    ("&", Op::BitwiseAnd), ("|", Op::BitwiseOr), ("^", Op::BitwiseXor),
    ("<<", Op::BitwiseLeftShift), (">>", Op::BitwiseRightShift),
    ("==", Op::Equal), ("!=", Op::NotEqual),
    ("<", Op::Less), ("<=", Op::LessEqual), (">", Op::Greater), (">=", Op::GreaterEqual),
    ("-", Op::Negative), ("+", Op::Positive), ("!", Op::BitwiseInvert),
];

/// Makes an engine for one script, which may load files from this folder.
pub fn engine(folder: &Path, limits: &Limits) -> Engine {
    let mut engine = Engine::new();
    confine(&mut engine, limits);
    let Limits { work, time, bytes, nodes, .. } = *limits;
    let budget = Rc::new(Budget { nodes, work: work.into(), time: time.into(), bytes: bytes.into() });
    engine.register_type_with_name::<Array<'static>>("lazy array");
    for &(symbol, op) in OPERATORS {
        if op.operands() == 1 {
            engine.register_fn(symbol, move |x: Array<'static>| apply(op, [Dynamic::from(x)]));
        } else {
            // At least one operand is an array. For operands of other types, operators keep Rhai's meaning.
            engine.register_fn(symbol, move |x: Array<'static>, y: Dynamic| apply(op, [Dynamic::from(x), y]));
            engine.register_fn(symbol, move |x: Dynamic, y: Array<'static>| apply(op, [x, Dynamic::from(y)]));
        }
    }
    for op in Op::public() {
        let name = op.name();
        match op.operands() {
            1 => engine.register_fn(name, move |x: Dynamic| apply(op, [x])),
            2 => engine.register_fn(name, move |x: Dynamic, y: Dynamic| apply(op, [x, y])),
            _ => engine.register_fn(name, move |x: Dynamic, y: Dynamic, z: Dynamic| apply(op, [x, y, z])),
        };
    }
    functions(&mut engine, folder, &budget);
    engine
}

/// Sets Rhai's own limits, so that no script runs long, nests deep, or fills memory with its own values.
fn confine(engine: &mut Engine, limits: &Limits) {
    engine
        .set_max_operations(limits.operations)
        .set_max_call_levels(16)
        .set_max_expr_depths(64, 32)
        .set_max_variables(256)
        .set_max_functions(64)
        .set_max_string_size(1 << 16)
        .set_max_array_size(1000)
        .set_max_map_size(100)
        .disable_symbol("eval");
}

/// Registers the methods of arrays that are not functions of the standard.
fn functions(engine: &mut Engine, folder: &Path, budget: &Rc<Budget>) {
    engine.register_fn("shape", |x: Array<'static>| -> rhai::Array {
        x.shape().iter().map(|&n| Dynamic::from(n as INT)).collect()
    });
    engine.register_fn("dtype", |x: Array<'static>| x.dtype().name().to_owned());
    engine.register_fn("astype", |x: Array<'static>, name: &str| {
        let dtype = DType::ALL.iter().find(|dtype| dtype.name() == name);
        dtype.map(|dtype| x.astype(*dtype)).ok_or_else(|| error(format!("{name:?} is not a dtype")))
    });
    engine.register_fn("t", |x: Array<'static>| x.t());
    engine.register_fn("reshape", |x: Array<'static>, shape: rhai::Array| {
        let extents: Result<Vec<_>, _> = shape.iter().map(|n| n.as_int().map(|n| n as isize)).collect();
        x.reshape(&extents.map_err(error)?).map_err(error)
    });

    engine.register_fn("while_loop", while_loop);

    let (data, of) = (folder.to_owned(), budget.clone());
    engine.register_fn("load", move |name: &str| load::npy(&data, name, |n, dtype| of.make(n, dtype)));
    let of = budget.clone();
    engine.register_fn("array", move |values: rhai::Array| inline(&of, values));
    let of = budget.clone();
    engine.register_fn("arange", move |n: INT| {
        of.make(usize::try_from(n).unwrap_or(0), DType::Int64)?;
        Array::arange(0, n, 1).map_err(error)
    });

    let of = budget.clone();
    engine.register_fn("compute", move |x: Array<'static>| of.eval(&x));
    let of = budget.clone();
    engine.register_fn("item", move |x: Array<'static>| item(&of.eval(&x)?));
    for (name, debug) in [("print", false), ("to_string", false), ("debug", true), ("to_debug", true)] {
        let of = budget.clone();
        engine.register_fn(name, move |x: Array<'static>| -> Answer<String> {
            let x = of.eval(&x)?;
            Ok(if debug { format!("{x:?}") } else { x.to_string() })
        });
    }
}

/// Converts an argument: arrays are kept, and Rhai's numbers and truth values become literals.
fn operand(x: Dynamic) -> Answer<Array<'static>> {
    let number = x.as_int().map(Array::scalar).or_else(|_| x.as_float().map(Array::scalar));
    let literal = number.or_else(|_| x.as_bool().map(Array::scalar)).ok();
    let what = x.type_name();
    literal.or_else(|| x.try_cast()).ok_or_else(|| error(format!("neither an array nor a number: {what}")))
}

fn apply<const N: usize>(op: Op, operands: [Dynamic; N]) -> Answer<Array<'static>> {
    let operands = operands.into_iter().map(operand).collect::<Answer<Vec<_>>>()?;
    with_promotion(Promotion::NumPy, || Array::apply(op, &operands)).map_err(error)
}

/// Repeats `body` for each element while `condition` holds, up to `limit` times. Both are functions of the script that
/// take the list of carried values; `body` returns the next ones. They build the loop, and compute nothing.
fn while_loop(
    context: NativeCallContext<'_>,
    state: rhai::Array,
    condition: FnPtr,
    body: FnPtr,
    limit: INT,
) -> Answer<rhai::Array> {
    let limit = u64::try_from(limit).map_err(|_| error(format!("while_loop: the limit is {limit}")))?;
    let list = |values: rhai::Array| values.into_iter().map(operand).collect::<Answer<Vec<_>>>();
    let state = list(state)?;
    let call = |function: &FnPtr, state: &[Array<'static>]| {
        let state: rhai::Array = state.iter().cloned().map(Dynamic::from).collect();
        function.call_within_context::<Dynamic>(&context, (state,))
    };
    // The error of a function of the script, with its position. broadloom passes on another one.
    let failure = RefCell::new(None);
    let condition = |state: &[Array<'static>]| kept(&failure, call(&condition, state).and_then(operand));
    let body = |state: &[Array<'static>]| {
        let next = call(&body, state).and_then(|next| {
            let is_no_list = |what| error(format!("while_loop: the body returns a {what}, not a list"));
            list(next.into_array().map_err(is_no_list)?)
        });
        kept(&failure, next)
    };
    let last = with_promotion(Promotion::NumPy, || try_while_loop(&condition, &body, &state, Some(limit)));
    match failure.take() {
        Some(failure) => Err(failure),
        None => Ok(last.map_err(error)?.into_iter().map(Dynamic::from).collect()),
    }
}

/// Keeps the error of a function of the script, and makes one that broadloom passes on.
fn kept<T>(failure: &RefCell<Option<Box<EvalAltResult>>>, answer: Answer<T>) -> broadloom::Result<T> {
    answer.map_err(|why| {
        let passed_on = Error::new(ErrorKind::Host, why.to_string());
        *failure.borrow_mut() = Some(why);
        passed_on
    })
}

/// Converts a Rhai array, which may be nested, to an array of int64, float64 or bool.
fn inline(budget: &Budget, mut values: rhai::Array) -> Answer<Array<'static>> {
    let mut shape = vec![values.len()];
    // The nested arrays are flattened level by level, not by recursion. Nesting deeper than the maximum rank is
    // rejected below.
    while shape.len() <= 64 && values.iter().any(Dynamic::is_array) {
        let rows: Result<Vec<rhai::Array>, _> = values.into_iter().map(Dynamic::into_array).collect();
        let rows = rows.map_err(|what| error(format!("array: a row beside a {what}")))?;
        shape.push(rows[0].len());
        if let Some(row) = rows.iter().find(|row| row.len() != rows[0].len()) {
            return Err(error(format!("array: rows of {} and {} elements", rows[0].len(), row.len())));
        }
        values = rows.into_iter().flatten().collect();
    }
    budget.make(values.len(), DType::Float64)?;
    macro_rules! of {
        ($value:expr) => {{
            let all: Result<Vec<_>, _> = values.iter().map($value).collect();
            let all =
                all.map_err(|what| error(format!("array: neither a number nor a truth value: {what}")))?;
            Array::from_shape_vec(&shape, all).map_err(error)
        }};
    }
    match values.first() {
        Some(x) if x.is_bool() => of!(Dynamic::as_bool),
        _ if values.iter().all(Dynamic::is_int) => of!(Dynamic::as_int),
        _ => of!(|x: &Dynamic| x.as_float().or_else(|_| x.as_int().map(|x| x as FLOAT))),
    }
}

/// Converts the value of an array with one element to a value of Rhai.
fn item(x: &Array<'static>) -> Answer<Dynamic> {
    let value = match x.dtype() {
        DType::Bool => x.item::<bool>().map(Dynamic::from),
        dtype if dtype.is_float() => x.astype(DType::Float64).item::<FLOAT>().map(Dynamic::from),
        _ => x.astype(DType::Int64).item::<INT>().map(Dynamic::from),
    };
    value.map_err(error)
}
