//! Which settings a client's file lacks, whatever its format.

use serde_json::Value;

use super::content::{approves, hook_of, without_npx};

/// A step from a value into one that it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// One addition to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// The value at this place becomes this one. The last step is a key; without steps, it is the
    /// whole content.
    Set(Vec<Step>, Value),
    /// The list at this place gets one more value.
    Append(Vec<Step>, Value),
}

/// The changes that add to `theirs` the settings of `ours` that it lacks, or why they cannot be added.
/// A `null` is replaced, and so is an empty list in place of an object, or the reverse. An existing
/// setting is the user's choice, except for how it starts restitch and how a hook ends.
pub(super) fn missing(theirs: &Value, ours: &Value) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    collect(theirs, ours, &mut Vec::new(), &mut changes)?;
    Ok(changes)
}

fn collect(
    theirs: &Value,
    ours: &Value,
    path: &mut Vec<Step>,
    changes: &mut Vec<Change>,
) -> Result<(), String> {
    match (theirs, ours) {
        (Value::Null, _) => changes.push(Change::Set(path.clone(), ours.clone())),
        (Value::Array(list), Value::Object(_)) if list.is_empty() => {
            changes.push(Change::Set(path.clone(), ours.clone()));
        }
        (Value::Object(fields), Value::Array(_)) if fields.is_empty() => {
            changes.push(Change::Set(path.clone(), ours.clone()));
        }
        (Value::Object(fields), Value::Object(ours)) => {
            // Both start restitch, but one uses npx and the other the installed command.
            let replaces_start = without_npx(theirs.clone())["command"] == "restitch"
                && ours.get("command").is_some_and(|command| *command != theirs["command"]);
            for (key, value) in ours {
                path.push(Step::Key(key.clone()));
                let is_start = replaces_start && matches!(key.as_str(), "command" | "args");
                match fields.get(key) {
                    Some(their) if !is_start => collect(their, value, path, changes)?,
                    _ => changes.push(Change::Set(path.clone(), value.clone())),
                }
                path.pop();
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if is_command_line(ours) => {
            let is_same = without_npx(theirs.clone().into()) == without_npx(ours.clone().into());
            // A command line is one setting, so one that is there is the user's choice.
            if theirs.is_empty() || is_same && theirs != ours {
                changes.push(Change::Set(path.clone(), ours.clone().into()));
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            for value in ours.iter().filter(|value| !theirs.contains(value)) {
                let found = hook_in(value).and_then(|(_, command)| {
                    let event: Vec<&str> = event_of(&command)?;
                    theirs.iter().enumerate().find_map(|(index, their)| {
                        let (steps, their_command) = hook_in_where(their, &|their| {
                            event_of(their).as_ref() == Some(&event)
                        })?;
                        Some((index, steps, their_command, command.clone()))
                    })
                });
                match found {
                    None => changes.push(Change::Append(path.clone(), value.clone())),
                    Some((index, steps, theirs, ours)) if is_outdated(&theirs, &ours) => {
                        let whole = path.iter().cloned().chain([Step::Index(index)]).chain(steps);
                        changes.push(Change::Set(whole.collect(), ours.into()));
                    }
                    // The user changed the hook.
                    Some(_) => {}
                }
            }
        }
        (Value::String(theirs), Value::String(ours)) if is_outdated(theirs, ours) => {
            changes.push(Change::Set(path.clone(), ours.clone().into()));
        }
        (_, Value::Object(_) | Value::Array(_)) | (Value::Object(_) | Value::Array(_), _) => {
            let expected = if ours.is_object() { "an object" } else { "a list" };
            let keys: Vec<&str> = path
                .iter()
                .filter_map(|step| match step {
                    Step::Key(key) => Some(key.as_str()),
                    Step::Index(_) => None,
                })
                .collect();
            let subject = match keys.is_empty() {
                true => "its content".to_owned(),
                false => format!("`{}`", keys.join(".")),
            };
            return Err(format!("{subject} must be {expected}, but is not"));
        }
        _ => {}
    }
    Ok(())
}

/// Whether the list is a command line that starts restitch, or the arguments of one.
fn is_command_line(list: &[Value]) -> bool {
    list.first().and_then(Value::as_str).is_some_and(|first| {
        matches!(first, "restitch" | "npx" | "mcp")
            || first == "-y" && list.get(1).is_some_and(|second| second == "restitch")
    })
}

/// Whether a hook's command is an earlier form of ours: it starts or ends in another way, or may not
/// answer `allow` although the user has chosen so now.
fn is_outdated(theirs: &str, ours: &str) -> bool {
    theirs != ours
        && hook_of(ours).is_some_and(|ours| hook_of(theirs) == Some(ours))
        && (approves(ours) || !approves(theirs))
}

/// The client and the event of a hook's command.
fn event_of(command: &str) -> Option<Vec<&str>> {
    let at = command.find("restitch hook ")?;
    Some(command[at..].split_whitespace().skip(2).take(2).collect())
}

/// The first hook of restitch in a value: the steps to its command, and the command.
fn hook_in(value: &Value) -> Option<(Vec<Step>, String)> {
    hook_in_where(value, &|_| true)
}

/// The first hook of restitch in a value for whose command `is_wanted` holds.
fn hook_in_where(value: &Value, is_wanted: &dyn Fn(&str) -> bool) -> Option<(Vec<Step>, String)> {
    let within = |step: Step, value: &Value| {
        let (mut steps, command) = hook_in_where(value, is_wanted)?;
        steps.insert(0, step);
        Some((steps, command))
    };
    match value {
        Value::Object(fields) => {
            let command = fields.get("command").and_then(Value::as_str);
            if let Some(command) = command.filter(|text| hook_of(text).is_some() && is_wanted(text))
            {
                return Some((vec![Step::Key("command".to_owned())], command.to_owned()));
            }
            fields.iter().find_map(|(key, value)| within(Step::Key(key.clone()), value))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| within(Step::Index(index), item))
        }
        _ => None,
    }
}
