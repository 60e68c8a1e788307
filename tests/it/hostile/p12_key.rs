//! The key of the model's server, and the password in its address.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use serde_json::json;

use super::{Sandbox, finish};

const KEY: &str = "sk-proj-aVeryLongKeyThatMustNotLeave0123456789";

/// Where a server tells whatever it was sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Tells {
    InItsError,
    AsItsAnswer,
}

/// A server that tells whatever it was sent; its address.
fn echo(tells: Tells) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let address = listener.local_addr().expect("address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().expect("clone"));
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                if let Some(number) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
                    length = number.trim().parse().unwrap_or(0);
                }
                head.push_str(line.trim_end());
                head.push(' ');
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let (status, body) = match tells {
                Tells::InItsError => {
                    let error = json!({ "error": { "message": format!("bad request: {head}") } });
                    ("400 Bad Request", error)
                }
                Tells::AsItsAnswer => {
                    let message = json!({ "role": "assistant", "content": head });
                    ("200 OK", json!({ "choices": [{ "index": 0, "message": message }] }))
                }
            };
            let text = body.to_string();
            let mut stream = stream;
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}",
                text.len()
            );
        }
    });
    address
}

#[test]
fn a_server_that_echoes_the_key_puts_it_nowhere_and_is_asked_without_a_proxy() {
    let sandbox = Sandbox::new();
    sandbox.write("f.rs", "fn total(items: &[Item]) -> f64 {\n    items.iter().sum()\n}\n");
    let address = echo(Tells::InItsError);
    let url = format!("http://someone:a-password-of-mine@{address}/v1");
    let old = "fn totals(item: &Item) -> u8 {\n    item.sum(3)";
    for args in [
        &["edit", "f.rs", "--old", old, "--new", "x", "--json"][..],
        &["edit", "f.rs", "--old", old, "--new", "x"],
        &["doctor"],
        &["doctor", "--json"],
    ] {
        let mut command = sandbox.restitch(args);
        command
            .env("OPENAI_API_KEY", KEY)
            .env("OPENAI_BASE_URL", &url)
            .env("RESTITCH_MODEL", "m")
            .env("RESTITCH_LOG", "debug")
            .env("http_proxy", "http://127.0.0.1:9")
            .env("HTTP_PROXY", "http://127.0.0.1:9")
            .env("ALL_PROXY", "http://127.0.0.1:9");
        let out = finish(command, b"");
        let said = [out.stdout, out.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains(KEY), "{args:?}: {said}");
        assert!(!said.contains("a-password-of-mine"), "{args:?}: {said}");
        assert!(said.contains("400"), "the server was reached: {args:?}: {said}");
    }
}

#[test]
fn a_model_that_repeats_the_key_does_not_bring_it_into_the_agents_words() {
    let sandbox = Sandbox::new().with("f.rs", "fn f() {}\n");
    let url = format!("http://{}/v1", echo(Tells::AsItsAnswer));
    for args in [&["agent", "Do it"][..], &["agent", "Do it", "--json"]] {
        let mut command = sandbox.restitch(args);
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &url).env("RESTITCH_MODEL", "m");
        let out = finish(command, b"");
        let said = [out.stdout, out.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains("says: ") && said.contains("[redacted]"), "{args:?}: {said}");
        // Nor the half of it where the words are cut.
        assert!(!said.contains(&KEY[..12]), "{args:?}: {said}");
    }
}
