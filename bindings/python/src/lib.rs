//! The native half of `restitch_edit`, which only converts between Python's and Rust's values.

mod engine;

use std::ffi::OsString;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use restitch::edit::{EditCode, Extent};
use restitch::engine::SyntaxMode;
use restitch::{Applied, Applier, EditRequest, Expected, Refusal};
use serde_json::Value;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::{Change, apply_many, main, version};
}

/// An edit as Python passes it: old, new, replace_all, expected, near_line.
type Row<'py> = (Bound<'py, PyString>, Bound<'py, PyString>, bool, Option<usize>, Option<usize>);

/// The version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Runs the command line and returns its exit code. `program` are the words that start it again, and
/// the first of the `arguments` names the script.
#[pyfunction]
fn main(py: Python<'_>, program: Vec<OsString>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| restitch::cli::main_in(program, &arguments))
}

/// Applies edits to a text. Returns the fields of an `Applied`, or the report of a refusal and its text
/// for a model.
#[pyfunction]
#[pyo3(signature = (text, edits, path, syntax))]
fn apply_many<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    edits: Vec<Row<'py>>,
    path: Option<&str>,
    syntax: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    let applier = Applier::default().syntax(mode(syntax)?);
    let calls = match edits.iter().map(call).collect::<Result<Vec<_>, _>>() {
        Ok(calls) => calls,
        Err(refusal) => return refused(py, &refusal),
    };
    if let Ok(bytes) = text.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        return match py.detach(|| applier.bytes(path, bytes, &calls)) {
            Ok(applied) => {
                let (after, applied) = applied.into_text();
                answered(py, applied, PyBytes::new(py, &after).into_any())
            }
            Err(refusal) => refused(py, &refusal),
        };
    }
    let text = match well_formed(text.cast::<PyString>()?, "text") {
        Ok(text) => text,
        Err(refusal) => return refused(py, &refusal),
    };
    match py.detach(|| applier.text(path, text, &calls)) {
        Ok(applied) => {
            let (after, applied) = applied.into_text();
            answered(py, applied, PyString::new(py, &after).into_any())
        }
        Err(refusal) => refused(py, &refusal),
    }
}

/// The syntax mode of this name.
fn mode(name: &str) -> PyResult<SyntaxMode> {
    SyntaxMode::named("syntax mode", name).map_err(PyValueError::new_err)
}

/// An edit from Python as a request.
fn call(row: &Row<'_>) -> Result<EditRequest, Refusal> {
    let (old, new, replace_all, expected, near_line) = row;
    Ok(EditRequest::new(well_formed(old, "old")?, well_formed(new, "new")?)
        .expecting(Expected::of(Some(*replace_all), *expected)?)
        .near_line(*near_line))
}

/// A Python string as UTF-8. A string with a lone surrogate is refused, since no file can contain it.
fn well_formed<'a>(text: &'a Bound<'_, PyString>, what: &str) -> Result<&'a str, Refusal> {
    text.to_str().map_err(|_| {
        Refusal::new(
            EditCode::InvalidArguments,
            format!("{what} holds a lone surrogate, which is half of a character"),
        )
        .hint("Send the whole character.")
    })
}

/// What an edit changed: it is made into lines and a diff when it is asked for.
#[pyclass(frozen)]
struct Change(Applied<()>);

type Side = (usize, usize, usize, usize);

#[pymethods]
impl Change {
    /// Each changed span: first and last line, first byte and the one after the last, before and after.
    fn spans(&self) -> Vec<(Side, Side)> {
        let side = |e: &Extent| (e.start_line, e.end_line, e.start_byte, e.end_byte);
        self.0.spans().iter().map(|span| (side(&span.before), side(&span.after))).collect()
    }

    /// The unified diff.
    fn diff(&self) -> String {
        self.0.diff()
    }
}

/// An applied edit as a tuple of the fields of `Applied`.
fn answered<'py>(
    py: Python<'py>,
    applied: Applied<()>,
    after: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let names = |names: &mut dyn Iterator<Item = &str>| PyTuple::new(py, names.collect::<Vec<_>>());
    let corrected = applied.corrected.as_ref().map(|c| (c.old_str.as_str(), c.new_str.as_str()));
    let fields = (
        after,
        applied.rung.as_str(),
        names(&mut applied.rewrites.iter().map(|rewrite| rewrite.as_str()))?,
        applied.replacements,
        names(&mut applied.warnings.iter().map(String::as_str))?,
        corrected.into_pyobject(py)?,
    );
    let (after, rung, rewrites, replacements, warnings, corrected) = fields;
    (after, rung, rewrites, replacements, warnings, corrected, Change(applied)).into_pyobject(py)
}

/// A refusal as a tuple of its report and its text for a model.
fn refused<'py>(py: Python<'py>, refusal: &Refusal) -> PyResult<Bound<'py, PyTuple>> {
    let report = serde_json::to_value(refusal).unwrap_or_default();
    (object(py, &report)?, refusal.text()).into_pyobject(py)
}

/// A JSON value as a Python object.
fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => number.into_pyobject(py)?.into_any(),
            None => number.as_f64().unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(fields) => {
            let out = PyDict::new(py);
            for (name, value) in fields {
                out.set_item(name, object(py, value)?)?;
            }
            out.into_any()
        }
    })
}
