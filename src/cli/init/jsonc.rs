//! Changes in the text of a JSON file with comments.

use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode};
use serde_json::Value;

use super::changes::{Change, Step};

/// Makes the changes, whose places are in the file as it was read.
pub(super) fn apply(root: &CstRootNode, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Set(path, value) => match path.split_last() {
                Some((Step::Key(key), parents)) => {
                    let parent = node_at(root, parents).and_then(|node| node.as_object());
                    let Some(parent) = parent else { continue };
                    match parent.get(key) {
                        Some(property) => property.set_value(input(value)),
                        None => {
                            parent.append(key, input(value));
                        }
                    }
                }
                _ => root.set_value(input(value)),
            },
            Change::Append(path, value) => {
                if let Some(list) = node_at(root, path).and_then(|node| node.as_array()) {
                    list.append(input(value));
                }
            }
        }
    }
}

/// The value at a place.
fn node_at(root: &CstRootNode, path: &[Step]) -> Option<CstNode> {
    path.iter().try_fold(root.value()?, |node, step| match step {
        Step::Key(key) => node.as_object()?.get(key)?.value(),
        Step::Index(index) => node.as_array()?.elements().into_iter().nth(*index),
    })
}

/// A value to insert.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}
