//! The help texts: the everyday commands, with examples for each and the flags that mean something
//! there. The other commands are listed by `dev`.

use clap::{Command, CommandFactory as _};

use super::args::Cli;

/// Example calls, one on each line.
const EXAMPLES: &str = include_str!("examples.txt");

/// The example calls of a command.
fn examples_of(command: &str) -> impl Iterator<Item = &'static str> {
    EXAMPLES.lines().filter(move |line| {
        let call = line.rsplit(" | ").next().unwrap_or(line);
        call.split(' ').nth(1) == Some(command)
    })
}

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
        let examples: Vec<String> = examples_of(&name).map(|line| format!("\n  {line}")).collect();
        match examples.is_empty() {
            true => command,
            false => command.after_help(format!("Examples:{}", examples.concat())),
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
            assert!(examples_of(name).next().is_some(), "{name} has no example");
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
        for line in EXAMPLES.lines() {
            let call = line.rsplit(" | ").next().expect("a call");
            let parsed = command().try_get_matches_from(words(call));
            parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}
