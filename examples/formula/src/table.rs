//! Tables: columns of one type each, with empty cells.
//!
//! Each column has a value and a mask entry per row; where the mask is false the value has no meaning. A table read
//! from CSV is written with its own cells unchanged.

use std::fmt;
use std::io::{Read, Write};

use broadloom::{DType, In};

/// Why text is not a table, or a column can't be added to one.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Not CSV; the message says where.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// A row of another length than the header.
    #[error("{at} is not as long as the header: {cells} against {columns} cells")]
    Ragged {
        /// The position of the row.
        at: FileRow,
        /// The number of cells in the row.
        cells: u64,
        /// The number of columns in the header.
        columns: u64,
    },
    /// Two columns that a formula can't tell apart.
    #[error(
        "columns {first} (`{first_title}`) and {second} (`{second_title}`) are both `{name}` in formulas; rename one of them"
    )]
    Twins {
        /// The name.
        name: String,
        /// The one column, counted from 1.
        first: usize,
        /// Its title in the header.
        first_title: String,
        /// The other.
        second: usize,
        /// Its title in the header.
        second_title: String,
    },
    /// A new column that a formula over the written table could not tell from another.
    #[error(
        "the table has a column `{title}` already (column {column}, `{name}` in formulas); give the new one another name"
    )]
    Taken {
        /// The title of the existing column.
        title: String,
        /// Its name.
        name: String,
        /// Its number, counted from 1.
        column: usize,
    },
}

/// The position of a row in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// The row, counted from 1, without the header.
    pub row: u64,
    /// The line in which the row begins, counted from 1; 0 if it is not known.
    pub line: u64,
}

/// `row 2 (line 3)`
impl fmt::Display for FileRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "row {}", self.row),
            line => write!(f, "row {} (line {line})", self.row),
        }
    }
}

/// A cell that keeps its column from being one of numbers or truth values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddCell {
    /// The position of the cell's row.
    pub at: FileRow,
    /// The text of the cell.
    pub text: String,
    /// The kind of the cells before it: "a number" or "true or false".
    pub expected: &'static str,
}

/// The values of a column. The value of an empty cell is unspecified.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Every cell that is not empty is a whole number of 64 bits.
    Int(Vec<i64>),
    /// Every cell that is not empty is a number, `nan` and `inf` included; or all are empty.
    Float(Vec<f64>),
    /// Every cell that is not empty is `true` or `false`.
    Bool(Vec<bool>),
    /// Something else: no operand of formulas.
    Text,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name in formulas: of the header, with `_` for characters that names can't contain.
    pub name: String,
    /// The values.
    pub values: ColumnValues,
    /// For each row, whether the cell holds a value.
    pub valid: Vec<bool>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
    /// The line that each row begins in.
    lines: Vec<u64>,
    columns: Vec<Column>,
}

impl Table {
    /// Reads CSV with a header and finds the type of each column.
    ///
    /// # Errors
    /// If the text is not CSV, rows have different lengths, or two columns have one name.
    ///
    /// ```
    /// use broadloom_formula::{Table, ColumnValues};
    ///
    /// let table = Table::read("unit price,sold\n2.5,4\n,7\n".as_bytes())?;
    /// let price = table.column("unit_price").expect("a column");
    /// assert_eq!((&price.values, &price.valid[..]), (&ColumnValues::Float(vec![2.5, 0.0]), &[true, false][..]));
    /// # Ok::<(), broadloom_formula::TableError>(())
    /// ```
    pub fn read(mut from: impl Read) -> Result<Table, TableError> {
        let mut text = Vec::new();
        from.read_to_end(&mut text).map_err(csv::Error::from)?;
        let mut reader = csv::Reader::from_reader(&text[..]);
        let header = reader.headers()?.clone();
        let rows = reader.records().collect::<Result<Vec<_>, _>>().map_err(|e| ragged(e, &text))?;
        let lines = rows.iter().map(|row| row.position().map_or(0, |at| line(at, &text))).collect();
        let mut columns: Vec<Column> = Vec::with_capacity(header.len());
        for (i, title) in header.iter().enumerate() {
            let name = name(title);
            if let Some(twin) = columns.iter().position(|column| column.name == name) {
                let (first_title, second_title) = (header[twin].to_owned(), title.to_owned());
                return Err(TableError::Twins {
                    name,
                    first: twin + 1,
                    first_title,
                    second: i + 1,
                    second_title,
                });
            }
            columns.push(Column::new(name, rows.iter().map(|row| row[i].trim())));
        }
        Ok(Table { header, rows, lines, columns })
    }

    /// Number of rows, without the header.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The columns in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Refuses the title of a new column if formulas would read it as the name of an existing column.
    ///
    /// # Errors
    /// [`TableError::Taken`].
    pub fn check_title(&self, title: &str) -> Result<(), TableError> {
        let name = name(title);
        let Some(i) = self.columns.iter().position(|column| column.name == name) else { return Ok(()) };
        Err(TableError::Taken { title: self.header[i].to_owned(), name, column: i + 1 })
    }

    /// For a column of text: its first cell that is not empty and has another type than the cells before it.
    ///
    /// ```
    /// use broadloom_formula::Table;
    ///
    /// let table = Table::read("price\n2.5\n\"1,5\"\n".as_bytes())?;
    /// let odd = table.odd_cell("price").expect("not a number");
    /// assert_eq!((odd.at.to_string(), &*odd.text, odd.expected), ("row 2 (line 3)".into(), "1,5", "a number"));
    /// # Ok::<(), broadloom_formula::TableError>(())
    /// ```
    pub fn odd_cell(&self, name: &str) -> Option<OddCell> {
        let column = self.columns.iter().position(|column| column.name == name)?;
        if self.columns[column].values != ColumnValues::Text {
            return None;
        }
        let cells = self.rows.iter().enumerate().map(|(i, row)| (i, row[column].trim()));
        let mut cells = cells.filter(|(_, cell)| !cell.is_empty()).peekable();
        // Of a column that begins with a truth value, the others have to be some; else all have to be numbers.
        let is_truth = cells.peek().is_some_and(|(_, cell)| truth(cell).is_some());
        let fits = |cell: &str| if is_truth { truth(cell).is_some() } else { cell.parse::<f64>().is_ok() };
        let (i, text) = cells.find(|(_, cell)| !fits(cell))?;
        let expected = if is_truth { "true or false" } else { "a number" };
        Some(OddCell {
            at: FileRow { row: i as u64 + 1, line: self.lines[i] },
            text: text.to_owned(),
            expected,
        })
    }

    /// Writes the table as CSV, with one column more.
    ///
    /// # Errors
    /// [`TableError::Taken`] for the title of an existing column, and then nothing is written; the errors of the writer.
    pub fn write_with(&self, title: &str, added: &Column, to: impl Write) -> Result<(), TableError> {
        self.check_title(title)?;
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(self.header.iter().chain([title]))?;
        for (i, row) in self.rows.iter().enumerate() {
            writer.write_record(row.iter().chain([&*added.cell(i)]))?;
        }
        writer.flush().map_err(csv::Error::from)?;
        Ok(())
    }
}

impl Column {
    /// The column of these cells, of the narrowest type that takes them all.
    fn new<'c>(name: String, cells: impl Iterator<Item = &'c str> + Clone) -> Column {
        let valid: Vec<bool> = cells.clone().map(|cell| !cell.is_empty()).collect();
        let ints = all(cells.clone(), |cell| cell.parse().ok()).filter(|_| valid.contains(&true));
        let values = ints.map(ColumnValues::Int);
        let values = values.or_else(|| all(cells.clone(), |cell| cell.parse().ok()).map(ColumnValues::Float));
        let values = values.or_else(|| all(cells, truth).map(ColumnValues::Bool));
        Column { name, values: values.unwrap_or(ColumnValues::Text), valid }
    }

    /// The dtype, unless the column is text.
    pub fn dtype(&self) -> Option<DType> {
        match self.values {
            ColumnValues::Int(_) => Some(DType::Int64),
            ColumnValues::Float(_) => Some(DType::Float64),
            ColumnValues::Bool(_) => Some(DType::Bool),
            ColumnValues::Text => None,
        }
    }

    /// The values as an input of a kernel, unless the column is text.
    pub fn input(&self) -> Option<In<'_>> {
        match &self.values {
            ColumnValues::Int(values) => Some(values[..].into()),
            ColumnValues::Float(values) => Some(values[..].into()),
            ColumnValues::Bool(values) => Some(values[..].into()),
            ColumnValues::Text => None,
        }
    }

    /// A cell as CSV has it: nothing where it is empty; numbers such that they are read as the same again.
    pub fn cell(&self, row: usize) -> String {
        match &self.values {
            _ if !self.valid[row] => String::new(),
            ColumnValues::Int(values) => values[row].to_string(),
            ColumnValues::Float(values) => format!("{:?}", values[row]),
            ColumnValues::Bool(values) => values[row].to_string(),
            ColumnValues::Text => String::new(),
        }
    }
}

/// The values of all cells, a default one where a cell is empty; none if some cell has no value.
fn all<'c, T: Default>(
    cells: impl Iterator<Item = &'c str>,
    value: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    cells.map(|cell| if cell.is_empty() { Some(T::default()) } else { value(cell) }).collect()
}

/// The line that a row begins in: the reader's position is before the empty lines that it skips.
fn line(at: &csv::Position, text: &[u8]) -> u64 {
    let skipped = text.iter().skip(at.byte() as usize).take_while(|byte| matches!(byte, b'\n' | b'\r'));
    at.line() + skipped.filter(|byte| **byte == b'\n').count() as u64
}

/// An error of the reader in words of this module, where it is about a row.
fn ragged(error: csv::Error, text: &[u8]) -> TableError {
    match *error.kind() {
        csv::ErrorKind::UnequalLengths { ref pos, expected_len, len } => {
            let (row, line) = pos.as_ref().map_or((0, 0), |pos| (pos.record(), line(pos, text)));
            TableError::Ragged { at: FileRow { row, line }, cells: len, columns: expected_len }
        }
        _ => error.into(),
    }
}

fn truth(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The name of a column in formulas.
fn name(title: &str) -> String {
    let mut name: String =
        title.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() {
        name.insert(0, '_');
    }
    name
}
