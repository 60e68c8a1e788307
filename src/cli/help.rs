//! The parser with its help texts: the everyday commands, with examples for each. The other commands
//! are listed by `dev`.

use std::ffi::OsString;

use clap::{Command, CommandFactory as _, FromArgMatches as _};

use super::args::{Cli, Common};

/// Example calls, one on each line.
const EXAMPLES: &str = include_str!("examples.txt");

/// The example calls of a command.
fn examples_of(command: &str) -> impl Iterator<Item = &'static str> {
    EXAMPLES.lines().filter(move |line| {
        let call = line.rsplit(" | ").next().unwrap_or(line);
        call.split(' ').nth(1) == Some(command)
    })
}

/// The command line with examples in its help, and with the commands of `dev` listed only there.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    let with_examples = |command: Command| {
        let examples = examples_of(command.get_name()).map(|line| format!("\n  {line}"));
        let examples: Vec<String> = examples.collect();
        match examples.is_empty() {
            true => command,
            false => command.after_help(format!("Examples:{}", examples.concat())),
        }
    };
    let names = |command: &Command| -> Vec<String> {
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect()
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

/// The command that the arguments call, and its flags of [`Common`].
pub(super) fn parse(arguments: &[OsString]) -> Result<(Cli, Common), clap::Error> {
    let command = command();
    let arguments = command_first(&command, arguments.to_vec());
    let matches = command.try_get_matches_from(arguments)?;
    let mut innermost = &matches;
    while let Some((_, named)) = innermost.subcommand() {
        innermost = named;
    }
    Ok((Cli::from_arg_matches(&matches)?, Common::of(innermost)))
}

/// The arguments, with the flags that stand before the command behind it.
fn command_first(mut command: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let (mut at, mut names) = (1, 1);
    while let Some(word) = arguments.get(at).and_then(|word| word.to_str()) {
        if let Some(named) = command.find_subcommand(word) {
            arguments[names..=at].rotate_right(1);
            (command, names) = (named, names + 1);
        } else if matches!(word, "--root" | "--model" | "--base-url" | "--config") {
            at += 1;
        } else if !word.starts_with("--") {
            break;
        }
        at += 1;
    }
    arguments
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

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

    /// The commands that do something, by the words that call them.
    fn leaves(command: &Command, words: &[&str], found: &mut Vec<(String, Command)>) {
        for inner in command.get_subcommands() {
            let words = [words, &[inner.get_name()]].concat();
            match inner.has_subcommands() {
                true => leaves(inner, &words, found),
                false => found.push((words.join(" "), inner.clone())),
            }
        }
    }

    #[test]
    fn each_command_takes_the_common_flags_that_it_reads_and_refuses_the_others() {
        let (mut commands, mut refused) = (Vec::new(), String::new());
        leaves(&command(), &["restitch"], &mut commands);
        let flags = ["--root=x", "--json", "--no-model", "--model=x", "--base-url=x", "--config=x"];
        for (words, leaf) in commands.iter().filter(|(words, _)| !words.contains(" dev ")) {
            refused += &format!("{}:", words.replace("restitch ", ""));
            for flag in flags {
                let name = flag.trim_start_matches("--").trim_end_matches("=x");
                let is_shown = leaf.get_arguments().any(|arg| arg.get_long() == Some(name));
                let before = words.replacen("restitch", &format!("restitch {flag}"), 1);
                for call in [format!("{words} {flag}"), before] {
                    let call: Vec<OsString> = call.split(' ').map(OsString::from).collect();
                    let error = parse(&call).err().map(|error| error.kind());
                    let is_taken = error != Some(ErrorKind::UnknownArgument);
                    assert_eq!(is_taken, is_shown, "{call:?}: {error:?}");
                }
                refused += &if is_shown { String::new() } else { format!(" {name}") };
            }
            refused.push('\n');
        }
        let wanted = "edit:\nbatch:\nread: model base-url\nsearch: model base-url\nundo: model base-url\nlog: model base-url\nmcp: json\ninit: model base-url\ndoctor:\nharness run: model base-url config\nharness bless: model base-url config\nharness report: json model base-url config\nharness mine: model base-url config\napply: model base-url\ncheck: model base-url\ndemo: root model base-url config\nagent:\nhook: json\nschema: root json no-model model base-url config\ncompletions: root json no-model model base-url config\n";
        assert_eq!(refused, wanted);
    }

    #[test]
    fn flags_before_the_command_are_those_behind_it() {
        let parsed = |call: &str| {
            let call: Vec<OsString> = call.split(' ').map(OsString::from).collect();
            format!("{:?}", parse(&call).map_err(|error| error.kind()))
        };
        for (before, behind) in [
            ("--root edit --json log a", "log --root edit --json a"),
            ("--json harness --root=x mine y", "harness mine --json --root=x y"),
            ("--root x dev --json check y", "dev check --root x --json y"),
            ("--config a mcp --http log", "mcp --config a --http log"),
        ] {
            let [before, behind] = [before, behind].map(|call| parsed(&format!("restitch {call}")));
            assert!(before.starts_with("Ok"), "{before}");
            assert_eq!(before, behind);
        }
        for call in ["restitch --root log", "restitch --root x", "restitch --frob log"] {
            assert_eq!(parsed(call), "Err(UnknownArgument)");
        }
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
