//! Indentation as syntax: the Python grammar accepts statements at any depth, which Python does
//! not.

use tree_sitter::{Node, Tree};

/// What is wrong with the indentation of a statement, and where.
pub(super) struct MisindentedStatement {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// The statements of a Python file whose indentation fits no block; of other languages none.
pub(super) fn misindented(tree: &Tree, text: &str) -> Vec<MisindentedStatement> {
    let mut found = Vec::new();
    let root = tree.root_node();
    if root.kind() != "module" || tree.language().name() != Some("python") {
        return found;
    }
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        let mut cursor = node.walk();
        let parts: Vec<Node<'_>> =
            node.named_children(&mut cursor).filter(|part| !part.is_extra()).collect();
        match node.kind() {
            "module" => check_siblings(&parts, Some(""), text, &mut found),
            "block" => {
                let head = node.parent().and_then(|head| indentation_of(text, head.start_byte()));
                check_block(node, &parts, head, text, &mut found);
            }
            _ => {
                let own = indentation_of(text, node.start_byte());
                let clauses = parts.iter().filter(|part| part.kind().ends_with("_clause"));
                let clauses: Vec<Node<'_>> =
                    clauses.filter(|part| part.kind() != "case_clause").copied().collect();
                if own.is_some() {
                    check_siblings(&clauses, own, text, &mut found);
                }
            }
        }
        pending.extend(parts.into_iter().filter(|part| {
            let kind = part.kind();
            kind == "block"
                || ["_statement", "_definition", "_clause"].iter().any(|end| kind.ends_with(end))
        }));
    }
    found.sort_by_key(|statement| statement.at);
    found
}

/// The whitespace before an offset, if only whitespace stands before it on its line.
fn indentation_of(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind(['\n', '\r', '\u{c}']).map_or(0, |at| at + 1);
    let margin = &text[line..at];
    let margin = if line == 0 { margin.trim_start_matches('\u{feff}') } else { margin };
    margin.bytes().all(|byte| matches!(byte, b' ' | b'\t')).then_some(margin)
}

/// Reports the statements that are not indented as `expected`, or as the first of them.
fn check_siblings(
    parts: &[Node<'_>],
    expected: Option<&str>,
    text: &str,
    found: &mut Vec<MisindentedStatement>,
) {
    let mut expected = expected;
    for part in parts {
        let at = part.start_byte();
        let Some(own) = indentation_of(text, at) else { continue };
        if *expected.get_or_insert(own) != own {
            found.push(MisindentedStatement {
                at,
                what: "the indentation of this line matches no enclosing block",
            });
        }
    }
}

fn check_block(
    block: Node<'_>,
    parts: &[Node<'_>],
    head: Option<&str>,
    text: &str,
    found: &mut Vec<MisindentedStatement>,
) {
    let columns =
        |margin: &str| margin.bytes().map(|b| if b == b'\t' { 8 } else { 1 }).sum::<usize>();
    let Some(first) = parts.first() else {
        found.push(MisindentedStatement {
            at: block.start_byte(),
            what: "an indented block is missing",
        });
        return;
    };
    if let (Some(own), Some(head)) = (indentation_of(text, first.start_byte()), head)
        && columns(own) <= columns(head)
    {
        let at = first.start_byte();
        found.push(MisindentedStatement {
            at,
            what: "this line is not indented further than the one that opens its block",
        });
    }
    check_siblings(parts, None, text, found);
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
        misindented(&tree, text).into_iter().map(line).collect()
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
