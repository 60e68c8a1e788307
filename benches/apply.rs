//! Measures one call of the pure function in a file of 25 KB: an exact edit, and one whose
//! `old_str` has no indentation. Prints the size of the file and two medians in microseconds, which
//! `bindings/bench/run.sh` compares with those of the bindings.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a bench prints and may stop")]

use std::time::Instant;

use restitch::{EditRequest, apply};

fn main() {
    let block = |n: usize| {
        format!(
            "func step{n}(c *Conn) error {{\n\tfor {{\n\t\tif err := c.Next{n}(); err != nil {{\n\t\t\treturn err\n\t\t}}\n\t}}\n}}\n\n"
        )
    };
    let text: String = (0..).map(block).take(250).collect();
    let exact = ("\t\tif err := c.Next125(); err != nil {", "\t\tif err := c.Last(); err != nil {");
    let shallow = (
        "if err := c.Next125(); err != nil {\n\treturn err\n}",
        "if err := c.Last(); err != nil {\n\treturn err\n}",
    );
    println!("{}", text.len());
    for (old, new) in [exact, shallow] {
        let call = EditRequest::new(old, new).for_path("a.go");
        let mut times: Vec<_> = (0..400)
            .map(|_| {
                let start = Instant::now();
                let done = apply(&text, &call).expect("applied");
                let took = start.elapsed();
                assert!(done.text.contains("c.Last()"));
                took
            })
            .collect();
        times.sort();
        println!("{:.1}", times[times.len() / 2].as_secs_f64() * 1e6);
    }
}
