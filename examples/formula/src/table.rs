//! Tables: columns of one type each, with empty cells.
//!
//! Each column has a value and a mask entry per row. Where the mask is false, the value has no meaning. When a table
//! that was read from CSV is written, its own cells are unchanged.

use std::fmt;
use std::io::{Read, Write};

use broadloom::{DType, In};

/// The reason why a text is not a table, or a column can't be added to a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The text is not CSV; the message contains the position of the error.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// A row has more or fewer cells than the header.
    #[error("{at} is not as long as the header: {cells} against {columns} cells")]
    Ragged {
        /// The position of the row.
        at: FileRow,
        /// The number of cells in the row.
        cells: u64,
        /// The number of columns in the header.
        columns: u64,
    },
    /// Two columns have the same name in formulas.
    #[error(
        "columns {first} (`{first_title}`) and {second} (`{second_title}`) are both `{name}` in formulas; rename one of them"
    )]
    Twins {
        /// The name in formulas.
        name: String,
        /// The number of the first of the two columns, counted from 1.
        first: usize,
        /// The title of the first column in the header.
        first_title: String,
        /// The number of the second column, counted from 1.
        second: usize,
        /// The title of the second column in the header.
        second_title: String,
    },
    /// The new column would have the same name in formulas as an existing column.
    #[error(
        "the table has a column `{title}` already (column {column}, `{name}` in formulas); give the new one another name"
    )]
    Taken {
        /// The title of the existing column.
        title: String,
        /// The name of both columns in formulas.
        name: String,
        /// The number of the existing column, counted from 1.
        column: usize,
    },
}

/// The position of a row in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// The number of the row, counted from 1 without the header.
    pub row: u64,
    /// The line in which the row begins, counted from 1; 0 if it is not known.
    pub line: u64,
}

/// Formats the position as `row 2 (line 3)`.
impl fmt::Display for FileRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "row {}", self.row),
            line => write!(f, "row {} (line {line})", self.row),
        }
    }
}

/// A cell that makes its column text instead of numbers or truth values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddCell {
    /// The position of the cell's row.
    pub at: FileRow,
    /// The text of the cell.
    pub text: String,
    /// The kind of the column's earlier cells: "a number" or "true or false".
    pub expected: &'static str,
}

/// The values of a column. The value of an empty cell is unspecified.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Every non-empty cell is an integer of 64 bits.
    Int(Vec<i64>),
    /// Every non-empty cell is a number, which may be `nan` or `inf`. A column of empty cells also has this type.
    Float(Vec<f64>),
    /// Every non-empty cell is `true` or `false`.
    Bool(Vec<bool>),
    /// The cells are of no other type. Formulas can't use the column.
    Text,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The column's name in formulas: its title, with `_` instead of characters that names can't contain.
    pub name: String,
    /// The values.
    pub values: ColumnValues,
    /// For each row, whether the cell contains a value.
    pub valid: Vec<bool>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
    /// For each row, the line in which it begins.
    lines: Vec<u64>,
    columns: Vec<Column>,
}

impl Table {
    /// Reads CSV with a header and finds the type of each column.
    ///
    /// # Errors
    /// If the text is not CSV, rows have different lengths, or two columns have the same name in formulas.
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

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Rejects the title of a new column if an existing column has the same name in formulas.
    ///
    /// # Errors
    /// [`TableError::Taken`].
    pub fn check_title(&self, title: &str) -> Result<(), TableError> {
        let name = name(title);
        let Some(i) = self.columns.iter().position(|column| column.name == name) else { return Ok(()) };
        Err(TableError::Taken { title: self.header[i].to_owned(), name, column: i + 1 })
    }

    /// For a column of text: the first non-empty cell whose type differs from the type of the cells before it.
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
        // If the first cell of a column is a truth value, the other cells must be truth values too. If not, all cells
        // must be numbers.
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

    /// Writes the table and an additional column as CSV.
    ///
    /// # Errors
    /// [`TableError::Taken`] if the title belongs to an existing column; nothing is then written. Also the errors of the
    /// writer.
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
    /// Makes a column of these cells. Its type is the narrowest one that can represent all of them.
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

    /// A cell as CSV text. An empty cell is an empty text, and reading the text of a number gives the same number.
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

/// The values of all cells, with a default value for an empty cell; `None` if `value` returns `None` for a cell.
fn all<'c, T: Default>(
    cells: impl Iterator<Item = &'c str>,
    value: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    cells.map(|cell| if cell.is_empty() { Some(T::default()) } else { value(cell) }).collect()
}

/// The line in which a row begins. The reader's position is before the empty lines that it skips.
fn line(at: &csv::Position, text: &[u8]) -> u64 {
    let skipped = text.iter().skip(at.byte() as usize).take_while(|byte| matches!(byte, b'\n' | b'\r'));
    at.line() + skipped.filter(|byte| **byte == b'\n').count() as u64
}

/// Converts an error of the reader. An error about the length of a row becomes [`TableError::Ragged`].
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
