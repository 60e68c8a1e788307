//! `restitch init CLIENT --remove`: takes out what `init` wrote, and nothing else.
//!
//! restitch's history says what a file held before `init` first wrote it. What was there then is
//! the user's and stays; without a record, so does every setting that does not name restitch.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde_json::{Value, json};

use super::clients::{Client, ConfigFile};
use super::merge::Content;
use super::settings;
use crate::cli::args::Common;
use crate::cli::exit::Exit;
use crate::cli::json_remove::{self, Before};
use crate::edit::{After, EditCode, EditPlan, Explanation, Refusal, Rung, VerifiedEdit, WorkPath};
use crate::engine::{CallOptions, Engine};
use crate::text::Snapshot;

/// A file with all that `init` has for it.
struct Part<'a> {
    file: &'a ConfigFile,
    contents: Vec<&'a Content>,
}

/// What became of a file, and the change as a diff.
struct Outcome {
    done: &'static str,
    diff: String,
}

/// What a file held before `init` first wrote it.
enum Origin {
    /// There is no record of it.
    Unknown,
    /// There was no file.
    Created,
    /// This text.
    Text(String),
}

/// Takes out of the client's files what `init` wrote, or without `write` prints what would go.
pub(super) async fn run(common: &Common, client: &Client, write: bool) -> Exit {
    let mut text = String::new();
    let mut files = Vec::new();
    let mut refused = false;
    for part in parts(client) {
        let path = part.file.display_path();
        match take_out(common, &part, write).await {
            Ok(Outcome { done, diff }) => {
                let shown_diff =
                    if write { String::new() } else { format!("\n{}", diff.trim_end()) };
                let _ = writeln!(text, "{path}: {done}{}", shown_diff.trim_end());
                files.push(json!({ "path": path, "done": done, "diff": diff }));
            }
            Err(why) => {
                refused = true;
                let _ = writeln!(text, "{path}: not changed: {why}");
                files.push(json!({ "path": path, "done": null, "why": why }));
            }
        }
    }
    if !write {
        let _ = writeln!(text, "# Nothing is written yet: add --write.");
    }
    if common.json {
        let answer = json!({ "ok": !refused, "client": client.name, "files": files });
        text = format!("{answer}\n");
    }
    match io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) if refused => Exit::Refused,
        Ok(()) => Exit::Done,
        Err(error) => Exit::fault(format!("cannot write to stdout: {error}")),
    }
}

/// The client's files, those of permissions included, each once.
fn parts(client: &Client) -> Vec<Part<'_>> {
    let mut parts: Vec<Part<'_>> = Vec::new();
    for file in client.files.iter().chain(&client.permission_files) {
        let is_same =
            |part: &&mut Part<'_>| part.file.path == file.path && part.file.owner == file.owner;
        match parts.iter_mut().find(is_same) {
            Some(part) => part.contents.push(&file.content),
            None => parts.push(Part { file, contents: vec![&file.content] }),
        }
    }
    parts
}

/// Takes out of one file what `init` wrote, or without `write` only finds what would change.
async fn take_out(common: &Common, part: &Part<'_>, write: bool) -> Result<Outcome, String> {
    let not_there = Outcome { done: "is not there", diff: String::new() };
    let folder = part.file.folder(common).ok_or("there is no home folder; set HOME")?;
    if !folder.is_dir() {
        return Ok(not_there);
    }
    let mut common = Common { root: Some(folder), stage: false, ..common.clone() };
    // Some stores protect these folders from models; the user names them here.
    common.allow_protected.push(part.file.path.to_owned());
    let toolbox = settings::toolbox(&common).map_err(|exit| exit.message().to_owned())?;
    let engine = toolbox.engine();
    let outcome = async {
        let path = engine.path(part.file.path)?;
        let before = match engine.snapshot(&path).await {
            Err(refusal) if refusal.code == EditCode::FileNotFound => return Ok(not_there),
            other => other?,
        };
        let after = part.without(before.text(), &origin(engine, &path).await)?;
        let explanation = Explanation::plain(Rung::Init);
        let (edit, done) = match after {
            Some(after) if after == before.text() => {
                let done = "has nothing of restitch's";
                return Ok(Outcome { done, diff: String::new() });
            }
            Some(after) => {
                let plan = EditPlan::whole_file(&before, &after);
                let done = if write { "taken out" } else { "would be changed" };
                (VerifiedEdit::new(path, &before, plan, explanation)?, done)
            }
            None => {
                let done = if write { "deleted" } else { "would be deleted" };
                (VerifiedEdit::restore(path, Some(before), After::Removed, explanation), done)
            }
        };
        let options = CallOptions { dry_run: !write, ..CallOptions::default() };
        let reports = engine.commit(vec![edit], &options).await?;
        let diff = reports.first().map(|report| report.diff.clone()).unwrap_or_default();
        Ok(Outcome { done, diff })
    };
    outcome.await.map_err(|refusal: Refusal| refusal.text())
}

/// What the file held before restitch first changed it, according to the history. Changes up to the
/// last time that the file was removed do not count.
async fn origin(engine: &Engine, path: &WorkPath) -> Origin {
    let Ok(log) = engine.log().await else { return Origin::Unknown };
    let changes = log.iter().flat_map(|revision| &revision.files);
    let changes = changes.filter(|file| file.path == path.as_str());
    // The history begins with the newest change.
    let since_missing = changes.take_while(|file| file.after_sha256.is_some());
    let Some(oldest) = since_missing.last() else { return Origin::Unknown };
    let Some(hash) = oldest.before_sha256 else { return Origin::Created };
    let versions = engine.versions_on_record(path, &hash.to_string()).await;
    match versions.into_iter().next().map(Snapshot::decode) {
        Some(Ok(snapshot)) => Origin::Text(snapshot.text().to_owned()),
        _ => Origin::Unknown,
    }
}

impl Part<'_> {
    /// The text without what `init` wrote; `None` if nothing else is in the file and restitch made it,
    /// so that it can be deleted.
    fn without(&self, text: &str, origin: &Origin) -> Result<Option<String>, Refusal> {
        if let Origin::Text(before) = origin
            && self.written_versions(Some(before)).iter().any(|written| written == text)
        {
            return Ok(Some(before.clone()));
        }
        let is_as_written = || self.written_versions(None).iter().any(|written| written == text);
        let is_created = matches!(origin, Origin::Created)
            || matches!(origin, Origin::Unknown) && is_as_written();
        let before = match origin {
            Origin::Text(before) => Some(before.as_str()),
            _ => is_created.then_some(""),
        };
        let mut rest = text.to_owned();
        for content in &self.contents {
            rest = content.removed_from(&rest, before)?;
        }
        let is_ours = matches!(self.contents[0], Content::Ours(_))
            || self.file.path.ends_with("/restitch.json");
        match rest.trim().is_empty() {
            true if is_created || is_ours => Ok(None),
            true if matches!(self.contents[0], Content::Json(_)) => Ok(Some("{}\n".to_owned())),
            _ => Ok(Some(rest)),
        }
    }

    /// Each text that `init` may have written: into a file with the text `before`, or into a new file;
    /// with or without npx; with or without permissions.
    fn written_versions(&self, before: Option<&str>) -> Vec<String> {
        let mut versions = Vec::new();
        for npx in [false, true] {
            let mut text = before.map(str::to_owned);
            for content in &self.contents {
                let content = if npx { &content.with_npx() } else { *content };
                text = match &text {
                    None => Some(content.render()),
                    Some(text) => content.merged_into(text).ok(),
                };
                let Some(text) = &text else { break };
                // Also a version without the contents that follow: permissions come last.
                versions.push(text.clone());
            }
        }
        versions
    }
}

impl Content {
    /// The text without this content. `before` is the text of the file before `init` first wrote it:
    /// empty if there was no file, `None` if there is no record.
    fn removed_from(&self, text: &str, before: Option<&str>) -> Result<String, Refusal> {
        if text.trim().is_empty() {
            return Ok(text.to_owned());
        }
        match self {
            Self::Json(ours) => {
                let had = before.map(|text| serde_json::from_str::<Value>(text).ok());
                json_remove::remove(text, ours, earlier_value(had.as_ref())).ok_or_else(|| {
                    only_by_hand("it is not plain JSON, and restitch would lose comments and trailing commas")
                })
            }
            Self::Toml(tables) => toml_without(text, tables, before),
            Self::Yaml(_) => yaml_without(text, &[self.render(), self.with_npx().render()]),
            Self::Ours(_) => Ok(String::new()),
        }
    }
}

/// The earlier value of a JSON file: `None` if it is not known, `Some(None)` if there was none.
fn earlier_value(had: Option<&Option<Value>>) -> Before<'_> {
    match had {
        None => Before::Unknown,
        Some(None) => Before::Nothing,
        Some(Some(value)) => Before::Value(value),
    }
}

/// The refusal of a file that the user has to change by hand.
fn only_by_hand(why: &str) -> Refusal {
    Refusal::new(EditCode::InvalidArguments, why)
        .hint("Take out by hand what names restitch; `restitch init` without flags prints what it writes.")
}

/// A table of a TOML file: its header, and where it is in the text, up to its last setting.
struct Section<'a> {
    header: &'a str,
    start: usize,
    end: usize,
}

/// The tables of a TOML file.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut line_end = 0;
    for line in text.split_inclusive('\n') {
        let start = line_end;
        line_end += line.len();
        let trimmed = line.trim();
        if line.starts_with('[') {
            sections.push(Section { header: trimmed, start, end: line_end });
        } else if let Some(last) = sections.last_mut()
            && !trimmed.is_empty()
            && !trimmed.starts_with('#')
        {
            last.end = line_end;
        }
    }
    sections
}

/// The TOML without restitch's server, and, if `before` is known, without the other lines that `init`
/// added. `before` is as in [`Content::removed_from`].
fn toml_without(
    text: &str,
    tables: &[(String, String)],
    before: Option<&str>,
) -> Result<String, Refusal> {
    let parse = |text: &str| toml::from_str::<toml::Table>(text).ok();
    if parse(text).is_none() {
        return Err(only_by_hand("the TOML does not parse"));
    }
    let headers_before: Option<Vec<String>> = before
        .map(|before| sections(before).iter().map(|section| section.header.to_owned()).collect());
    let mut out = text.to_owned();
    for (header, body) in tables {
        let name = header.trim_matches(['[', ']']).rsplit('.').next();
        let is_ours = name == Some("restitch") || body.contains("name = \"restitch\"");
        if is_ours {
            while let Some(cut) = next_server_section(&out, header) {
                out.replace_range(cut, "");
            }
        } else if let (Some(headers), Some(before)) = (&headers_before, before) {
            remove_lines(&mut out, header, body, before, headers.contains(header));
        }
    }
    match parse(&out) {
        Some(_) => Ok(out),
        None => Err(only_by_hand("the tables cannot be told apart")),
    }
}

/// Where the next table of the server is, with the tables inside it and the blank line that sets it off.
fn next_server_section(text: &str, header: &str) -> Option<std::ops::Range<usize>> {
    let sections = sections(text);
    let is_list = header.starts_with("[[");
    let name = header.trim_matches(['[', ']']);
    let inner = format!("[{name}.");
    let first = sections.iter().position(|section| {
        let body = &text[section.start..section.end];
        match is_list {
            true => {
                section.header == header && body.lines().any(|line| line == "name = \"restitch\"")
            }
            false => section.header == header || section.header.starts_with(&inner),
        }
    })?;
    let inside = sections[first + 1..]
        .iter()
        .take_while(|section| section.header.starts_with(&inner))
        .count();
    Some(with_gap(text, sections[first].start..sections[first + inside].end))
}

/// The range of lines, extended by the blank line above it, or at the start of the text by the one
/// below.
fn with_gap(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let line_end =
        |text: &str| ["\r\n", "\n"].into_iter().find(|end| text.ends_with(end)).map(str::len);
    let above = &text[..range.start];
    if let Some(len) = line_end(above)
        && line_end(&above[..above.len() - len]).is_some()
    {
        return range.start - len..range.end;
    }
    let below = &text[range.end..];
    let blank = if below.starts_with("\r\n") { 2 } else { usize::from(below.starts_with('\n')) };
    if above.is_empty() { range.start..range.end + blank } else { range }
}

/// Removes from the table with this header the lines of `body` whose keys were not in it `before`, and
/// the whole table if that leaves nothing and the table was not there before.
fn remove_lines(out: &mut String, header: &str, body: &str, before: &str, table_was_there: bool) {
    let lines_of = |text: &str| -> Vec<String> {
        let sections = sections(text);
        let table = sections.iter().find(|section| section.header == header);
        let body = table.map_or("", |section| &text[section.start..section.end]);
        body.split_inclusive('\n').skip(1).map(str::to_owned).collect()
    };
    let key = |line: &str| line.split_once('=').map(|(key, _)| key.trim().to_owned());
    let keys_before: Vec<_> = lines_of(before).iter().filter_map(|line| key(line)).collect();
    let is_ours = |line: &&String| {
        body.lines().any(|our_line| our_line == line.trim_end())
            && key(line).is_some_and(|key| !keys_before.contains(&key))
    };
    let lines = lines_of(out);
    let kept: String = lines.iter().filter(|line| !is_ours(line)).map(String::as_str).collect();
    let found = sections(out).into_iter().find(|section| section.header == header);
    let Some((start, end)) = found.map(|section| (section.start, section.end)) else { return };
    if kept.trim().is_empty() && !table_was_there && lines.iter().any(|line| is_ours(&line)) {
        let cut = with_gap(out, start..end);
        out.replace_range(cut, "");
    } else {
        let body_start = out[start..].find('\n').map_or(end, |offset| start + offset + 1);
        out.replace_range(body_start..end, &kept);
    }
}

/// The YAML without what `init` wrote. YAML is not parsed: only lines exactly as in one of the texts
/// `written`, which `init` may write, are removed.
fn yaml_without(text: &str, written: &[String]) -> Result<String, Refusal> {
    if written.iter().any(|ours| ours == text) {
        return Ok(String::new());
    }
    if !text.contains("restitch") {
        return Ok(text.to_owned());
    }
    // The first line is the key of the list, which may have entries of the user's.
    let entries = written.iter().filter_map(|ours| Some(ours.split_once('\n')?.1));
    let mut parts = entries.filter_map(|entry| text.split_once(entry));
    match parts.find(|(above, _)| above.ends_with('\n')) {
        Some((above, below)) => Ok(format!("{above}{below}")),
        None => Err(only_by_hand("restitch's part of the YAML is not as `init` writes it")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::clients::{CLIENTS, client};
    use super::*;

    /// Files of users, of each kind.
    const JSON: &[&str] = &[
        "{}",
        "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n",
        "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"y\"}]}]}}\n",
        "{\r\n\t\"mcpServers\": {},\r\n\t\"permissions\": { \"allow\": [] }\r\n}\r\n",
    ];
    const TOML: &[&str] = &[
        "model = \"x\"\n",
        "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"\n",
        "[features]\nweb = true\n\n# below\n[mcp_servers.other]\ncommand = \"y\"\n",
        "[features]\nhooks = true\n",
        "[[mcp_servers]]\nname = \"other\"\ncommand = \"z\"\n",
    ];

    #[test]
    fn what_init_writes_is_taken_out_for_every_client() {
        for name in CLIENTS {
            let client = client(name, Path::new("/work")).expect("known");
            for part in parts(&client) {
                let path = part.file.path;
                // A file that `init` made goes, whether or not there is a record of it.
                for made in part.written_versions(None) {
                    for origin in [Origin::Created, Origin::Unknown] {
                        let left = part.without(&made, &origin).expect("removed");
                        assert_eq!(left, None, "{name} {path}: {made}");
                    }
                }
                let texts = match part.contents[0] {
                    Content::Json(_) => JSON,
                    Content::Toml(_) => TOML,
                    _ => continue,
                };
                for text in texts {
                    for merged in part.written_versions(Some(text)) {
                        let origin = Origin::Text((*text).to_owned());
                        let left = part.without(&merged, &origin).expect("removed");
                        assert_eq!(left.as_deref(), Some(*text), "{name} {path}: {merged}");
                        // What the user added since then stays as well.
                        let comment = "\n# since\n";
                        if matches!(part.contents[0], Content::Toml(_)) {
                            let since = format!("{merged}{comment}");
                            let left = part.without(&since, &origin).expect("removed");
                            assert_eq!(left, Some(format!("{text}{comment}")), "{name}: {since}");
                        } else {
                            let since = merged.replacen('{', "{\"since\": 1, ", 1);
                            let left = part.without(&since, &origin).expect("removed");
                            let left: Value =
                                serde_json::from_str(&left.expect("text")).expect("JSON");
                            let mut wanted: Value = serde_json::from_str(text).expect("JSON");
                            wanted["since"] = 1.into();
                            assert_eq!(left, wanted, "{name} {path}: {since}");
                        }
                        // Without a record, nothing that starts restitch stays.
                        let left = part.without(&merged, &Origin::Unknown).expect("removed");
                        let left = left.unwrap_or_default();
                        for ours in ["restitch hook", "\"mcp\"", "mcp__restitch"] {
                            assert!(!left.contains(ours), "{name} {path}: {left}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_left_to_the_user() {
        let goose = client("goose", Path::new("/work")).expect("known");
        let part = &parts(&goose)[0];
        let ours = goose.files[0].content.render();
        let with_other = format!("{ours}  other:\n    cmd: x\n");
        let left = part.without(&with_other, &Origin::Created).expect("removed");
        assert_eq!(left.as_deref(), Some("extensions:\n  other:\n    cmd: x\n"));
        let changed = ours.replace("300", "10");
        assert!(part.without(&changed, &Origin::Created).is_err());
        let none = "extensions: {}\n";
        let left = part.without(none, &Origin::Unknown).expect("nothing to do");
        assert_eq!(left.as_deref(), Some(none));
        let zed = client("zed", Path::new("/work")).expect("known");
        let commented = "{\n  // mine\n  \"context_servers\": {}\n}\n";
        assert!(parts(&zed)[0].without(commented, &Origin::Unknown).is_err());
    }
}
