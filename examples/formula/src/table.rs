//! Tables: columns of one type each, with empty cells.
//!
//! Each column has a value and a mask entry per row; where the mask is false the value has no meaning. A table read
//! from CSV is written with its own cells unchanged.

use std::io::{Read, Write};

use broadloom::{DType, In};

/// Why text is not a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// Not CSV, or rows of different lengths; the message says where.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// Two columns that a formula can't tell apart.
    #[error("columns {first} and {second} are both called `{name}` in formulas")]
    Twins {
        /// The name.
        name: String,
        /// The one column, counted from 1.
        first: usize,
        /// The other.
        second: usize,
    },
}

/// The values of a column, with anything where a cell is empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
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
    pub values: Values,
    /// For each row, whether the cell holds a value.
    pub valid: Vec<bool>,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
    columns: Vec<Column>,
}

impl Table {
    /// Reads CSV with a header and finds the type of each column.
    ///
    /// # Errors
    /// If the text is not CSV, rows have different lengths, or two columns have one name.
    ///
    /// ```
    /// use broadloom_formula::{Table, Values};
    ///
    /// let table = Table::read("unit price,sold\n2.5,4\n,7\n".as_bytes())?;
    /// let price = table.column("unit_price").expect("a column");
    /// assert_eq!((&price.values, &price.valid[..]), (&Values::Float(vec![2.5, 0.0]), &[true, false][..]));
    /// # Ok::<(), broadloom_formula::TableError>(())
    /// ```
    pub fn read(from: impl Read) -> Result<Table, TableError> {
        let mut reader = csv::Reader::from_reader(from);
        let header = reader.headers()?.clone();
        let rows = reader.records().collect::<Result<Vec<_>, _>>()?;
        let mut columns: Vec<Column> = Vec::with_capacity(header.len());
        for (i, title) in header.iter().enumerate() {
            let name = name(title);
            if let Some(twin) = columns.iter().position(|column| column.name == name) {
                return Err(TableError::Twins { name, first: twin + 1, second: i + 1 });
            }
            columns.push(Column::new(name, rows.iter().map(|row| row[i].trim())));
        }
        Ok(Table { header, rows, columns })
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

    /// Writes the table as CSV, with one column more.
    ///
    /// # Errors
    /// Of the writer.
    pub fn write_with(&self, title: &str, added: &Column, to: impl Write) -> Result<(), TableError> {
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
        let values = ints.map(Values::Int);
        let values = values.or_else(|| all(cells.clone(), |cell| cell.parse().ok()).map(Values::Float));
        let values = values.or_else(|| all(cells, truth).map(Values::Bool));
        Column { name, values: values.unwrap_or(Values::Text), valid }
    }

    /// The dtype, unless the column is text.
    pub fn dtype(&self) -> Option<DType> {
        match self.values {
            Values::Int(_) => Some(DType::Int64),
            Values::Float(_) => Some(DType::Float64),
            Values::Bool(_) => Some(DType::Bool),
            Values::Text => None,
        }
    }

    /// The values as an input of a kernel, unless the column is text.
    pub fn input(&self) -> Option<In<'_>> {
        match &self.values {
            Values::Int(values) => Some(values[..].into()),
            Values::Float(values) => Some(values[..].into()),
            Values::Bool(values) => Some(values[..].into()),
            Values::Text => None,
        }
    }

    /// A cell as CSV has it: nothing where it is empty; numbers such that they are read as the same again.
    pub fn cell(&self, row: usize) -> String {
        match &self.values {
            _ if !self.valid[row] => String::new(),
            Values::Int(values) => values[row].to_string(),
            Values::Float(values) => format!("{:?}", values[row]),
            Values::Bool(values) => values[row].to_string(),
            Values::Text => String::new(),
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
