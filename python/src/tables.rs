//! The tables of functions as Python data, from which the package's modules are generated.

use broadloom::{Draw, Literal, Op, Parameter, ReductionFunction, listing};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The op table: one dict per function that users can name, in the order of the table. `operands` lists the names of its
/// operands, `class` is its class of dtypes, and `takes` and `gives` describe the dtypes of operands and result in words.
#[pyfunction]
pub fn functions(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let row = |op: Op| {
        let row = PyDict::new(py);
        row.set_item("name", op.name())?;
        row.set_item("operands", listing::signature(op).split(", ").collect::<Vec<_>>())?;
        row.set_item("class", listing::class(op))?;
        row.set_item("takes", listing::takes(op))?;
        row.set_item("gives", listing::gives(op))?;
        row.set_item("laws", listing::laws(op).to_vec())?;
        row.set_item("doc", op.doc())?;
        Ok(row)
    };
    PyList::new(py, Op::public().map(row).collect::<PyResult<Vec<_>>>()?)
}

/// The table of reductions and scans: one dict per function, in the order of the table. `identity` is the result for no
/// elements, or None if that is an error. `order` states for which dtypes elements may be combined in any order. `composition`
/// is an equivalent expression, or None if the engine computes the function itself.
#[pyfunction]
pub fn reductions(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let row = |&function: &ReductionFunction| {
        let parameters = function.parameters().iter().map(|parameter| described(py, parameter));
        let row = PyDict::new(py);
        row.set_item("name", function.name())?;
        row.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
        row.set_item("takes", function.takes().words())?;
        row.set_item("gives", function.gives().words())?;
        match function.identity() {
            None => row.set_item("identity", py.None())?,
            Some(Literal::Bool(identity)) => row.set_item("identity", identity)?,
            Some(Literal::Int(identity)) => row.set_item("identity", identity)?,
            Some(Literal::Float(identity)) => row.set_item("identity", identity)?,
        }
        row.set_item("order", function.order().words())?;
        row.set_item("composition", function.composition())?;
        row.set_item("is_scan", function.is_scan())?;
        row.set_item("doc", function.doc())?;
        Ok(row)
    };
    PyList::new(py, ReductionFunction::ALL.iter().map(row).collect::<PyResult<Vec<_>>>()?)
}

/// The table of draws: one dict per distribution, in the order of the table. `gives` describes the dtypes in words.
#[pyfunction]
pub fn draws(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let row = |draw: &Draw| {
        let parameters = draw.parameters().iter().map(|parameter| described(py, parameter));
        let row = PyDict::new(py);
        row.set_item("name", draw.name())?;
        row.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
        row.set_item("gives", draw.gives().words())?;
        row.set_item("doc", draw.doc())?;
        Ok(row)
    };
    PyList::new(py, Draw::ALL.iter().map(row).collect::<PyResult<Vec<_>>>()?)
}

/// A parameter, with its default as text: None if it is required, `…` if it depends on the operand.
fn described<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let described = PyDict::new(py);
    described.set_item("name", parameter.name)?;
    described.set_item("kind", parameter.kind.name())?;
    described.set_item("default", parameter.default)?;
    described.set_item("is_positional", parameter.is_positional)?;
    Ok(described)
}
