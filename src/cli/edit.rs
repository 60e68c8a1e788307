//! `restitch edit`: replaces text in a file or in a text from stdin.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use serde_json::json;

use super::args::{Common, EditArgs};
use super::exit::Exit;
use super::{model, out, settings};
use crate::edit::{EditRequest, Expected};
use crate::engine::{CallOptions, SyntaxGate};
use crate::syntax::TreeSitter;
use crate::text::escape_for_terminal;
use crate::tools::{self, EDIT_FLAGS, ToolReply, Words};

/// Makes the edit and prints the reply.
pub(crate) async fn run(common: &Common, args: EditArgs) -> Result<(), Exit> {
    let texts = [Some(&args.path), args.old.as_ref(), args.new.as_ref()];
    if texts.into_iter().flatten().filter(|text| *text == "-").count() > 1 {
        return Err(Exit::usage("only one of PATH, --old and --new can be read from stdin"));
    }
    let old = read_text(args.old.as_deref(), args.old_file.as_deref());
    let new = read_text(args.new.as_deref(), args.new_file.as_deref());
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(error), _) | (_, Err(error)) => return Err(Exit::usage(error.to_string())),
    };
    if args.path == "-" {
        return edit_stdin(common, &args, old, new);
    }
    if args.language.is_some() {
        return Err(Exit::usage(
            "--language is only for text from stdin (PATH -); a file's name shows its language",
        ));
    }
    let toolbox = settings::toolbox_in(common, Words::of_command(EDIT_FLAGS))?;
    let arguments = json!({
        "path": common.path(&args.path), "old_str": old, "new_str": new,
        "expected_replacements": args.expect, "replace_all": args.all.then_some(true), "near_line": args.near,
        "within": args.within,
    });
    let options = CallOptions {
        dry_run: args.dry_run,
        request_id: args.request_id.map(crate::port::RequestId::new),
        ..CallOptions::default()
    };
    let reply = with_revision(common, toolbox.call("edit_file", arguments, &options).await);
    let is_quiet = args.quiet && reply.ok && !common.json;
    if is_for_person() && reply.ok && !args.quiet && !common.json {
        out::written(print_for_terminal(&reply)).map_err(|exit| out::after(&reply, exit))?;
    } else if !is_quiet {
        out::reply(common, &reply)?;
    }
    Exit::of_reply(&reply)
}

/// The reply for a person, with the revision that `restitch undo` takes in its first line.
pub(super) fn with_revision(common: &Common, mut reply: ToolReply) -> ToolReply {
    if let Some(revision) = reply.revision().filter(|_| reply.ok && !common.json) {
        // Behind the first line, unless that begins a list.
        let first_line =
            reply.message.find('\n').filter(|end| !reply.message[..*end].ends_with(':'));
        let end = first_line.unwrap_or(reply.message.len());
        reply.message.insert_str(end, &format!(" Revision {revision}."));
    }
    reply
}

/// Whether stdout is a terminal, or is to be written as for one (`CLICOLOR_FORCE`).
fn is_for_person() -> bool {
    let colours = anstream::AutoStream::choice(&io::stdout());
    io::stdout().is_terminal() || matches!(colours, ColorChoice::Always | ColorChoice::AlwaysAnsi)
}

/// Prints the message, in which the diff replaces the numbered lines of the file, in git's colours.
fn print_for_terminal(reply: &ToolReply) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    for line in reply.message.lines().filter(|line| !line.starts_with("<<") && *line != "…") {
        writeln!(out, "{}", escape_for_terminal(line))?;
    }
    print_diff(&mut out, reply.report["diff"].as_str().unwrap_or_default())
}

/// Prints a diff in git's colours.
pub(super) fn print_diff(out: &mut impl io::Write, diff: &str) -> io::Result<()> {
    for line in diff.lines() {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("--- ") || line.starts_with("+++ ") => Style::new().bold(),
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'@') => AnsiColor::Cyan.on_default(),
            _ => Style::new(),
        };
        writeln!(out, "{style}{}{style:#}", escape_for_terminal(line))?;
    }
    Ok(())
}

/// Edits the text from stdin and prints the result. The message goes to stderr, because stdout is
/// the text.
fn edit_stdin(common: &Common, args: &EditArgs, old: String, new: String) -> Result<(), Exit> {
    let expected = match (args.expect, args.all) {
        (Some(count), _) => Expected::Exactly(count),
        (None, true) => Expected::All,
        (None, false) => Expected::default(),
    };
    let language = args.language.as_deref().map(tools::parse_language).transpose();
    let language = language.map_err(|refusal| Exit::usage(refusal.text()))?;
    let gate = SyntaxGate::new(TreeSitter::new(), model::settings(common)?.syntax);
    let (near_line, within) = (args.near, args.within.clone());
    let request = EditRequest { old, new, expected, near_line, within, language, path: None };
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Exit::fault(format!("cannot read stdin: {error}")))?;
    let words = if common.json { Words::default() } else { Words::of_command(EDIT_FLAGS) };
    let edited = tools::edit_bytes(bytes, &request, &gate);
    let (after, reply) = edited.unwrap_or_else(|refusal| (Vec::new(), words.refused(refusal)));
    if common.json {
        return out::end(common, &reply);
    }
    if !(args.quiet && reply.ok) {
        // A closed stderr does not stop the text.
        let _ = writeln!(out::stderr(), "{}", reply.message);
    }
    if !args.dry_run {
        let mut stdout = out::stdout();
        out::written(stdout.write_all(&after).and_then(|()| stdout.flush()))?;
    }
    Exit::of_reply(&reply)
}

/// The content of the file if there is one, else the text of the argument, which is that of stdin for
/// `-`.
fn read_text(argument: Option<&str>, file: Option<&Path>) -> io::Result<String> {
    if let Some(file) = file {
        return std::fs::read_to_string(file).map_err(|error| {
            io::Error::new(error.kind(), format!("cannot read {}: {error}", file.display()))
        });
    }
    match argument.unwrap_or_default() {
        "-" => io::read_to_string(io::stdin()),
        text => Ok(text.to_owned()),
    }
}
