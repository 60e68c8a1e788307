//! Cells of notebooks, over the tools as they are called.

use restitch::edit::EditCode;
use restitch::engine::SyntaxMode;
use restitch::tools::Toolbox;
use serde_json::json;

use crate::in_memory::{call, parsing, text};

fn tools(files: &[(&str, &str)]) -> Toolbox {
    parsing(files, SyntaxMode::Veto)
}

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "let n = 1"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "load-1",
   "metadata": {"tags":  [ "a" ]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": ["1\n"]
    }
   ],
   "source": [
    "def load(path):\n",
    "    n = 1\n",
    "    return open(path)\n",
    "\n",
    "load(\"a\\tb — c\")"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "magic",
   "metadata": {},
   "outputs": [],
   "source": "%matplotlib inline\n!pip install x"
  }
 ],
 "metadata": {
  "language_info": {"name": "python"}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[tokio::test]
async fn a_read_shows_cells_with_ids() {
    let tools = tools(&[("a.ipynb", NOTEBOOK), ("b.ipynb", "{ broken")]);
    let reply = call(&tools, "read_file", json!({ "path": "a.ipynb" })).await;
    let shown = "--- cell intro (markdown, 2 lines)\n# Title\nlet n = 1\n\n--- cell load-1 (code, 5 lines, 1 output)\ndef load(path):\n    n = 1\n    return open(path)\n\nload(\"a\\tb — c\")\n\n--- cell magic (code, 2 lines)\n%matplotlib inline\n!pip install x\n";
    assert_eq!(reply.report["text"], shown);
    assert!(reply.message.starts_with(shown), "{}", reply.message);
    assert!(reply.message.contains("[a.ipynb: 3 cells; snapshot "), "{}", reply.message);
    assert_eq!(
        reply.report["cells"][1],
        json!({ "id": "load-1", "kind": "code", "lines": 5, "outputs": 1 })
    );
    let one = call(&tools, "read_file", json!({ "path": "a.ipynb", "cell": "#3" })).await;
    assert!(
        one.message.starts_with("--- cell magic (code, 2 lines)\n%matplotlib"),
        "{}",
        one.message
    );
    for arguments in [
        json!({ "path": "a.ipynb", "style": "plain" }),
        json!({ "path": "a.ipynb", "style": "numbered" }),
        json!({ "path": "a.ipynb", "ranges": "1-9" }),
    ] {
        let raw = call(&tools, "read_file", arguments).await;
        assert!(raw.message.contains("\"cells\": ["), "its lines: {}", raw.message);
    }
    let broken = call(&tools, "read_file", json!({ "path": "b.ipynb" })).await;
    assert!(broken.ok && broken.message.starts_with("{ broken"), "{}", broken.message);
    let none = call(&tools, "read_file", json!({ "path": "a.ipynb", "cell": "nope" })).await;
    assert_eq!(none.code, Some(EditCode::InvalidArguments));
    assert!(none.message.contains("its cells are `intro`, `load-1`, `magic`"), "{}", none.message);
}

#[tokio::test]
async fn an_edit_names_a_cell_and_the_json_around_keeps_its_bytes() {
    let tools = tools(&[("a.ipynb", NOTEBOOK)]);
    // `n = 1` stands in two cells, and one level too shallow in the call.
    let edit = json!({ "path": "a.ipynb", "cell": "load-1", "old_str": "n = 1\nreturn open(path)", "new_str": "n = 2  # \"é\"\nreturn open(path)" });
    let reply = call(&tools, "edit_file", edit).await;
    assert!(reply.ok, "{}", reply.message);
    let wanted = NOTEBOOK.replace("\"    n = 1\\n\"", "\"    n = 2  # \\\"é\\\"\\n\"");
    assert_eq!(text(&tools, "a.ipynb").await, wanted);
    assert!(
        reply.message.starts_with("Edited a.ipynb, cell load-1 at lines 2-3"),
        "{}",
        reply.message
    );
    assert!(reply.message.contains("<<2>>    n = 2  # \"é\""), "{}", reply.message);
    assert_eq!(reply.report["rung"], "indentation");
    assert_eq!(reply.report["path"], "a.ipynb");
    assert_eq!(reply.report["cell"]["spans"][0]["after"]["start_line"], 2);
    assert_eq!(reply.report["syntax"], json!({ "checked": true, "new_errors": [] }));
}

#[tokio::test]
async fn outputs_go_only_if_asked() {
    let tools = tools(&[("a.ipynb", NOTEBOOK)]);
    let edit = json!({ "path": "a.ipynb", "cell": "load-1", "old_str": "return open(path)\n", "new_str": "return open(path)\n\nx = 1\n", "clear_outputs": true });
    assert!(call(&tools, "edit_file", edit).await.ok);
    let after = text(&tools, "a.ipynb").await;
    let outputs = &NOTEBOOK[NOTEBOOK.find("\"outputs\": [\n").expect("there")
        ..NOTEBOOK.find(",\n   \"source\": [\n    \"def").expect("there")];
    let wanted = NOTEBOOK
        .replace(outputs, "\"outputs\": []")
        .replace("\"execution_count\": 7", "\"execution_count\": null")
        .replace("open(path)\\n\",\n", "open(path)\\n\",\n    \"\\n\",\n    \"x = 1\\n\",\n");
    assert_eq!(after, wanted);
    let stray =
        json!({ "path": "a.ipynb", "old_str": "# Title", "new_str": "# T", "clear_outputs": true });
    let reply = call(&tools, "edit_file", stray).await;
    assert_eq!(reply.code, Some(EditCode::InvalidArguments), "{}", reply.message);
}

#[tokio::test]
async fn a_cell_of_one_text_and_a_broken_cell() {
    let tools = tools(&[("a.ipynb", NOTEBOOK)]);
    let edit = json!({ "path": "a.ipynb", "cell": "magic", "old_str": "!pip install x", "new_str": "!pip install y" });
    let reply = call(&tools, "edit_file", edit).await;
    assert!(reply.ok, "{}", reply.message);
    assert_eq!(text(&tools, "a.ipynb").await, NOTEBOOK.replace("install x", "install y"));
    assert_eq!(reply.report["syntax"]["why_not"], "broken_before", "magics are no Python");
    let edit = json!({ "path": "a.ipynb", "cell": "load-1", "old_str": "    return open(path)", "new_str": "    return open(path" });
    let reply = call(&tools, "edit_file", edit).await;
    assert!(reply.message.contains("error at line 3: `(`"), "{}", reply.message);
    let edit =
        json!({ "path": "a.ipynb", "cell": "intro", "old_str": "n = 9", "new_str": "n = 2" });
    let reply = call(&tools, "edit_file", edit).await;
    assert_eq!(reply.code, Some(EditCode::NoOccurrence), "only in its cell: {}", reply.message);
    let edit = json!({ "path": "none.ipynb", "cell": "intro", "old_str": "", "new_str": "n = 2" });
    assert_eq!(call(&tools, "edit_file", edit).await.code, Some(EditCode::FileNotFound));
}
