//! The help texts: the everyday commands, with examples for each and the flags that mean something
//! there. The other commands are listed by `dev`.

use clap::{Command, CommandFactory as _};

use super::args::Cli;

/// Example calls of each command, one on each line.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "edit",
        "restitch edit src/main.rs --old 'let x = 1;' --new 'let x = 2;'\n\
         restitch edit app.py --old-file old.txt --new-file new.txt --dry-run\n\
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
    ("log", "restitch log"),
    ("undo", "restitch undo\nrestitch undo 17 --dry-run"),
    (
        "mcp",
        "restitch mcp\nrestitch mcp --tools edit_file,read_file\nrestitch mcp --http 127.0.0.1:8484",
    ),
    ("hook", "restitch hook claude PreToolUse < event.json"),
    ("agent", "restitch agent 'Rename open() to connect() in src' --model gpt-5-mini"),
    ("schema", "restitch schema anthropic > tools.json"),
    ("harness", "restitch harness mine ~/.claude/projects\nrestitch harness run fixtures"),
    ("demo", "restitch demo"),
    (
        "init",
        "restitch init claude\nrestitch init codex --write --allow-edits\nrestitch init cursor",
    ),
    ("doctor", "restitch doctor\nrestitch doctor --client claude"),
    (
        "completions",
        "restitch completions bash > ~/.local/share/bash-completion/completions/restitch",
    ),
];

/// Whether a flag of every command means nothing to this one. Scripts may give it nevertheless.
fn means_nothing(command: &str, flag: &str) -> bool {
    match command {
        "schema" | "completions" | "demo" => true,
        "read" | "search" | "undo" | "log" | "check" | "init" | "harness" => {
            matches!(flag, "no_model" | "model" | "base_url")
        }
        _ => false,
    }
}

/// The command line with examples in its help, and with the commands of `dev` listed only there.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    // From here on, each command has its own copies of the flags of every command.
    command.build();
    let with_examples = |command: Command| {
        let name = command.get_name().to_owned();
        let command = command.mut_args(|flag| {
            let is_hidden = flag.is_global_set() && means_nothing(&name, flag.get_id().as_str());
            if is_hidden { flag.hide(true) } else { flag }
        });
        match EXAMPLES.iter().find(|(of, _)| *of == name) {
            Some((_, examples)) => command.after_help(format!("Examples:\n{}", indented(examples))),
            None => command,
        }
    };
    let names = |command: &Command| -> Vec<String> {
        let names = command.get_subcommands().map(|command| command.get_name().to_owned());
        names.filter(|name| name != "help").collect()
    };
    let further = command.find_subcommand("dev").map(names).unwrap_or_default();
    for name in names(&command) {
        let is_further = further.contains(&name);
        command = command.mut_subcommand(&name, |command| with_examples(command).hide(is_further));
    }
    command.mut_subcommand("dev", |dev| {
        further.iter().fold(dev, |dev, name| dev.mut_subcommand(name, with_examples))
    })
}

/// The lines, each indented by two spaces.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_commands_are_listed_and_every_one_has_an_example() {
        let command = command();
        let is_group = |name: &str| matches!(name, "harness" | "dev" | "help");
        let listed = command.get_subcommands().filter(|command| !command.is_hide_set());
        let everyday = listed.filter(|command| !is_group(command.get_name()));
        assert_eq!(everyday.count(), 9);
        let names = command.get_subcommands().map(Command::get_name);
        for name in names.filter(|name| !matches!(*name, "dev" | "help")) {
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
