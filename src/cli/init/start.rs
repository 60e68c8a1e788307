//! How a configuration starts restitch: as the installed command, or by npx, which downloads the
//! package. The words may be in the fields `command` and `args`, in one list, or in one string.

use serde_json::{Map, Value};

use super::changes::{Change, Step};

const NPX: [&str; 3] = ["npx", "-y", "restitch"];

/// The same settings, in which npx starts restitch where the installed command does. `key` is the field
/// that they are in. What starts other programs stays as it is.
pub(super) fn by_npx(key: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if key == "command" && text.starts_with("restitch hook ") => {
            format!("npx -y {text}").into()
        }
        Value::Array(list) if key == "command" && begins(list, &NPX[2..]) => with(&NPX, &list[1..]),
        Value::Object(fields) if fields.get("command").is_some_and(|word| word == NPX[2]) => {
            let mut fields = fields.clone();
            if let Some(Value::Array(args)) = fields.get("args") {
                let args = with(&NPX[1..], args);
                fields.insert("args".to_owned(), args);
            }
            fields.insert("command".to_owned(), NPX[0].into());
            each(&Value::Object(fields), by_npx)
        }
        _ => each(value, by_npx),
    }
}

/// A list of these words and the rest.
fn with(words: &[&str], rest: &[Value]) -> Value {
    words.iter().map(|word| Value::from(*word)).chain(rest.iter().cloned()).collect()
}

/// The same settings, in which the installed command starts restitch.
pub(super) fn installed(_: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix("npx -y ") {
            Some(rest) if rest.starts_with("restitch ") => rest.into(),
            _ => value.clone(),
        },
        Value::Array(list) if begins(list, &NPX) => Value::from(&list[2..]),
        Value::Object(fields) => {
            let mut fields = fields.clone();
            if fields.get("command").is_some_and(|command| command == NPX[0])
                && let Some(Value::Array(args)) = fields.get_mut("args")
                && begins(args, &NPX[1..])
            {
                args.drain(..2);
                fields.insert("command".to_owned(), NPX[2].into());
            }
            each(&Value::Object(fields), installed)
        }
        _ => each(value, installed),
    }
}

fn begins(list: &[Value], words: &[&str]) -> bool {
    list.len() >= words.len() && words.iter().zip(list).all(|(word, item)| item == word)
}

/// The value with `map` applied to each value in it, with its key.
fn each(value: &Value, map: impl Fn(&str, &Value) -> Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(|item| map("", item)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), map(key, value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The changes that make `wanted` of `theirs`, which differ only in how restitch is started.
pub(super) fn restarts(theirs: &Value, wanted: &Value, path: &[Step], changes: &mut Vec<Change>) {
    let below = |step: Step| [path, &[step]].concat();
    match (theirs, wanted) {
        _ if theirs == wanted => {}
        (Value::Object(theirs), Value::Object(wanted)) => {
            for (key, value) in theirs {
                if let Some(wanted) = wanted.get(key) {
                    restarts(value, wanted, &below(Step::Key(key.clone())), changes);
                }
            }
        }
        (Value::Array(theirs), Value::Array(wanted)) if theirs.len() == wanted.len() => {
            for (index, (value, wanted)) in theirs.iter().zip(wanted).enumerate() {
                restarts(value, wanted, &below(Step::Index(index)), changes);
            }
        }
        _ => changes.push(Change::Set(path.to_vec(), wanted.clone())),
    }
}

impl Change {
    /// The same change, in which npx starts restitch.
    pub(super) fn by_npx(&self) -> Self {
        match self {
            Self::Set(path, value) => {
                let key = match path.last() {
                    Some(Step::Key(key)) => key,
                    _ => "",
                };
                // A part of an entry of ours.
                Self::Set(
                    path.clone(),
                    match value {
                        Value::String(text) if key == "command" && text == NPX[2] => NPX[0].into(),
                        Value::Array(args) if key == "args" => with(&NPX[1..], args),
                        value => by_npx(key, value),
                    },
                )
            }
            Self::Append(path, value) => Self::Append(path.clone(), by_npx("", value)),
        }
    }
}
