//! What a refusal advises can be done with the tool that was called. Each sentence of each hint is
//! followed, under the names that the tool declares, and the edit is accepted with the right bytes.

use std::collections::BTreeSet;

use restitch::edit::WorkPath;
use restitch::engine::{Engine, SyntaxMode};
use restitch::internals::tools::{Dialect, SYNONYMS, TOOLS, ToolSet, ToolSpec};
use restitch::store::MemoryStore;
use restitch::tools::Toolbox;
use restitch::tools::export::{Format, export};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::server::hook;
use crate::in_memory::{call, parsing, text};
use crate::rows::rows;
use crate::says::says;

/// What a caller does who follows a sentence of advice.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Copies the lines that the sentence names, and makes the change in them.
    Copied,
    /// Sends these texts, and no other argument.
    Texts(String, String),
    /// Sends these texts and the arguments as before.
    Kept(String, String),
    /// Sends the call again with one more argument.
    Also(String, Value),
    /// Goes on: the file is as wanted.
    GoesOn,
    /// Learns something that the next sentence needs.
    Learns,
}

use Step::{Also, Copied, GoesOn, Kept, Learns, Texts};

/// A refused call, and each sentence of its hint: how it begins, what follows from it, and the file
/// after that.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(default, rename = "why")]
    _why: String,
    path: String,
    file: String,
    /// The old and the new text.
    call: [String; 2],
    #[serde(default)]
    also: Map<String, Value>,
    /// Words that the message has, too.
    #[serde(default)]
    says: String,
    advice: Vec<(String, Step, String)>,
}

impl Row {
    fn call(&self) -> [&str; 2] {
        self.call.each_ref().map(String::as_str)
    }
}

fn table() -> Vec<Row> {
    rows(include_str!("hints.jsonl"))
}

const TWICE: &str = "fn main() {\n    greet();\n    part();\n    greet();\n}\n";

fn find(name: &str) -> Option<&'static ToolSpec> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// How a tool takes an edit of text by text.
struct Form {
    format: Format,
    dialect: Dialect,
    tool: &'static str,
}

impl Form {
    fn spec(&self) -> &'static ToolSpec {
        find(self.tool).expect("tool")
    }

    /// The names in the declaration of the tool.
    fn declared(&self) -> BTreeSet<String> {
        let declared = export(self.format, [self.spec()].into_iter());
        let mut names = BTreeSet::new();
        collect_names(&declared, &mut names);
        names
    }

    /// The name that the tool declares for the argument of `edit_file`.
    fn own_name(&self, argument: &str) -> Option<String> {
        let declared = self.declared();
        let group = SYNONYMS.iter().find(|group| group[0] == argument);
        let group =
            group.map(Vec::as_slice).unwrap_or_default().iter().map(|name| (*name).to_owned());
        std::iter::once(argument.to_owned()).chain(group).find(|name| declared.contains(name))
    }

    /// The arguments of a call, as a model that has this declaration sends them; `None` if the tool
    /// does not take one of them.
    fn arguments(
        &self,
        path: &str,
        [old, new]: [&str; 2],
        also: &Map<String, Value>,
    ) -> Option<Value> {
        let mut given = Map::new();
        for (name, value) in [("path", path), ("old_str", old), ("new_str", new)] {
            given.insert(self.own_name(name)?, value.into());
        }
        for (name, value) in also {
            given.insert(self.own_name(name)?, value.clone());
        }
        if self.tool == "str_replace_based_edit_tool" {
            given.insert("command".into(), "str_replace".into());
        }
        let declared = export(self.format, [self.spec()].into_iter());
        let schema = schema_of(&declared);
        let (target, fields) = match self.tool {
            "multi_edit" => (&schema["properties"]["edits"]["items"], true),
            _ => (schema, false),
        };
        // A strict declaration wants every argument, with null for none.
        for name in target["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            given.entry(name).or_insert(Value::Null);
        }
        for name in given.keys() {
            assert!(!target["properties"][name].is_null(), "{}: {name} is not declared", self.tool);
        }
        let mut whole = if fields { json!({ "edits": [given] }) } else { Value::Object(given) };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            whole.as_object_mut().expect("object").entry(name).or_insert(Value::Null);
        }
        Some(whole)
    }
}

/// The schema of the arguments in a declaration.
fn schema_of(declared: &Value) -> &Value {
    match declared {
        Value::Object(fields) => {
            let own = ["parameters", "input_schema", "inputSchema"];
            let own = own.iter().find_map(|name| fields.get(*name));
            own.unwrap_or_else(|| {
                schema_of(fields.values().find(|v| v.is_object() || v.is_array()).expect("schema"))
            })
        }
        Value::Array(items) => schema_of(&items[0]),
        _ => panic!("no schema in {declared}"),
    }
}

/// The names of all properties in a schema.
fn collect_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                names.extend(properties.keys().cloned());
            }
            fields.values().for_each(|value| collect_names(value, names));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        _ => {}
    }
}

/// Names of arguments and tools that can be told from English words.
fn all_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for tool in TOOLS {
        collect_names(&(tool.input)(), &mut names);
        names.insert(tool.name.to_owned());
    }
    names.extend(SYNONYMS.iter().flat_map(|group| group.iter().map(|name| (*name).to_owned())));
    names.retain(|name| name.contains('_') || name.contains(char::is_uppercase));
    names
}

/// A message without the lines of the file, which stand behind two blanks.
fn ours(message: &str) -> String {
    message.lines().filter(|line| !line.starts_with("  ")).collect()
}

/// The names in restitch's own sentences of a message that the caller does not know.
fn unknown_names(message: &str, known: &BTreeSet<String>) -> Vec<String> {
    let all = all_names();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for word in message.split(|c| !is_part(c)) {
        if all.contains(word) && !known.contains(word) {
            found.push(word.to_owned());
        }
    }
    // An anchor, such as `12#VK`.
    let is_anchor = |word: &str| {
        let (number, id) = word.split_once('#').unwrap_or_default();
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) && id.len() == 2
    };
    let anchors =
        message.split(|c: char| c.is_whitespace() || c == '|').filter(|word| is_anchor(word));
    if !known.contains("pos") {
        found.extend(anchors.map(str::to_owned));
    }
    found
}

/// The sentences of a hint.
fn sentences(hint: &str) -> Vec<&str> {
    let ends = hint.match_indices(". ").map(|(at, _)| at + 1);
    let ends = ends.filter(|at| hint[at + 1..].starts_with(|c: char| c.is_uppercase() || c == '`'));
    let mut out = Vec::new();
    let mut start = 0;
    for end in ends {
        out.push(&hint[start..end]);
        start = end + 1;
    }
    out.push(&hint[start..]);
    out
}

/// The texts of a call for the lines that a sentence names, so that the file becomes `wanted`.
fn copied(sentence: &str, file: &str, wanted: &str) -> [String; 2] {
    let (_, span) = sentence.split_once(" line").expect("lines");
    let span: String = span
        .trim_start_matches('s')
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '-')
        .collect();
    let (start, end) = span.split_once('-').unwrap_or((&span, &span));
    let (start, end): (usize, usize) = (start.parse().expect("line"), end.parse().expect("line"));
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let (above, below) = (lines[..start - 1].concat(), lines[end..].concat());
    let new = wanted.strip_prefix(above.as_str()).expect("the change is in the lines");
    let new = new.strip_suffix(below.as_str()).expect("the change is in the lines");
    [lines[start - 1..end].concat(), new.to_owned()]
}

fn toolbox(path: &str, file: &str, dialect: Dialect, set: ToolSet) -> Toolbox {
    parsing(&[(path, file)], SyntaxMode::Veto).with_dialect(dialect).with_tool_set(set)
}

/// The call of a step; `None` if it is none, or if the tool cannot make it.
fn next_call(form: &Form, row: &Row, sentence: &str, step: &Step, wanted: &str) -> Option<Value> {
    match step {
        Copied => {
            let [old, new] = copied(sentence, &row.file, wanted);
            form.arguments(&row.path, [&old, &new], &Map::new())
        }
        Texts(old, new) => form.arguments(&row.path, [old, new], &Map::new()),
        Kept(old, new) => form.arguments(&row.path, [old, new], &row.also),
        Also(name, value) => {
            let mut also = row.also.clone();
            also.insert(name.clone(), value.clone());
            form.arguments(&row.path, row.call(), &also)
        }
        GoesOn | Learns => None,
    }
}

/// Every form in which a model can be given a tool that edits text by text.
fn forms() -> Vec<Form> {
    let formats =
        [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic, Format::Gemini, Format::Mcp];
    let tools = [
        (Dialect::Restitch, "edit_file"),
        (Dialect::Restitch, "multi_edit"),
        (Dialect::ClaudeCode, "edit"),
        (Dialect::Opencode, "edit"),
        (Dialect::Gemini, "edit"),
        (Dialect::Anthropic, "str_replace_based_edit_tool"),
    ];
    let all = formats.into_iter().flat_map(|format| {
        tools.into_iter().map(move |(dialect, tool)| Form { format, dialect, tool })
    });
    all.collect()
}

#[tokio::test]
async fn every_hint_is_followed_with_the_tool_that_was_called() {
    let (table, mut followed) = (table(), 0);
    for form in forms() {
        let set = ToolSet::parse(&[form.tool.to_owned()], form.dialect).expect("tool");
        let mut known = form.declared();
        known.insert(form.tool.to_owned());
        for row in &table {
            let Some(arguments) = form.arguments(&row.path, row.call(), &row.also) else {
                continue;
            };
            let tools = toolbox(&row.path, &row.file, form.dialect, set.clone());
            let reply = call(&tools, form.tool, arguments.clone()).await;
            let at = format!("{:?} {} {arguments}\n{}", form.format, form.tool, reply.message);
            assert!(!reply.ok, "{at}");
            assert!(reply.message.contains(&row.says) || form.dialect != Dialect::Restitch, "{at}");
            assert_eq!(text(&tools, &row.path).await, row.file, "{at}");
            assert_eq!(unknown_names(&ours(&reply.message), &known), [""; 0], "{at}");
            let hint = reply.report["hint"].as_str().unwrap_or_default();
            assert!(reply.message.ends_with(hint) && !hint.is_empty(), "{at}");
            let mut told = sentences(hint).into_iter().peekable();
            for (begins, step, wanted) in &row.advice {
                let names = ["old_str", "new_str", "replace_all", "expected_replacements"];
                let renamed = names.iter().fold(begins.clone(), |text, name| {
                    text.replace(name, &form.own_name(name).unwrap_or_default())
                });
                let possible = match step {
                    Also(name, _) => form.own_name(name).is_some(),
                    _ => !begins.contains("near_line") || form.own_name("near_line").is_some(),
                };
                let Some(sentence) = told.next_if(|said| said.starts_with(&renamed)) else {
                    assert!(!possible, "{at}\nnot said: {renamed}");
                    continue;
                };
                assert!(possible, "{at}\nsaid: {sentence}");
                if matches!(step, GoesOn) {
                    assert_eq!(row.file, *wanted, "{at}");
                }
                let Some(next) = next_call(&form, row, sentence, step, wanted) else { continue };
                let tools = toolbox(&row.path, &row.file, form.dialect, set.clone());
                let answer = call(&tools, form.tool, next.clone()).await;
                assert!(answer.ok, "{at}\n{sentence}\n{next}\n{}", answer.message);
                assert_eq!(text(&tools, &row.path).await, *wanted, "{at}\n{sentence}\n{next}");
                followed += 1;
            }
            assert_eq!(told.next(), None, "{at}: a sentence that no row follows");
        }
    }
    assert!(followed > 500, "{followed}");
}

/// A client's own edit tool, with the names of its arguments: path, old text, new text, all places.
struct ClientTool {
    client: &'static str,
    before: &'static str,
    /// The event whose answer has the advice.
    event: &'static str,
    tool: &'static str,
    names: [&'static str; 4],
}

const CLIENT_TOOLS: &[ClientTool] = &[
    ClientTool {
        client: "gemini",
        before: "BeforeTool",
        event: "BeforeTool",
        tool: "replace",
        names: ["file_path", "old_string", "new_string", "allow_multiple"],
    },
    ClientTool {
        client: "claude",
        before: "PreToolUse",
        event: "PostToolUseFailure",
        tool: "Edit",
        names: ["file_path", "old_string", "new_string", "replace_all"],
    },
    ClientTool {
        client: "opencode",
        before: "tool.execute.before",
        event: "tool.execute.before",
        tool: "edit",
        names: ["filePath", "oldString", "newString", "replaceAll"],
    },
];

impl ClientTool {
    /// What the hook prints about a call.
    async fn hook(&self, event: &str, input: &Value, root: &std::path::Path) -> Value {
        let mut more = vec![("session_id", json!("s"))];
        if event != self.before {
            more.push(("error", "String to replace not found in file.".into()));
        }
        let ran = hook(root, [self.client, event, self.tool], input, &more).await;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(ran.stdout.trim()).unwrap_or(Value::Null)
    }
}

/// The first text in an answer with a next step.
fn advice_in(answer: &Value) -> Option<&str> {
    match answer {
        Value::String(text) => text.contains("\nNext: ").then_some(text),
        Value::Object(fields) => fields.values().find_map(advice_in),
        _ => None,
    }
}

/// The arguments of a call that the hook rewrote.
fn rewritten<'a>(answer: &'a Value, tool: &ClientTool) -> Option<&'a Value> {
    match answer {
        Value::Object(fields) if fields.contains_key(tool.names[1]) => Some(answer),
        Value::Object(fields) => fields.values().find_map(|value| rewritten(value, tool)),
        _ => None,
    }
}

#[tokio::test]
async fn every_hint_of_a_hook_is_followed_with_the_clients_tool() {
    let (table, mut followed) = (table(), 0);
    for tool in CLIENT_TOOLS {
        let known: BTreeSet<String> = tool.names.iter().map(|name| (*name).to_owned()).collect();
        for row in &table {
            if row.also.keys().any(|name| name != "replace_all") {
                continue;
            }
            let dir = tempfile::tempdir().expect("folder");
            let root = dir.path().canonicalize().expect("root");
            std::fs::write(root.join(&row.path), &row.file).expect("file");
            let input = |[old, new]: [&str; 2], all: bool| {
                let [path, old_name, new_name, all_name] = tool.names;
                let file = root.join(&row.path);
                json!({ path: file, old_name: old, new_name: new, all_name: all })
            };
            let asked = input(row.call(), row.also.contains_key("replace_all"));
            let answer = tool.hook(tool.event, &asked, &root).await;
            let Some(message) = advice_in(&answer) else { continue };
            let at = format!("{} {asked}\n{message}", tool.client);
            assert_eq!(unknown_names(&ours(message), &known), [""; 0], "{at}");
            let (_, hint) = message.split_once("\nNext: ").expect("hint");
            let mut told = sentences(hint).into_iter().peekable();
            for (begins, step, wanted) in &row.advice {
                let renamed = begins
                    .replace("old_str", tool.names[1])
                    .replace("new_str", tool.names[2])
                    .replace("replace_all", tool.names[3]);
                let Some(sentence) = told.next_if(|said| said.starts_with(&renamed)) else {
                    let is_absent =
                        |name| begins.contains(name) && !renamed.contains(tool.names[3]);
                    assert!(["near_line", "replace_all"].iter().any(is_absent), "{at}\n{renamed}");
                    continue;
                };
                let next = match step {
                    Copied => {
                        let [old, new] = copied(sentence, &row.file, wanted);
                        input([&old, &new], false)
                    }
                    Texts(old, new) => input([old, new], false),
                    Also(name, _) if name == "replace_all" => input(row.call(), true),
                    _ => continue,
                };
                let answer = tool.hook(tool.before, &next, &root).await;
                let sent = rewritten(&answer, tool).unwrap_or(&next);
                assert!(answer.is_null() || sent != &next, "{at}\n{next}\n{answer}");
                let field = |name: &str| sent[name].as_str().expect("text");
                let (old, new) = (field(tool.names[1]), field(tool.names[2]));
                let count = if sent[tool.names[3]] == true { usize::MAX } else { 1 };
                let is_once = row.file.matches(old).count() == 1 || old.is_empty();
                assert!(count > 1 || is_once, "{at}\n{sent}");
                assert_eq!(row.file.replacen(old, new, count), *wanted, "{at}\n{sentence}\n{sent}");
                followed += 1;
            }
            assert_eq!(told.next(), None, "{at}: a sentence that no row follows");
        }
    }
    assert!(followed > 50, "{followed}");
}

/// The arguments of a patch are its lines, so a message names no others.
#[tokio::test]
async fn a_patch_is_refused_in_words_of_patches() {
    let set = ToolSet::parse(&["apply_patch".to_owned()], Dialect::Codex).expect("tool");
    let known = ["patch", "path", "encoding", "apply_patch"].map(str::to_owned).into();
    for dialect in [Dialect::Restitch, Dialect::Codex] {
        for row in table().iter().filter(|row| row.also.is_empty() && !row.call[0].is_empty()) {
            let marked = |sign: &str, text: &str| -> String {
                text.lines().map(|line| format!("{sign}{line}\n")).collect()
            };
            let [old, new] = row.call();
            let hunk = format!("{}{}", marked("-", old), marked("+", new));
            let patch =
                format!("*** Begin Patch\n*** Update File: {}\n@@\n{hunk}*** End Patch", row.path);
            let tools = toolbox(&row.path, &row.file, dialect, set.clone());
            let reply = call(&tools, "apply_patch", json!({ "patch": patch })).await;
            let unknown = unknown_names(&ours(&reply.message), &known);
            assert_eq!(unknown, [""; 0], "{}", reply.message);
        }
    }
}

/// Of several edits none is made, so nobody is told to go on.
#[tokio::test]
async fn an_edit_that_is_done_is_left_out_of_the_call() {
    let edit = |old: &str, new: &str| json!({ "path": "a.rs", "old_str": old, "new_str": new });
    for done in [("    gone();", "    greet();"), ("part();", "part();")] {
        let (old, new) = done;
        let tools = toolbox("a.rs", TWICE, Dialect::Restitch, ToolSet::All);
        let other = edit("    part();", "    other();");
        let both = json!({ "edits": [edit(old, new), other] });
        let reply = call(&tools, "multi_edit", both).await;
        assert!(reply.message.starts_with("EDIT_"), "{}", reply.message);
        let hint = reply.report["hint"].as_str().expect("hint");
        assert!(hint.contains("edit 1") && hint.contains("without it"), "{hint}");
        assert_eq!(text(&tools, "a.rs").await, TWICE);
        let reply = call(&tools, "multi_edit", json!({ "edits": [other] })).await;
        assert!(reply.ok, "{}", reply.message);
        assert_eq!(text(&tools, "a.rs").await, TWICE.replace("part", "other"));
    }
}

/// Edits of one call that need each other become one.
#[tokio::test]
async fn edits_of_one_call_are_merged_as_the_hint_says() {
    let edit = |old: &str, new: &str| json!({ "path": "a.rs", "old_str": old, "new_str": new });
    for (edits, begins, merged) in [
        (
            json!([edit("part();", "apart(1);"), edit("apart(1);", "apart(2);")]),
            "Edit 1 of this call writes that text, ",
            ("part();", "apart(2);"),
        ),
        (
            json!([edit("part();", "apart();"), edit("    part();\n", "    more();\n")]),
            "Merge them into one edit",
            ("    part();\n", "    more();\n"),
        ),
    ] {
        let tools = toolbox("a.rs", TWICE, Dialect::Restitch, ToolSet::All);
        let reply = call(&tools, "multi_edit", json!({ "edits": edits })).await;
        let hint = reply.report["hint"].as_str().expect("hint");
        assert!(hint.starts_with(begins) && hint.contains("into one edit"), "{}", reply.message);
        let (old, new) = merged;
        let reply = call(&tools, "multi_edit", json!({ "edits": [edit(old, new)] })).await;
        assert!(reply.ok, "{}", reply.message);
        assert_eq!(text(&tools, "a.rs").await, TWICE.replace(old, new));
    }
}

/// Lines by number: the text editor has neither anchors nor snapshots, and `edit_lines` no anchors.
#[tokio::test]
async fn a_number_that_is_not_certain_is_answered_by_numbers() {
    let file = crate::sandbox::numbered(30);
    let tool = "str_replace_based_edit_tool";
    let set = ToolSet::parse(&[tool.to_owned()], Dialect::Anthropic).expect("tool");
    let tools = toolbox("a.txt", &file, Dialect::Anthropic, set);
    let insert = |line: u64| json!({ "command": "insert", "path": "a.txt", "insert_line": line, "insert_text": "new\n" });
    let view = |range: [i64; 2]| json!({ "command": "view", "path": "a.txt", "view_range": range });
    assert!(call(&tools, tool, view([1, 30])).await.ok);
    assert!(call(&tools, tool, insert(3)).await.ok);
    let refused = call(&tools, tool, insert(20)).await;
    assert!(!refused.ok, "{}", refused.message);
    let mut known = BTreeSet::new();
    collect_names(&(find(tool).expect("tool").input)(), &mut known);
    known.insert(tool.to_owned());
    let unknown = unknown_names(&refused.message, &known);
    assert!(unknown.is_empty(), "{unknown:?}: {}", refused.message);
    let hint = refused.report["hint"].as_str().expect("hint");
    let (_, range) = hint.split_once("View the lines ").expect("lines to view");
    let mut ends = range.split([',', ' ']).next().expect("range").split('-');
    let mut end = || ends.next().expect("line").parse::<i64>().expect("number");
    assert!(call(&tools, tool, view([end(), end()])).await.ok);
    let reply = call(&tools, tool, insert(21)).await;
    assert!(reply.ok, "{}", reply.message);
    let wanted = file.replace("line 3\n", "line 3\nnew\n").replace("line 20\n", "line 20\nnew\n");
    assert_eq!(text(&tools, "a.txt").await, wanted);
}

/// A file that is there, one that is not, and bytes whose encoding is in doubt.
#[tokio::test]
async fn hints_about_files_are_followed() {
    let tool = "str_replace_based_edit_tool";
    let set = ToolSet::parse(&[tool.to_owned()], Dialect::Anthropic).expect("tool");
    let tools = toolbox("a.txt", "one\n", Dialect::Restitch, set);
    let create = json!({ "command": "create", "path": "a.txt", "file_text": "two\n" });
    let reply = call(&tools, tool, create).await;
    assert!(reply.message.contains("`create` does not overwrite it"), "{}", reply.message);
    assert!(!reply.message.contains("old_str is empty"), "{}", reply.message);
    let change =
        json!({ "command": "str_replace", "path": "a.txt", "old_str": "one", "new_str": "two" });
    assert!(call(&tools, tool, change).await.ok);
    let add =
        json!({ "command": "insert", "path": "a.txt", "insert_line": 1, "insert_text": "three" });
    assert!(call(&tools, tool, add).await.ok);
    assert_eq!(text(&tools, "a.txt").await, "two\nthree\n");

    for (dialect, tool, names) in [
        (Dialect::Restitch, "edit_file", ["path", "old_str", "new_str"]),
        (Dialect::Opencode, "edit", ["file_path", "old_string", "new_string"]),
    ] {
        let set = ToolSet::parse(&[tool.to_owned()], dialect).expect("tool");
        let tools = toolbox("a.txt", "one\n", dialect, set);
        let [path, old, new] = names;
        let reply = call(&tools, tool, json!({ path: "zz/b.txt", old: "x", new: "y" })).await;
        let said = format!("To create the file, edit it with an empty {old}.");
        assert!(reply.message.ends_with(&said), "{}", reply.message);
        let reply = call(&tools, tool, json!({ path: "zz/b.txt", old: "", new: "y" })).await;
        assert!(reply.ok, "{}", reply.message);
        assert_eq!(text(&tools, "zz/b.txt").await, "y");
    }
    // A tool that only reads is not told to edit.
    let set = ToolSet::parse(&["read_file".to_owned()], Dialect::Restitch).expect("tool");
    let tools = toolbox("a.txt", "one\n", Dialect::Restitch, set);
    let reply = call(&tools, "read_file", json!({ "path": "zz/b.txt" })).await;
    says(&reply.message, &["Check the path"]);
    assert!(!reply.message.contains("old_str"), "{}", reply.message);

    let store = MemoryStore::default();
    let at = WorkPath::parse("a.txt", std::path::Path::new("/")).expect("path");
    store.put(at, b"caf\xe9\nx = 1\n".to_vec());
    let tools = Toolbox::new(Engine::builder(store).build());
    let edit = |encoding: &str| json!({ "path": "a.txt", "old_str": "x = 1", "new_str": "x = \u{fc}", "encoding": encoding });
    let reply = call(&tools, "edit_file", edit("")).await;
    assert!(reply.message.contains("Send the call again with `encoding` set"), "{}", reply.message);
    let reply = call(&tools, "edit_file", edit("windows-1252")).await;
    assert!(reply.ok, "{}", reply.message);
}
