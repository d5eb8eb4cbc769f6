//! Mistakes of people who know other languages, and the message for each.
//!
//! In `tests/cases/slips.txt`, the line after a mistake is its message, indented. To write the messages again:
//! `BROADLOOM_BLESS=1 cargo test -p broadloom-core --test integration slips`. Each message was read by a person, so
//! read those that change.

use std::path::Path;

use broadloom_core::reductions::ReductionCall;
use broadloom_core::text::{
    GeneratorCall, Input, Library, Meaning, Module, ParseOptions, TakeName, TextError, View, evaluate,
};
use broadloom_core::{DType, Error, ErrorKind, Literal, Op, Promotion, Result, Scalar, Shape, infer};

/// A value as inference sees it.
#[derive(Clone)]
enum Value {
    Array(DType, Shape),
    Literal(Literal),
}

/// Evaluates a text to types, with arrays x and y (float32), i (int32) and m (bool), each `[4, 4]`. Views keep the type
/// of their operand, since this test does not check them.
struct Types;

impl Meaning for Types {
    type Value = Value;

    fn literal(&mut self, x: Literal) -> Value {
        Value::Literal(x)
    }
    fn constant(&mut self, x: Scalar) -> Value {
        Value::Array(x.dtype, Shape::scalar())
    }
    fn apply(&mut self, op: Op, args: &[Value]) -> Result<Value> {
        let operands: Vec<infer::Operand<'_>> = args
            .iter()
            .map(|x| match x {
                Value::Array(dtype, shape) => infer::Operand::Array(*dtype, shape),
                Value::Literal(x) => infer::Operand::Literal(*x),
            })
            .collect();
        let typed = infer::apply(op, &operands, Promotion::Strict)?;
        Ok(Value::Array(typed.result, typed.shape))
    }
    fn cast(&mut self, x: &Value, dtype: DType) -> Result<Value> {
        Ok(match x {
            Value::Array(_, shape) => Value::Array(dtype, shape.clone()),
            Value::Literal(_) => Value::Array(dtype, Shape::scalar()),
        })
    }
    fn view(&mut self, x: &Value, _: View<'_>) -> Result<Value> {
        Ok(x.clone())
    }
    fn take(&mut self, _: TakeName, args: &[Value], _: isize) -> Result<Value> {
        Ok(args[0].clone())
    }
    fn reduce(&mut self, _: &ReductionCall, args: &[Value]) -> Result<Value> {
        let dtype = match &args[0] {
            Value::Array(dtype, _) => *dtype,
            Value::Literal(x) => x.default_dtype(),
        };
        Ok(Value::Array(dtype, Shape::scalar()))
    }
    fn generate(&mut self, _: &GeneratorCall, _: &[Value]) -> Result<Value> {
        Ok(Value::Array(DType::Int64, Shape::scalar()))
    }
    fn host(&mut self, _: u32, _: &[Value]) -> Result<Value> {
        Err(Error::new(ErrorKind::Internal, "no host function was declared"))
    }
    fn input(&mut self, input: &Input<'_>, _: Option<&[u64]>) -> Result<Value> {
        Ok(Value::Array(input.dtype().unwrap_or(DType::Float32), Shape::scalar()))
    }
    fn free(&mut self, name: &str) -> Option<Value> {
        let dtype = match name {
            "x" | "y" => DType::Float32,
            "i" => DType::Int32,
            "m" => DType::Bool,
            _ => return None,
        };
        Some(Value::Array(dtype, Shape::new(&[4, 4]).ok()?))
    }
    fn names(&self) -> Vec<&str> {
        vec!["x", "y", "i", "m"]
    }
    fn check(&mut self, _: &Value, _: &Input<'_>) -> Result<()> {
        Ok(())
    }
    fn set(&mut self, _: &str, _: &str) -> Result<()> {
        Ok(())
    }
    fn show(&self, _: &Value) -> String {
        String::new()
    }
}

/// Evaluates a text with a mistake, whose error contains the message.
fn message(text: &str) -> std::result::Result<(), TextError> {
    let module = Module::parse(text, &Library::default(), &ParseOptions::default())?;
    evaluate(&module, &mut Types).map(drop)
}

/// The content of the file with the current messages.
fn answered(cases: &str) -> String {
    let mut out = String::new();
    for line in cases.lines() {
        match line {
            line if line.starts_with("    ") => {}
            line if line.is_empty() || line.starts_with("# ") => out += &format!("{line}\n"),
            slip => {
                let error = message(slip).expect_err(slip);
                let help = error.help.map_or(String::new(), |help| format!("; {help}"));
                out += &format!("{slip}\n    {}{help}\n", error.message);
            }
        }
    }
    out
}

#[test]
fn every_slip_has_its_message() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/slips.txt");
    let cases = std::fs::read_to_string(&path).expect("the cases");
    let answered = answered(&cases);
    if std::env::var_os("BROADLOOM_BLESS").is_some() {
        std::fs::write(&path, &answered).expect("the cases are written");
    }
    let messages: Vec<&str> = answered.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(messages.len() >= 150, "{} slips", messages.len());
    let bare: Vec<&&str> = messages.iter().filter(|message| !message.contains("; ")).collect();
    assert!(bare.is_empty(), "without advice: {bare:?}");
    let written = std::fs::read_to_string(&path).expect("the cases");
    for (written, now) in written.lines().zip(answered.lines()) {
        assert_eq!(written, now);
    }
    assert_eq!(written, answered);
}
