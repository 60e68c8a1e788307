//! Checks the indentation of Python: tree-sitter's grammar accepts statements at any indentation,
//! which Python does not.

use std::ops::Range;

use tree_sitter::{Node, Tree};

/// What is wrong with the indentation of a statement, and where.
pub(super) struct MisindentedStatement {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// The statements whose indentation fits no block, of those top-level statements of a Python file
/// that touch a range; empty for other languages.
pub(super) fn misindented(
    tree: &Tree,
    text: &str,
    range: &Range<usize>,
) -> Vec<MisindentedStatement> {
    let mut found = Vec::new();
    let root = tree.root_node();
    if root.kind() != "module" || tree.language().name() != Some("python") {
        return found;
    }
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let mut cursor = node.walk();
        let touches =
            |child: &Node<'_>| child.end_byte() >= range.start && child.start_byte() <= range.end;
        let children: Vec<Node<'_>> = node
            .named_children(&mut cursor)
            .filter(|child| !child.is_extra() && (node != root || touches(child)))
            .collect();
        match node.kind() {
            "module" => check_siblings(&children, Some(""), text, &mut found),
            "block" => {
                let opener_indentation =
                    node.parent().and_then(|opener| indentation_of(text, opener.start_byte()));
                check_block(node, &children, opener_indentation, text, &mut found);
            }
            _ => {
                // Clauses such as `else` are indented like their statement; `case` is not.
                let indentation = indentation_of(text, node.start_byte());
                let clauses = children.iter().filter(|child| child.kind().ends_with("_clause"));
                let clauses: Vec<Node<'_>> =
                    clauses.filter(|clause| clause.kind() != "case_clause").copied().collect();
                if indentation.is_some() {
                    check_siblings(&clauses, indentation, text, &mut found);
                }
            }
        }
        let may_hold_statements = |child: &Node<'_>| {
            let kind = child.kind();
            let suffixes = ["_statement", "_definition", "_clause"];
            kind == "block" || suffixes.iter().any(|suffix| kind.ends_with(suffix))
        };
        pending.extend(children.into_iter().filter(may_hold_statements));
    }
    found.sort_by_key(|statement| statement.at);
    found
}

/// The whitespace before an offset, if there is nothing else before it on its line.
fn indentation_of(text: &str, at: usize) -> Option<&str> {
    let line_start = text[..at].rfind(['\n', '\r', '\u{c}']).map_or(0, |newline| newline + 1);
    let margin = &text[line_start..at];
    let margin = if line_start == 0 { margin.trim_start_matches('\u{feff}') } else { margin };
    margin.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(margin)
}

/// Adds to `found` the siblings whose indentation differs from `expected`, or from the first sibling
/// if `expected` is `None`.
fn check_siblings(
    siblings: &[Node<'_>],
    expected: Option<&str>,
    text: &str,
    found: &mut Vec<MisindentedStatement>,
) {
    let mut expected = expected;
    for sibling in siblings {
        let at = sibling.start_byte();
        let Some(indentation) = indentation_of(text, at) else { continue };
        if *expected.get_or_insert(indentation) != indentation {
            found.push(MisindentedStatement {
                at,
                what: "the indentation of this line matches no enclosing block",
            });
        }
    }
}

/// Adds to `found` what is wrong with the indentation of a block. `opener_indentation` is that of the
/// statement that opens the block, such as `if`.
fn check_block(
    block: Node<'_>,
    statements: &[Node<'_>],
    opener_indentation: Option<&str>,
    text: &str,
    found: &mut Vec<MisindentedStatement>,
) {
    let columns =
        |margin: &str| margin.bytes().map(|b| if b == b'\t' { 8 } else { 1 }).sum::<usize>();
    let Some(first) = statements.first() else {
        found.push(MisindentedStatement {
            at: block.start_byte(),
            what: "an indented block is missing",
        });
        return;
    };
    let indentation = indentation_of(text, first.start_byte());
    if let (Some(indentation), Some(opener_indentation)) = (indentation, opener_indentation)
        && columns(indentation) <= columns(opener_indentation)
    {
        let at = first.start_byte();
        found.push(MisindentedStatement {
            at,
            what: "this line is not indented further than the one that opens its block",
        });
    }
    check_siblings(statements, None, text, found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&tree_sitter_python::LANGUAGE.into()).expect("grammar");
        let tree = parser.parse(text, None).expect("tree");
        if tree.root_node().has_error() {
            return vec![0];
        }
        let line = |m: MisindentedStatement| text[..m.at].matches('\n').count() + 1;
        misindented(&tree, text, &(0..text.len())).into_iter().map(line).collect()
    }

    #[test]
    fn a_statement_is_as_deep_as_its_block() {
        for (text, wanted) in [
            ("def f():\n    x = 1\n", &[][..]),
            ("def f():\nx = 1\n", &[1]),
            ("class A:\n    def f(self):\n    y = 2\n", &[2]),
            ("def f():\n  x = 1\n    y = 2\n", &[3]),
            ("if x:\n    a = 1\n  b = 2\n", &[3]),
            ("x = 1\n  y = 2\n", &[2]),
            ("if a:\n    b\n  else:\n    c\n", &[3]),
            ("if a: b\nelse: c\n", &[]),
            ("@d\nasync def f():\n\tif a:\n\t\tb; c\n\telse:\n\t\td\n", &[]),
            ("try:\n    a\nexcept (B, C):\n    d\nfinally:\n    e\n", &[]),
            ("match a:\n    case 1:\n        b\n    case _:\n        c\n", &[]),
            ("def f(a,\n  b):\n    '''x\n y'''\n    return [\n1]\n", &[]),
            ("# a\n    # b\nx = 1\nif x:\n# c\n    y\n", &[]),
            ("with a as b, \\\n   c as d:\n    e\n\n\nf = lambda: 1\n", &[]),
            ("\u{c}\nclass A:\n    b: int = 1\n\n    @property\n    def c(self): ...\n", &[]),
            ("for a in b:\n    c\nelse:\n    d\nwhile e:\n    pass\nelse:\n    g\n", &[]),
        ] {
            assert_eq!(lines(text), wanted, "{text:?}");
        }
    }
}
