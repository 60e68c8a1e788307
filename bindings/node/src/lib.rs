//! The native half of the npm package `restitch`, which only converts between JavaScript's and Rust's
//! values.

mod engine;

use std::ffi::OsString;

use napi::bindgen_prelude::{Buffer, Either, Error, Result};
use napi_derive::napi;
use restitch::engine::SyntaxMode;
use restitch::internals::Replaced;
use restitch::internals::text::Snapshot;
use restitch::{Applied, Applier, EditRequest, Expected, Refusal};

/// One replacement of text by text.
#[napi(object)]
pub struct NativeEdit {
    pub old: String,
    pub new: String,
    pub replace_all: Option<bool>,
    pub expected: Option<u32>,
    pub near_line: Option<u32>,
}

/// One side of a changed span.
#[napi(object)]
pub struct Extent {
    pub start_line: u32,
    pub end_line: u32,
    pub start_byte: i64,
    pub end_byte: i64,
}

/// A changed span, before and after.
#[napi(object)]
pub struct Span {
    pub before: Extent,
    pub after: Extent,
}

/// The strings that an edit really used.
#[napi(object)]
pub struct Corrected {
    pub old_str: String,
    pub new_str: String,
}

/// What an edit changed, in lines.
#[napi(object, object_from_js = false)]
pub struct Described {
    pub spans: Vec<Span>,
    pub diff: String,
}

/// What an edit changed. The text before stays with JavaScript, which frees this object only when it
/// collects garbage.
#[napi]
pub struct Change(Replaced);

#[napi]
impl Change {
    /// Each changed span, and the unified diff. `before` is the text before the edit.
    #[napi]
    pub fn describe(&self, before: Either<String, Buffer>) -> Result<Described> {
        let before = match before {
            Either::A(text) => Snapshot::from_text(text),
            Either::B(bytes) => Snapshot::decode(bytes.to_vec())
                .map_err(|error| Error::from_reason(error.to_string()))?,
        };
        let (spans, diff) = self
            .0
            .spans_and_diff(&before)
            .map_err(|refusal| Error::from_reason(refusal.to_string()))?;
        let span = |span: &restitch::edit::Span| Span {
            before: extent(&span.before),
            after: extent(&span.after),
        };
        Ok(Described { spans: spans.iter().map(span).collect(), diff })
    }
}

/// A text after an edit.
#[napi(object, object_from_js = false)]
pub struct NativeApplied {
    pub text: Either<String, Buffer>,
    pub rung: String,
    pub rewrites: Vec<String>,
    pub replacements: u32,
    pub warnings: Vec<String>,
    pub corrected: Option<Corrected>,
    pub change: Change,
}

/// A refusal: its report as JSON, and its text for a model.
#[napi(object)]
pub struct NativeRefused {
    pub report: String,
    pub text: String,
}

/// The version of the package.
#[napi]
pub fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Runs the command line and returns its exit code. `program` are the words that start it again, and
/// the first of the `arguments` names the script.
#[napi]
pub fn main(program: Vec<String>, arguments: Vec<String>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    restitch::cli::main_in(program.into_iter().map(Into::into).collect(), &arguments)
}

/// Applies edits to a text or to the bytes of a file, all or none.
#[napi]
pub fn apply_many(
    text: Either<String, Buffer>,
    edits: Vec<NativeEdit>,
    path: Option<String>,
    syntax: Option<String>,
) -> Result<Either<NativeApplied, NativeRefused>> {
    let path = path.as_deref();
    let applier = Applier::default().syntax(mode(syntax)?);
    let calls = edits.into_iter().map(call).collect::<std::result::Result<Vec<_>, _>>();
    let applied = calls.and_then(|calls| match text {
        Either::A(text) => applier.text(path, text, &calls).map(|done| applied(done, Either::A)),
        Either::B(bytes) => applier
            .bytes(path, &*bytes, &calls)
            .map(|done| applied(done, |bytes: Vec<u8>| Either::B(bytes.into()))),
    });
    Ok(match applied {
        Ok(applied) => Either::A(applied),
        Err(refusal) => Either::B(refused(&refusal)),
    })
}

/// The syntax mode of this name, or the default without a name.
fn mode(name: Option<String>) -> Result<SyntaxMode> {
    let Some(name) = name else { return Ok(SyntaxMode::default()) };
    SyntaxMode::named("syntax mode", &name).map_err(Error::from_reason)
}

/// An edit from JavaScript as a request.
fn call(edit: NativeEdit) -> std::result::Result<EditRequest, Refusal> {
    let expected = Expected::of(edit.replace_all, edit.expected.map(|count| count as usize))?;
    let near_line = edit.near_line.map(|line| line as usize);
    Ok(EditRequest::new(edit.old, edit.new).expecting(expected).near_line(near_line))
}

/// An applied edit as JavaScript gets it.
fn applied<T>(done: Applied<T>, text: impl FnOnce(T) -> Either<String, Buffer>) -> NativeApplied {
    let (after, done) = done.into_text();
    NativeApplied {
        rung: done.rung.as_str().to_owned(),
        rewrites: done.rewrites.iter().map(|rewrite| rewrite.as_str().to_owned()).collect(),
        replacements: to_u32(done.replacements),
        corrected: done
            .corrected
            .as_ref()
            .map(|used| Corrected { old_str: used.old_str.clone(), new_str: used.new_str.clone() }),
        warnings: done.warnings.clone(),
        text: text(after),
        change: Change(done.into()),
    }
}

fn extent(extent: &restitch::edit::Extent) -> Extent {
    Extent {
        start_line: to_u32(extent.start_line),
        end_line: to_u32(extent.end_line),
        start_byte: i64::try_from(extent.start_byte).unwrap_or(i64::MAX),
        end_byte: i64::try_from(extent.end_byte).unwrap_or(i64::MAX),
    }
}

/// A number as `u32`, at most the largest one.
fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A refusal as JavaScript gets it.
fn refused(refusal: &Refusal) -> NativeRefused {
    let report = serde_json::to_string(refusal).unwrap_or_else(|_| "{}".into());
    NativeRefused { report, text: refusal.text() }
}
