//! What a refusal says about the place, beyond its code.

use restitch::edit::{EditRequest, Refusal, Rewrite};
use restitch::internals::matching::explain;
use restitch::internals::text::Snapshot;
use restitch::internals::tools::edit_text;
use serde_json::json;

fn refusal(file: &str, old: &str, new: &str) -> Refusal {
    explain(&EditRequest::new(old, new), &Snapshot::from_text(file)).expect_err("refused")
}

#[test]
fn an_unknown_language_is_named_where_it_is_the_cause() {
    let cases = [
        ("x :=\t5\n", "x :=  5", "white space"),
        ("x = 'a'\ny\n", "x = \"a\"\ny", "quotes or closing marks"),
        ("call(\n    one,\n    two)\nnext()\n", "call(one, two)\nnext()", "line breaks"),
    ];
    for (file, old, difference) in cases {
        let new = format!("{old} // z");
        let said = format!("The only difference is in {difference}; it counts");
        let hint = refusal(file, old, &new).hint.expect("a hint");
        assert!(hint.contains(&said), "{hint}");

        // A text without a path: what to send.
        let call = json!({ "text": file, "old_str": old, "new_str": new });
        let reply = edit_text(call.clone());
        assert!(reply.message.ends_with("Name it with `path` or `language`."), "{}", reply.message);
        let mut named = call;
        named["language"] = json!("js");
        assert!(edit_text(named).ok, "{file}");
    }
    // Another word is another cause, and in a text white space counts in any case.
    let hint = refusal("x := 5\n", "x := 6", "x := 7").hint.expect("a hint");
    assert!(!hint.contains("language"), "{hint}");
    let text = EditRequest::new("x :=  5", "x := 7").for_path("a.txt");
    let hint = explain(&text, &Snapshot::from_text("x :=\t5\n")).expect_err("refused").hint;
    assert!(hint.is_some_and(|hint| !hint.contains("language")));
}

#[test]
fn rewrites_name_only_what_differs() {
    let rewrites = |file: &str, old: &str, new: &str| -> Vec<Rewrite> {
        let call = EditRequest::new(old, new).for_path("a.go");
        explain(&call, &Snapshot::from_text(file)).expect("explained").explanation.rewrites
    };
    let spacing = [Rewrite::Spacing];
    assert_eq!(rewrites("naïve\tx = 5\n", "naïve x = 5", "naïve x = 6"), spacing);
    assert_eq!(rewrites("\ta := \"é\"\n", "  a := \"é\"", "  b := \"é\""), [Rewrite::Indentation]);
    assert_eq!(
        rewrites("a\u{a0}=\t“x”\n", "a =  \"x\"", "b =  \"x\""),
        [Rewrite::LookAlikes, Rewrite::Spacing]
    );
}
