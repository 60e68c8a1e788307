//! The help texts: commands in groups, the everyday ones first, with examples for each.

use clap::{Command, CommandFactory as _};

use super::args::Cli;

/// The commands, grouped by purpose.
const GROUPS: &[(&str, &[&str])] = &[
    ("Edit", &["edit", "apply", "batch"]),
    ("Look", &["read", "search", "check", "log"]),
    ("Undo", &["undo"]),
    ("Agents", &["mcp", "hook", "agent", "schema"]),
    ("Failed edits", &["harness"]),
    ("Setup", &["demo", "init", "doctor", "completions", "man"]),
];

/// Example calls of each command, one on each line.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "edit",
        "restitch edit src/main.rs --old 'let x = 1;' --new 'let x = 2;'\n\
         restitch edit app.py --old @old.txt --new @new.txt --dry-run\n\
         restitch edit - --language ts --old 'a' --new 'b' < in.ts > out.ts",
    ),
    ("apply", "restitch apply change.patch\nrestitch apply - < change.patch"),
    (
        "batch",
        "echo '{\"arguments\": {\"path\": \"a.rs\", \"old_str\": \"a\", \"new_str\": \"b\"}}' | restitch batch",
    ),
    (
        "read",
        "restitch read src/main.rs --ranges 10-40\nrestitch read src/main.rs --style hashline",
    ),
    ("search", "restitch search 'fn main'\nrestitch search retry backoff --path src"),
    ("check", "restitch check src tests"),
    ("log", "restitch log\nrestitch log --stats"),
    ("undo", "restitch undo\nrestitch undo 17 --dry-run"),
    (
        "mcp",
        "restitch mcp\nrestitch mcp --tools edit_file,read_file\nrestitch mcp --http 127.0.0.1:8484\n\
         restitch mcp --root s3://bucket/prefix",
    ),
    ("hook", "restitch hook claude PreToolUse < event.json"),
    ("agent", "restitch agent 'Rename open() to connect() in src' --model gpt-5-mini"),
    ("schema", "restitch schema anthropic > tools.json"),
    ("harness", "restitch harness mine ~/.claude/projects\nrestitch harness run fixtures"),
    ("demo", "restitch demo"),
    (
        "init",
        "restitch init claude\nrestitch init codex --write --allow-edits\nrestitch init codex --remove --write",
    ),
    ("doctor", "restitch doctor\nrestitch doctor --client claude"),
    (
        "completions",
        "restitch completions bash > ~/.local/share/bash-completion/completions/restitch",
    ),
    ("man", "restitch man ~/.local/share/man/man1"),
];

/// The command line with the groups and examples in its help.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    for (name, examples) in EXAMPLES {
        command = command.mut_subcommand(name, |command| {
            command.after_help(format!("Examples:\n{}", indented(examples)))
        });
    }
    let commands = groups(&command);
    command.help_template(format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{commands}Options, for every command:\n{{options}}\n"
    ))
}

/// The lines, each indented by two spaces.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

/// The list of commands by group, each with the first line of its help.
fn groups(command: &Command) -> String {
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut out = String::new();
    for (title, names) in GROUPS {
        out.push_str(&format!("{title}:\n"));
        for name in *names {
            out.push_str(&format!("  {name:<12} {}\n", about(name)));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_an_example() {
        let command = Cli::command();
        let all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(grouped.len(), all.len(), "{all:?}");
        grouped.retain(|name| all.contains(name));
        assert_eq!(grouped.len(), all.len(), "{all:?}");
        for name in all {
            assert!(EXAMPLES.iter().any(|(command, _)| *command == name), "{name} has no example");
        }
    }

    /// The words of a line as a shell takes them, up to the first pipe or redirection.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().expect("a word").push(c),
            }
        }
        words.into_iter().take_while(|word| !matches!(word.as_str(), "<" | ">")).collect()
    }

    #[test]
    fn examples_are_calls_that_are_understood() {
        for (name, examples) in EXAMPLES {
            for line in examples.lines() {
                let call = line.rsplit(" | ").next().expect("a call");
                let parsed = command().try_get_matches_from(words(call));
                let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(parsed.subcommand_name(), Some(*name), "{line}");
            }
        }
    }
}
