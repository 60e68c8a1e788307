//! A file, and the mistakes that a call may have, for the benchmarks.

use std::time::Duration;

/// How long this thread has run. It does not count what else the machine did in between, as a clock
/// would; where a system has no such measure, it is a clock.
pub(crate) fn run_time() -> Duration {
    #[cfg(unix)]
    return rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime)
        .try_into()
        .unwrap_or_default();
    #[cfg(not(unix))]
    {
        static START: std::sync::LazyLock<std::time::Instant> =
            std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

/// A file of about `bytes` bytes with lines that resemble code; as Rust, it parses.
pub(crate) fn file(bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 100);
    out.push_str("fn start() {\n");
    let mut n = 0_u64;
    while out.len() < bytes {
        n += 1;
        let depth = "    ".repeat((n % 4) as usize);
        let word = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        out.push_str(&format!("{depth}let value_{word} = compute_{n}(value_{}, {n});\n", n % 97));
        if n.is_multiple_of(27) {
            out.push_str(&format!("}}\n\n// a note on what's > below\nfn step_{n}() {{\n"));
        }
    }
    out.push_str("}\n");
    out
}

pub(crate) type Mutation = fn(&str) -> String;

/// For each rung of the ladder, a change of a text of the file that this rung forgives.
pub(crate) const MUTATIONS: &[(&str, Mutation)] = &[
    ("exact", str::to_owned),
    ("unescaped", |s| s.replace('\n', "\\n")),
    ("line_endings", |s| s.replace('\n', "\r\n")),
    ("line_numbers", |s| numbered(s)),
    ("diff_markers", |s| lines(s, |l| format!("-{l}"))),
    ("code_fence", |s| format!("```\n{s}```\n")),
    ("html_entities", |s| s.replace('>', "&gt;")),
    ("outer_blank_lines", |s| format!("\n\n{s}\n\n")),
    ("trailing_blanks", |s| s.replace(";\n", ";  \n")),
    ("look_alikes", |s| s.replace('\'', "\u{2019}")),
    ("indentation", |s| lines(s, |l| format!("  {l}"))),
    ("look_alikes_and_indentation", |s| lines(&s.replace('\'', "\u{2019}"), |l| format!("  {l}"))),
    ("blank_lines", |s| s.replacen(";\n", ";\n\n", 1)),
    ("spacing", |s| s.replace(", ", ",")),
    ("punctuation", |s| s.replace(";\n", "\n")),
    ("reflowed", |s| s.replacen(", ", ",\n        ", 1)),
    ("elided", |s| {
        let lines: Vec<&str> = s.lines().collect();
        // The first line is a comment that is in many places of the file.
        format!("{}\n// ... existing code ...\n{}\n", lines[1], lines[lines.len() - 1])
    }),
    ("aligned", |s| s.replacen("// a note on", "// something about", 1)),
    ("already_applied", |s| s.replace("let", "old")),
    ("absent", |s| s.replace("compute", "missing")),
];

/// The strings of a call that changes the first of six lines in the middle of a text, with a mistake.
pub(crate) fn call(text: &str, name: &str, mutate: Mutation) -> (String, String) {
    // An item whose first line is deeper than its head, so that a placeholder stays in its block.
    let middle = text.len() / 2;
    let head = text[middle..].find("() {\n    let").map_or(middle, |head| middle + head);
    let at = text[..head].rfind("}\n\n").map_or(0, |end| end + 3);
    let lines_there: String = text[at..].lines().take(6).map(|line| format!("{line}\n")).collect();
    let old = mutate(&lines_there);
    let changed = old.replacen("let", "let mut", 1);
    let new = match name {
        "already_applied" => lines_there,
        "diff_markers" => lines(&changed, |line| line.replacen('-', "+", 1)),
        _ => changed,
    };
    (old, new)
}

/// The text with each line changed.
pub(crate) fn lines(text: &str, each: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| each(line) + "\n").collect()
}

fn numbered(text: &str) -> String {
    (12..).zip(text.lines()).map(|(n, line)| format!("{n}|{line}\n")).collect()
}
