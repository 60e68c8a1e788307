//! Laws that hold for every input, against naive oracles that share no code with the
//! engine.

use proptest::prelude::*;
use restitch::edit::{EditCode, EditPlan, EditRequest, Expected};
use restitch::internals::language::{Language, in_language};
use restitch::internals::matching::explain;
use restitch::internals::text::Snapshot;

use super::{apply, code};
use crate::random::Random;

/// Bytes that hurt: line breaks, a mark, invalid UTF-8, multi-byte characters.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let chunk = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\t".to_vec()),
        Just(b"  ".to_vec()),
        Just(b"\xFF".to_vec()),
        Just(b"\xC3".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just("é".as_bytes().to_vec()),
        Just("“x”".as_bytes().to_vec()),
        Just("日本".as_bytes().to_vec()),
        "[a-c(){};= ]{1,6}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(chunk, 0..24).prop_map(|chunks| chunks.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever is applied, the bytes outside the reported spans are the file's.
    #[test]
    fn bytes_outside_the_spans_are_identical(file in hostile_bytes(), old in "[a-c(){};= \\n\\t\"]{1,10}", new in "[a-d\\n ]{0,6}") {
        let Ok(snapshot) = Snapshot::decode(file.clone()) else { return Ok(()) };
        let Ok(explained) = explain(&EditRequest::new(old, new), &snapshot) else { return Ok(()) };
        let Ok(plan) = EditPlan::new(&snapshot, explained.splices) else { return Ok(()) };
        let Ok(after) = plan.bytes_after() else { return Ok(()) };
        let mut kept = Vec::new();
        let mut at = 0;
        for splice in plan.splices() {
            let range = snapshot.byte_range(splice.range.clone());
            kept.push(&file[at..range.start]);
            at = range.end;
        }
        kept.push(&file[at..]);
        let mut rest: &[u8] = &after;
        for (number, piece) in kept.iter().enumerate() {
            if number == 0 {
                prop_assert!(rest.starts_with(piece));
                rest = &rest[piece.len()..];
            } else if number + 1 == kept.len() {
                prop_assert!(rest.ends_with(piece));
            } else {
                let found = rest.windows(piece.len().max(1)).position(|w| w == *piece || piece.is_empty());
                prop_assert!(found.is_some());
                rest = &rest[found.unwrap_or(0) + piece.len()..];
            }
        }
    }

    /// Counting agrees with the standard library's non-overlapping count.
    #[test]
    fn all_means_all(file in "[ab\\n]{0,30}", old in "[ab]{1,3}") {
        let request = EditRequest::new(old.clone(), "X").expecting(Expected::All);
        match apply(&file, &request) {
            Ok((after, rung)) if rung == "exact" => prop_assert_eq!(after, file.replace(&old, "X")),
            Ok(_) => prop_assert!(!file.contains(&old)),
            Err(_) => prop_assert!(!file.contains(&old)),
        }
    }
}

/// What a strict fold finds equal, every laxer one accepts too: the same call with one
/// mistake more is still found at the same place.
#[test]
fn a_laxer_reading_finds_a_superset() {
    let file = "fn a() {\n    let x = call(1, \"two\");\n\n    done(x);\n}\n";
    let strict = "    let x = call(1, \"two\");\n\n    done(x);\n";
    let worse: [fn(&str) -> String; 5] = [
        |s| s.replace(";\n", ";  \n"),
        |s| s.replace("    ", "  "),
        |s| s.replace("\n\n", "\n"),
        |s| s.replace(", ", ","),
        |s| s.replace('"', "'"),
    ];
    let mut text = strict.to_owned();
    for spoil in worse {
        text = spoil(&text);
        let new = text.replace("done", "finish");
        let (after, rung) =
            apply(file, &EditRequest::new(text.clone(), new).for_path("a.rs")).expect("found");
        assert_eq!(after, file.replace("done", "finish"), "by {rung}");
    }
}

/// Texts of every kind: code, prose, data that looks binary, line endings of both kinds.
const TEXTS: &[(&str, &str)] = &[
    (
        "go",
        "package a\n\nfunc f(x int) error {\n\tif x > 1 {\n\t\treturn fmt.Errorf(\"a\\n%d\", x)\n\t}\n\treturn nil\n}\n",
    ),
    (
        "python",
        "class A:\n    \"\"\"Doc.\"\"\"\n\n    def f(self, x):\n        return x + 'y\\t'  # z\n\n\nprint(A().f(\"1\"))\n",
    ),
    ("rust", "fn main() {\r\n    let s = r#\"a\\n\"#;\r\n    println!(\"{s}\");\r\n}\r\n"),
    (
        "typescript",
        "export const a = (b: string) => `x ${b}`;\n// and so on\nconst re = /\\d+\\n/;\r\nlet c = 'd';\n",
    ),
    ("json", "{\n  \"a\": \"b\\n\",\n  \"c\": [1, 2, 3],\n  \"d\": {}\n}\n"),
    (
        "markdown",
        "# Title\n\n* one\n* two “quoted” – and\u{a0}more\n\n```sh\nnpm i\n```\n1|2|3\n+ item\n- item\n",
    ),
    ("yaml", "a:\n  - b: 1\n    c: \"x\"\r\n  - d\n"),
    ("none", "\u{1}\u{7f}\t \\x00 &lt;b&gt; \\u0041 ]]>\u{fffd}\n\n\n   \n\rend"),
];

/// Pieces of new texts that look like every mistake there is.
const PIECES: &[&str] = &[
    "x", " ", "\n", "\t", "\\n", "\\\"", "\"", "'", "```", "+", "- ", "12|", "<<3>>", "&lt;", "“",
    "…", "// ", "return ", "{", "}", "(", ")", ";", ",", "  ", "\u{a0}", "$1", "\\\\", "def f():",
    "é",
];

/// Whatever the text, the piece that is quoted and what replaces it: where the piece stands
/// once, the result is the plain replacement, with the file's line endings, but for a text
/// that stands there already and for escapes that the lexer proves to be none.
#[test]
fn exact_is_exact_in_a_hundred_thousand_calls() {
    let mut random = Random::new(7);
    let (mut plain, mut applied, mut repaired) = (0, 0, 0);
    while plain + applied + repaired < 100_000 {
        let (language, text) = *random.pick(TEXTS);
        let bounds: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let from = random.below(bounds.len() - 1);
        let to = (from + 1 + random.below(24)).min(bounds.len() - 1);
        let (from, to) = (bounds[from], bounds[to]);
        let old = &text[from..to];
        // A line break of two characters is one thing.
        if text[..from].ends_with('\r') || text[to..].starts_with('\n') && old.ends_with('\r') {
            continue;
        }
        let mut rest =
            text[from + text[from..].chars().next().map_or(1, char::len_utf8)..].find(old);
        rest = rest.or_else(|| text.find(old).filter(|at| *at != from));
        // And so is one of another kind, or the end of the file.
        let folded = |text: &str| text.replace("\r\n", "\n");
        let ended = folded(text) + if text.ends_with('\n') { "" } else { "\n" };
        if rest.is_some() || ended.matches(&folded(old)).count() > 1 {
            continue;
        }
        let mut new: String = (0..random.below(6)).map(|_| *random.pick(PIECES)).collect();
        if random.below(3) == 0 {
            new = format!("{old}{new}");
        }
        if new == old {
            continue;
        }
        let snapshot = Snapshot::from_text(text);
        let call = in_language(EditRequest::new(old, new.clone()), Language::from_name(language));
        let explained = match explain(&call, &snapshot) {
            Ok(explained) => explained,
            Err(refusal) => {
                // A placeholder of dots for lines of code is refused, too, as it would lose them.
                let lost = refusal.code == restitch::edit::EditCode::Omission && new.contains('…');
                // It may stand there in other line endings, or without the last one.
                let plain = |text: &str| text.replace("\r\n", "\n");
                let stands = refusal.code == restitch::edit::EditCode::AlreadyApplied
                    && (plain(text) + "\n").contains(&plain(&new));
                assert!(lost || stands, "{old:?} {new:?}: {refusal}");
                applied += 1;
                continue;
            }
        };
        assert_eq!(explained.explanation.rung, restitch::edit::Rung::Exact);
        if explained.explanation.rewrites.contains(&restitch::edit::Rewrite::UnescapeNew) {
            repaired += 1;
            continue;
        }
        let after = EditPlan::new(&snapshot, explained.splices).expect("fits").text_after();
        let crlf = new.replace("\r\n", "\n").replace('\n', "\r\n");
        let wanted = |new: &str| [&text[..from], new, &text[to..]].concat();
        assert!(
            after == wanted(&new) || text.contains("\r\n") && after == wanted(&crlf),
            "{language}: {old:?} by {new:?} gave {after:?}"
        );
        plain += 1;
    }
    println!(
        "exact: {plain} plain, {applied} stood there already, {repaired} escapes proven wrong"
    );
    assert!(plain > 90_000, "{plain} of 100,000 were plain replacements");
}

/// A call that was sent at a wrong depth, on one line, with other line endings or with escapes is made
/// once.
#[test]
fn what_was_mended_is_not_made_again() {
    for (path, file, old, new) in [
        (
            "a.ts",
            "function run() {\r\n  load(first);\r\n  store(second);\r\n}\r\n",
            "    load(first);\n    store(second);",
            "    guarded(() => {\n      load(first);\n      store(second);\n    });",
        ),
        (
            "a.py",
            "def run():\n    start(\n        first,\n        second,\n    )\n",
            "    start(first, second)",
            "    start(first, second).wait()",
        ),
        ("a.js", "alpha();\nomega();\n", "alpha();", "alpha();\\nbeta();"),
        ("a.c", "int f() {\n    a = b - c;\n}\n", "    a = b-c;", "    a = b-c; s = \"b-c\";"),
    ] {
        let call = EditRequest::new(old, new).for_path(path);
        let (after, _) = apply(file, &call).unwrap_or_else(|refusal| panic!("{old}: {refusal}"));
        assert_ne!(after, file);
        assert_eq!(code(&after, &call), EditCode::AlreadyApplied, "{after}");
    }
}
