//! A file, and the mistakes that a call may have, for the benchmarks.

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

/// The text with each line changed.
pub(crate) fn lines(text: &str, each: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| each(line) + "\n").collect()
}

fn numbered(text: &str) -> String {
    (12..).zip(text.lines()).map(|(n, line)| format!("{n}|{line}\n")).collect()
}
