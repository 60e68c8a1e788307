//! Changes in the text of a TOML file.

use serde::Serialize as _;
use serde_json::Value;
use toml_edit::ser::ValueSerializer;
use toml_edit::{DocumentMut, Item, Table, TableLike};

use super::changes::{Change, Step};

/// The tables as the text of a new file.
pub(super) fn render(tables: &Value) -> String {
    let mut document = DocumentMut::new();
    for (key, value) in tables.as_object().into_iter().flatten() {
        document.insert(key, item(value));
    }
    document.to_string().trim_start().to_owned()
}

/// The text with the changes.
pub(super) fn apply(text: &str, changes: &[Change]) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    for change in changes {
        // Lists in these files are command lines, which are set as a whole.
        let Change::Set(path, value) = change else {
            return Err("a list in it cannot be extended".to_owned());
        };
        let keys = path.iter().map(|step| match step {
            Step::Key(key) => Ok(key.as_str()),
            Step::Index(_) => Err("a list in it cannot be changed".to_owned()),
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let Some((last, parents)) = keys.split_last() else {
            return Err("it has no tables".to_owned());
        };
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for key in parents {
            table = table
                .get_mut(key)
                .and_then(Item::as_table_like_mut)
                .ok_or_else(|| format!("`{key}` in it is not a table"))?;
        }
        let new = item(value);
        match table.get_mut(last) {
            // The comment behind a value belongs to its place.
            Some(Item::Value(old)) if new.is_value() => {
                let decor = old.decor().clone();
                if let Item::Value(mut new) = new {
                    *new.decor_mut() = decor;
                    *old = new;
                }
            }
            _ => {
                table.insert(last, new);
            }
        }
    }
    let merged = document.to_string();
    Ok(match text.contains("\r\n") && !text.replace("\r\n", "").contains('\n') {
        true => merged.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => merged,
    })
}

/// A value as TOML: objects become tables, or inline tables within a list.
fn item(value: &Value) -> Item {
    match value {
        Value::Object(fields) => {
            let mut table = Table::new();
            for (key, value) in fields {
                table.insert(key, item(value));
            }
            // A table of tables alone needs no header of its own.
            table.set_implicit(!fields.is_empty() && fields.values().all(Value::is_object));
            Item::Table(table)
        }
        other => other.serialize(ValueSerializer::new()).map_or(Item::None, Item::Value),
    }
}
