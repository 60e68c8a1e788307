//! What it costs to parse a file of 25 KB before and after an edit: read whole, with the old tree
//! at hand, and with an error. Prints medians in milliseconds.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a bench prints and may stop")]

use std::time::Instant;

use restitch::adapters::syntax::TreeSitter;
use restitch::edit::Splice;
use restitch::port::Syntax as _;

fn main() {
    let go = |n: usize| {
        format!(
            "func step{n}(c *Conn) error {{\n\tfor {{\n\t\tif err := c.Next{n}(); err != nil {{\n\t\t\treturn err\n\t\t}}\n\t}}\n}}\n\n"
        )
    };
    let rust = |n: usize| {
        format!(
            "fn step{n}(c: &Conn) -> Result<(), Error> {{\n    for item in c.items() {{\n        item.next({n})?;\n    }}\n    Ok(())\n}}\n\n"
        )
    };
    let python = |n: usize| {
        format!(
            "def step{n}(c: Conn) -> None:\n    for item in c.items():\n        item.next({n})\n\n\n"
        )
    };
    let file = |head: &str, block: &dyn Fn(usize) -> String| {
        let mut text = head.to_owned();
        let mut at = 0;
        while text.len() < 25_000 {
            text.push_str(&block(at));
            at += 1;
        }
        text
    };
    println!(
        "{:<8}{:>8}{:>16}{:>16}{:>16}",
        "", "bytes", "both, afresh", "old tree kept", "with an error"
    );
    for (path, text) in [
        ("a.go", file("package a\n\n", &go)),
        ("a.rs", file("", &rust)),
        ("a.py", file("", &python)),
    ] {
        let at = text.find("100").expect("a block in the middle");
        let median = |new: &str, kept: bool| {
            let splice = Splice { range: at..at + 3, text: new.to_owned() };
            let mut times: Vec<_> = (0..60)
                .map(|run| {
                    let parser = TreeSitter::new();
                    // Another text each time, or its tree would be at hand as well.
                    let splice = Splice { text: format!("{}{run}", splice.text), ..splice.clone() };
                    let after = [&text[..at], &splice.text, &text[at + 3..]].concat();
                    if kept {
                        assert!(parser.errors(path, &text).expect("parsed").is_empty());
                    }
                    let start = Instant::now();
                    let check = parser.compare(path, &text, &after, &[splice]);
                    let took = start.elapsed();
                    assert!(check.checked);
                    took
                })
                .collect();
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        };
        println!(
            "{path:<8}{:>8}{:>13.2} ms{:>13.2} ms{:>13.2} ms",
            text.len(),
            median("1", false),
            median("1", true),
            median("1 } (", false)
        );
    }
}
