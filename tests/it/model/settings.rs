//! The configuration and the environment, as their pages in the reference describe them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::server::ModelServer;
use super::wire::{Bench, good_server as server, restitch};
use super::*;
use crate::sandbox::{finish, folder_with, put};
use crate::says::says;

/// A configuration with these lines about the model, which is at the server.
fn model(server: &ModelServer, lines: &str) -> String {
    let name = if lines.contains("name = ") { "" } else { "name = \"m\"" };
    format!("[model]\n{lines}\nbase_url = \"{}\"\n{name}\n", server.base_url())
}

/// The model's name in the last request.
fn asked(server: &ModelServer) -> Value {
    server.seen().last().expect("asked").body["model"].clone()
}

/// The call that needs a model.
const CALL: [&str; 5] = ["lib.rs", "--old", OLD, "--new", NEW];

/// The edit that needs a model, dry, with a configuration of this content.
fn edit(bench: &Bench, config: &str, change: &dyn Fn(&mut Command)) -> (Value, Output) {
    call(bench, config, &CALL, change)
}

/// A dry edit. The configuration is in a folder of its own: a folder with files of others keeps
/// no state.
fn call(
    bench: &Bench,
    config: &str,
    arguments: &[&str],
    change: &dyn Fn(&mut Command),
) -> (Value, Output) {
    let folder = folder_with(&[("restitch/config.toml", config)]);
    let mut command = restitch(bench.root.path(), bench.state.path());
    command.env("XDG_CONFIG_HOME", folder.path()).arg("edit").args(arguments).arg("--dry-run");
    change(&mut command);
    let output = command.output().expect("runs");
    (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
}

#[test]
fn a_flag_goes_before_a_variable_and_a_variable_before_the_file() {
    let bench = Bench::with("lib.rs", FILE);
    let (file, variable, flag) = (server(), server(), server());
    let config = model(&file, "name = \"of-the-file\"");
    let set = |command: &mut Command| {
        command.env("OPENAI_BASE_URL", variable.base_url()).env("RESTITCH_MODEL", "of-a-variable");
    };
    edit(&bench, &config, &|_| {});
    assert_eq!(asked(&file), "of-the-file");
    edit(&bench, &config, &set);
    assert_eq!(asked(&variable), "of-a-variable");
    edit(&bench, &config, &|command| {
        set(command);
        command.args(["--model", "of-a-flag", "--base-url", &flag.base_url()]);
    });
    assert_eq!(asked(&flag), "of-a-flag");
    assert_eq!([&file, &variable, &flag].map(|server| server.seen().len()), [2, 2, 2]);
}

#[test]
fn the_file_is_looked_for_in_the_order_of_the_page() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let beside = tempfile::tempdir().expect("folder");
    let (flag, variable) = (beside.path().join("flag.toml"), beside.path().join("variable.toml"));
    for name in [
        "flag.toml",
        "variable.toml",
        "xdg/restitch/config.toml",
        "home/.config/restitch/config.toml",
    ] {
        put(&beside.path().join(name), model(&server, &format!("name = \"{name}\"")));
    }
    let run = |change: &dyn Fn(&mut Command)| {
        let mut command = restitch(bench.root.path(), bench.state.path());
        command.env_remove("XDG_CONFIG_HOME").env("HOME", beside.path().join("home"));
        command.args(["edit", "lib.rs", "--old", OLD, "--new", NEW, "--dry-run"]);
        change(&mut command);
        command.output().expect("runs");
        asked(&server)
    };
    let xdg = |command: &mut Command| _ = command.env("XDG_CONFIG_HOME", beside.path().join("xdg"));
    let named = |command: &mut Command| _ = command.env("RESTITCH_CONFIG", &variable);
    assert_eq!(run(&|_| {}), "home/.config/restitch/config.toml");
    assert_eq!(run(&xdg), "xdg/restitch/config.toml");
    assert_eq!(run(&|command| (xdg(command), named(command)).0), "variable.toml");
    let all = |command: &mut Command| {
        xdg(command);
        named(command);
        command.arg("--config").arg(&flag);
    };
    assert_eq!(run(&all), "flag.toml");
}

/// A workspace chooses no model, not even where it is the home folder: the file in its usual place
/// is ignored there, and one that is named is an error.
#[test]
fn a_file_in_its_usual_place_is_ignored_inside_the_workspace() {
    let (home, state, server) = (tempfile::tempdir(), tempfile::tempdir(), server());
    let (home, state) = (home.expect("folder"), state.expect("folder"));
    let file = home.path().join(".config/restitch/config.toml");
    put(&file, model(&server, "name = \"theirs\""));
    let run = |root: &Path, change: &dyn Fn(&mut Command)| {
        put(&root.join("lib.rs"), FILE);
        let mut command = restitch(root, state.path());
        command.env_remove("XDG_CONFIG_HOME").env("HOME", home.path());
        command.args(["edit", "lib.rs", "--old", OLD, "--new", NEW]);
        change(&mut command);
        let output = command.output().expect("runs");
        let told = String::from_utf8_lossy(&output.stderr).contains("is inside the workspace");
        (output.status.code(), told, server.seen().len())
    };
    assert_eq!(run(home.path(), &|_| {}), (Some(1), true, 0));
    assert_eq!(run(home.path(), &|command| _ = command.env("RESTITCH_CONFIG", &file)).0, Some(2));
    assert_eq!(run(&home.path().join("project"), &|_| {}), (Some(0), false, 2));
}

/// `doctor` says of each setting of the model where it comes from.
#[test]
fn doctor_says_where_the_settings_of_the_model_come_from() {
    let (bench, server) = (Bench::with("lib.rs", FILE), server());
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("my.toml");
    fs::write(&file, model(&server, "name = \"of-the-file\"")).expect("written");
    let said = |change: &dyn Fn(&mut Command)| {
        let mut command = restitch(bench.root.path(), bench.state.path());
        command.arg("--config").arg(&file).env("OPENAI_API_KEY", "a-key-of-the-tests");
        change(&mut command);
        let output = command.arg("doctor").output().expect("runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!text.contains("a-key-of-the-tests"), "{text}");
        text
    };
    let name = file.display();
    let text = said(&|_| {});
    assert!(text.contains(&format!("base_url from {name}")), "{text}");
    assert!(text.contains(&format!("model from {name}")), "{text}");
    assert!(text.contains("of-the-file at "), "{text}");
    let text = said(&|command| _ = command.env("RESTITCH_MODEL", "of-a-variable"));
    says(&text, &["of-a-variable at ", "model from RESTITCH_MODEL"]);
    let text = said(&|command| _ = command.args(["--model", "of-a-flag"]));
    assert!(text.contains("of-a-flag at ") && text.contains("model from --model"), "{text}");
}

#[test]
fn an_unknown_key_or_value_is_named_with_its_line() {
    let bench = Bench::with("lib.rs", FILE);
    for (config, line, word) in [
        ("[modell]\n", 1, "modell"),
        ("[model]\nnaem = \"x\"\n", 2, "naem"),
        ("[syntax]\nmod = \"off\"\n", 2, "mod"),
        ("[server]\ndrian = 3\n", 2, "drian"),
        ("[syntax]\nmode = \"loud\"\n", 2, "loud"),
    ] {
        let (_, output) = edit(&bench, config, &|_| {});
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{config}: {text}");
        assert!(
            text.contains(&format!("line {line}: ")) && text.contains(word),
            "{config}: {text}"
        );
    }
    // Seconds up to ten minutes.
    let server = server();
    for key in ["timeout", "timeout = 600\nfirst_byte_timeout"] {
        let (_, output) = edit(&bench, &model(&server, &format!("{key} = 601")), &|_| {});
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{key}: {text}");
        assert!(text.contains("up to 600"), "{key}: {text}");
        let (reply, _) = edit(&bench, &model(&server, &format!("{key} = 600")), &|_| {});
        assert_eq!(reply["ok"], true, "{key}: {reply}");
    }
    for (lines, said) in [
        ("timeout = 5\nfirst_byte_timeout = 6", "more than model.timeout"),
        ("prompts = \"/no/such\"", "not a folder"),
        ("[server]\ndrain = -1\n[model]", "server.drain is -1"),
    ] {
        let config = model(&server, lines).replacen("[model]\n[server]", "[server]", 1);
        let (_, output) = edit(&bench, &config, &|_| {});
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{lines}: {text}");
        assert!(text.contains(said), "{lines}: {text}");
    }
}

#[test]
fn the_key_comes_from_a_variable_or_from_the_file() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    for (lines, header) in [
        ("api_key_env = \"MY_KEY\"", "Bearer of-my-variable"),
        ("api_key = \"of-the-file\"", "Bearer of-the-file"),
        ("api_key_env = \"MY_KEY\"\napi_key = \"of-the-file\"", "Bearer of-my-variable"),
    ] {
        edit(&bench, &model(&server, lines), &|command| {
            command.env("MY_KEY", "of-my-variable");
        });
        let seen = server.seen();
        let last = seen.last().expect("asked");
        assert_eq!(last.header("authorization"), Some(header), "{lines}");
    }
}

#[test]
fn the_model_is_switched_off() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let kinds = |lines: &str| -> Vec<&'static str> {
        let before = server.seen().len();
        edit(&bench, &model(&server, lines), &|_| {});
        server.seen()[before..].iter().map(|seen| seen.kind()).collect()
    };
    assert_eq!(kinds(""), ["correct_old", "adjust_new"]);
    assert_eq!(kinds("enabled = true"), ["correct_old", "adjust_new"]);
    assert_eq!(kinds("enabled = false"), [""; 0]);
    assert_eq!(kinds("name = \"\""), [""; 0]);
    let (_, output) = edit(&bench, &model(&server, ""), &|command| {
        command.args(["--model", ""]);
    });
    assert_eq!(output.status.code(), Some(2), "an empty name is none to ask");
    // A call with two possible results.
    bench.put("say.js", "say(\"hi\");\n");
    let arguments = ["say.js", "--old", "say(`hi`);", "--new", "say(`hi ${name}`);"];
    let (reply, _) = call(&bench, &model(&server, ""), &arguments, &|_| {});
    assert_eq!(reply["code"], "EDIT_AMBIGUOUS", "{reply}");
    assert_eq!(server.seen().last().map(|seen| seen.kind()), Some("choose"));
}

/// A key or a server that is there for other programs is no consent: only a model that is named
/// is asked.
#[test]
fn a_key_and_a_server_alone_ask_nothing() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let run = |config: &str, change: &dyn Fn(&mut Command)| {
        let (reply, _) = edit(&bench, config, &|command| {
            command.env("OPENAI_API_KEY", "a-key").env("OPENAI_BASE_URL", server.base_url());
            change(command);
        });
        (reply["ok"] == true, server.seen().len())
    };
    assert_eq!(run("", &|_| {}), (false, 0));
    assert_eq!(run("[model]\napi_key = \"x\"\n", &|_| {}), (false, 0));
    assert_eq!(run("", &|command| _ = command.env("RESTITCH_MODEL", "")), (false, 0));
    assert_eq!(run("", &|command| _ = command.env("RESTITCH_MODEL", "m")), (true, 2));
    assert_eq!(run("[model]\nname = \"m\"\n", &|_| {}), (true, 4));
    assert_eq!(run("[model]\nname = \"m\"\n", &|c| _ = c.arg("--no-model")), (false, 4));
    // doctor says whether, and how to choose; and with a model, where to and what.
    let said = |change: &dyn Fn(&mut Command)| {
        let mut command = restitch(bench.root.path(), bench.state.path());
        command.env("OPENAI_API_KEY", "a-key").env("OPENAI_BASE_URL", server.base_url());
        change(&mut command);
        let output = command.arg("doctor").output().expect("runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(said(&|_| {}).contains("RESTITCH_MODEL"));
    let with = said(&|command| _ = command.env("RESTITCH_MODEL", "m"));
    assert!(with.contains(&format!("m at {}", server.base_url())), "{with}");
}

/// A hook asks no model that nobody named, whatever key the shell has.
#[test]
fn a_hook_asks_only_with_consent() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let hook = |model: Option<&str>| {
        let mut command = super::wire::plain(bench.root.path(), bench.state.path());
        command.env("OPENAI_API_KEY", "a-key").env("OPENAI_BASE_URL", server.base_url());
        if let Some(model) = model {
            command.env("RESTITCH_MODEL", model);
        }
        command.args(["hook", "claude"]);
        let tried = json!({"hook_event_name": "PreToolUse", "cwd": bench.root.path(), "tool_name": "Edit",
            "tool_input": {"file_path": "lib.rs", "old_string": OLD, "new_string": NEW}});
        let output = finish(command, tried.to_string().as_bytes());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!hook(None).contains("asking"));
    assert_eq!(server.seen().len(), 0);
    let said = hook(Some("m"));
    assert!(said.contains(&format!("restitch: asking m at {}", server.base_url())), "{said}");
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn prompts_are_replaced_and_more_files_are_never_sent() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let folder = tempfile::tempdir().expect("folder");
    let path = |folder: &Path| folder.display().to_string();
    let prompts = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    let text = fs::read_to_string(prompts.join("correct_old.md")).expect("prompt");
    let text = text.replacen("# system\n", "# system\nThese are my own words.\n", 1);
    fs::write(folder.path().join("correct_old.md"), text).expect("written");
    edit(&bench, &model(&server, &format!("prompts = '{}'", path(folder.path()))), &|_| {});
    let told = server.seen()[0].body.to_string();
    assert!(told.contains("These are my own words."), "{told}");

    let before = server.seen().len();
    let (reply, _) = edit(&bench, &model(&server, "never_send = [\"lib.rs\"]"), &|_| {});
    assert_eq!(reply["report"]["attempts"][0]["outcome"], "skipped", "{reply}");
    assert_eq!(server.seen().len(), before);
}

/// What is too large for a question of 8 KiB: a long call; and a file of more than 32 MiB.
#[test]
fn a_large_call_and_a_large_file_ask_nothing() {
    let long = EditRequest::new(OLD, format!("{NEW}{}", " // why".repeat(1 << 10)));
    let large = format!("{}{FILE}", format!("// {}\n", "x".repeat(1 << 20)).repeat(33));
    for (request, file, why) in
        [(&long, FILE, "too long"), (&request(), large.as_str(), "too large to be searched")]
    {
        let Step::Refused(refusal) = start(request, file) else { panic!("{why}") };
        assert_eq!(refusal.attempts[0].outcome.as_str(), "skipped", "{refusal}");
        assert!(refusal.attempts[0].detail.contains(why), "{}", refusal.attempts[0].detail);
    }
    assert!(matches!(start(&request(), FILE), Step::Ask(_)));
}

/// The state folder: what the variable names, then XDG's, then the one in the home folder.
#[test]
#[cfg_attr(windows, ignore = "Windows has folders of its own for it")]
fn the_state_folder_is_found_in_the_order_of_the_page() {
    let home = tempfile::tempdir().expect("folder");
    let bench = Bench::with("f", "0");
    let places = ["named", "xdg/restitch", ".local/state/restitch"].map(|at| home.path().join(at));
    for (number, wanted) in places.iter().enumerate() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_restitch"));
        command.env_clear().env("HOME", home.path()).arg("--root").arg(bench.root.path());
        if number < 2 {
            command.env("XDG_STATE_HOME", home.path().join("xdg"));
        }
        if number < 1 {
            command.env("RESTITCH_STATE_DIR", wanted);
        }
        let (old, new) = (number.to_string(), (number + 1).to_string());
        let output = command.args(["edit", "f", "--old", &old, "--new", &new]).output();
        assert!(output.expect("runs").status.success());
        for (at, place) in places.iter().enumerate() {
            assert_eq!(place.join("history").is_dir(), at <= number, "{}: {place:?}", number);
        }
    }
}

#[test]
fn logs_are_filtered_by_module() {
    let logs = |filter: &str| {
        let bench = Bench::with("lib.rs", FILE);
        let server = server();
        let (_, output) = bench.edit_with(&server, |command| command.env("RESTITCH_LOG", filter));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let from = |module: &str| text.lines().any(|line| line.contains(&format!(" {module}")));
        (from("restitch::correct"), from("restitch::engine"))
    };
    assert_eq!(logs("debug"), (true, true));
    assert_eq!(logs("restitch::correct=debug"), (true, false));
    assert_eq!(logs("restitch::engine=debug"), (false, true));
}

/// A password in the base URL is used, and stored nowhere.
#[test]
fn the_password_of_a_base_url_is_never_stored() {
    let bench = Bench::with("lib.rs", FILE);
    let server = server();
    let url = server.base_url().replacen("://", "://user:pass-of-the-url@", 1);
    let config = format!("[model]\nname = \"m\"\nbase_url = \"{url}\"\ndisk_cache = true\n");
    edit(&bench, &config, &|_| {});
    assert!(!server.seen().is_empty(), "the model is asked");
    let mut kept = crate::disk::names_below(bench.state.path());
    kept.retain(|name| Path::new(name).is_file());
    for name in &kept {
        let text = fs::read(name).expect("file");
        assert!(!String::from_utf8_lossy(&text).contains("pass-of-the-url"), "{name}");
    }
    assert!(!kept.is_empty(), "something is stored");
}
