//! Which settings a client's file lacks, whatever its format.

use serde_json::Value;

/// The flag of a hook that may answer `allow`, because the user chose so.
const APPROVE: &str = " --approve";

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
/// setting is the user's choice, except that a hook may answer `allow` once the user has chosen so.
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
        // A command line is one setting, so one that is there is the user's choice.
        (Value::Array(list), Value::Array(line)) if list.is_empty() && is_command_line(line) => {
            changes.push(Change::Set(path.clone(), ours.clone()));
        }
        (Value::Array(_), Value::Array(line)) if is_command_line(line) => {}
        (Value::Object(fields), Value::Array(_)) if fields.is_empty() => {
            changes.push(Change::Set(path.clone(), ours.clone()));
        }
        // An entry that starts another program is the user's.
        (Value::Object(fields), Value::Object(ours))
            if is_other(fields.get("command"), ours.get("command")) => {}
        (Value::Object(fields), Value::Object(ours)) => {
            for (key, value) in ours {
                path.push(Step::Key(key.clone()));
                match fields.get(key) {
                    Some(their) => collect(their, value, path, changes)?,
                    None => changes.push(Change::Set(path.clone(), value.clone())),
                }
                path.pop();
            }
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            for value in ours.iter().filter(|value| !theirs.contains(value)) {
                let ours = hook_in(value, &|_| true).map(|(_, command)| command);
                let found = ours.and_then(|ours| {
                    theirs.iter().enumerate().find_map(|(index, their)| {
                        let is_same = |their: &str| event_of(their).eq(event_of(ours));
                        let (steps, their) = hook_in(their, &is_same)?;
                        Some((index, steps, their, ours))
                    })
                });
                match found {
                    None => changes.push(Change::Append(path.clone(), value.clone())),
                    Some((index, steps, theirs, ours))
                        if theirs != ours && is_as_good(ours, theirs) =>
                    {
                        let whole = path.iter().cloned().chain([Step::Index(index)]).chain(steps);
                        changes.push(Change::Set(whole.collect(), ours.into()));
                    }
                    // The user changed the hook.
                    Some(_) => {}
                }
            }
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
    let first = list.first().and_then(Value::as_str);
    first.is_some_and(|first| matches!(first, "restitch" | "mcp" | "npx" | "-y"))
}

/// Whether both commands are there and differ.
fn is_other(theirs: Option<&Value>, ours: Option<&Value>) -> bool {
    let commands = theirs.and_then(Value::as_str).zip(ours.and_then(Value::as_str));
    commands.is_some_and(|(theirs, ours)| theirs != ours)
}

/// The client and the event of a hook's command.
fn event_of(command: &str) -> impl Iterator<Item = &str> {
    command.split_whitespace().skip_while(|word| *word != "hook").skip(1).take(2)
}

/// The first hook of restitch in a value for whose command `is_wanted` holds: the steps to the
/// command, and the command.
fn hook_in<'v>(value: &'v Value, is_wanted: &dyn Fn(&str) -> bool) -> Option<(Vec<Step>, &'v str)> {
    let within = |step: Step, value: &'v Value| {
        let (mut steps, command) = hook_in(value, is_wanted)?;
        steps.insert(0, step);
        Some((steps, command))
    };
    match value {
        Value::Object(fields) => {
            let command = fields.get("command").and_then(Value::as_str);
            if let Some(command) = command.filter(|text| is_hook(text) && is_wanted(text)) {
                return Some((vec![Step::Key("command".to_owned())], command));
            }
            fields.iter().find_map(|(key, value)| within(Step::Key(key.clone()), value))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| within(Step::Index(index), item))
        }
        _ => None,
    }
}

/// Whether a setting is the same as ours: the same text, or the same hook, which may answer `allow`
/// although ours may not.
pub(super) fn is_as_good(theirs: &str, ours: &str) -> bool {
    theirs == ours || is_hook(ours) && theirs.replacen(APPROVE, "", 1) == ours
}

/// Whether a command is a hook of restitch.
pub(super) fn is_hook(command: &str) -> bool {
    command.strip_prefix("npx -y ").unwrap_or(command).starts_with("restitch hook ")
}
