//! Tables of numbers as text whose columns are separated by commas (`.csv`).
//!
//! Every number is read as a float64, so that the dtype never depends on the contents of cells. Rows are processed one at a time.
//! To read a table, it is converted to an unnamed temporary file; to write one, the file of a result is converted.

use std::cell::Cell;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use broadloom::{DType, f16};
use broadloom_core::printable;
use broadloom_core::text::brief;

use crate::npy::NpyHeader;
use crate::scratch::TemporaryFile;

/// The maximum length of a row, in bytes.
const LONGEST_ROW: u64 = 256 << 20;

/// The maximum number of column names that a message lists.
const LISTED: usize = 32;

/// The reason why a table could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file is not a table; for example, its rows differ in length.
    #[error("not a table: {0}")]
    Form(#[from] csv::Error),
    /// The row differs in length from the first one.
    #[error("not a table: the row in line {line} has {len} of the {expected_len} cells of the first row")]
    Ragged { line: u64, len: u64, expected_len: u64 },
    /// The cell is not a number.
    #[error("line {line}, column {column}: `{cell}` is not a number{advice}")]
    Cell { line: u64, column: usize, cell: String, advice: &'static str },
    /// The first row contains a quote that is not closed, so that a column name extends over rows of numbers.
    #[error(
        "line {line}: a quote is not closed in this line, so that a name takes in the rows of numbers below it"
    )]
    Quote { line: u64 },
    /// The row exceeds the maximum length, perhaps because a quote is not closed.
    #[error("line {line}: a row of more than {} MiB begins here; is a quote not closed?", LONGEST_ROW >> 20)]
    Row { line: u64 },
    /// The table has no column with the name in the first field. The second field lists the columns.
    #[error("it has no column `{0}`, but {1}")]
    NoColumn(String, String),
    /// The shapes of the results don't form a table.
    #[error("{0}")]
    Shape(String),
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The columns that are read, in the order in which the file contains them.
enum Columns {
    /// All columns. The field is the number of columns in the first row.
    All(usize),
    One(usize),
}

/// Reads a table, or one column of it. The column is selected by its name in the first row, or by its index from 0.
pub fn read(from: impl Read, column: Option<&str>) -> Result<(File, NpyHeader), TableError> {
    let taken = Cell::new(0);
    let from = Bounded { from, taken: &taken };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).trim(csv::Trim::All).from_reader(from);
    let mut to = BufWriter::new(TemporaryFile::create()?);
    let mut row = csv::ByteRecord::new();
    let (mut columns, mut rows) = (Columns::All(0), 0);
    let mut is_first = true;
    loop {
        let line = reader.position().line();
        if !reader.read_byte_record(&mut row).map_err(|error| unread(error, line))? {
            break;
        }
        taken.set(0);
        let is_head = is_first && row.iter().any(|cell| number(cell).is_none());
        if is_first {
            check_quotes(&row)?;
            columns = chosen(&row, is_head, column)?;
        }
        is_first = false;
        if is_head {
            continue;
        }
        let cells = match columns {
            Columns::All(_) => 0..row.len(),
            Columns::One(number) => number..number + 1,
        };
        for at in cells {
            let cell = row.get(at).unwrap_or_default();
            let line = row.position().map_or(0, csv::Position::line);
            let value = number(cell).ok_or_else(|| not_a_number(cell, line, at + 1))?;
            to.write_all(&value.to_ne_bytes())?;
        }
        rows += 1;
    }
    let shape = match columns {
        Columns::All(count) if count != 1 => vec![rows, count],
        _ => vec![rows],
    };
    let file = to.into_inner().map_err(io::IntoInnerError::into_error)?.into_file();
    let big_endian = cfg!(target_endian = "big");
    Ok((file, NpyHeader { dtype: DType::Float64, shape, fortran: false, data_offset: 0, big_endian }))
}

/// A reader that returns an error if a row takes more than [`LONGEST_ROW`] bytes, because each row is kept in memory.
struct Bounded<'t, R> {
    from: R,
    /// The number of bytes read for the current row. It may include up to one buffer of the next row.
    taken: &'t Cell<u64>,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.taken.get() > LONGEST_ROW {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let n = self.from.read(bytes)?;
        self.taken.set(self.taken.get() + n as u64);
        Ok(n)
    }
}

/// The error for a row that can't be read and starts at `line`.
fn unread(error: csv::Error, line: u64) -> TableError {
    match error.kind() {
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => TableError::Row { line },
        csv::ErrorKind::UnequalLengths { pos: Some(pos), expected_len, len } => {
            TableError::Ragged { line: pos.line(), len: *len, expected_len: *expected_len }
        }
        _ => TableError::Form(error),
    }
}

/// Checks the first row for unclosed quotes. A column name may contain line breaks, but if a line within a name contains only
/// numbers, it is assumed to be a row of data whose preceding quote is not closed.
fn check_quotes(first: &csv::ByteRecord) -> Result<(), TableError> {
    let breaks = |cell: &[u8]| cell.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let mut line = first.position().map_or(1, csv::Position::line);
    for cell in first {
        let mut below = cell.split(|&byte| byte == b'\n').skip(1);
        let is_number = |cell: &[u8]| number(cell.trim_ascii()).is_some();
        if below.any(|row| !row.trim_ascii().is_empty() && row.split(|&byte| byte == b',').all(is_number)) {
            return Err(TableError::Quote { line });
        }
        line += breaks(cell);
    }
    Ok(())
}

/// The selected columns of a table whose first row is `first`.
fn chosen(first: &csv::ByteRecord, is_head: bool, column: Option<&str>) -> Result<Columns, TableError> {
    let Some(name) = column else { return Ok(Columns::All(first.len())) };
    let named = first.iter().position(|cell| is_head && cell == name.as_bytes());
    let numbered = || name.parse().ok().filter(|number| *number < first.len());
    named.or_else(numbered).map(Columns::One).ok_or_else(|| {
        let shown = |cell| brief(&printable(&String::from_utf8_lossy(cell))).into_owned();
        let names: Vec<String> = first.iter().take(LISTED).map(|cell| format!("`{}`", shown(cell))).collect();
        let dots = if first.len() > LISTED { ", …" } else { "" };
        let has = if is_head {
            format!("{}{dots}", names.join(", "))
        } else {
            format!("0 to {}, and no names", first.len() - 1)
        };
        TableError::NoColumn(printable(name).into_owned(), has)
    })
}

/// Parses the number in a cell; an empty cell is NaN.
fn number(cell: &[u8]) -> Option<f64> {
    match cell {
        b"" => Some(f64::NAN),
        b"true" | b"True" | b"TRUE" => Some(1.0),
        b"false" | b"False" | b"FALSE" => Some(0.0),
        _ => str::from_utf8(cell).ok()?.parse().ok(),
    }
}

fn not_a_number(cell: &[u8], line: u64, column: usize) -> TableError {
    let cell = String::from_utf8_lossy(cell);
    let cell = brief(&cell);
    let advice = match cell.contains([';', '\t']) {
        true => "; columns are separated by commas",
        false => "",
    };
    let cell = printable(&cell).into_owned();
    TableError::Cell { line, column, cell, advice }
}

/// A result to be written: its name, and a `.npy` file of its elements in C order.
pub struct ResultColumn {
    pub name: String,
    pub file: File,
    pub header: NpyHeader,
}

/// Writes a table. A single result is written as rows and columns; several results become one column each, headed by their names.
pub fn write(to: &mut impl Write, results: Vec<ResultColumn>) -> Result<(), TableError> {
    let is_named = results.len() > 1;
    check(&results.iter().map(|column| &column.header.shape[..]).collect::<Vec<_>>())?;
    let rows = results.first().map_or(0, |column| match column.header.shape[..] {
        [_, 0] => 0,
        [rows, ..] => rows,
        [] => 1,
    });
    let mut to = csv::WriterBuilder::new().flexible(true).from_writer(to);
    if is_named {
        to.write_record(results.iter().map(|column| column.name.as_bytes()))?;
    }
    let mut cells = Vec::new();
    for ResultColumn { mut file, header, .. } in results {
        file.seek(SeekFrom::Start(header.data_offset))?;
        let width = if header.shape.len() == 2 { header.shape[1] } else { 1 };
        cells.push((BufReader::new(file), header.dtype, width));
    }
    let (mut element, mut cell) = ([0; 8], String::new());
    for _ in 0..rows {
        for (from, dtype, width) in &mut cells {
            for _ in 0..*width {
                let bytes = &mut element[..dtype.size()];
                from.read_exact(bytes)?;
                cell.clear();
                show(*dtype, bytes, &mut cell);
                to.write_field(&cell)?;
            }
        }
        to.write_record(None::<&[u8]>)?;
    }
    Ok(to.flush()?)
}

/// Checks that results of these shapes form a table.
pub fn check(shapes: &[&[usize]]) -> Result<(), TableError> {
    let is_column = |shape: &&[usize]| shape.len() <= 1 && *shape == shapes[0];
    match shapes {
        [only] if only.len() <= 2 => Ok(()),
        [only] => {
            let why = format!("a table has one axis or two, not {}; write the array as .npy", only.len());
            Err(TableError::Shape(why))
        }
        _ if shapes.iter().all(is_column) => Ok(()),
        _ => {
            let why = "the columns of a table have one axis and one length";
            Err(TableError::Shape(format!(
                "{why}; write these results as .npz, or each to a file of its own"
            )))
        }
    }
}

/// Appends the shortest text that is read back as the same number. The element is given as little-endian bytes.
fn show(dtype: DType, bytes: &[u8], out: &mut String) {
    macro_rules! number {
        ($rust:ty) => {
            write!(out, "{:?}", <$rust>::from_le_bytes(bytes.try_into().unwrap_or_default()))
        };
    }
    // Writing to a string can't fail.
    let _ = match dtype {
        DType::Bool => write!(out, "{}", u8::from(bytes != [0])),
        DType::Int8 => number!(i8),
        DType::Int16 => number!(i16),
        DType::Int32 => number!(i32),
        DType::Int64 => number!(i64),
        DType::UInt8 => number!(u8),
        DType::UInt16 => number!(u16),
        DType::UInt32 => number!(u32),
        DType::UInt64 => number!(u64),
        DType::Float16 => number!(f16),
        DType::Float32 => number!(f32),
        DType::Float64 => number!(f64),
    };
}
