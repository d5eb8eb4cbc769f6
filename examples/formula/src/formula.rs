//! Compiles a formula to a kernel that computes the values and the mask of the result.
//!
//! The kernel has two outputs, in one loop unless the formula has scans. The second output, the mask, is the
//! conjunction of the masks of the columns that the formula names. A formula may also read masks, to skip empty cells
//! in a running sum: `price_given` is the mask of `price`.

use std::ops::Range;

use broadloom::text::{Expression, TextError};
use broadloom::{Array, DType, Error, ErrorKind, In, Kernel, Options, Out, Promotion, with_promotion};

use crate::table::{Column, ColumnValues, OddCell, Table};

/// An error in a formula's text, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at byte {}: {message}", span.start)]
pub struct Mistake {
    /// The position of the error, as a range of bytes.
    pub span: Range<usize>,
    /// The error message.
    pub message: String,
    /// Advice for the user, if there is any.
    pub help: Option<String>,
    /// For a type error: each operand and its type.
    pub operands: Vec<(Range<usize>, String)>,
}

/// The reason why a formula can't be computed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FormulaError {
    /// The text contains an error.
    #[error("{0}")]
    Text(#[from] Mistake),
    /// A limit was exceeded, or memory could not be allocated.
    #[error("{0}")]
    Run(#[from] Error),
}

/// A compiled formula, for tables of any number of rows with columns of the same names and types.
///
/// ```
/// use broadloom_formula::{Formula, Table, ColumnValues};
///
/// let table = Table::read("price,quantity\n2.5,4\n,7\n1.5,2\n".as_bytes())?;
/// let total = Formula::new("price * quantity", &table)?.run(&table)?;
/// assert_eq!(total.valid, [true, false, true]);
/// assert_eq!([total.cell(0), total.cell(1), total.cell(2)], ["10.0", "", "3.0"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Formula {
    kernel: Kernel,
    dtype: DType,
    /// The names of the columns whose values the kernel reads.
    names: Vec<String>,
    /// The names of the columns whose masks the kernel reads.
    masked: Vec<String>,
}

/// A column of numbers or truth values, as a formula sees it.
struct Known<'t> {
    name: &'t str,
    values: Array<'static>,
    /// The name of the mask.
    mark: String,
    mask: Array<'static>,
}

impl Formula {
    /// Type-checks and compiles a formula over a table's columns, with NumPy's promotion.
    ///
    /// # Errors
    /// If the text is not an expression, contains a type error, or names something other than a column of numbers or
    /// truth values.
    pub fn new(text: &str, table: &Table) -> Result<Formula, FormulaError> {
        let expression = Expression::parse(text).map_err(Mistake::from)?;
        let input = |name: String, dtype| Array::input(&name, dtype, &["rows".into()]);
        let mut known = Vec::new();
        for column in table.columns() {
            if let (name, Some(dtype)) = (&*column.name, column.dtype()) {
                let values = input(format!("column_{name}"), dtype)?;
                let mask = input(format!("valid_{name}"), DType::Bool)?;
                known.push(Known { name, values, mark: format!("{name}_given"), mask });
            }
        }
        // The name of a column takes precedence over that of a mask.
        let is_readable = |column: &Known<'_>| table.column(&column.mark).is_none();
        let mut operands: Vec<(&str, Array<'_>)> =
            known.iter().map(|column| (column.name, column.values.clone())).collect();
        for column in known.iter().filter(|column| is_readable(column)) {
            operands.push((&column.mark, column.mask.clone()));
        }
        let value = with_promotion(Promotion::NumPy, || expression.build(&operands));
        let value = value.map_err(|e| about_text(e, text, table))?;
        // A name that the text language defines and that is not a column is a constant.
        let names = expression.names();
        let used: Vec<_> = known.iter().filter(|column| names.contains(&column.name)).collect();
        let reads_mask = |column: &Known<'_>| is_readable(column) && names.contains(&&*column.mark);
        let masked: Vec<_> =
            known.iter().filter(|column| names.contains(&column.name) || reads_mask(column)).collect();
        let Some(all) = used.iter().map(|column| column.mask.clone()).reduce(|all, mask| all & mask) else {
            let message = "the formula names no column".to_owned();
            return Err(Mistake { span: 0..text.len(), message, help: None, operands: Vec::new() }.into());
        };
        let dtype = kept(value.dtype());
        let inputs: Vec<&Array<'_>> = used
            .iter()
            .map(|column| &column.values)
            .chain(masked.iter().map(|column| &column.mask))
            .collect();
        let outputs = [("values", &value.astype(dtype)), ("valid", &all)];
        let kernel = Kernel::named(&outputs, &inputs, &Options::default())?;
        let names_of = |columns: &[&Known<'_>]| columns.iter().map(|column| column.name.to_owned()).collect();
        Ok(Formula { kernel, dtype, names: names_of(&used), masked: names_of(&masked) })
    }

    /// Computes the formula for a table.
    ///
    /// # Errors
    /// If the table lacks a column for which the formula was compiled, or the column has another type.
    pub fn run(&self, table: &Table) -> Result<Column, FormulaError> {
        let mut inputs: Vec<In<'_>> = Vec::new();
        let column = |name: &String| {
            let missing =
                || Error::new(ErrorKind::Name, format!("the table has no column `{name}` of values"));
            table.column(name).filter(|column| column.dtype().is_some()).ok_or_else(missing)
        };
        for name in &self.names {
            inputs.extend(column(name)?.input());
        }
        for name in &self.masked {
            inputs.push(In::from(&column(name)?.valid[..]));
        }

        let rows = table.rows();
        let mut valid = vec![0u8; rows];
        let values = match self.dtype {
            DType::Bool => {
                let mut out = vec![0u8; rows];
                self.kernel.run(&inputs, [Out::bool_bytes(&mut out), Out::bool_bytes(&mut valid)])?;
                ColumnValues::Bool(out.into_iter().map(|x| x != 0).collect())
            }
            DType::Int64 => {
                let mut out = vec![0i64; rows];
                self.kernel.run(&inputs, [Out::from(&mut out[..]), Out::bool_bytes(&mut valid)])?;
                ColumnValues::Int(out)
            }
            _ => {
                let mut out = vec![0f64; rows];
                self.kernel.run(&inputs, [Out::from(&mut out[..]), Out::bool_bytes(&mut valid)])?;
                ColumnValues::Float(out)
            }
        };
        let valid = valid.into_iter().map(|x| x != 0).collect();
        Ok(Column { name: String::new(), values, valid })
    }

    /// The number of loops that the formula is compiled to.
    ///
    /// # Errors
    /// If the formula can't be planned.
    pub fn loops(&self) -> Result<usize, FormulaError> {
        Ok(self.kernel.bind(&[("rows", 1000)])?.executors().len())
    }
}

/// The type in which a result of this dtype is stored. A uint64 is stored as float64, since int64 can't
/// represent every uint64.
fn kept(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::Bool,
        dtype if dtype.is_float() || dtype == DType::UInt64 => DType::Float64,
        _ => DType::Int64,
    }
}

impl From<TextError> for Mistake {
    fn from(e: TextError) -> Mistake {
        let bytes = |span: broadloom::text::Span| span.start as usize..span.end as usize;
        let operands = e.operands.into_iter().map(|(span, what)| (bytes(span), what)).collect();
        Mistake { span: bytes(e.span), message: e.message, help: e.help, operands }
    }
}

/// Makes the message for an error. Computing with a column of text has its own message.
fn about_text(e: TextError, text: &str, table: &Table) -> Mistake {
    let is_name = e.kind == ErrorKind::Name;
    let mut mistake = Mistake::from(e);
    let name = text.get(mistake.span.clone()).unwrap_or("");
    if is_name && table.column(name).is_some_and(|column| column.values == ColumnValues::Text) {
        mistake.message = match table.odd_cell(name) {
            Some(OddCell { at, text, expected }) => {
                format!("the column `{name}` is text: its cell in {at} is `{}`, not {expected}", brief(&text))
            }
            None => format!("the column `{name}` is text"),
        };
        mistake.help = Some("formulas compute with numbers and truth values".to_owned());
    }
    mistake
}

/// The beginning of a cell's text, on one line.
fn brief(text: &str) -> String {
    const MOST: usize = 40;
    let shown: String = text.chars().take(MOST).collect::<String>().escape_debug().collect();
    if text.chars().nth(MOST).is_some() { shown + "…" } else { shown }
}
